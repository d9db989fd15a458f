"""A client's cache of metadata, followed through its answers (org.apache.kafka.clients.Metadata)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from fencepost.protocols.leader_epoch.answers import ListAnswer, TopicAnswer
from fencepost.protocols.leader_epoch.cached_topics import ANY_USE, NO_USE, CachedTopic, Change

HAS_RELIABLE_LEADER_EPOCHS = 9
HAS_TOPIC_IDS = 10


class ClientCache:
    """The metadata that one instance of a client has cached.

    The cache is lost where a line is missing whose answer the client may have got. What it has of a topic is
    known again after an answer that was the newest the cluster had.

    Not every answer goes into a client's cache. A producer requests metadata for its cache only
    (ProducerMetadata). A consumer requests the topics that it keeps by name, but partitionsFor() and
    listTopics() send requests too, and an admin client keeps nothing. So unless the client is ``a_producer``,
    it is taken to keep a topic from a Fetch on that names the topic by the cached id, as long as every answer
    to a request for named topics has the topic: partitionsFor() sends no request for a cached topic.
    """

    def __init__(self, *, a_producer: bool = False) -> None:
        self.max_partition_epoch: int | None = -1
        self._a_producer = a_producer
        self._answers = 0
        self._losses = 0
        self._topics: dict[str, CachedTopic] = {}

    def lose(self) -> None:
        """Forget what the cache has: an answer may be missing."""
        self._losses += 1
        self.max_partition_epoch = None

    def unknown(self, answer: ListAnswer, *, is_full: bool) -> list[TopicAnswer]:
        """The topics of an answer for which it is not known what the cache had. With ``is_full`` also the
        cached topics that the answer lacks, each as a topic without partitions.
        """
        if not self._losses and not any(of.in_doubt for of in self._topics.values()):
            return []
        topics = [
            topic_answer
            for topic_answer in answer.topics.values()
            if not self._is_known(self._topics.get(topic_answer.topic))
        ]
        for topic, of in self._topics.items() if is_full else ():
            if topic not in answer.topics and not self._is_known(of):
                topics.append(TopicAnswer(topic, None, 0, (), answer.since, answer.until))
        return topics

    def update(
        self,
        answer: ListAnswer,
        version: int,
        is_newest: Callable[[TopicAnswer], bool],
        *,
        is_full: bool,
        is_received: bool,
    ) -> Iterator[Change]:
        """Take an answer (Metadata.update), and yield where it differs from the cache.

        ``is_full``: the answer lists every topic, so a topic that it lacks is gone. ``is_newest``: whether
        the cluster had nothing newer about a topic than the answer. ``is_received``: the client certainly got
        the answer. There are no changes of topics that are ``unknown``.
        """
        self._answers += 1
        for topic, topic_answer in answer.topics.items():
            of = self._topics.get(topic)
            is_kept = of is not None and of.kept_in == self._answers - 1
            if not self._is_known(of):
                is_known = (
                    is_received
                    and topic_answer.partitions
                    and not topic_answer.error
                    and is_newest(topic_answer)
                )
                self._learn(topic_answer, of, version, is_known=bool(is_known))
                is_kept = False
            elif of is None or of.answer is not topic_answer or not of.as_answered:
                had_id, was_known = (None, False) if of is None else (of.topic_id, not of.gone)
                changes = list(self._take(topic_answer, of, version, is_newest))
                is_taken = is_received and is_kept and (self._a_producer or not is_full)
                is_open = not is_taken and any(change.of_another for change in changes)
                yield from self._changes(changes, is_taken=is_taken)
                if is_open or not is_received:
                    self._doubt(topic, had_id, was_known=was_known)
                is_kept = is_kept and not is_open
            self._keep(topic, is_kept=is_kept)
        for topic, of in self._topics.items() if is_full else ():
            if topic in answer.topics:
                continue
            if not self._is_known(of):
                of.shown_by = NO_USE
            elif not of.gone:
                # a client that does not produce may only have called listTopics()
                is_taken = is_received and self._a_producer
                yield from self._changes(self._lose(topic, of, None, 0), is_taken=is_taken)
                of.in_doubt = not is_taken

    def _learn(
        self, topic_answer: TopicAnswer, of: CachedTopic | None, version: int, *, is_known: bool
    ) -> None:
        """Take the answer about a topic whose cached state was not known; ``is_known``: it is from now on."""
        if is_known:
            partitions = {each.partition for each in topic_answer.partitions}
            # the client keeps the epochs that it last saw of other partitions; which they are is not known
            unsure = frozenset(of.partitions() - partitions if of is not None else ())
            told_id = topic_answer.topic_id if version >= HAS_TOPIC_IDS else None
            self._topics[topic_answer.topic] = CachedTopic(
                told_id, topic_answer, ever_had=partitions | unsure, losses=self._losses, unsure=unsure
            )
        elif of is not None:
            # a use that shows the answer before does not tell whether the client got this one
            of.shown_by = NO_USE

    def _doubt(self, topic: str, had_id: str | None, *, was_known: bool) -> None:
        """Note that the client may not have got the newest answer, or not have put it into its cache."""
        of = self._topics.get(topic)
        if of is not None:
            changed = was_known and of.topic_id is not None and of.topic_id != had_id
            of.in_doubt, of.shown_by = True, of.topic_id if changed else NO_USE if was_known else ANY_USE

    def count(
        self, lowest: int | None, highest: int | None, newest: int | None, *, is_received: bool
    ) -> None:
        """Take the counter of partition epochs of an answer (KIP-232's max partition epoch): the broker's
        image had it between ``lowest`` and ``highest``, and the cluster at ``newest``; None where not known.
        """
        own = self.max_partition_epoch
        if lowest is None or highest is None:
            self.max_partition_epoch = None
        elif is_received and lowest == newest:
            self.max_partition_epoch = newest
        elif own is not None and highest > own:
            self.max_partition_epoch = highest if is_received and lowest == highest else None

    def use(self, topic: str, topic_id: str | None) -> None:
        """Take a request that a client sends only if it knows the topic, or this id of the topic."""
        of = self._topics.get(topic)
        if of is not None and of.in_doubt and not of.gone and of.shown_by in (ANY_USE, topic_id or NO_USE):
            of.in_doubt = of.shown_by is NO_USE

    def keep(self, topic: str, topic_id: str | None) -> None:
        """Take a Fetch by topic id. A client has the id of a topic only if its cache keeps the topic."""
        of = self._topics.get(topic)
        if of is not None and topic_id is not None and of.topic_id == topic_id and not of.gone:
            of.kept_in = self._answers

    def see(self, topic: str, partition: int, leader_epoch: int) -> None:
        """Take a leader epoch from another answer than Metadata (updateLastSeenEpochIfNewer,
        updatePartitionLeadership).
        """
        of = self._topics.get(topic)
        if of is None or partition in of.unsure:
            return
        if of.epochs().get(partition, leader_epoch) < leader_epoch:
            of.epochs()[partition] = leader_epoch
            of.as_answered = False

    def _is_known(self, of: CachedTopic | None) -> bool:
        if of is None:
            return not self._losses
        return of.losses == self._losses and not of.in_doubt

    def _keep(self, topic: str, *, is_kept: bool) -> None:
        """Note that the newest answer has the topic; ``is_kept``: a client that had it keeps it."""
        of = self._topics.get(topic)
        if of is not None and (self._a_producer or (is_kept and not of.gone)):
            of.kept_in = self._answers

    @staticmethod
    def _changes(changes: Iterable[Change], *, is_taken: bool) -> Iterator[Change]:
        for change in changes:
            yield change if is_taken or not change.accepted else replace(change, accepted=None)

    def _take(
        self,
        topic_answer: TopicAnswer,
        of: CachedTopic | None,
        version: int,
        is_newest: Callable[[TopicAnswer], bool],
    ) -> Iterator[Change]:
        if topic_answer.error or not topic_answer.partitions:
            if of is not None and not of.gone:
                yield from self._lose(topic_answer.topic, of, topic_answer.topic_id, topic_answer.error)
            return
        told_id = topic_answer.topic_id if version >= HAS_TOPIC_IDS else None
        if of is None:
            seen = None if version >= HAS_RELIABLE_LEADER_EPOCHS else dict[int, int]()
            self._topics[topic_answer.topic] = CachedTopic(
                told_id, topic_answer, seen=seen, losses=self._losses
            )
            return
        # any id is another one than none: so it is once the topic was gone (KAFKA-13488)
        cached_id = None if of.gone else of.topic_id
        changed_id = told_id is not None and cached_id != told_id
        seen, ever_had, as_answered, unsure = of.epochs(), of.partitions(), True, of.unsure
        for each in topic_answer.partitions:
            if each.partition in unsure:
                if changed_id or is_newest(topic_answer):
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
                # when the same answer comes again, it again differs from the cache
                accepted = as_answered = False
            differs = of.gone or of.topic_id != told_id or last != each.leader_epoch
            if each.partition in ever_had and differs:
                cached_epoch = -1 if last is None else last
                yield Change(
                    topic_answer.topic, each.partition, of.topic_id, cached_epoch, of.gone, told_id, each,
                    each.error, accepted,
                )  # fmt: skip
        ever_had.update(each.partition for each in topic_answer.partitions)
        self._topics[topic_answer.topic] = CachedTopic(
            told_id, topic_answer, as_answered and not unsure, seen, ever_had, self._losses, unsure=unsure
        )

    def _lose(self, topic: str, of: CachedTopic, told_id: str | None, error: int) -> Iterator[Change]:
        seen = of.epochs()
        for partition in sorted(of.partitions() - of.unsure):
            epoch = seen.get(partition, -1)
            yield Change(topic, partition, of.topic_id, epoch, False, told_id, None, error, True)
        of.answer = None
