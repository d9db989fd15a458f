"""A client's cache of metadata, followed through its answers (org.apache.kafka.clients.Metadata)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

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
    """A topic in the cache: what was told of it last, None when it is gone; ``topic_id`` stays."""

    topic_id: str | None
    answer: TopicAnswer | None
    partitions: set[int] = field(default_factory=set)

    @property
    def gone(self) -> bool:
        return self.answer is None


class ClientCache:
    """Metadata of one instance. ``last_seen`` are its lastSeenLeaderEpochs."""

    def __init__(self) -> None:
        self.max_partition_epoch = -1
        self._topics: dict[str, _Topic] = {}
        self.last_seen: dict[tuple[str, int], int] = {}

    def topic_id(self, topic: str) -> str | None:
        """The id that the cache has for a topic; None where it has none."""
        of = self._topics.get(topic)
        return None if of is None or of.gone else of.topic_id

    def update(self, answer: ListAnswer, version: int, *, is_full: bool) -> Iterator[Change]:
        """Take an answer (Metadata.update); ``is_full``: what is not in it is gone."""
        for topic, told in answer.topics.items():
            of = self._topics.get(topic)
            if of is not None and of.answer is told:
                continue
            yield from self._take(told, of, version)
        if is_full:
            for topic in [each for each in self._topics if each not in answer.topics]:
                of = self._topics[topic]
                if not of.gone:
                    yield from self._lose(topic, of, None, 0)

    def see(self, topic: str, partition: int, leader_epoch: int) -> None:
        """An epoch from elsewhere than metadata (updateLastSeenEpochIfNewer, updatePartitionLeadership)."""
        place = (topic, partition)
        if place in self.last_seen and leader_epoch > self.last_seen[place]:
            self.last_seen[place] = leader_epoch
            of = self._topics.get(topic)
            if of is not None and of.answer is not None:
                # the same text later tells less than the cache has now
                of.answer = TopicAnswer(topic, of.topic_id, 0, (), 0, 0)

    def _take(self, told: TopicAnswer, of: _Topic | None, version: int) -> Iterator[Change]:
        if told.error or not told.partitions:
            if of is not None and not of.gone:
                yield from self._lose(told.topic, of, told.topic_id, told.error)
            return
        # only between two ids of the cache and the answer a change of incarnation is seen
        cached_id = None if of is None or of.gone else of.topic_id
        told_id = told.topic_id if version >= HAS_TOPIC_IDS else None
        changed_id = cached_id is not None and told_id is not None and cached_id != told_id
        for each in told.partitions:
            place = (told.topic, each.partition)
            last = self.last_seen.get(place)
            accepted = True
            if version < HAS_RELIABLE_LEADER_EPOCHS or each.leader_epoch < 0:
                self.last_seen.pop(place, None)
            elif last is None or changed_id or each.leader_epoch >= last:
                self.last_seen[place] = each.leader_epoch
            else:
                accepted = False
            known = of is not None and each.partition in of.partitions
            differs = of is not None and (of.gone or of.topic_id != told_id or last != each.leader_epoch)
            if of is not None and known and differs:
                cached_epoch = -1 if last is None else last
                yield Change(
                    told.topic, each.partition, of.topic_id, cached_epoch, of.gone, told_id, each,
                    each.error, accepted,
                )  # fmt: skip
        had = set() if of is None else of.partitions
        self._topics[told.topic] = _Topic(told_id, told, had | {each.partition for each in told.partitions})

    def _lose(self, topic: str, of: _Topic, told_id: str | None, error: int) -> Iterator[Change]:
        for partition in sorted(of.partitions):
            epoch = self.last_seen.get((topic, partition), -1)
            yield Change(topic, partition, of.topic_id, epoch, False, told_id, None, error, True)
        of.answer = None
