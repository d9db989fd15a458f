"""The findings of an audit about producers, in words: for the report after a run."""

from __future__ import annotations

import textwrap
from functools import partial

from fencepost.protocols.reported import row_of_each_cluster, unlogged_by_cluster, unlogged_sentence
from fencepost.reading import Reader, rows
from fencepost.words import WIDTH, counted, printable

FENCINGS = "marts.fct_fencing_events"
TRANSACTIONS = "marts.fct_transactions"
DANGLING = "marts.fct_dangling_transactions"
END_TXNS = "marts.fct_end_txns"
LOCAL_BUMPS = "marts.fct_local_bumps"
IDS = "marts.fct_transactional_ids"
STABLE = "marts.fct_last_stable_offsets"
WAITS = "marts.fct_transaction_waits"
UNSTABLE = "marts.fct_unstable_offsets"
REFUSED = "marts.fct_refused_produces"
UNLOGGED = "marts.fct_unlogged_ends"
REASONS = {
    "epoch_is_over": "of a fenced producer",
    "expired": "of a producer whose id had expired",
    "removed": "of a producer whose id had been removed in its transaction",
    "log_deleted": "of a producer whose coordinator's log had been deleted",
    "not_in_transaction": "outside a transaction",
    "busy": "while the coordinator was busy with a transaction of theirs",
    "sent_again": "that had been written before",
    "out_of_sequence": "out of sequence, though the broker had lost nothing that is known",
    "behind_refused": "behind one that had been refused",
    "broker_lost_records": "behind records that the broker had lost",
    "broker_lost_state": "of a producer that the broker had forgotten",
    "unknown": "for an unknown reason",
}
"""Which batches were refused, in words."""
CAUSES = {
    "new_instance": "a new instance",
    "client_bump": "a bump that a client asked for",
    "timeout": "a timeout",
    "operator": "an operator",
    "end_txn": "the end of their transaction",
    "expired": "nobody: their id had expired",
    "removed": "whoever removed their id in its transaction",
    "unassigned_epoch": "nobody: nobody had been given their epoch",
    "either": "a new instance or an operator",
    "local": "their own local bump",
    "reset": "another producer id that they asked for",
    "log_deleted": "the deletion of their coordinator's log",
    None: "an unknown cause",
}
"""Who moved the epoch past a victim's, in words."""
_BACK = "back what read_committed consumers see"

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
_IDS = f"""
SELECT cluster, count_if(ended_by = 'expired') AS expired, count_if(ended_by = 'removed') AS removed,
  count_if(ended_by = 'log_deleted') AS deleted,
  count_if(turns > 0) AS contended, max(turns) AS turns, max_by(transactional_id, turns) AS transactional_id,
  concat_ws(' and ', max_by(contenders, turns)) AS contenders
FROM {IDS} GROUP BY cluster
"""
_HELD = f"""
SELECT cluster, count(*) AS held, count_if(may_abort = 'yes') AS yes, count_if(may_abort = 'no') AS no,
  count_if(may_abort = 'unknown') AS unknown
FROM {STABLE} WHERE held_by <> 'nothing' GROUP BY cluster
"""
_WAITS = f"""
SELECT cluster, count(*) AS episodes, sum(answers) AS answers, max(waited_ms) AS waited_ms,
  max_by(transactional_id, waited_ms) AS transactional_id, max_by(waited_for, waited_ms) AS waited_for,
  max_by(awaited_partition, waited_ms) AS awaited_partition, max_by(awaited_broker_id, waited_ms) AS broker_id
FROM {WAITS} GROUP BY cluster
"""
_UNSTABLE = f"""
SELECT cluster, count(*) AS episodes, max(waited_ms) AS waited_ms, max_by(group_id, longest) AS group_id,
  max_by(transactional_id, longest) AS transactional_id
FROM (SELECT *, struct(waited_ms, -unix_millis(began_at)) AS longest FROM {UNSTABLE}) GROUP BY cluster
"""
_PRODUCES = f"""
SELECT cluster, count(*) AS times, CASE WHEN error = 'CONCURRENT_TRANSACTIONS' THEN 'busy'
  WHEN reason = 'out_of_sequence' AND error_before <> 'NONE' THEN 'behind_refused'
  WHEN reason = 'epoch_is_over' AND fencing_cause IN ('expired', 'removed', 'log_deleted') THEN fencing_cause
  ELSE reason END AS reason
FROM {REFUSED} GROUP BY cluster, 3 ORDER BY times DESC, 3
"""
_DANGLING = f"""
SELECT cluster, remedy FROM {DANGLING} ORDER BY age_s DESC, topic, partition
"""


class Producers:
    """Who was fenced and why, how transactions ended, what dangles: of all clusters, each mart asked once."""

    def __init__(self, reader: Reader) -> None:
        by_cluster = partial(row_of_each_cluster, reader)
        self._ends = by_cluster(_ENDS)
        self._refused = by_cluster(_REFUSED)
        self._bumped = by_cluster(_BUMPED)
        self._causes = rows(reader.query(_CAUSES))
        self._dangling = rows(reader.query(_DANGLING))
        self._ids = by_cluster(_IDS)
        self._held = by_cluster(_HELD)
        self._waits = by_cluster(_WAITS)
        self._unstable = by_cluster(_UNSTABLE)
        self._produces = rows(reader.query(_PRODUCES))
        self._unlogged = unlogged_by_cluster(reader, UNLOGGED, "prepared_at")

    def __call__(self, cluster: str) -> list[str]:
        """The lines about the producers of one cluster; none without producers."""
        unlogged = self._unlogged.get(cluster)
        what = ("committed transaction", "committed transactions")
        sentences = [
            *([unlogged_sentence(unlogged, UNLOGGED, *what)] if unlogged else []),
            *self._transactions(cluster),
            *self._ended(cluster),
            *self._fenced(cluster),
            *self._lives(cluster),
            *self._refused_produces(cluster),
            *self._bumps(cluster),
            *self._waited(cluster),
            *self._held_back(cluster),
        ]
        lines = [line for text in sentences for line in textwrap.wrap(text, WIDTH)]
        remedies = [row["remedy"] for row in self._dangling if row["cluster"] == cluster]
        if remedies:
            hold_back = counted(len(remedies), "dangling transaction holds", "dangling transactions hold")
            lines.append(f"{hold_back} {_BACK}; the oldest:")
            lines.append(f"    {remedies[0]}")
        return ["", *lines] if lines else []

    def _transactions(self, cluster: str) -> list[str]:
        counts = self._ends.get(cluster)
        if counts is None:
            return []
        return [
            f"{counted(counts['all'], 'transaction')}: {counts['committed']} committed, "
            f"{counts['aborted']} aborted, {counts['open']} open ({counts['late']} of them past their "
            "timeout)."
        ]

    def _ended(self, cluster: str) -> list[str]:
        counts = self._refused.get(cluster)
        if counts is None:
            return []
        return [
            f"{counted(counts['requests'], 'EndTxn request')}, {counts['refused']} of them refused. The "
            f"shipped rule decides {counts['unlike']} of them otherwise than KIP-890 proposed; for "
            f"{counts['unknown']} its decision is not known."
        ]

    def _fenced(self, cluster: str) -> list[str]:
        causes = [row for row in self._causes if row["cluster"] == cluster]
        if not causes:
            return []
        words = ", ".join(f"{row['times']:,} by {CAUSES.get(row['cause'], row['cause'])}" for row in causes)
        requests = sum(row["times"] for row in causes)
        refused = counted(requests, "request of a fenced producer was", "requests of fenced producers were")
        return [f"{refused} refused: {words}."]

    def _bumps(self, cluster: str) -> list[str]:
        counts = self._bumped.get(cluster)
        if counts is None:
            return []
        unknown = f" For {counted(counts['unknown'], 'bump')} that is not known." if counts["unknown"] else ""
        producers = counted(counts["producers"], "producer")
        they = "they" if counts["producers"] != 1 else "it"
        return [
            f"{counted(counts['bumps'], 'local bump')} of {producers} without transactional id; "
            f"{they} wrote {counted(counts['again'], 'record')} twice.{unknown}"
        ]

    def _lives(self, cluster: str) -> list[str]:
        counts = self._ids.get(cluster)
        if counts is None:
            return []
        sentences = []
        if counts["expired"]:
            sentences.append(f"{counted(counts['expired'], 'transactional id')} expired.")
        if counts["removed"]:
            gone = counted(counts["removed"], "transactional id was", "transactional ids were")
            sentences.append(f"{gone} removed while a transaction was open, as no coordinator does.")
        if counts["deleted"]:
            lost = ("transactional id was lost with its", "transactional ids were lost with their")
            sentences.append(f"{counted(counts['deleted'], *lost)} coordinator's log.")
        if counts["contended"]:
            named = printable(counts["transactional_id"])
            ids = counted(counts["contended"], "transactional id is", "transactional ids are")
            turns = counted(counts["turns"], "time")
            sentences.append(
                f"{ids} taken by clients from each other in turn. Most often {named}: {turns} by "
                f"{printable(counts['contenders'])}."
            )
        return sentences

    def _refused_produces(self, cluster: str) -> list[str]:
        reasons = [row for row in self._produces if row["cluster"] == cluster]
        if not reasons:
            return []
        words = ", ".join(f"{row['times']:,} {REASONS[row['reason']]}" for row in reasons)
        batches = sum(row["times"] for row in reasons)
        return [f"{counted(batches, 'batch was', 'batches were')} refused: {words}."]

    def _waited(self, cluster: str) -> list[str]:
        sentences = []
        counts = self._waits.get(cluster)
        if counts is not None:
            partition = counts["awaited_partition"]
            marker = f", for the marker of {printable(partition)}" if partition else ""
            broker = f" at broker {counts['broker_id']}" if marker and counts["broker_id"] is not None else ""
            sentences.append(
                f"Producers waited {counted(counts['episodes'], 'time')} for a transaction of theirs to be "
                f"complete (CONCURRENT_TRANSACTIONS). The longest: {printable(counts['transactional_id'])}, "
                f"{counts['waited_ms']} ms{marker}{broker}."
            )
        unstable = self._unstable.get(cluster)
        if unstable is not None:
            holder = unstable["transactional_id"]
            held = f", held by {printable(holder)}" if holder is not None else ""
            sentences.append(
                f"Consumers waited {counted(unstable['episodes'], 'time')} for offsets that a transaction "
                f"held (UNSTABLE_OFFSET_COMMIT). The longest: group {printable(unstable['group_id'])}, "
                f"{unstable['waited_ms']} ms{held}."
            )
        return sentences

    def _held_back(self, cluster: str) -> list[str]:
        counts = self._held.get(cluster)
        if counts is None:
            return []
        hold = counted(counts["held"], "partition holds", "partitions hold")
        return [
            f"{hold} {_BACK}: {counts['yes']} may be aborted, "
            f"{counts['no']} not, and of {counts['unknown']} that is not known ({STABLE})."
        ]
