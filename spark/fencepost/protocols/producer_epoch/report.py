"""The findings of an audit about producers, in words: for the report after a run."""

from __future__ import annotations

import textwrap

from fencepost.reading import Reader, rows
from fencepost.words import WIDTH

FENCINGS = "marts.fct_fencing_events"
TRANSACTIONS = "marts.fct_transactions"
DANGLING = "marts.fct_dangling_transactions"
END_TXNS = "marts.fct_end_txns"
LOCAL_BUMPS = "marts.fct_local_bumps"
CAUSES = {
    "new_instance": "a new instance",
    "client_bump": "a bump that a client asked for",
    "timeout": "a timeout",
    "operator": "an operator",
    "end_txn": "the end of their transaction",
    "expired": "nobody: their id had expired",
    "unassigned_epoch": "nobody: nobody had been given their epoch",
    "either": "a new instance or an operator",
    "local": "their own local bump",
    "reset": "another producer id that they asked for",
    "log_deleted": "the deletion of their coordinator's log",
    None: "an unknown cause",
}
"""Who moved the epoch past a victim's, in words."""

_ENDS = f"""
SELECT cluster, count(*) AS `all`, count_if(outcome = 'committed') AS committed,
  count_if(outcome = 'aborted') AS aborted, count_if(outcome = 'open') AS open, count_if(is_late) AS late
FROM {TRANSACTIONS} GROUP BY cluster
"""
_CAUSES = f"""
SELECT cluster, cause, count(*) AS times FROM (
  SELECT cluster, CASE WHEN cause IS NOT NULL THEN cause
    WHEN get_json_object(evidence, '$.caused_by_client_id') IS NOT NULL THEN 'either' END AS cause
  FROM {FENCINGS} WHERE protocol = 'producer_epoch'
) AS fencings GROUP BY cluster, cause ORDER BY times DESC, cause
"""
_REFUSED = f"""
SELECT cluster, count(*) AS requests,
  count_if(error NOT IN ('NONE', 'CONCURRENT_TRANSACTIONS')) AS refused,
  count_if(is_shipped_unlike_kip_890) AS unlike, count_if(shipped IS NULL) AS unknown
FROM {END_TXNS} GROUP BY cluster
"""
_BUMPED = f"""
SELECT cluster, count(DISTINCT concat(producer_id, '/', producer_epoch)) AS bumps,
  count(DISTINCT producer_id) AS producers, sum(records_again) AS again,
  count_if(is_written_twice IS NULL) AS unknown
FROM {LOCAL_BUMPS} GROUP BY cluster
"""
_DANGLING = f"""
SELECT cluster, remedy FROM {DANGLING} ORDER BY age_s DESC, topic, partition
"""


class Producers:
    """Who was fenced and why, how transactions ended, what dangles: of all clusters, each mart asked once."""

    def __init__(self, reader: Reader) -> None:
        self._ends = {row["cluster"]: row for row in rows(reader.query(_ENDS))}
        self._refused = {row["cluster"]: row for row in rows(reader.query(_REFUSED))}
        self._bumped = {row["cluster"]: row for row in rows(reader.query(_BUMPED))}
        self._causes = rows(reader.query(_CAUSES))
        self._dangling = rows(reader.query(_DANGLING))

    def lines(self, cluster: str) -> list[str]:
        """The lines about the producers of one cluster; none without producers."""
        sentences = [
            *self._transactions(cluster),
            *self._ended(cluster),
            *self._fenced(cluster),
            *self._bumps(cluster),
        ]
        lines = [line for text in sentences for line in textwrap.wrap(text, WIDTH)]
        remedies = [row["remedy"] for row in self._dangling if row["cluster"] == cluster]
        if remedies:
            effect = "hold back what read_committed consumers see; the oldest:"
            lines.append(f"{len(remedies)} dangling transactions {effect}")
            lines.append(f"    {remedies[0]}")
        return ["", *lines] if lines else []

    def _transactions(self, cluster: str) -> list[str]:
        counts = self._ends.get(cluster)
        if counts is None:
            return []
        return [
            f"{counts['all']} transactions: {counts['committed']} committed, {counts['aborted']} aborted, "
            f"{counts['open']} open ({counts['late']} of them past their timeout)."
        ]

    def _ended(self, cluster: str) -> list[str]:
        counts = self._refused.get(cluster)
        if counts is None:
            return []
        return [
            f"{counts['requests']} EndTxn requests, {counts['refused']} of them refused. The shipped rule "
            f"decides {counts['unlike']} of them otherwise than KIP-890 proposed; for {counts['unknown']} "
            "its decision is not known."
        ]

    def _fenced(self, cluster: str) -> list[str]:
        causes = [row for row in self._causes if row["cluster"] == cluster]
        if not causes:
            return []
        words = ", ".join(f"{row['times']} by {CAUSES.get(row['cause'], row['cause'])}" for row in causes)
        return [f"{sum(row['times'] for row in causes)} requests of fenced producers were refused: {words}."]

    def _bumps(self, cluster: str) -> list[str]:
        counts = self._bumped.get(cluster)
        if counts is None:
            return []
        unknown = f" For {counts['unknown']} bumps that is not known." if counts["unknown"] else ""
        return [
            f"{counts['bumps']} local bumps of {counts['producers']} producers without transactional id; "
            f"they wrote {counts['again']} records twice.{unknown}"
        ]
