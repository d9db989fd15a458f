"""Whether it is safe to seek to an offset that was stored: yes, no, or not known, and why."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from typing import NamedTuple

from fencepost.protocols.leader_epoch.stored.lives import PartitionLife, TopicLife
from fencepost.protocols.leader_epoch.stored.offsets import StoredOffset
from fencepost.words import counted

CLOCKS_DIFFER = dt.timedelta(minutes=1)
"""The lake does not know the clock of the application that stored an offset: times closer than this have no
order.
"""


class Judgement(NamedTuple):
    """Whether an offset is safe to seek to; None where the evidence does not tell. ``reason`` is None where
    it is.
    """

    safe: bool | None
    reason: str | None = None
    detail: str | None = None


SAFE = Judgement(True)


def judge(stored: StoredOffset, topics: Mapping[str, TopicLife]) -> Judgement:
    """Judge whether a consumer can safely seek to a stored offset, as far as the logs were captured.

    The offset must be of the live incarnation of its topic (else KIP-232 has INVALID_PARTITION_EPOCH). If it
    is, it is checked as OffsetsForLeaderEpoch checks a position (KIP-320), and against both ends of the log.
    """
    life = topics.get(stored.topic)
    if life is None:
        return Judgement(None, "topic_unknown", "no log that was read tells of a topic of this name")
    if life.live is None:
        return Judgement(
            None, "topic_unknown", "the metadata log has a hole that may hide the topic's deletion"
        )
    if not life.live:
        return Judgement(
            False, "topic_deleted", f"the topic with the id {life.topic_id} was the last of this name"
        )
    partition = life.of_partition.get(stored.partition)
    if partition is None:
        if life.partitions is None:
            return Judgement(
                None, "partition_unknown", "the metadata log has a hole that may hide partitions"
            )
        return Judgement(False, "no_such_partition", f"the topic has {counted(life.partitions, 'partition')}")
    return _why_other_incarnation(stored, life, partition) or _why_bad_position(stored, partition) or SAFE


def _why_other_incarnation(
    stored: StoredOffset, life: TopicLife, partition: PartitionLife
) -> Judgement | None:
    """Why the offset may not be of the incarnation that lives; None where it is."""
    if stored.topic_id is not None and stored.topic_id != life.topic_id:
        return _another(f"it is of the topic id {stored.topic_id}, the live one is {life.topic_id}")
    epoch, live = stored.epochs.partition_epoch, partition.partition_epoch
    if epoch >= 0 and live is not None and epoch != live:
        if epoch < live and stored.topic_id is None:
            return _another(f"its partition epoch is {epoch}, that of the live incarnation {live}")
        detail = f"no incarnation that is known has the partition epoch {epoch}; the live one has {live}"
        return Judgement(None, "incarnation_unknown", detail)
    if stored.topic_id is not None or (epoch >= 0 and live is not None) or life.is_first:
        return None
    return _why_too_old(stored.stored_at, life.created_at)


def _why_too_old(stored_at: dt.datetime | None, created_at: dt.datetime | None) -> Judgement | None:
    if stored_at is None or created_at is None or abs(stored_at - created_at) < CLOCKS_DIFFER:
        detail = "the topic was created again: only a topic id, an offset epoch or a time tells whose it is"
        return Judgement(None, "incarnation_unknown", detail)
    if stored_at < created_at:
        return _another(
            f"it was stored before the live incarnation was created ({created_at:%Y-%m-%d %H:%M:%S})"
        )
    return None


def _why_bad_position(stored: StoredOffset, partition: PartitionLife) -> Judgement | None:
    """Why the offset may not be a good place in the live incarnation's log; None where it is."""
    offset = stored.offset
    if partition.log_start is not None and offset < partition.log_start:
        return Judgement(False, "below_log_start", f"the log begins at {partition.log_start}")
    return _why_past_truncation(stored, partition) or _why_outside_log(stored, partition)


def _why_past_truncation(stored: StoredOffset, partition: PartitionLife) -> Judgement | None:
    offset, epoch = stored.offset, stored.epochs.leader_epoch
    if epoch < 0:
        if partition.loses is not None and (partition.lost_from is None or offset <= partition.lost_from):
            return None
        detail = "without a leader epoch nobody can tell whether it is past a truncation"
        if partition.lost_from is not None:
            detail += f": records were lost from {partition.lost_from} on"
        return Judgement(None, "epoch_unknown", detail)
    if partition.leader_epoch is not None and epoch > partition.leader_epoch:
        detail = (
            f"its leader epoch {epoch} is newer than {partition.leader_epoch}, the newest that was captured"
        )
        return Judgement(None, "epoch_unknown", detail)
    later = next(((number, start) for number, start in partition.epochs if number > epoch), None)
    if later is not None and offset > later[1]:
        detail = f"leader epoch {epoch} ends at {later[1]}, where leader epoch {later[0]} begins"
        return Judgement(False, "past_truncation", detail)
    return None


def _why_outside_log(stored: StoredOffset, partition: PartitionLife) -> Judgement | None:
    offset, end = stored.offset, partition.log_end
    if end is not None and offset > end:
        known_at = partition.known_at
        late = stored.stored_at and known_at and stored.stored_at + CLOCKS_DIFFER < known_at
        detail = f"the log that was captured ends at {end}"
        return Judgement(False if late else None, "above_log_end", detail)
    if any(first <= offset <= to for first, to in partition.covered):
        return None
    return Judgement(
        None, "not_covered", "the log is not known at this offset: segments are missing or compacted"
    )


def _another(detail: str) -> Judgement:
    return Judgement(False, "another_incarnation", detail)
