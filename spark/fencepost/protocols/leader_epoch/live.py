"""Which incarnation of a topic lived, where only a range of the metadata log is known."""

from __future__ import annotations

from typing import NamedTuple

from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster import ClusterHistory, TopicLife


class Live(NamedTuple):
    """A partition as it was: '' and -1 where no incarnation lived, None where it is not one."""

    topic_id: str | None = None
    partition_epoch: int | None = None
    leader_epoch: int | None = None

    @property
    def columns(self) -> tuple[str | None, int | None, int | None]:
        """live_topic_id, live_partition_epoch, live_leader_epoch."""
        return (self.topic_id, self.partition_epoch, self.leader_epoch)


NOT_KNOWN = Live()
NONE_LIVED = Live("", -1, -1)


def live(
    history: ClusterHistory, window: Window, topic: str, partition: int, topic_id: str | None = None
) -> Live:
    """What lived somewhere in a window. With ``topic_id`` that one is known to have been there already: the
    window begins no earlier than it.
    """
    lowest, highest = window
    asked = None if topic_id is None else history.topics.get(topic_id)
    if topic_id is not None and asked is None:
        return NOT_KNOWN
    if asked is not None:
        lowest = max(lowest, asked.begins.position)
        highest = max(highest, lowest)
    if not history.is_covered(lowest, highest):
        return NOT_KNOWN
    there = [
        life for life in history.named(topic, lowest, highest) if _overlaps(life, partition, lowest, highest)
    ]
    if not there:
        return NONE_LIVED
    if len(there) > 1 or _was_away(there[0], partition, lowest, highest):
        return NOT_KNOWN
    of = there[0].partitions[partition]
    states = [each for each in of.between(lowest, highest) if each is not None]
    epochs = {each.leader_epoch for each in states}
    return Live(there[0].topic_id, of.partition_epoch, epochs.pop() if len(epochs) == 1 else None)


def _overlaps(life: TopicLife, partition: int, lowest: int, highest: int) -> bool:
    of = life.partitions.get(partition)
    return of is not None and any(each is not None for each in of.between(lowest, highest))


def _was_away(life: TopicLife, partition: int, lowest: int, highest: int) -> bool:
    return any(each is None for each in life.partitions[partition].between(lowest, highest))
