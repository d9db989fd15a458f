"""A client's cache of metadata, followed through its answers (org.apache.kafka.clients.Metadata)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from fencepost.protocols.leader_epoch.answers import ListAnswer, TopicAnswer
from fencepost.protocols.leader_epoch.cached_topics import ANY_USE, NO_USE, CachedTopic, Change

HAS_RELIABLE_LEADER_EPOCHS = 9
HAS_TOPIC_IDS = 10


class ClientCache:
    """Metadata of one instance.

    Where an answer that it had may be missing, the cache is lost: of a topic it is known again when an answer
    told what nothing was newer than.

    Not all that a client is told goes into its cache. A producer asks for nothing else (ProducerMetadata). A
    consumer asks for it by name of what it keeps, but partitionsFor() and listTopics() ask too, and an admin
    client keeps nothing. So of who is not ``a_producer`` a topic is kept from a Fetch on that names it by the
    id in the cache, for as long as answers to requests for named topics go on to tell it: of what it has,
    partitionsFor() does not ask.
    """

    def __init__(self, *, a_producer: bool = False) -> None:
        self.max_partition_epoch: int | None = -1
        self._a_producer = a_producer
        self._answers = 0
        self._losses = 0
        self._topics: dict[str, CachedTopic] = {}

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
        self._answers += 1
        for topic, told in answer.topics.items():
            of = self._topics.get(topic)
            is_kept = of is not None and of.kept_in == self._answers - 1
            if not self._is_known(of):
                is_known = is_received and told.partitions and not told.error and is_newest(told)
                self._learn(told, of, version, is_known=bool(is_known))
                is_kept = False
            elif of is None or of.answer is not told or not of.as_told:
                had_id, was_there = (None, False) if of is None else (of.topic_id, not of.gone)
                changes = list(self._take(told, of, version, is_newest))
                is_taken = is_received and is_kept and (self._a_producer or not is_full)
                is_open = not is_taken and any(change.of_another for change in changes)
                yield from self._told(changes, is_taken=is_taken)
                if is_open or not is_received:
                    self._doubt(topic, had_id, was_there=was_there)
                is_kept = is_kept and not is_open
            self._keep(topic, is_kept=is_kept)
        for topic, of in self._topics.items() if is_full else ():
            if topic in answer.topics:
                continue
            if not self._is_known(of):
                of.shown_by = NO_USE
            elif not of.gone:
                # who does not produce may only have looked (listTopics())
                is_taken = is_received and self._a_producer
                yield from self._told(self._lose(topic, of, None, 0), is_taken=is_taken)
                of.in_doubt = not is_taken

    def _learn(self, told: TopicAnswer, of: CachedTopic | None, version: int, *, is_known: bool) -> None:
        """A topic is told of which it was not known what the cache had, and now ``is_known``, or not."""
        if is_known:
            had = {each.partition for each in told.partitions}
            # what it last saw of other partitions stays, and is not known any more
            unsure = frozenset(of.partitions() - had if of is not None else ())
            told_id = told.topic_id if version >= HAS_TOPIC_IDS else None
            self._topics[told.topic] = CachedTopic(
                told_id, told, had=had | unsure, since=self._losses, unsure=unsure
            )
        elif of is not None:
            # what shows one answer does not tell whether this one came after it
            of.shown_by = NO_USE

    def _doubt(self, topic: str, had_id: str | None, *, was_there: bool) -> None:
        """The answer that was just taken may not have come, or not for the cache."""
        of = self._topics.get(topic)
        if of is not None:
            changed = was_there and of.topic_id is not None and of.topic_id != had_id
            of.in_doubt, of.shown_by = True, of.topic_id if changed else NO_USE if was_there else ANY_USE

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

    def keep(self, topic: str, topic_id: str | None) -> None:
        """A Fetch by an id: only who keeps the topic has it."""
        of = self._topics.get(topic)
        if of is not None and topic_id is not None and of.topic_id == topic_id and not of.gone:
            of.kept_in = self._answers

    def see(self, topic: str, partition: int, leader_epoch: int) -> None:
        """An epoch from elsewhere than metadata (updateLastSeenEpochIfNewer, updatePartitionLeadership)."""
        of = self._topics.get(topic)
        if of is None or partition in of.unsure:
            return
        if of.epochs().get(partition, leader_epoch) < leader_epoch:
            of.epochs()[partition] = leader_epoch
            of.as_told = False

    def _is_known(self, of: CachedTopic | None) -> bool:
        if of is None:
            return not self._losses
        return of.since == self._losses and not of.in_doubt

    def _keep(self, topic: str, *, is_kept: bool) -> None:
        """The answer at hand told the topic; ``is_kept``: who had it keeps it."""
        of = self._topics.get(topic)
        if of is not None and (self._a_producer or (is_kept and not of.gone)):
            of.kept_in = self._answers

    @staticmethod
    def _told(changes: Iterable[Change], *, is_taken: bool) -> Iterator[Change]:
        for change in changes:
            yield change if is_taken or not change.accepted else replace(change, accepted=None)

    def _take(
        self,
        told: TopicAnswer,
        of: CachedTopic | None,
        version: int,
        is_newest: Callable[[TopicAnswer], bool],
    ) -> Iterator[Change]:
        if told.error or not told.partitions:
            if of is not None and not of.gone:
                yield from self._lose(told.topic, of, told.topic_id, told.error)
            return
        told_id = told.topic_id if version >= HAS_TOPIC_IDS else None
        if of is None:
            seen = None if version >= HAS_RELIABLE_LEADER_EPOCHS else dict[int, int]()
            self._topics[told.topic] = CachedTopic(told_id, told, seen=seen, since=self._losses)
            return
        # only between two ids of the cache and the answer a change of incarnation is seen
        cached_id = None if of.gone else of.topic_id
        changed_id = cached_id is not None and told_id is not None and cached_id != told_id
        seen, had, as_told, unsure = of.epochs(), of.partitions(), True, of.unsure
        for each in told.partitions:
            if each.partition in unsure:
                if changed_id or is_newest(told):
                    unsure -= {each.partition}
                    seen[each.partition] = each.leader_epoch
                continue
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
        self._topics[told.topic] = CachedTopic(
            told_id, told, as_told and not unsure, seen, had, self._losses, unsure=unsure
        )

    def _lose(self, topic: str, of: CachedTopic, told_id: str | None, error: int) -> Iterator[Change]:
        seen = of.epochs()
        for partition in sorted(of.partitions() - of.unsure):
            epoch = seen.get(partition, -1)
            yield Change(topic, partition, of.topic_id, epoch, False, told_id, None, error, True)
        of.answer = None
