"""What brokers told clients of topics, and what it changed in their caches."""

from __future__ import annotations

import pyarrow as pa

from fencepost.protocols.leader_epoch.answers import ListAnswer, name_of
from fencepost.protocols.leader_epoch.client import Client
from fencepost.protocols.leader_epoch.client_cache import HAS_RELIABLE_LEADER_EPOCHS, HAS_TOPIC_IDS, Change
from fencepost.protocols.leader_epoch.client_lines import ClientLines, line_columns, span_columns
from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.lines import DESCRIBE_TOPIC_PARTITIONS, METADATA
from fencepost.protocols.leader_epoch.tables import (
    METADATA_ANSWER_PARTITIONS,
    METADATA_ANSWERS,
    METADATA_LOG,
)
from fencepost.replay.columns import Columns
from fencepost.replay.keys import digest_of
from fencepost.replay.requests import NONE, RequestLine

_TELLS_AS = {DESCRIBE_TOPIC_PARTITIONS: 12}
"""DescribeTopicPartitions tells what Metadata v12 does."""


class MetadataAnswers:
    """The rows of silver.metadata_answers and silver.metadata_answer_partitions while they are made."""

    def __init__(self) -> None:
        self._answers, self._partitions = Columns(METADATA_ANSWERS), Columns(METADATA_ANSWER_PARTITIONS)

    def add(self, lines: ClientLines, line: RequestLine, client: Client | None) -> None:
        """An answer to Metadata or DescribeTopicPartitions."""
        answer = lines.known.answers.of((line.answer or {}).get("topics"))
        if answer is None:
            return
        lines.hear(line, answer.since)
        window = _narrow(lines.window(line), answer)
        told_max = _told_max(lines, window)
        about = (*lines.client_columns(line, client), *line_columns(line))
        span = span_columns(window, line)
        cached_max, changed = None, None
        if client is not None:
            version = _TELLS_AS.get(line.api_key, line.api_version)
            cached_max = client.cache.max_partition_epoch
            is_full = line.api_key == METADATA and line.sent.get("topics") is None
            changed = 0
            for change in client.cache.update(answer, version, is_full=is_full):
                changed += 1
                identity = digest_of(line.request_id, change.topic, change.partition)
                told = _changed(lines, change, version, cached_max, told_max)
                self._partitions.add(
                    lines.cluster, METADATA_LOG, change.topic, change.partition, identity, *about, *told,
                    *span,
                )  # fmt: skip
            if told_max is not None:
                client.cache.max_partition_epoch = max(cached_max, told_max)
        # how long what the answer lacks had been there at least
        behind_ms = lines.known.moments.since(line.broker_id, answer.until, line.requested_ms)
        self._answers.add(
            lines.cluster, METADATA_LOG, *about, len(answer.topics), answer.partitions, changed, told_max,
            cached_max, behind_ms, *span,
        )  # fmt: skip

    def to_arrow(self) -> dict[str, pa.Table]:
        """Every row, by the table's name."""
        return {each.table.name: each.to_arrow() for each in (self._answers, self._partitions)}


def _narrow(window: Window, answer: ListAnswer) -> Window:
    """Where the broker's image was: not before what it tells, and before what it does not tell yet."""
    highest = max(min(window.highest, answer.until - 1), answer.since)
    # an image may be as old as a broker is behind: only what it tells bounds it from below
    return Window(answer.since, highest)


def _told_max(lines: ClientLines, window: Window) -> int | None:
    """The counter of partition epochs in the broker's image; None where the image may have had several."""
    history = lines.known.history
    if not history.is_covered(*window):
        return None
    lowest, highest = (history.max_partition_epoch(each) for each in window)
    return lowest if lowest == highest else None


def _changed(
    lines: ClientLines, change: Change, version: int, cached_max: int, told_max: int | None
) -> tuple[object, ...]:
    """The columns of a change, from has_topic_ids to accepted."""
    told, both = change.told, change.cached_topic_id is not None and change.told_topic_id is not None
    told_id = (change.told_topic_id or "") if told is not None else ""
    has_ids = version >= HAS_TOPIC_IDS
    told_epoch: int | None = -1
    if told is not None:
        told_epoch = lines.partition_epoch(told_id or None, change.partition) if has_ids else None
    return (
        has_ids,
        version >= HAS_RELIABLE_LEADER_EPOCHS,
        True,
        change.cached_gone,
        change.cached_topic_id or "",
        lines.partition_epoch(change.cached_topic_id, change.partition),
        change.cached_leader_epoch,
        cached_max,
        told is not None,
        both and told is not None and change.cached_topic_id == change.told_topic_id,
        told_id,
        told_epoch,
        -1 if told is None else told.leader_epoch,
        told_max,
        None if told is None else told.leader,
        name_of(change.error) if change.error else NONE,
        change.accepted,
    )
