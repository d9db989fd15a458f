"""A client's cache of metadata, followed through its answers (org.apache.kafka.clients.Metadata)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fencepost.protocols.leader_epoch.answers import ListAnswer, PartitionAnswer, TopicAnswer

HAS_RELIABLE_LEADER_EPOCHS = 9
HAS_TOPIC_IDS = 10


@dataclass(frozen=True, slots=True)
class Change:
    """A partition of which an answer told another thing than the cache had; ``told`` None: it lacks it."""

    topic: str
    partition: int
    cached_topic_id: str | None
    cached_leader_epoch: int
    cached_gone: bool
    told_topic_id: str | None
    told: PartitionAnswer | None
    error: int
    accepted: bool


@dataclass(slots=True)
class _Topic:
    """A topic in the cache: what was told of it last, None when it is gone; ``topic_id`` stays.

    ``as_told``: the cache has what the answer says, and nothing else. A thousand clients are told of ten
    thousand partitions, so ``seen`` (lastSeenLeaderEpochs) and ``had`` (the partitions that it ever had) are
    the answer's own while they are None.
    """

    topic_id: str | None
    answer: TopicAnswer | None
    as_told: bool = True
    seen: dict[int, int] | None = None
    had: set[int] | None = None

    @property
    def gone(self) -> bool:
        return self.answer is None

    def epochs(self) -> dict[int, int]:
        """``seen``, to be changed."""
        if self.seen is None:
            told = () if self.answer is None else self.answer.partitions
            self.seen = {each.partition: each.leader_epoch for each in told if each.leader_epoch >= 0}
        return self.seen

    def partitions(self) -> set[int]:
        """``had``, to be changed."""
        if self.had is None:
            told = () if self.answer is None else self.answer.partitions
            self.had = {each.partition for each in told}
        return self.had


class ClientCache:
    """Metadata of one instance."""

    def __init__(self) -> None:
        self.max_partition_epoch = -1
        self._topics: dict[str, _Topic] = {}

    def update(self, answer: ListAnswer, version: int, *, is_full: bool) -> Iterator[Change]:
        """Take an answer (Metadata.update); ``is_full``: what is not in it is gone."""
        for topic, told in answer.topics.items():
            of = self._topics.get(topic)
            if of is None or of.answer is not told or not of.as_told:
                yield from self._take(told, of, version)
        if is_full:
            for topic, of in self._topics.items():
                if topic not in answer.topics and not of.gone:
                    yield from self._lose(topic, of, None, 0)

    def see(self, topic: str, partition: int, leader_epoch: int) -> None:
        """An epoch from elsewhere than metadata (updateLastSeenEpochIfNewer, updatePartitionLeadership)."""
        of = self._topics.get(topic)
        if of is not None and of.epochs().get(partition, leader_epoch) < leader_epoch:
            of.epochs()[partition] = leader_epoch
            of.as_told = False

    def _take(self, told: TopicAnswer, of: _Topic | None, version: int) -> Iterator[Change]:
        if told.error or not told.partitions:
            if of is not None and not of.gone:
                yield from self._lose(told.topic, of, told.topic_id, told.error)
            return
        told_id = told.topic_id if version >= HAS_TOPIC_IDS else None
        if of is None:
            seen = None if version >= HAS_RELIABLE_LEADER_EPOCHS else dict[int, int]()
            self._topics[told.topic] = _Topic(told_id, told, seen=seen)
            return
        # only between two ids of the cache and the answer a change of incarnation is seen
        cached_id = None if of.gone else of.topic_id
        changed_id = cached_id is not None and told_id is not None and cached_id != told_id
        seen, had, as_told = of.epochs(), of.partitions(), True
        for each in told.partitions:
            last = seen.get(each.partition)
            accepted = True
            if version < HAS_RELIABLE_LEADER_EPOCHS or each.leader_epoch < 0:
                seen.pop(each.partition, None)
            elif last is None or changed_id or each.leader_epoch >= last:
                seen[each.partition] = each.leader_epoch
            else:
                # the same answer later tells again what the cache does not have
                accepted = as_told = False
            differs = of.gone or of.topic_id != told_id or last != each.leader_epoch
            if each.partition in had and differs:
                cached_epoch = -1 if last is None else last
                yield Change(
                    told.topic, each.partition, of.topic_id, cached_epoch, of.gone, told_id, each,
                    each.error, accepted,
                )  # fmt: skip
        had.update(each.partition for each in told.partitions)
        self._topics[told.topic] = _Topic(told_id, told, as_told, seen, had)

    def _lose(self, topic: str, of: _Topic, told_id: str | None, error: int) -> Iterator[Change]:
        seen = of.epochs()
        for partition in sorted(of.partitions()):
            epoch = seen.get(partition, -1)
            yield Change(topic, partition, of.topic_id, epoch, False, told_id, None, error, True)
        of.answer = None
