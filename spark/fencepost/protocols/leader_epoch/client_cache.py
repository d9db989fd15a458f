"""A client's cache of metadata, followed through its answers (org.apache.kafka.clients.Metadata)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from fencepost.protocols.leader_epoch.answers import ListAnswer, PartitionAnswer, TopicAnswer

HAS_RELIABLE_LEADER_EPOCHS = 9
HAS_TOPIC_IDS = 10
ANY_USE, NO_USE = "", None
"""What shows that a client took an answer: a topic id that it uses, any use of the topic, or none."""


@dataclass(frozen=True, slots=True)
class Change:
    """A partition of which an answer told another thing than the cache had; ``told`` None: it lacks it.

    ``accepted`` is None where the client may not have had the answer.
    """

    topic: str
    partition: int
    cached_topic_id: str | None
    cached_leader_epoch: int
    cached_gone: bool
    told_topic_id: str | None
    told: PartitionAnswer | None
    error: int
    accepted: bool | None


@dataclass(slots=True)
class _Topic:
    """A topic in the cache: what was told of it last, None when it is gone; ``topic_id`` stays.

    ``as_told``: the cache has what the answer says, and nothing else. A thousand clients are told of ten
    thousand partitions, so ``seen`` (lastSeenLeaderEpochs) and ``had`` (the partitions that it ever had) are
    the answer's own while they are None.

    ``since``: how often the cache had been lost when this was so. ``in_doubt``: it is so if the client had
    the last answer, which ``shown_by`` shows.
    """

    topic_id: str | None
    answer: TopicAnswer | None
    as_told: bool = True
    seen: dict[int, int] | None = None
    had: set[int] | None = None
    since: int = 0
    in_doubt: bool = False
    shown_by: str | None = NO_USE

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
    """Metadata of one instance.

    Where an answer that it had may be missing, the cache is lost: of a topic it is known again when an answer
    told what nothing was newer than.
    """

    def __init__(self) -> None:
        self.max_partition_epoch: int | None = -1
        self._losses = 0
        self._topics: dict[str, _Topic] = {}

    def lose(self) -> None:
        """From here on nothing is known that was told before."""
        self._losses += 1
        self.max_partition_epoch = None

    def unknown(self, answer: ListAnswer, *, is_full: bool) -> list[TopicAnswer]:
        """The topics of an answer of which it is not known what the cache had; with ``is_full`` also those
        that it does not tell, as answers that have nothing of them.
        """
        if not self._losses and not any(of.in_doubt for of in self._topics.values()):
            return []
        found = [told for told in answer.topics.values() if not self._is_known(self._topics.get(told.topic))]
        for topic, of in self._topics.items() if is_full else ():
            if topic not in answer.topics and not self._is_known(of):
                found.append(TopicAnswer(topic, None, 0, (), answer.since, answer.until))
        return found

    def update(
        self,
        answer: ListAnswer,
        version: int,
        is_newest: Callable[[TopicAnswer], bool],
        *,
        is_full: bool,
        is_received: bool,
    ) -> Iterator[Change]:
        """Take an answer (Metadata.update); ``is_full``: what is not in it is gone.

        Nothing is said of topics that are ``unknown``. ``is_newest``: the cluster had nothing newer than what
        is told of a topic. ``is_received``: the client certainly had the answer.
        """
        for topic, told in answer.topics.items():
            of = self._topics.get(topic)
            if not self._is_known(of):
                if is_received and told.partitions and not told.error and is_newest(told):
                    had = set(of.partitions()) if of is not None else set()
                    had.update(each.partition for each in told.partitions)
                    told_id = told.topic_id if version >= HAS_TOPIC_IDS else None
                    self._topics[topic] = _Topic(told_id, told, had=had, since=self._losses)
            elif of is None or of.answer is not told or not of.as_told:
                had_id, was_there = (None, False) if of is None else (of.topic_id, not of.gone)
                yield from self._told(self._take(told, of, version), is_received=is_received)
                if not is_received and (now := self._topics.get(topic)) is not None:
                    changed = was_there and now.topic_id is not None and now.topic_id != had_id
                    now.in_doubt = True
                    now.shown_by = ANY_USE if not was_there else now.topic_id if changed else NO_USE
        for topic, of in self._topics.items() if is_full else ():
            if topic not in answer.topics and self._is_known(of) and not of.gone:
                yield from self._told(self._lose(topic, of, None, 0), is_received=is_received)
                of.in_doubt = not is_received

    def count(
        self, lowest: int | None, highest: int | None, newest: int | None, *, is_received: bool
    ) -> None:
        """The broker's image had the counter of partition epochs between two numbers; ``newest`` is that of
        the cluster.
        """
        mine = self.max_partition_epoch
        if lowest is None or highest is None:
            self.max_partition_epoch = None
        elif is_received and lowest == newest:
            self.max_partition_epoch = newest
        elif mine is not None and highest > mine:
            self.max_partition_epoch = highest if is_received and lowest == highest else None

    def use(self, topic: str, topic_id: str | None) -> None:
        """A request that only who knows the topic, or that id, can send."""
        of = self._topics.get(topic)
        if of is not None and of.in_doubt and not of.gone and of.shown_by in (ANY_USE, topic_id or NO_USE):
            of.in_doubt = of.shown_by is NO_USE

    def see(self, topic: str, partition: int, leader_epoch: int) -> None:
        """An epoch from elsewhere than metadata (updateLastSeenEpochIfNewer, updatePartitionLeadership)."""
        of = self._topics.get(topic)
        if of is not None and of.epochs().get(partition, leader_epoch) < leader_epoch:
            of.epochs()[partition] = leader_epoch
            of.as_told = False

    def _is_known(self, of: _Topic | None) -> bool:
        if of is None:
            return not self._losses
        return of.since == self._losses and not of.in_doubt

    @staticmethod
    def _told(changes: Iterator[Change], *, is_received: bool) -> Iterator[Change]:
        for change in changes:
            yield change if is_received or not change.accepted else replace(change, accepted=None)

    def _take(self, told: TopicAnswer, of: _Topic | None, version: int) -> Iterator[Change]:
        if told.error or not told.partitions:
            if of is not None and not of.gone:
                yield from self._lose(told.topic, of, told.topic_id, told.error)
            return
        told_id = told.topic_id if version >= HAS_TOPIC_IDS else None
        if of is None:
            seen = None if version >= HAS_RELIABLE_LEADER_EPOCHS else dict[int, int]()
            self._topics[told.topic] = _Topic(told_id, told, seen=seen, since=self._losses)
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
        self._topics[told.topic] = _Topic(told_id, told, as_told, seen, had, self._losses)

    def _lose(self, topic: str, of: _Topic, told_id: str | None, error: int) -> Iterator[Change]:
        seen = of.epochs()
        for partition in sorted(of.partitions()):
            epoch = seen.get(partition, -1)
            yield Change(topic, partition, of.topic_id, epoch, False, told_id, None, error, True)
        of.answer = None
