"""What an audit found of producers, in words: for the screenful after a run and for single findings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from fencepost.reading import Reader, rows

FENCINGS = "marts.fct_fencing_events"
TRANSACTIONS = "marts.fct_transactions"
DANGLING = "marts.fct_dangling_transactions"
CAUSES = {
    "new_instance": "a new instance",
    "client_bump": "a bump that a client asked for",
    "timeout": "a timeout",
    "operator": "an operator",
    "end_txn": "the end of their transaction",
    "local": "their own local bump",
    None: "an unknown cause",
}
"""Who moved the epoch past a victim's, in words."""

# What the columns of evidence are called in a sentence, in the order in which they are told.
_SHOWN = (
    "transactional_id", "producer_id", "producer_epoch", "transaction_partition", "client_id", "connection",
    "provided_id", "provided_epoch", "error", "returned_id", "returned_epoch", "first_offset", "last_offset",
    "snapshot_offset", "due_type",
)  # fmt: skip
_DIGEST = re.compile(r"[0-9a-f]{64}")


_ENDS = f"""
SELECT cluster, count(*) AS `all`, count_if(outcome = 'committed') AS committed,
  count_if(outcome = 'aborted') AS aborted, count_if(outcome = 'open') AS open, count_if(is_late) AS late
FROM {TRANSACTIONS} GROUP BY cluster
"""
_CAUSES = f"""
SELECT cluster, cause, count(*) AS times FROM {FENCINGS}
WHERE protocol = 'producer_epoch' GROUP BY cluster, cause ORDER BY times DESC, cause
"""
_DANGLING = f"""
SELECT cluster, remedy FROM {DANGLING} ORDER BY age DESC, topic, partition
"""


class Producers:
    """Who was fenced and why, how transactions ended, what dangles: of all clusters, each mart asked once."""

    def __init__(self, reader: Reader) -> None:
        self._ends = {row["cluster"]: row for row in rows(reader.query(_ENDS))}
        self._causes = rows(reader.query(_CAUSES))
        self._dangling = rows(reader.query(_DANGLING))

    def lines(self, cluster: str, width: int) -> list[str]:
        """The producers of one cluster; none where there are none."""
        sentences = [*self._transactions(cluster), *self._fenced(cluster)]
        lines = [line for text in sentences for line in textwrap.wrap(text, width)]
        remedies = [row["remedy"] for row in self._dangling if row["cluster"] == cluster]
        if remedies:
            held = "hold back what read_committed consumers see; the oldest:"
            lines.append(f"{len(remedies)} dangling transactions {held}")
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

    def _fenced(self, cluster: str) -> list[str]:
        causes = [row for row in self._causes if row["cluster"] == cluster]
        if not causes:
            return []
        words = ", ".join(f"{row['times']} by {CAUSES.get(row['cause'], row['cause'])}" for row in causes)
        return [f"{sum(row['times'] for row in causes)} requests of fenced producers were refused: {words}."]


def without_digests(witness: Mapping[str, Any]) -> dict[str, Any]:
    """The quantified variables that say something: those that name a record do it by a digest."""
    return {name: value for name, value in witness.items() if not _DIGEST.fullmatch(str(value))}


def record_words(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The record that a verdict is about, by what its evidence says of it."""
    return {name: evidence[name] for name in _SHOWN if evidence.get(name) not in (None, -1)}
