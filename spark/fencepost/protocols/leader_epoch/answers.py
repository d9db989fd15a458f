"""Brokers' answers about topics, each distinct text parsed once, and where in the metadata log each was
true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from fencepost.formats.errors import error_names
from fencepost.protocols.leader_epoch.cluster import ClusterHistory, PartitionLife
from fencepost.replay.keys import ZERO_ID
from fencepost.replay.requests import integer, parse_object, text

END = 2**62
"""Behind every offset."""


class PartitionAnswer(NamedTuple):
    """A partition in an answer; ``leader_epoch`` -1 for none."""

    partition: int
    leader_epoch: int
    leader: int
    error: int


@dataclass(frozen=True, slots=True)
class TopicAnswer:
    """A topic in an answer; ``topic_id`` is None where the answer has none.

    The answer was true at offsets ``[since, until)`` of the metadata log. ``is_exact``: the log has the topic
    and each of its leader epochs, so the answer was true nowhere else.
    """

    topic: str
    topic_id: str | None
    error: int
    partitions: tuple[PartitionAnswer, ...]
    since: int
    until: int
    is_exact: bool = False


@dataclass(frozen=True, slots=True)
class ListAnswer:
    """The topics of an answer by name; all of them were true at offsets ``[since, until)`` of the metadata
    log.

    ``partitions``: how many partitions the answer has.
    """

    topics: Mapping[str, TopicAnswer]
    partitions: int
    since: int
    until: int


class Answers:
    """All answers of one cluster, by the digest of their list of topics."""

    def __init__(self, lists: pa.Table, answers: pa.Table, history: ClusterHistory | None) -> None:
        """From rows of ``bronze.topic_lists`` and ``bronze.topic_answers`` of the cluster."""
        texts = zip(answers["topic_digest"].to_pylist(), answers["topic"].to_pylist(), strict=True)
        topics = {digest: _topic_answer(text_of_topic, history) for digest, text_of_topic in texts}
        self._lists: dict[str, ListAnswer | None] = {}
        digests = zip(lists["topics_digest"].to_pylist(), lists["topic_digests"].to_pylist(), strict=True)
        for digest, of in digests:
            self._lists[digest] = _list_answer([topics.get(each) for each in of or ()])

    def of(self, digest: Any) -> ListAnswer | None:
        """The answer whose list of topics has this digest; None where a part of it is missing."""
        return self._lists.get(digest) if isinstance(digest, str) else None


def _topic_answer(text_of_topic: str, history: ClusterHistory | None) -> TopicAnswer | None:
    answer = parse_object(text_of_topic)
    if answer is None:
        return None
    try:
        topic, topic_id = text(answer.get("name")), text(answer.get("topicId"))
        error = integer(answer.get("errorCode")) or 0
        partitions = tuple(_partition_answer(each) for each in answer.get("partitions") or ())
    except (AttributeError, TypeError):
        return None
    if topic is None:
        return None
    topic_id = None if topic_id == ZERO_ID else topic_id
    return TopicAnswer(topic, topic_id, error, partitions, *true_between(topic_id, partitions, history))


def _partition_answer(answer: Mapping[str, Any]) -> PartitionAnswer:
    numbers = ("partitionIndex", "leaderEpoch", "leaderId", "errorCode")
    values = [integer(answer.get(name)) for name in numbers]
    with_defaults = zip(values, (0, -1, -1, 0), strict=True)
    return PartitionAnswer(*(default if value is None else value for value, default in with_defaults))


def true_between(
    topic_id: str | None, partitions: Sequence[PartitionAnswer], history: ClusterHistory | None
) -> tuple[int, int, bool]:
    """The offsets ``[since, until)`` of the metadata log at which a topic had this id and these leader
    epochs; and whether the log has all of these epochs.
    """
    life = None if topic_id is None or history is None else history.topics.get(topic_id)
    if life is None:
        return 0, END, False
    is_exact = True
    since = life.begins.position if life.created is not None else 0
    until = END if life.gone is None else life.gone.position
    for each in partitions:
        partition = life.partitions.get(each.partition)
        if partition is None or each.leader_epoch < 0:
            is_exact = False
            continue
        states = partition.states
        has_epoch = [s is not None and s.leader_epoch == each.leader_epoch for s in states.states]
        if not any(has_epoch) or any(s is not None and s.leader_epoch is None for s in states.states):
            is_exact = False
            continue
        first, last = has_epoch.index(True), len(has_epoch) - 1 - has_epoch[::-1].index(True)
        if _began(partition, first):
            since = max(since, states.begins[first].position)
        if last + 1 < len(has_epoch):
            until = min(until, states.begins[last + 1].position)
    return since, until, is_exact


def _began(partition: PartitionLife, number: int) -> bool:
    """Whether a state began where it is first known, rather than before, in a hole."""
    if number == 0:
        return bool(partition.elections) and partition.elections[0].how == "created"
    before = partition.states.states[number - 1]
    return before is not None and before.leader_epoch is not None


def _list_answer(topics: Sequence[TopicAnswer | None]) -> ListAnswer | None:
    known = [each for each in topics if each is not None]
    if len(known) != len(topics):
        return None
    since, until = max((t.since for t in known), default=0), min((t.until for t in known), default=END)
    if since >= until:
        # a broker's cache changes topic by topic: no single image of the metadata has all that it answered
        since, until = 0, END
    count = sum(len(each.partitions) for each in known)
    return ListAnswer({each.topic: each for each in known}, count, since, until)


def name_of(error: int) -> str:
    """Kafka's name of an error code."""
    return error_names().get(error, f"ERROR_{error}")
