"""Where a client fetches, and where its offset comes from, in fetch sessions and beside other requests."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from fencepost.protocols.leader_epoch.client import Client
from fencepost.protocols.leader_epoch.client_lines import ClientLines
from fencepost.protocols.leader_epoch.client_requests import ClientRequest
from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster_replay import replay
from fencepost.protocols.leader_epoch.fetch_positions import FetchPositions, note_answered_offset
from fencepost.protocols.leader_epoch.lines import (
    FETCH,
    LIST_OFFSETS,
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
    NamedPartition,
    PartitionLine,
)
from fencepost.replay.correlation_ids import ConnectionIds, CorrelationIds
from fencepost.replay.metadata_log import MetadataLog
from fencepost.replay.metadata_records import PARTITION, REMOVE_TOPIC, TOPIC, MetadataRecord

OUT_OF_RANGE, INCONSISTENT_TOPIC_ID = 1, 103
ONE, OTHER = "h:1-h:2-0", "h:1-h:3-0"


def topic(topic_id: str) -> tuple[tuple[Any, dict[str, Any]], ...]:
    """Records that create the topic "t"."""
    partition = {
        "topic_id": topic_id, "partition_id": 0, "leader": 1, "leader_epoch": 0, "isr": [1], "replicas": [1],
        "partition_epoch": 0,
    }  # fmt: skip
    return (TOPIC, {"name": "t", "topic_id": topic_id}), (PARTITION, partition)


@pytest.fixture(scope="module")
def lines() -> ClientLines:
    """A topic "t" from the beginning on."""
    return lines_of(topic("A"), 1)


@pytest.fixture(scope="module")
def lines_of_another() -> ClientLines:
    """Another topic "t", "B", when "A" was deleted."""
    return lines_of((*topic("A"), (REMOVE_TOPIC, {"topic_id": "A"}), *topic("B")), 4)


def lines_of(records: tuple[tuple[Any, dict[str, Any]], ...], at: int) -> ClientLines:
    """Lines of requests that all came behind the record ``at``."""
    said = [(number, kind, fields) for number, (kind, fields) in enumerate(records)]
    log = MetadataLog.of_records(MetadataRecord(at, at, kind, fields) for at, kind, fields in said)
    window = Window(at, at)
    moments = SimpleNamespace(window=lambda *_: window, answered_from=lambda *_: window)
    return ClientLines("c", cast(Any, SimpleNamespace(history=replay(log), moments=moments)), {})


def request(number: int, connection: str = ONE, api_key: int = FETCH) -> ClientRequest:
    return ClientRequest(
        str(number), 1, api_key, 13, number, "reader", connection, number, number, "f", number, None, False,
        -1, (),
    )  # fmt: skip


def partition(error: int = 0, offset: int = -1, **of: int) -> PartitionLine:
    """A partition of a Fetch and its answer: without an offset one that the request does not list."""
    nothing = dict.fromkeys(PartitionLine._fields[1:], -1) | {"leader_told": None, "group_id": None}
    values: dict[str, Any] = nothing | {"error": error, "offset": offset, "high_watermark": 20} | of
    return PartitionLine(NamedPartition(None, "A", 0), **values)


def rows(lines: ClientLines, missing: int | None, *fetches: tuple[ClientRequest, PartitionLine]) -> Any:
    """The rows of these fetches and answers, where the line of the request ``missing`` is."""
    ids = [(0, 99)] if missing is None else [(0, missing - 1), (missing + 1, 99)]
    client = Client("reader", CorrelationIds([ConnectionIds((1, ONE), None, ids, [(0, 0), (99, 99)])]), True)
    positions = FetchPositions()
    for line, each in fetches:
        if line.api_key == FETCH:
            positions.add(lines, line, each, "t", client)
        else:
            note_answered_offset(lines, line, each, ("t", 0), client)
    return positions.to_arrow().to_pylist()


def found(lines: ClientLines, missing: int | None, *fetches: tuple[ClientRequest, PartitionLine]) -> Any:
    """Offset, epochs and origin of the last row."""
    row = rows(lines, missing, *fetches)[-1]
    return [row[name] for name in ("fetch_offset", "current_leader_epoch", "last_fetched_epoch", "origin")]


BEGUN = (request(1), partition(offset=5, leader_epoch=3, offset_epoch=2))
READ_ON = (request(2), partition(offset=9, leader_epoch=4, offset_epoch=3))
REFUSED = (request(5), partition(OUT_OF_RANGE))


def test_it_is_where_the_session_has_it(lines: ClientLines) -> None:
    assert found(lines, None, BEGUN, REFUSED) == [5, 3, 2, "read"]
    assert found(lines, None, BEGUN, READ_ON, REFUSED) == [9, 4, 3, "read"]
    again = (request(7), partition(OUT_OF_RANGE))
    assert found(lines, None, BEGUN, READ_ON, REFUSED, again) == [9, 4, 3, "read"]


def test_an_offset_that_it_was_told_meanwhile_is_of_its_next_fetch(lines: ClientLines) -> None:
    told = (request(3, api_key=LIST_OFFSETS), partition(answered=0))
    assert found(lines, None, BEGUN, told, REFUSED) == [5, 3, 2, "read"]
    there = (request(6), partition(offset=0, leader_epoch=3))
    assert found(lines, None, BEGUN, told, REFUSED, there) == [0, 3, -1, "reset"]


@pytest.mark.parametrize(
    ("missing", "refused"),
    [(4, REFUSED), (None, (request(5, OTHER), partition(OUT_OF_RANGE)))],
    ids=["a line is missing", "another connection"],
)
def test_else_it_is_not_known(
    lines: ClientLines, missing: int | None, refused: tuple[ClientRequest, PartitionLine]
) -> None:
    assert found(lines, missing, BEGUN, refused) == [None] * 4
    # nor whether it sought what it fetches next, or was there
    seeks = (request(6), partition(offset=12))
    assert found(lines, missing, BEGUN, refused, seeks) == [12, -1, -1, None]


def test_of_a_session_whose_beginning_is_not_known_nothing_is(lines: ClientLines) -> None:
    assert found(lines, None, REFUSED) == [None] * 4


def told(number: int, offset: int, group_id: str | None = None) -> tuple[ClientRequest, PartitionLine]:
    """An answer to ListOffsets, or to OffsetFetch of a group."""
    request_of = request(number, api_key=LIST_OFFSETS if group_id is None else OFFSET_FETCH)
    return request_of, partition(answered=offset)._replace(group_id=group_id)


@pytest.mark.parametrize("end", [9, 12])
def test_who_asks_where_the_log_ends_reads_on(lines: ClientLines, end: int) -> None:
    """Kafka Streams and applications ask so how far behind they are, at any moment."""
    at_9 = (request(4), partition(offset=9))
    assert len(rows(lines, None, BEGUN, told(3, end), at_9)) == 1
    refused = (request(4), partition(OUT_OF_RANGE, offset=9))
    assert [row["origin"] for row in rows(lines, None, BEGUN, told(3, end), refused)][1:] == ["read"]


def test_who_asks_where_the_log_ends_begins_at_its_committed_offset(lines: ClientLines) -> None:
    begins = (request(4), partition(offset=7))
    for asked in ((told(2, 7, "g"), told(3, 20)), (told(2, 20), told(3, 7, "g"))):
        assert found(lines, None, *asked, begins)[3] == "committed"


def test_a_reset_begins_anew(lines: ClientLines) -> None:
    """Where the offset before was refused, the group has none, or nobody can have read up to there."""
    refused, at_9 = (request(2), partition(OUT_OF_RANGE, offset=9)), (request(5), partition(offset=9))
    assert found(lines, None, BEGUN, refused, told(3, 9), at_9)[3] == "reset"
    assert found(lines, None, BEGUN, told(3, -1, "g"), told(4, 9), at_9)[3] == "reset"
    assert found(lines, None, BEGUN, told(3, 0), (request(5), partition(offset=0)))[3] == "reset"
    diverged = (request(2), partition(offset=9, answered=8))
    assert found(lines, None, BEGUN, diverged, told(3, 9), at_9)[3] == "reset"


OF_B = NamedPartition(None, "B", 0)


def truncated(number: int, end: int) -> tuple[ClientRequest, PartitionLine]:
    """An answer to OffsetForLeaderEpoch: where the log ends."""
    request_of = request(number, api_key=OFFSET_FOR_LEADER_EPOCH)
    return request_of, partition(answered=end)._replace(requested=NamedPartition("t", None, 0))


def of_b(number: int, offset: int) -> tuple[ClientRequest, PartitionLine]:
    """A Fetch of the topic that was created again."""
    return request(number), partition(offset=offset)._replace(requested=OF_B)


def origin(lines: ClientLines, missing: int | None, *fetches: tuple[ClientRequest, PartitionLine]) -> Any:
    """Origin of the last row, the incarnation of its offset, and the offset that OffsetFetch gave."""
    row = rows(lines, missing, *fetches)[-1]
    return [row[name] for name in ("origin", "origin_topic_id", "committed")]


def test_the_id_of_an_offset_fetch_does_not_show_which_topic_the_offset_is_of(
    lines_of_another: ClientLines,
) -> None:
    """A member that is told the new topic's id commits with it where it had read to in the old topic."""
    asked, answer = told(2, 12, "g")
    by_id = (asked, answer._replace(requested=OF_B))
    assert origin(lines_of_another, None, by_id, of_b(4, 12)) == ["committed", None, 12]
    assert origin(lines_of_another, None, by_id, truncated(3, 7), of_b(4, 7)) == ["truncated", None, 12]


def test_what_is_cut_off_is_of_the_log_that_was_read(lines_of_another: ClientLines) -> None:
    read = (BEGUN, READ_ON)
    refused = (request(3), partition(INCONSISTENT_TOPIC_ID, offset=9))
    cut = (truncated(5, 4), of_b(6, 4))
    assert origin(lines_of_another, None, *read, refused, *cut) == ["truncated", "A", None]
    # a missing line may have told it where to begin in the new one; or it gave the partition up meanwhile
    unknown = ["truncated", None, None]
    assert origin(lines_of_another, 4, *read, refused, *cut) == unknown
    assert origin(lines_of_another, None, *read, *cut) == unknown
    assert origin(lines_of_another, None, *cut) == unknown


def test_who_reads_on_to_the_end_of_the_log_is_not_cut_off(lines_of_another: ClientLines) -> None:
    """It may have asked for its group's offset, which was committed in the old topic, just to know it."""
    asks = (told(2, 12, "g"), truncated(3, 4))
    assert origin(lines_of_another, None, of_b(1, 4), *asks, of_b(5, 4)) == ["elsewhere", None, None]
    refused = (request(4), partition(OUT_OF_RANGE, offset=4)._replace(requested=OF_B))
    again = origin(lines_of_another, None, of_b(1, 2), of_b(2, 4), *asks, refused, of_b(5, 4))
    assert again == ["read", "B", None]


def test_what_is_cut_off_in_one_log_is_of_that_log(lines: ClientLines) -> None:
    reset = told(1, 12)
    fetch = (request(3), partition(offset=7))
    assert origin(lines, None, reset, truncated(2, 7), fetch) == ["truncated", "A", None]
    assert origin(lines, None, reset, truncated(2, 12), (request(3), partition(offset=12)))[0] == "reset"
