"""The part of the report after a run about topics and their leaders, in words."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from fencepost.protocols.reported import row_of_each_cluster, rows_of_each_cluster
from fencepost.reading import Reader, rows
from fencepost.shell import shown
from fencepost.words import WIDTH, counted, duration, printable, time_of

Row = Mapping[str, Any]

INCARNATIONS = "marts.fct_topic_incarnations"
ORPHANS = "marts.fct_orphaned_offsets"
LEADERS = "marts.fct_leader_epochs"
TRUNCATED = "marts.fct_offsets_past_truncation"
STALE = "marts.fct_stale_metadata"
BROKERS = "marts.fct_broker_fencings"
CONTROLLERS = "marts.fct_controllers"
COMMITS = "marts.fct_commits_without_leader_epoch"
RESETS = "marts.fct_offset_resets"
CAUSES = {
    "session_timeout": "sent no heartbeat in time",
    "restart": "registered again",
    "unregistered": "was unregistered",
    None: "cause unknown",
}
"""Why a broker was fenced, in words."""

_RECREATED = f"""
SELECT cluster, count(*) AS times, count(DISTINCT topic) AS topics FROM {INCARNATIONS}
WHERE previous_topic_id IS NOT NULL GROUP BY cluster
"""
_ORPHANED = f"""
SELECT cluster, count(*) AS offsets, count_if(is_stored) AS stored, count_if(used = 'read_on') AS read_on,
  sum(CASE WHEN used = 'read_on' THEN records_skipped END) AS records_skipped,
  sum(CASE WHEN is_stored THEN records_at_risk END) AS records_at_risk
FROM {ORPHANS} GROUP BY cluster
"""
_GRAVEST = f"""
SELECT * FROM (
  SELECT *, row_number() OVER (PARTITION BY cluster
    ORDER BY records_at_risk DESC NULLS LAST, group_id, topic, partition, commit_id) AS place
  FROM {ORPHANS} WHERE remedy IS NOT NULL
) WHERE place = 1
"""
_LOST = f"""
SELECT cluster, topic, partition, leader_epoch, leader, how, elected_at, records_lost, lost_from, lost_to,
  lost_brokers
FROM {LEADERS} WHERE records_lost > 0 ORDER BY records_lost DESC, topic, partition, leader_epoch
"""
_LOST_MARKERS = f"""
SELECT l.cluster, l.topic, l.partition, l.leader_epoch, r.record_type,
  count(DISTINCT r.record_offset) AS markers
FROM {LEADERS} AS l
JOIN bronze.records AS r ON r.cluster = l.cluster AND r.topic = l.topic AND r.partition = l.partition
  AND r.is_control AND r.leader_epoch < l.leader_epoch
  AND r.record_offset >= l.lost_from AND r.record_offset < l.lost_to
WHERE l.records_lost > 0 AND coalesce(r.topic_id, l.topic_id) = l.topic_id
GROUP BY l.cluster, l.topic, l.partition, l.leader_epoch, r.record_type ORDER BY r.record_type
"""
_UNCLEAN = f"""
SELECT cluster, count(*) AS elections, count_if(records_lost IS NULL) AS unknown,
  count_if(records_lost > 0) AS losing FROM {LEADERS}
WHERE how = 'unclean' GROUP BY cluster
"""
_PAST = f"""
SELECT cluster, count(DISTINCT commit_id) AS offsets, count(DISTINCT group_id) AS groups FROM {TRUNCATED}
WHERE is_stored OR used = 'read_on' GROUP BY cluster
"""
_STALE = f"""
SELECT cluster, broker_id, sum(outdated_accepted) AS accepted, count(*) AS clients,
  max(longest_behind_ms) AS longest_behind_ms
FROM {STALE} WHERE outdated_accepted > 0 GROUP BY cluster, broker_id ORDER BY accepted DESC, broker_id
"""
_FENCED = f"""
SELECT cluster, broker_id, cause, fenced_at, fenced_ms, leaders_moved, isr_shrunk FROM {BROKERS}
ORDER BY fenced_at, broker_id
"""
_FAILED = f"""
SELECT cluster, if(previous_leader = -1, leader, previous_leader) AS broker_id,
  previous_leader = -1 AS is_replaced, failed_log_dir, min(elected_at) AS failed_at, count(*) AS moved,
  count_if(leader = -1) AS leaderless
FROM {LEADERS} WHERE failed_log_dir IS NOT NULL
GROUP BY ALL ORDER BY failed_at, broker_id
"""
_FOLLOWED = f"""
SELECT cluster, controller_id, previous_controller_id, active_from, unled_ms FROM {CONTROLLERS}
WHERE controller_id <> previous_controller_id ORDER BY from_position
"""
_BARE = f"""
SELECT cluster, sum(commits) AS commits, sum(without_leader_epoch) AS bare FROM {COMMITS} GROUP BY cluster
"""
_RESETS = f"""
SELECT cluster, cause, count(*) AS times, sum(records_read_again) AS again, sum(records_skipped) AS skipped
FROM {RESETS} WHERE reset_because IS NOT NULL AND coalesce(cause, '') <> 'never_committed'
GROUP BY cluster, cause ORDER BY times DESC, cause NULLS LAST
"""
RESET_CAUSES = {
    "expired": "its offset had expired",
    "offset_deleted": "its offset had been deleted",
    "group_deleted": "its group had been deleted",
    "topic_deleted": "its topic had been deleted",
    "pending_transaction": "its offset was in an open transaction",
    "records_deleted": "an administrator had deleted the records",
    "retention": "the records were too old",
    "tiered_storage": "the broker said that they are in tiered storage",
    "topic_recreated": "its offset was of a deleted topic",
    "truncated": "an election had cut off the log",
    "beyond_the_end": "its offset was beyond the end",
    None: "cause unknown",
}
"""Why a consumer began where auto.offset.reset says, in words."""
_MARKERS = {0: "ABORT marker", 1: "COMMIT marker"}
_MOST = 3
_READ = {"again": "read again", "skipped": "skipped"}


class Incarnations:
    """Topics that were replaced, records that elections lost, old metadata, fenced brokers, new controllers.
    Each mart is queried once, for all clusters.
    """

    def __init__(self, reader: Reader) -> None:
        one, many = partial(row_of_each_cluster, reader), partial(rows_of_each_cluster, reader)
        self._recreated, self._orphaned, self._gravest = one(_RECREATED), one(_ORPHANED), one(_GRAVEST)
        self._unclean, self._past, self._bare = one(_UNCLEAN), one(_PAST), one(_BARE)
        self._lost, self._stale, self._fenced = many(_LOST), many(_STALE), many(_FENCED)
        self._followed, self._resets, self._failed = many(_FOLLOWED), many(_RESETS), many(_FAILED)
        self._lost_markers: dict[tuple[Any, ...], list[str]] = defaultdict(list)
        for row in rows(reader.query(_LOST_MARKERS)) if self._lost else ():
            if (kind := _MARKERS.get(row["record_type"])) is not None:
                self._lost_markers[_election(row)].append(counted(row["markers"], kind))

    def __call__(self, cluster: str) -> list[str]:
        """The lines about one cluster, the gravest first; none where nothing happened."""
        parts = (
            self._orphans, self._starts, self._losses, self._metadata, self._brokers, self._controllers,
            self._commits,
        )  # fmt: skip
        lines = [
            line
            for part in parts
            for text in part(cluster)
            for line in (
                [text] if text.startswith(" ") else textwrap.wrap(text, WIDTH, break_on_hyphens=False)
            )
        ]
        return ["", *lines] if lines else []

    def _orphans(self, cluster: str) -> Iterator[str]:
        recreated, orphaned = self._recreated.get(cluster), self._orphaned.get(cluster)
        if recreated is not None:
            again = counted(recreated["topics"], "topic was", "topics were")
            times = f", {recreated['times']} times in all" if recreated["times"] > recreated["topics"] else ""
            nothing = "" if orphaned else " No offset of an earlier one is known to have outlived it."
            yield f"{again} deleted and created again{times}.{nothing}"
        if orphaned is None:
            return
        risk = orphaned["records_at_risk"]
        at_risk = f", {counted(risk, 'record')} at risk" if risk else ""
        offsets = counted(orphaned["offsets"], "committed offset is", "committed offsets are")
        kept = counted(orphaned["stored"], "is", "are")
        words = f"{offsets} of a topic that is gone; {kept} still stored{at_risk}."
        if orphaned["read_on"]:
            skipped = orphaned["records_skipped"]
            lost = f" and skipped {counted(skipped, 'record')}" if skipped else ""
            words += f" Consumers read on from {orphaned['read_on']} of them{lost}."
        yield words
        if cluster in self._gravest:
            yield from _remedy(self._gravest[cluster])

    def _starts(self, cluster: str) -> Iterator[str]:
        """Consumers that began where auto.offset.reset says although they had an offset before."""
        resets = self._resets[cluster]
        if not resets:
            return
        causes = "; ".join(
            f"{row['times']} {RESET_CAUSES.get(row['cause'], row['cause'])}{_reread(row)}" for row in resets
        )
        times = counted(sum(row["times"] for row in resets), "time")
        yield f"Consumers began where auto.offset.reset says {times}: {causes}; {RESETS}."

    def _losses(self, cluster: str) -> Iterator[str]:
        lost, unclean = self._lost[cluster], self._unclean.get(cluster)
        if lost:
            total = sum(row["records_lost"] for row in lost)
            records = counted(total, "record")
            yield f"{counted(len(lost), 'election')} lost {records}:"
            for row in lost[:_MOST]:
                yield from textwrap.wrap(
                    loss(row, self._lost_markers.get(_election(row), ())),
                    WIDTH,
                    initial_indent="    ",
                    subsequent_indent="      ",
                    break_on_hyphens=False,
                )
        if unclean is not None:
            yield unclean_elections(unclean)
        if cluster in self._past:
            past = self._past[cluster]
            yield (
                f"{counted(past['offsets'], 'committed offset')} of "
                f"{counted(past['groups'], 'group')} lie past a truncation: {TRUNCATED}."
            )

    def _metadata(self, cluster: str) -> Iterator[str]:
        stale = self._stale[cluster]
        if not stale:
            return
        brokers = ", ".join(
            f"{row['accepted']} of broker {row['broker_id']}{_behind(row['longest_behind_ms'])}"
            for row in stale
        )
        total = sum(row["accepted"] for row in stale)
        answers = counted(total, "metadata answer was", "metadata answers were")
        yield f"{answers} older than what the client had, and taken: {brokers}."

    def _brokers(self, cluster: str) -> Iterator[str]:
        fenced = [row for row in self._fenced[cluster] if row["cause"] != "controlled_shutdown"]
        shut_down = [row for row in self._fenced[cluster] if row["cause"] == "controlled_shutdown"]
        if fenced:
            words = "; ".join(_fencing(row) for row in fenced[-_MOST:])
            latest = ", the latest" if len(fenced) > _MOST else ""
            yield f"The controller fenced brokers {counted(len(fenced), 'time')}{latest}: {words}."
        if shut_down:
            yield shutdowns(shut_down)
        for row in self._failed[cluster][-_MOST:]:
            yield f"{failed_directory(row)}."

    def _controllers(self, cluster: str) -> Iterator[str]:
        followed = self._followed[cluster]
        if followed:
            words = "; ".join(_follows(row) for row in followed[-_MOST:])
            latest = ", the latest" if len(followed) > _MOST else ""
            times = counted(len(followed), "time")
            yield f"Another controller became active {times}{latest}: {words}."

    def _commits(self, cluster: str) -> Iterator[str]:
        counts = self._bare.get(cluster)
        if counts is not None and counts["bare"]:
            commits = counted(counts["commits"], "commit")
            carry = counted(counts["bare"], f"of {commits} carries", f"of {commits} carry")
            yield (
                f"{carry} no leader epoch: from them no client can find out "
                "that records were lost or the topic replaced."
            )


def unclean_elections(row: Row) -> str:
    """How many elections were unclean, and of how many of them it is not known what they lost; or that
    nothing was lost, as where the only replica in sync came back.
    """
    elections = counted(row["elections"], "election was", "elections were")
    if row["unknown"] and row["elections"] == 1:
        return f"{elections} unclean, and it is not known what it lost."
    if row["unknown"]:
        they = "it" if row["unknown"] == 1 else "they"
        return f"{elections} unclean, of {row['unknown']:,} it is not known what {they} lost."
    return f"{elections} unclean{'' if row['losing'] else ': nothing was lost'}."


def _reread(row: Row) -> str:
    """How many records were read again or skipped."""
    parts = [f"{counted(row[name], 'record')} {words}" for name, words in _READ.items() if row[name]]
    return f" ({', '.join(parts)})" if parts else ""


def _remedy(row: Row) -> Iterator[str]:
    """The stored offset with the most records at risk, and the command that resets it."""
    place = f"{printable(row['topic'])}-{row['partition']}"
    yield (
        f"The gravest: group {printable(row['group_id'])!r} at offset {row['committed_offset']} of {place}"
        f"{_incarnation(row)}; stop the group, then:"
    )
    yield f"    {shown(row['remedy'])}"


def _incarnation(row: Row) -> str:
    number, live = row["origin_incarnation"], row["live_incarnation"]
    return f" (incarnation {number}, now {live})" if number and live else ""


def _election(row: Row) -> tuple[Any, ...]:
    return row["cluster"], row["topic"], row["partition"], row["leader_epoch"]


def loss(row: Row, markers: Sequence[str]) -> str:
    """``markers``: those among the lost records. Without its marker a transaction stays open there, or is
    ended otherwise than in its other partitions.

    A clean election elects a replica in sync, the preferred one or another, and what that lacks was not
    committed. Each move of a leader
    that is written to may cut off such records; they are seen if a replica that was removed still has them.
    """
    brokers = ", ".join(row["lost_brokers"] or ())
    one = row["records_lost"] == 1
    still = f"; the log of broker {brokers} had {'it' if one else 'them'}" if brokers else ""
    ends = f", among them {' and '.join(markers)}" if markers else ""
    if one and markers:
        ends = f", a {markers[0].removeprefix('1 ')}"
    committed = ""
    if row["how"] in ("clean", "preferred"):
        they, were = ("it", "was") if one else ("they", "were")
        committed = (
            f"; unless the new leader itself had lost {'it' if one else 'them'}, {they} {were} not "
            f"committed: no producer with acks=all was told that {they} {were} stored"
        )
    last = "" if one else f" to {row['lost_to'] - 1}"
    return (
        f"{time_of(row['elected_at'])}  {printable(row['topic'])}-{row['partition']} at leader epoch "
        f"{row['leader_epoch']} ({_elected(row)}): {counted(row['records_lost'], 'record')}, "
        f"{'offset' if one else 'offsets'} {row['lost_from']}{last}{ends}{still}{committed}"
    )


def shutdowns(rows: Sequence[Row]) -> str:
    """``rows`` of the fencings that controlled shutdowns ended with: a broker may have been restarted."""
    brokers = {row["broker_id"] for row in rows}
    times = f", {len(rows)} times in all" if len(rows) > len(brokers) else ""
    return f"{counted(len(brokers), 'broker')} shut down in good order{times}."


def _elected(row: Row) -> str:
    leader = "a leader not known" if row["leader"] is None else f"broker {row['leader']}"
    return f"{leader}, {row['how']}" if row["how"] else leader


def _behind(milliseconds: int | None) -> str:
    return f" (up to {duration(milliseconds)} behind)" if milliseconds else ""


def _follows(row: Row) -> str:
    unled = row["unled_ms"]
    gap = "" if unled is None else f", {duration(max(unled, 0))} after that one's last record"
    at = "" if row["active_from"] is None else f" at {time_of(row['active_from'])}"
    return f"node {row['controller_id']} followed node {row['previous_controller_id']}{at}{gap}"


def failed_directory(row: Row) -> str:
    """A log directory that failed under its broker, or without which its broker came back."""
    if row["is_replaced"]:
        words = ("partition that nobody else led begins", "partitions that nobody else led begin")
        return (
            f"Broker {row['broker_id']} came back without its log directory {row['failed_log_dir']} at "
            f"{time_of(row['failed_at'])}: {counted(row['moved'], *words)} anew, unless "
            "the records were moved along"
        )
    led = row["moved"] - row["leaderless"]
    moved = [counted(led, "leader moved", "leaders moved")] if led else []
    if row["leaderless"]:
        moved.append(counted(row["leaderless"], "partition lost its leader", "partitions lost their leader"))
    return (
        f"Log directory {row['failed_log_dir']} of broker {row['broker_id']} had failed by "
        f"{time_of(row['failed_at'])}: {', '.join(moved)}"
    )


def _fencing(row: Row) -> str:
    lasted = "still fenced" if row["fenced_ms"] is None else f"for {duration(row['fenced_ms'])}"
    moved = [
        counted(row[name], *words)
        for name, words in (
            ("leaders_moved", ("leader moved", "leaders moved")),
            ("isr_shrunk", ("ISR shrunk", "ISRs shrunk")),
        )
        if row[name]
    ]
    cause = CAUSES.get(row["cause"]) or str(row["cause"])
    return f"broker {row['broker_id']} at {time_of(row['fenced_at'])} {lasted} ({', '.join([cause, *moved])})"
