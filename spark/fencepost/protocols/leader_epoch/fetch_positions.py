"""Where consumers fetch, and where the offsets at which they began come from."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from fencepost.protocols.leader_epoch.client import (
    COMMITTED,
    ELSEWHERE,
    READ,
    RESET,
    TRUNCATED,
    AnsweredOffset,
    AnsweredOffsets,
    Client,
    Place,
    Position,
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
_NO_ANSWERS: AnsweredOffsets = {}
_ID, _NEXT = _COLUMNS.index("fetch_position_id"), _COLUMNS.index("next_fetch_position_id")


class Origin(NamedTuple):
    """Where an offset comes from: the columns of silver.fetch_positions with an ``origin``."""

    origin: str | None = None
    topic_id: str | None = None
    leader_epoch: int = -1
    request_id: str | None = None
    group_id: str | None = None
    reset_group_id: str | None = None
    committed: int | None = None


def note_answered_offset(
    lines: ClientLines, line: ClientRequest, each: PartitionLine, place: Place, client: Client
) -> None:
    """Note an offset that a client got in an answer to OffsetFetch, ListOffsets or OffsetForLeaderEpoch."""
    if line.api_key == OFFSET_FETCH and each.error == 0:
        client.without_offset.pop(place, None)
        if each.answered < 0:
            client.without_offset[place] = each.group_id
    if each.error != 0 or each.answered < 0:
        return
    if line.api_key == OFFSET_FOR_LEADER_EPOCH:
        answers = client.answered_offsets.get(place, {})
        known = (answers.get(origin) for origin in (COMMITTED, RESET, TRUNCATED))
        position = next(filter(None, known), None) or client.positions.get(place)
        if position and each.answered >= position.offset:
            # the position is valid (SubscriptionState.maybeCompleteValidation): the client does not move
            return
        answer = _truncated(position, each, line, client)
    elif line.api_key == OFFSET_FETCH:
        # a client asks with the id of the topic that lives; only the commit shows which one the offset is of
        answer = AnsweredOffset(
            COMMITTED, each.answered, each.answered_epoch, line.request_id, each.group_id, None, line,
            committed=each.answered,
        )  # fmt: skip
    else:
        topic_id = agreed(lines.answered_from(line, each, place[0])).topic_id or None
        answer = AnsweredOffset(
            RESET, each.answered, each.answered_epoch, line.request_id, each.group_id, topic_id, line,
            client.without_offset.get(place),
        )  # fmt: skip
    client.note(place, answer)


def _truncated(
    position: AnsweredOffset | Position | None, each: PartitionLine, line: ClientRequest, client: Client
) -> AnsweredOffset:
    """Where a client goes on whose position is behind the end of the log. That is still an offset of the
    incarnation that the position is of: if it is another one, the client has read nothing of this log.

    A client that is not refused may have given the partition up, and have come back to it by a seek.
    """
    topic_id = group_id = committed = None
    if position is None or not client.sent_nothing_else(position.line, line):
        pass
    elif isinstance(position, AnsweredOffset):
        topic_id, group_id, committed = position.topic_id, position.group_id, position.committed
    elif position.refused:
        topic_id = position.incarnation_of(position.offset)
    return AnsweredOffset(
        TRUNCATED, each.answered, each.answered_epoch, line.request_id, group_id, topic_id, line,
        committed=committed,
    )  # fmt: skip


class FetchPositions:
    """Collects the rows of MET_FETCHES; each row names the next one of its client and partition."""

    def __init__(self) -> None:
        self._rows: list[list[object]] = []

    def add(
        self, lines: ClientLines, line: ClientRequest, each: PartitionLine, topic: str, client: Client | None
    ) -> None:
        """Add a partition of a Fetch: it reads on from the client's Fetch before, or begins a new row."""
        place = (topic, each.requested.partition)
        before, answers = (None, _NO_ANSWERS) if client is None else client.begun(place)
        requested_id = each.requested.topic_id
        if each.offset < 0 and each.error == 0:
            # of a fetch session: the position is as it was
            if before is not None and requested_id in (None, before.topic_id):
                before.read_to, before.line = max(before.read_to, each.high_watermark), line
                before.refused = _is_refused(each)
            return
        # most fetches by topic id only read on: what lived need not be looked up for those
        possible = lines.answered_from(line, each, topic) if requested_id is None else None
        topic_id = requested_id if possible is None else agreed(possible).topic_id or None
        listed = each if each.offset >= 0 else _of_session(line, requested_id, before, client)
        offset = -1 if listed is None else listed.offset
        # refused in a fetch session that does not list it again: an offset that it got since is not used
        answer = _given(answers, before, (topic_id, offset)) if listed is each else None
        if client is not None and answers and listed is each:
            # a client that is refused stays where it is
            client.answered_offsets[place] = {answer.origin: answer} if answer and each.error != 0 else {}
        if before is not None and answer is None and _reads_on(before, topic_id, offset, each.error):
            before.offset, before.topic_id, before.line = offset, before.topic_id or topic_id, line
            before.listed, before.refused = each, _is_refused(each)
            before.read_to = max(before.read_to, each.high_watermark)
            return
        common, lists = columns_of(lines.answered_from(line, each, topic) if possible is None else possible)
        window = lines.window(line)
        origin = _origin(answer, before, (topic_id, offset), line, client)
        if origin.topic_id is None:
            only = lines.known.history.only_incarnation(topic, window.highest)
            origin = origin._replace(topic_id=only)
        row: list[object] = [
            lines.cluster,
            METADATA_LOG,
            *place,
            digest_of(line.request_id, *place),
            *lines.client_columns(line, client),
            *line_columns(line),
            requested_id is not None,
            requested_id or "",
            lines.partition_epoch(requested_id, place[1]),
            *((None,) * 3 if listed is None else (offset, listed.leader_epoch, listed.offset_epoch)),
            *common,
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
            origin.reset_group_id,
            None,
            each.log_start_offset if each.log_start_offset >= 0 else None,
            each.high_watermark if each.high_watermark >= 0 else None,
            *span_columns(window, line),
            *lists,
            origin.committed,
        ]
        if client is not None:
            if before is not None:
                self._rows[before.row][_NEXT] = row[_ID]
            has_read_on = before is not None and origin.origin == READ and before.topic_id == topic_id
            client.positions[place] = Position(
                topic_id, offset, -1 if listed is None else listed.offset_epoch, line, len(self._rows),
                offset, origin.topic_id,
                before.read_from if before is not None and has_read_on else offset,
                max(offset, each.high_watermark if each.error == 0 else -1),
                answer,
                before if before is None or before.topic_id != topic_id else before.earlier,
                listed,
                _is_refused(each),
            )  # fmt: skip
            if before is not None:
                before.earlier = None
        self._rows.append(row)

    def to_arrow(self) -> pa.Table:
        """Every row."""
        rows = Columns(MET_FETCHES)
        for each in self._rows:
            rows.add(*each)
        return rows.to_arrow()


def _of_session(
    line: ClientRequest, requested_id: str | None, before: Position | None, client: Client | None
) -> PartitionLine | None:
    """What the fetch session of a request that does not list a partition has of it; None where that is not
    known: a missing line may have listed it, and a session ends with its connection at the latest.
    """
    if client is None or before is None or requested_id not in (None, before.topic_id):
        return None
    is_same = (line.broker_id, line.connection) == (before.line.broker_id, before.line.connection)
    return before.listed if is_same and client.sent_nothing_else(before.line, line) else None


def _is_refused(each: PartitionLine) -> bool:
    """Whether a Fetch was refused, or was told where the logs part."""
    return each.error not in (None, 0) or each.answered >= 0


def _given(
    answers: AnsweredOffsets, before: Position | None, at: tuple[str | None, int]
) -> AnsweredOffset | None:
    """The answer that gave a client the offset that it fetches of a topic id (both in ``at``); None if none
    did.

    A client that asks where the log ends need not go there: it may want to know how far behind it is.
    """
    committed, reset, truncated = (answers.get(origin) for origin in (COMMITTED, RESET, TRUNCATED))
    if committed is not None and committed.offset == at[1]:
        return committed
    if truncated is not None and truncated.offset == at[1] and not (before and _is_ahead(before, *at)):
        return truncated
    if reset is None or reset.offset != at[1]:
        return None
    may_stay = before is not None and not before.refused and reset.reset_group_id is None
    return None if before is not None and may_stay and _is_ahead(before, *at) else reset


def _reads_on(before: Position, topic_id: str | None, offset: int, error: int | None) -> bool:
    """Whether a fetch only reads on from the one before."""
    return error in (None, 0) and _is_ahead(before, topic_id, offset)


def _is_ahead(before: Position, topic_id: str | None, offset: int) -> bool:
    """Whether a client can have come to an offset by reading on."""
    is_same = topic_id is None or before.topic_id in (None, topic_id)
    return is_same and before.offset <= offset <= before.read_to


def _origin(
    answer: AnsweredOffset | None,
    before: Position | None,
    at: tuple[str | None, int],
    line: ClientRequest,
    client: Client | None,
) -> Origin:
    """Where the offset comes from that is fetched of a topic id (both in ``at``)."""
    topic_id, offset = at
    if client is None or offset < 0:
        return Origin()
    if answer is not None:
        return Origin(
            answer.origin, answer.topic_id, answer.leader_epoch, answer.request_id, answer.group_id,
            answer.reset_group_id, answer.committed,
        )  # fmt: skip
    if before is None:
        # the line that gave it the offset may be missing
        return Origin(ELSEWHERE if client.is_known_until(line) else None)
    is_whole = client.sent_nothing_else(before.line, line)
    if before.offset <= offset <= before.read_to:
        # lines between the two may be missing: then only the same offset shows that the client brought it
        # along from another incarnation
        is_certain = before.topic_id == topic_id or is_whole or 0 < offset == before.offset
        began_of = before.incarnation_of(offset) if is_certain else None
        return Origin(READ, began_of, before.leader_epoch, before.line.request_id)
    return Origin(ELSEWHERE if is_whole and before.offset >= 0 else None)
