"""Where consumers read, and where the offsets that they began at come from."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from fencepost.protocols.leader_epoch.client import (
    COMMITTED,
    ELSEWHERE,
    READ,
    RESET,
    Client,
    Place,
    Position,
    ToldOffset,
)
from fencepost.protocols.leader_epoch.client_lines import ClientLines, line_columns, span_columns
from fencepost.protocols.leader_epoch.client_requests import ClientRequest
from fencepost.protocols.leader_epoch.lines import (
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
    PartitionLine,
)
from fencepost.protocols.leader_epoch.live_partitions import agreed
from fencepost.protocols.leader_epoch.states import MET_FETCHES, columns_of
from fencepost.protocols.leader_epoch.tables import METADATA_LOG
from fencepost.replay.columns import Columns
from fencepost.replay.keys import digest_of
from fencepost.replay.requests import error_name

_COLUMNS = list(MET_FETCHES.columns)
_ID, _NEXT = _COLUMNS.index("fetch_position_id"), _COLUMNS.index("next_fetch_position_id")


class Origin(NamedTuple):
    """Where an offset comes from; the columns of silver.fetch_positions of the same names."""

    origin: str | None = None
    topic_id: str | None = None
    leader_epoch: int = -1
    request_id: str | None = None
    group_id: str | None = None


def hear_offset(
    lines: ClientLines, line: ClientRequest, each: PartitionLine, place: Place, client: Client
) -> None:
    """A client is told an offset: by OffsetFetch, ListOffsets or OffsetForLeaderEpoch."""
    if each.error != 0 or each.answered < 0:
        return
    asked_about = client.told.get(place) or client.reads.get(place)
    if line.api_key == OFFSET_FOR_LEADER_EPOCH and asked_about and each.answered >= asked_about.offset:
        # the log goes on as it was known (SubscriptionState.maybeCompleteValidation): nothing moves
        return
    if line.api_key == OFFSET_FETCH:
        origin, topic_id = COMMITTED, each.asked.topic_id
    else:
        origin, topic_id = RESET, agreed(lines.answered_from(line, each, place[0])).topic_id or None
    client.told[place] = ToldOffset(
        origin, each.answered, each.answered_epoch, line.request_id, each.group_id, topic_id, line
    )


class FetchPositions:
    """The rows of MET_FETCHES while they are made: each is told which comes after it."""

    def __init__(self) -> None:
        self._rows: list[list[object]] = []

    def add(
        self, lines: ClientLines, line: ClientRequest, each: PartitionLine, topic: str, client: Client | None
    ) -> None:
        """A partition of a Fetch: it goes on from the one before, or begins anew."""
        place = (topic, each.asked.partition)
        before = None if client is None else client.reads.get(place)
        told = None if client is None else client.told.get(place)
        asked_id = each.asked.topic_id
        # most fetches by id only read on: nothing else is asked of those
        met = lines.answered_from(line, each, topic) if asked_id is None else None
        of = asked_id if met is None else agreed(met).topic_id or None
        offset = each.offset if each.offset >= 0 or before is None else before.offset
        if client is not None and told is not None and (each.error == 0 or told.offset != offset):
            # who is refused stays where it is
            del client.told[place]
        if before is not None and told is None and _goes_on(before, of, offset, each.error):
            before.offset, before.topic_id, before.line = offset, before.topic_id or of, line
            return
        found, lists = columns_of(lines.answered_from(line, each, topic) if met is None else met)
        origin = _origin(told, before, offset, line, client)
        if before is not None and client is not None and origin.origin == READ and before.topic_id != of:
            # what came between may be missing: then only the same place tells that it was brought along
            sure = client.sent_nothing_else(before.line, line) or 0 < offset == before.offset
            origin = origin if sure else origin._replace(topic_id=None)
        row: list[object] = [
            lines.cluster,
            METADATA_LOG,
            *place,
            digest_of(line.request_id, *place),
            *lines.client_columns(line, client),
            *line_columns(line),
            asked_id is not None,
            asked_id or "",
            lines.partition_epoch(asked_id, place[1]),
            each.offset if each.offset >= 0 else None,
            each.leader_epoch,
            each.offset_epoch,
            *found,
            error_name(each.error),
            each.answered_epoch,
            each.answered,
            origin.origin,
            origin.topic_id,
            lines.partition_epoch(origin.topic_id, place[1]),
            origin.leader_epoch,
            origin.request_id,
            None,
            origin.group_id,
            None,
            each.log_start_offset if each.log_start_offset >= 0 else None,
            each.high_watermark if each.high_watermark >= 0 else None,
            *span_columns(lines.window(line), line),
            *lists,
        ]
        if client is not None:
            if before is not None:
                self._rows[before.row][_NEXT] = row[_ID]
            client.reads[place] = Position(
                of, offset, each.offset_epoch, line, len(self._rows), offset, origin.topic_id,
                told if told is not None and told.offset == offset else None,
            )  # fmt: skip
        self._rows.append(row)

    def to_arrow(self) -> pa.Table:
        """Every row."""
        rows = Columns(MET_FETCHES)
        for each in self._rows:
            rows.add(*each)
        return rows.to_arrow()


def _goes_on(before: Position, of: str | None, offset: int, error: int | None) -> bool:
    """Whether a fetch only reads on."""
    same = of is None or before.topic_id in (None, of)
    return same and offset >= before.offset and error in (None, 0)


def _origin(
    told: ToldOffset | None, before: Position | None, offset: int, line: ClientRequest, client: Client | None
) -> Origin:
    if client is None:
        return Origin()
    if told is not None and told.offset == offset:
        return Origin(told.origin, told.topic_id, told.leader_epoch, told.request_id, told.group_id)
    if before is not None and told is None and offset >= before.offset:
        topic_id = before.incarnation_of(offset)
        return Origin(READ, topic_id, before.leader_epoch, before.line.request_id)
    # what told it may be missing: of who is only heard of later on
    is_known = before is not None or told is not None or client.is_known_until(line)
    return Origin(ELSEWHERE if is_known else None)
