"""Which incarnation of a topic lived at some moment, of which only a range of the metadata log is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.reasons import EVIDENCE_ENDS


class LivePartition(NamedTuple):
    """The state of a partition: '' and -1 where no incarnation lived, None where it is not known, and why."""

    topic_id: str | None = None
    partition_epoch: int | None = None
    leader_epoch: int | None = None
    unknown: str | None = None


NOT_KNOWN, NOT_YET_KNOWN = LivePartition(), LivePartition(unknown=EVIDENCE_ENDS)
NONE_LIVED = LivePartition("", -1, -1)


def candidates(
    history: ClusterHistory, window: Window, topic: str, partition: int, topic_id: str | None = None
) -> list[LivePartition]:
    """All states that a partition may have had in a window, in the order of the log; only NOT_KNOWN where the
    log is not known throughout, and only NOT_YET_KNOWN where just what comes behind its end is missing.
    ``topic_id``: an incarnation that certainly existed already, so the window begins no earlier than it.
    """
    lowest, highest = window
    life = None if topic_id is None else history.topics.get(topic_id)
    if topic_id is not None and life is None:
        return [NOT_KNOWN]
    if life is not None and life.created is not None:
        # where its creation is not known, as in a snapshot behind a hole, it may have existed for long
        lowest = max(lowest, life.begins.position)
        highest = max(highest, lowest)
    if not history.is_covered(lowest, highest):
        end = history.log.known_to
        return [NOT_YET_KNOWN if highest >= end and history.is_covered(lowest, end - 1) else NOT_KNOWN]
    return list(dict.fromkeys(_lived(history, Window(lowest, highest), topic, partition)))


def agreed(states: Sequence[LivePartition]) -> LivePartition:
    """What all candidates have in common."""
    columns = (set(values) for values in zip(*states, strict=True))
    return LivePartition(*(values.pop() if len(values) == 1 else None for values in columns))


def live_partition(history: ClusterHistory, window: Window, topic: str, partition: int) -> LivePartition:
    """What all ``candidates`` have in common."""
    return agreed(candidates(history, window, topic, partition))


def _lived(history: ClusterHistory, window: Window, topic: str, partition: int) -> Iterator[LivePartition]:
    lives = [
        (life.topic_id, life.partitions[partition])
        for life in history.named(topic, *window)
        if partition in life.partitions
    ]
    changes = {at.position for _, partition_life in lives for at in partition_life.states.begins}
    for position in sorted({window.lowest, *(at for at in changes if window.lowest < at <= window.highest)}):
        live = NONE_LIVED
        for topic_id, partition_life in lives:
            state = partition_life.between(position, position)[-1]
            if state is not None:
                live = LivePartition(topic_id, partition_life.partition_epoch, state.leader_epoch)
        yield live
