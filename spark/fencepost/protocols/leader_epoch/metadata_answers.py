"""Metadata answers of brokers to clients, and what each changed in the client's cache."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa

from fencepost.protocols.leader_epoch.answers import ListAnswer, TopicAnswer, name_of, true_between
from fencepost.protocols.leader_epoch.cached_topics import Change
from fencepost.protocols.leader_epoch.client import Client
from fencepost.protocols.leader_epoch.client_cache import (
    HAS_RELIABLE_LEADER_EPOCHS,
    HAS_TOPIC_IDS,
    ClientCache,
)
from fencepost.protocols.leader_epoch.client_lines import ClientLines, line_columns, span_columns
from fencepost.protocols.leader_epoch.client_requests import ClientRequest
from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.lines import DESCRIBE_TOPIC_PARTITIONS
from fencepost.protocols.leader_epoch.tables import (
    METADATA_ANSWER_PARTITIONS,
    METADATA_ANSWERS,
    METADATA_LOG,
)
from fencepost.replay.columns import Columns
from fencepost.replay.keys import digest_of
from fencepost.replay.requests import NONE

_TELLS_AS = {DESCRIBE_TOPIC_PARTITIONS: 12}
"""The version of Metadata that an answer to another API is like: DescribeTopicPartitions tells what v12
does.
"""


_UNKNOWN_TOPIC = 3
"""UNKNOWN_TOPIC_OR_PARTITION."""


class MetadataAnswers:
    """Collects the rows of silver.metadata_answers and silver.metadata_answer_partitions."""

    def __init__(self) -> None:
        self._answers, self._partitions = Columns(METADATA_ANSWERS), Columns(METADATA_ANSWER_PARTITIONS)

    def add(self, lines: ClientLines, line: ClientRequest, client: Client | None) -> None:
        """Add an answer to Metadata or DescribeTopicPartitions."""
        answer = lines.known.answers.of(line.topics_digest)
        if answer is None:
            return
        image, window_of_log = lines.image(line), lines.window(line)
        lines.note_answer(line, answer.since)
        window = _image_window(window_of_log, image, answer)
        counters = _counters(lines.known.history, window)
        told_max = counters[0] if counters[0] == counters[1] else None
        # only an admin client sends DescribeTopicPartitions, and it caches nothing
        describes = line.api_key == DESCRIBE_TOPIC_PARTITIONS
        cache = _lost() if client is None or describes else client.cache
        cached_max, changed = cache.max_partition_epoch, 0
        version = _TELLS_AS.get(line.api_key, line.api_version)
        is_full = line.asks_all
        is_received = client is not None and client.has_answer(line)
        was_newest = partial(is_newest, lines.known.history, window_of_log.highest, image, version)
        unknown = cache.unknown(answer, is_full=is_full)
        only_ids: dict[str, str] = {}  # by topics of which the answer has no id
        about, span = (*lines.client_columns(line, client), *line_columns(line)), span_columns(window, line)
        for change in cache.update(answer, version, was_newest, is_full=is_full, is_received=is_received):
            changed += 1
            only = lines.known.history.only_incarnation(change.topic, window_of_log.highest)
            if only is not None and change.answer is not None and change.told_topic_id is None:
                only_ids[change.topic] = only
            epochs = [
                lines.partition_epoch(topic_id or only, change.partition)
                for topic_id in (change.cached_topic_id, change.told_topic_id)
            ]
            change_columns = _changed(change, version, epochs, (cached_max, told_max))
            self._add(lines, line, (change.topic, change.partition), (*about, *change_columns, *span))
        maybe_outdated = [topic_answer for topic_answer in unknown if not was_newest(topic_answer)]
        if maybe_outdated:
            topic = maybe_outdated[0].topic if len(maybe_outdated) == 1 else None
            self._add(lines, line, (topic, None), (*about, *_not_known(version, told_max), *span))
        newest = _counters(lines.known.history, Window(window_of_log.highest, window_of_log.highest))[0]
        cache.count(*counters, newest, is_received=is_received)
        ends = (
            true_between(topic_id, answer.topics[topic].partitions, lines.known.history)[1]
            for topic, topic_id in only_ids.items()
        )
        # for how long, at least, the change that the answer lacks had been written
        until = min((answer.until, *ends))
        behind_ms = lines.known.moments.since(line.broker_id, until, line.requested_ms)
        self._answers.add(
            lines.cluster, METADATA_LOG, *about, len(answer.topics), answer.partitions,
            None if unknown else changed, told_max, cached_max, behind_ms, *span,
        )  # fmt: skip

    def _add(
        self,
        lines: ClientLines,
        line: ClientRequest,
        place: tuple[str | None, int | None],
        row: Sequence[object],
    ) -> None:
        identity = digest_of(line.request_id, *place)
        self._partitions.add(lines.cluster, METADATA_LOG, *place, identity, *row)

    def to_arrow(self) -> dict[str, pa.Table]:
        """Every row, by the table's name."""
        return {each.table.name: each.to_arrow() for each in (self._answers, self._partitions)}


def _lost() -> ClientCache:
    """The cache of a client that cannot be told apart from others."""
    cache = ClientCache()
    cache.lose()
    return cache


def _image_window(window_of_log: Window, image: Window, answer: ListAnswer) -> Window:
    """The offsets up to which the broker may have applied the metadata log when it answered: at least up to
    what the answer has or an earlier one had, and not up to what the answer lacks.
    """
    highest = max(min(window_of_log.highest, answer.until - 1), answer.since)
    return Window(max(answer.since, min(image.lowest, highest)), highest)


def _counters(history: ClusterHistory, window: Window) -> tuple[int | None, int | None]:
    """The counter of partition epochs at the ends of a window; None where the log is not known so far."""
    if not history.is_covered(*window):
        return None, None
    return history.max_partition_epoch(window.lowest), history.max_partition_epoch(window.highest)


def is_newest(
    history: ClusterHistory, highest: int, image: Window, version: int, answer: TopicAnswer
) -> bool:
    """Whether the cluster had nothing newer about a topic than this answer of a broker with such an
    ``image``, as long as the metadata log ended at ``highest`` or before.
    """
    if answer.error or not answer.partitions:
        # a broker that does not know the topic has applied its deletion, if it had applied its creation
        deleted_to = highest if answer.error == _UNKNOWN_TOPIC else image.lowest
        is_gone = all(
            life.begins.position <= image.lowest
            and life.gone is not None
            and life.gone.position <= deleted_to
            for life in history.named(answer.topic, image.lowest, highest)
        )
        return is_gone and history.is_covered(image.lowest, highest)
    life = history.topics.get(_told_id(history, highest, image, answer) or "")
    if version < HAS_RELIABLE_LEADER_EPOCHS:
        # clients keep no epochs of such versions: only another incarnation could be newer
        return life is not None
    since, until, is_exact = answer.since, answer.until, answer.is_exact
    if life is not None and answer.topic_id is None:
        since, until, is_exact = true_between(life.topic_id, answer.partitions, history)
    if life is None or not is_exact or until <= highest:
        return False
    known_partitions = sum(of.states.begins[0].position <= highest for of in life.partitions.values())
    is_covered = history.is_covered(max(since, life.begins.position), highest)
    return is_covered and known_partitions == len(answer.partitions)


def _told_id(history: ClusterHistory, highest: int, image: Window, answer: TopicAnswer) -> str | None:
    """The topic id of the incarnation that an answer has; None where it is not known.

    Without an id (before version 10) it is the one that lived at ``highest``, if the image had no other.
    """
    if answer.topic_id is not None:
        return answer.topic_id
    newest = [each for each in history.by_name.get(answer.topic, ()) if each.begins.position <= highest][-1:]
    for each in newest:
        is_only = each.number == 1 or each.begins.position <= image.lowest
        is_covered = history.is_covered(max(each.begins.position, image.lowest), highest)
        if is_only and is_covered and (each.gone is None or each.gone.position > highest):
            return each.topic_id
    return None


def _not_known(version: int, told_max: int | None) -> tuple[object, ...]:
    """The columns from has_topic_ids to accepted, of topics of which it is not known what the client had."""
    has = (version >= HAS_TOPIC_IDS, version >= HAS_RELIABLE_LEADER_EPOCHS)
    return (*has, *(None,) * 11, told_max, None, None, None)


def _changed(
    change: Change, version: int, epochs: Sequence[int | None], max_epochs: tuple[int | None, int | None]
) -> tuple[object, ...]:
    """The columns of a change, from has_topic_ids to accepted; ``epochs``: the partition epochs in the cache
    and in the answer, ``max_epochs``: the highest ones there.
    """
    answer, told_id = change.answer, change.told_topic_id
    # an answer without an id is not of another topic than the cache has
    has_cached_id = told_id is None or (told_id == change.cached_topic_id and not change.cached_gone)
    return (
        version >= HAS_TOPIC_IDS,
        version >= HAS_RELIABLE_LEADER_EPOCHS,
        True,
        change.cached_gone,
        change.cached_topic_id or "",
        epochs[0],
        change.cached_leader_epoch,
        max_epochs[0],
        answer is not None,
        answer is not None and has_cached_id,
        (told_id or "") if answer is not None else "",
        -1 if answer is None else epochs[1],
        -1 if answer is None else answer.leader_epoch,
        max_epochs[1],
        None if answer is None else answer.leader,
        name_of(change.error) if change.error else NONE,
        change.accepted,
    )
