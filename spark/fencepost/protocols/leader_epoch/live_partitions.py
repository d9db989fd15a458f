"""Which incarnation of a topic lived, where only a range of the metadata log is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster import ClusterHistory


class LivePartition(NamedTuple):
    """A partition as it was: '' and -1 where no incarnation lived, None where it is not known."""

    topic_id: str | None = None
    partition_epoch: int | None = None
    leader_epoch: int | None = None


NOT_KNOWN = LivePartition()
NONE_LIVED = LivePartition("", -1, -1)


def candidates(
    history: ClusterHistory, window: Window, topic: str, partition: int, topic_id: str | None = None
) -> list[LivePartition]:
    """Everything that may have lived somewhere in a window, in the order of the log; NOT_KNOWN alone where
    the log is not known so far. With ``topic_id`` that one is known to have been there already: the window
    begins no earlier than it.
    """
    lowest, highest = window
    asked = None if topic_id is None else history.topics.get(topic_id)
    if topic_id is not None and asked is None:
        return [NOT_KNOWN]
    if asked is not None and asked.created is not None:
        # where it is only first seen, as in a snapshot behind a hole, it may have been for long
        lowest = max(lowest, asked.begins.position)
        highest = max(highest, lowest)
    if not history.is_covered(lowest, highest):
        return [NOT_KNOWN]
    return list(dict.fromkeys(_lived(history, Window(lowest, highest), topic, partition)))


def agreed(found: Sequence[LivePartition]) -> LivePartition:
    """What all candidates have in common."""
    columns = (set(values) for values in zip(*found, strict=True))
    return LivePartition(*(values.pop() if len(values) == 1 else None for values in columns))


def live_partition(
    history: ClusterHistory, window: Window, topic: str, partition: int, topic_id: str | None = None
) -> LivePartition:
    """What is so of all ``candidates``."""
    return agreed(candidates(history, window, topic, partition, topic_id))


def _lived(history: ClusterHistory, window: Window, topic: str, partition: int) -> Iterator[LivePartition]:
    lives = [
        (life.topic_id, life.partitions[partition])
        for life in history.named(topic, *window)
        if partition in life.partitions
    ]
    changes = {at.position for _, of in lives for at in of.states.begins}
    for position in sorted({window.lowest, *(at for at in changes if window.lowest < at <= window.highest)}):
        now = NONE_LIVED
        for topic_id, of in lives:
            state = of.between(position, position)[-1]
            if state is not None:
                now = LivePartition(topic_id, of.partition_epoch, state.leader_epoch)
        yield now
