"""What clients were told of topics, where they read, and what they committed: one instance after another."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from fencepost.protocols.leader_epoch.answers import Answers, ListAnswer, name_of
from fencepost.protocols.leader_epoch.client_cache import Change, ClientCache
from fencepost.protocols.leader_epoch.clocks import Moments, Window
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.instances import (
    Connection,
    Software,
    host_of,
    instances,
    software_of,
)
from fencepost.protocols.leader_epoch.lines import (
    APIS,
    CLIENT_APIS,
    DESCRIBE_TOPIC_PARTITIONS,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
    TXN_OFFSET_COMMIT,
    PartitionLine,
    partition_lines,
    replica_of,
)
from fencepost.protocols.leader_epoch.live import NOT_KNOWN, Live, agreed, candidates, live
from fencepost.protocols.leader_epoch.states import MET_FETCHES, columns_of
from fencepost.protocols.leader_epoch.tables import (
    METADATA_ANSWER_PARTITIONS,
    METADATA_ANSWERS,
    METADATA_LOG,
)
from fencepost.replay.columns import Columns
from fencepost.replay.keys import digest_of
from fencepost.replay.logs import by_log
from fencepost.replay.requests import NONE, RequestLine, each_line, error_name
from fencepost.tables import Table

COMMIT_LINES = Table(
    "commit_lines",
    "One row per partition of a commit in the request logs, with what its client last fetched there.",
    {
        "cluster": "string", "group_id": "string", "topic": "string", "topic_id": "string",
        "partition": "int", "offset": "bigint", "leader_epoch": "int", "error": "string",
        "fetched_topic_id": "string",
        "client": "string", "client_id": "string", "client_host": "string", "software_name": "string",
        "software_version": "string", "connection": "string",
        "request_id": "string", "broker_id": "int", "api_name": "string", "api_version": "int",
        "correlation_id": "int", "requested_ms": "bigint", "responded_ms": "bigint", "file": "string",
        "position": "bigint",
    },
    ("cluster", "request_id", "topic", "topic_id", "partition"),
)  # fmt: skip

TABLES = (METADATA_ANSWERS, METADATA_ANSWER_PARTITIONS, MET_FETCHES, COMMIT_LINES)
COMMITTED, RESET, READ, ELSEWHERE = "committed", "reset", "read", "elsewhere"
_FIRST_WITH_TOPIC_IDS, _FIRST_WITH_EPOCHS = 10, 9
_DESCRIBES = {DESCRIBE_TOPIC_PARTITIONS: 12}
"""DescribeTopicPartitions tells what Metadata v12 does."""


@dataclass(frozen=True)
class Known:
    """What is known of a cluster without its clients; ``complete``: every broker has a request log."""

    history: ClusterHistory
    moments: Moments
    answers: Answers
    complete: bool = True


@dataclass(slots=True)
class _Offset:
    """An offset that a client was told for a partition."""

    origin: str
    offset: int
    leader_epoch: int
    request_id: str
    group_id: str | None
    topic_id: str | None


@dataclass(slots=True)
class _Position:
    """Where a client reads a partition: since ``began_at``, an offset of the incarnation ``began_of``."""

    topic_id: str | None
    offset: int
    leader_epoch: int
    line: RequestLine
    row: int
    began_at: int
    began_of: str | None

    def incarnation_of(self, offset: int) -> str | None:
        """The topic id that an offset is of: where it began, of what it brought along."""
        return self.began_of if offset == self.began_at else self.topic_id


@dataclass(slots=True)
class _Client:
    """One instance: its cache, the offsets it was told last, and where it reads, by topic and partition."""

    name: str | None
    ids: list[int]
    cache: ClientCache = field(default_factory=ClientCache)
    told: dict[tuple[str, int], _Offset] = field(default_factory=dict)
    reads: dict[tuple[str, int], _Position] = field(default_factory=dict)

    def sent_nothing_else(self, one: RequestLine, other: RequestLine) -> bool:
        """Whether every request between two of its requests is known: no correlation id is missing."""
        first, last = bisect_right(self.ids, one.correlation_id), bisect_left(self.ids, other.correlation_id)
        return last - first == other.correlation_id - one.correlation_id - 1


def replay_clients(requests: pa.Table, ids: pa.Table, known: Mapping[str, Known]) -> dict[str, pa.Table]:
    """The rows of TABLES from rows of ``bronze.requests``, all that there are of each client id.

    ``ids``: broker, connection and correlation id of the lines of all APIs.
    """
    numbers = by_log(ids, "cluster")
    rows = _Rows()
    for (name,), lines in sorted(by_log(requests, "cluster").items(), key=str):
        cluster = str(name)
        if cluster not in known:
            continue
        software = software_of(lines)
        sent = _ids(numbers[name,]) if (name,) in numbers else {}
        of_client: dict[tuple[str, str, str], list[RequestLine]] = {}
        for line in each_line(lines, CLIENT_APIS):
            if line.api_key == FETCH and replica_of(line) >= 0:
                continue
            named = software.get((line.broker_id, line.connection or ""), (None, None))[0]
            key = (line.client_id or "", host_of(line.connection) or "", named or "")
            of_client.setdefault(key, []).append(line)
        for key in sorted(of_client):
            of = instances(cluster, of_client[key], key[2]) if known[cluster].complete else {}
            _Clients(cluster, known[cluster], (software, sent), of, rows).replay(of_client[key])
    return rows.tables()


def _ids(rows: pa.Table) -> dict[Connection, list[int]]:
    """The correlation ids of each connection."""
    found: dict[Connection, list[int]] = {}
    columns = (rows[name].to_pylist() for name in ("broker_id", "connection", "correlation_id"))
    for broker_id, connection, correlation_id in zip(*columns, strict=True):
        found.setdefault((broker_id, connection or ""), []).append(correlation_id)
    return found


class _Rows:
    """Rows of TABLES; those of positions are changed until they are all there."""

    def __init__(self) -> None:
        self.answers, self.partitions = Columns(METADATA_ANSWERS), Columns(METADATA_ANSWER_PARTITIONS)
        self.commits = Columns(COMMIT_LINES)
        self.positions: list[list[object]] = []

    def tables(self) -> dict[str, pa.Table]:
        positions = Columns(MET_FETCHES)
        for each in self.positions:
            positions.add(*each)
        made = (self.answers, self.partitions, positions, self.commits)
        return {each.table.name: each.to_arrow() for each in made}


_NEXT = list(MET_FETCHES.columns).index("next_fetch_position_id")
_ID = list(MET_FETCHES.columns).index("fetch_position_id")


class _Clients:
    """The lines of one client id, host and software."""

    def __init__(
        self,
        cluster: str,
        known: Known,
        connections: tuple[Software, Mapping[Connection, list[int]]],
        of: Mapping[Connection, str | None],
        rows: _Rows,
    ) -> None:
        """``connections``: their software, and the correlation ids of all their lines."""
        self._cluster, self._known, self._of = cluster, known, of
        self._software, sent = connections
        self._rows = rows
        ids: dict[str, list[int]] = {}
        for connection, name in of.items():
            if name is not None:
                ids.setdefault(name, []).extend(sent.get(connection, ()))
        self._told: dict[Connection, int] = {}
        self._clients = {name: _Client(name, sorted(each)) for name, each in ids.items()}

    def replay(self, lines: Iterable[RequestLine]) -> None:
        """Take the lines; those of one instance in the order of its correlation ids."""
        for line in self._received(lines):
            name = self._of.get((line.broker_id, line.connection or ""))
            client = self._clients[name] if name is not None else None
            if line.api_key in (METADATA, DESCRIBE_TOPIC_PARTITIONS):
                self._answer(line, client)
            else:
                for each in partition_lines(line):
                    self._partition(line, each, client)

    def _received(self, lines: Iterable[RequestLine]) -> list[RequestLine]:
        """Lines in the order of their answers: that of the requests, but for what certainly was late."""
        ordered = sorted(lines, key=lambda each: (each.correlation_id, each.requested_ms, each.request_id))
        is_later = self._known.moments.is_later
        for at in reversed(range(len(ordered))):
            line, here = ordered[at], at
            answered = (line.broker_id, line.responded_ms)
            while here + 1 < len(ordered):
                after = ordered[here + 1]
                if not is_later(answered, (after.broker_id, after.responded_ms)):
                    break
                ordered[here], ordered[here + 1] = after, line
                here += 1
        return ordered

    def _partition(self, line: RequestLine, each: PartitionLine, client: _Client | None) -> None:
        topic = each.asked.topic or self._name(each.asked.topic_id)
        if topic is None:
            return
        place = (topic, each.asked.partition)
        if client is not None and each.answered_epoch >= 0 and line.api_key in (OFFSET_FETCH, LIST_OFFSETS):
            client.cache.see(*place, each.answered_epoch)
        if client is not None and each.leader_told is not None:
            client.cache.see(*place, each.leader_told[1])
        if line.api_key == FETCH:
            self._fetch(line, each, topic, client)
        elif line.api_key in (OFFSET_COMMIT, TXN_OFFSET_COMMIT):
            self._commit(line, each, topic, client)
        elif client is not None and each.error == 0 and each.answered >= 0:
            asked_about = client.told.get(place) or client.reads.get(place)
            if (
                line.api_key == OFFSET_FOR_LEADER_EPOCH
                and asked_about
                and each.answered >= asked_about.offset
            ):
                # the log goes on as it was known (SubscriptionState.maybeCompleteValidation): nothing moves
                return
            origin = COMMITTED if line.api_key == OFFSET_FETCH else RESET
            topic_id = each.asked.topic_id
            if origin == RESET:
                topic_id = agreed(self._answered_from(line, each, topic)).topic_id or None
            client.told[place] = _Offset(
                origin, each.answered, each.answered_epoch, line.request_id, each.group_id, topic_id
            )

    def _name(self, topic_id: str | None) -> str | None:
        life = self._known.history.topics.get(topic_id) if topic_id is not None else None
        return None if life is None else life.topic

    def _live(self, line: RequestLine, topic: str, partition: int) -> Live:
        return live(self._known.history, self._window(line), topic, partition)

    def _answered_from(self, line: RequestLine, each: PartitionLine, topic: str) -> list[Live]:
        """What a broker, which may be behind, may have answered from. Who answers without an error has an
        incarnation, and if a topic id is asked, that one.
        """
        place, asked = (topic, each.asked.partition), each.asked.topic_id
        # a broker takes the next request of a connection when it has answered the one before
        told = self._told.get((line.broker_id, line.connection or ""), 0)
        times = (line.requested_ms, line.responded_ms)
        window = self._known.moments.answered_from(line.broker_id, *times, told)
        if each.error != 0:
            return candidates(self._known.history, window, *place)
        met = candidates(self._known.history, window, *place, asked)
        return [
            one for one in met if one.topic_id is None or (one.topic_id and asked in (None, one.topic_id))
        ] or [NOT_KNOWN]

    def _window(self, line: RequestLine) -> Window:
        return self._known.moments.window(line.broker_id, line.requested_ms, line.responded_ms)

    def _fetch(self, line: RequestLine, each: PartitionLine, topic: str, client: _Client | None) -> None:
        place = (topic, each.asked.partition)
        before = None if client is None else client.reads.get(place)
        told = None if client is None else client.told.pop(place, None)
        offset = each.offset if each.offset >= 0 or before is None else before.offset
        asked_id, met = each.asked.topic_id, self._answered_from(line, each, topic)
        of = asked_id or agreed(met).topic_id or None
        goes_on = (
            before is not None
            and told is None
            and (of is None or before.topic_id in (None, of))
            and offset >= before.offset
            and each.error in (None, 0)
        )
        if goes_on and before is not None:
            before.offset, before.topic_id, before.line = offset, before.topic_id or of, line
            return
        origin, of_id, of_epoch, request_id, group_id = _origin(told, before, offset, client)
        if before is not None and client is not None and origin == READ and before.topic_id != of:
            # what came between may be missing: then only the same place tells that it was brought along
            sure = client.sent_nothing_else(before.line, line) or 0 < offset == before.offset
            of_id = of_id if sure else None
        identity = digest_of(line.request_id, topic, place[1])
        found, lists = columns_of(met)
        row = [
            self._cluster,
            METADATA_LOG,
            *place,
            identity,
            *self._about(line, client),
            *_line(line),
            asked_id is not None,
            asked_id or "",
            self._epoch(asked_id, place[1]),
            each.offset if each.offset >= 0 else None,
            each.leader_epoch,
            each.offset_epoch,
            *found,
            error_name(each.error),
            each.answered_epoch,
            each.answered,
            origin,
            of_id,
            self._epoch(of_id, place[1]),
            of_epoch,
            request_id,
            None,
            group_id,
            None,
            each.log_start_offset if each.log_start_offset >= 0 else None,
            each.high_watermark if each.high_watermark >= 0 else None,
            *self._span(self._window(line), line),
            *lists,
        ]
        if client is not None:
            if before is not None:
                self._rows.positions[before.row][_NEXT] = identity
            row_number = len(self._rows.positions)
            client.reads[place] = _Position(of, offset, each.offset_epoch, line, row_number, offset, of_id)
        self._rows.positions.append(row)

    def _epoch(self, topic_id: str | None, partition: int) -> int | None:
        """The partition epoch of an incarnation; -1 for none, None where it is not known."""
        if topic_id is None:
            return None
        if topic_id == "":
            return -1
        life = self._known.history.partition(topic_id, partition)
        return None if life is None else life.partition_epoch

    def _commit(self, line: RequestLine, each: PartitionLine, topic: str, client: _Client | None) -> None:
        place = (topic, each.asked.partition)
        reads = None if client is None else client.reads.get(place)
        of = None if reads is None else reads.incarnation_of(each.offset) or None
        if client is not None and reads is not None and of != self._live(line, *place).topic_id:
            # it may have gone on to another incarnation since, in lines that are missing
            sure = client.sent_nothing_else(reads.line, line) or 0 < each.offset == reads.offset
            of = of if sure else None
        self._rows.commits.add(
            self._cluster,
            each.group_id,
            topic,
            each.asked.topic_id,
            each.asked.partition,
            each.offset,
            each.offset_epoch,
            error_name(each.error),
            of,
            *self._about(line, client),
            line.request_id,
            line.broker_id,
            APIS[line.api_key],
            line.api_version,
            line.correlation_id,
            line.requested_ms,
            line.responded_ms,
            line.file,
            line.position,
        )

    def _answer(self, line: RequestLine, client: _Client | None) -> None:
        answer = self._known.answers.of((line.answer or {}).get("topics"))
        if answer is None:
            return
        connection = (line.broker_id, line.connection or "")
        self._told[connection] = max(answer.since, self._told.get(connection, 0))
        window = self._narrow(self._window(line), answer)
        lowest, highest = (self._known.history.max_partition_epoch(each) for each in window)
        covered = self._known.history.is_covered(*window)
        told_max = lowest if covered and lowest == highest else None
        version = _DESCRIBES.get(line.api_key, line.api_version)
        cached_max, changed = None, None
        if client is not None:
            cached_max = client.cache.max_partition_epoch
            is_full = line.api_key == METADATA and line.sent.get("topics") is None
            changes = list(client.cache.update(answer, version, is_full=is_full))
            changed = len(changes)
            for change in changes:
                row = self._changed(change, version, cached_max, told_max)
                self._rows.partitions.add(
                    self._cluster,
                    METADATA_LOG,
                    change.topic,
                    change.partition,
                    digest_of(line.request_id, change.topic, change.partition),
                    *self._about(line, client),
                    *_line(line),
                    *row,
                    *self._span(window, line),
                )
            if told_max is not None:
                client.cache.max_partition_epoch = max(cached_max, told_max)
        self._rows.answers.add(
            self._cluster,
            METADATA_LOG,
            *self._about(line, client),
            *_line(line),
            len(answer.topics),
            answer.partitions,
            changed,
            told_max,
            cached_max,
            self._behind(line, answer),
            *self._span(window, line),
        )

    def _narrow(self, window: Window, answer: ListAnswer) -> Window:
        """Where the broker's image was: not before what it tells, and before what it does not tell yet."""
        highest = max(min(window.highest, answer.until - 1), answer.since)
        # an image may be as old as a broker is behind: only what it tells bounds it from below
        return Window(answer.since, highest)

    def _behind(self, line: RequestLine, answer: ListAnswer) -> int:
        """How long what the answer lacks had been there at least."""
        return self._known.moments.since(line.broker_id, answer.until, line.requested_ms)

    def _changed(
        self, change: Change, version: int, cached_max: int, told_max: int | None
    ) -> tuple[object, ...]:
        """The columns of a change, from has_topic_ids to accepted."""
        told, both = change.told, change.cached_topic_id is not None and change.told_topic_id is not None
        told_id = (change.told_topic_id or "") if told is not None else ""
        has_ids = version >= _FIRST_WITH_TOPIC_IDS
        told_epoch: int | None = -1
        if told is not None:
            told_epoch = self._epoch(told_id or None, change.partition) if has_ids else None
        return (
            has_ids,
            version >= _FIRST_WITH_EPOCHS,
            True,
            change.cached_gone,
            change.cached_topic_id or "",
            self._epoch(change.cached_topic_id, change.partition),
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

    def _about(self, line: RequestLine, client: _Client | None) -> tuple[object, ...]:
        software = self._software.get((line.broker_id, line.connection or ""), (None, None))
        name = None if client is None else client.name
        return (name, line.client_id, host_of(line.connection), *software, line.connection)

    def _span(self, window: Window, line: RequestLine) -> tuple[object, ...]:
        return (window.lowest, window.highest + 1, line.requested_ms, line.responded_ms)


def _origin(
    told: _Offset | None, before: _Position | None, offset: int, client: _Client | None
) -> tuple[str | None, str | None, int, str | None, str | None]:
    """Where an offset comes from: origin, topic id, leader epoch, request id, group."""
    if client is None:
        return (None, None, -1, None, None)
    if told is not None and told.offset == offset:
        return (told.origin, told.topic_id, told.leader_epoch, told.request_id, told.group_id)
    if before is not None and told is None and offset >= before.offset:
        line = before.line
        return (READ, before.incarnation_of(offset), before.leader_epoch, line.request_id, None)
    return (ELSEWHERE, None, -1, None, None)


def _line(line: RequestLine) -> tuple[object, ...]:
    return (
        line.request_id, line.broker_id, APIS[line.api_key], line.api_version, line.correlation_id,
        line.requested_ms, line.responded_ms, line.file, line.position,
    )  # fmt: skip
