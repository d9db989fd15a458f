"""The generation with which a member of a classic group began, as brokers' answers show it.

A coordinator makes each member id: it answers a JoinGroup without one either MEMBER_ID_REQUIRED, with the id
to join with, or with the id and a generation. Before that answer nobody had the id, and the coordinator alone
knows it until a generation with it is written. So the first JoinGroup that succeeds with it has the
generation with which the member began.
"""

from __future__ import annotations

from collections.abc import Iterable

from fencepost.protocols.offset_commit.member_lines import MemberLine
from fencepost.replay.group_coordinator.requests import JOIN_GROUP
from fencepost.replay.unread_lines import UnreadLines, are_read


def births(lines: Iterable[MemberLine], unread_lines: UnreadLines) -> dict[str, int]:
    """{member id: its first generation}, of those members that a line gives their id, and whose first
    generation is in the same file, which has all lines in between.
    """
    given: dict[str, MemberLine] = {}
    first: dict[str, MemberLine] = {}
    for line in lines:
        if line.gives_id or (line.fine and not line.named):
            given[line.member_id] = line
        if line.generation is not None and line.generation >= 0:
            before = first.get(line.member_id)
            # JoinGroup is the first request of a generation: if another one is, a line is missing
            if before is None or _order(line) < _order(before):
                first[line.member_id] = line
    return {
        member_id: first[member_id].generation or 0
        for member_id, line in given.items()
        if member_id in first and _follows(first[member_id], line, unread_lines)
    }


def _order(line: MemberLine) -> tuple[int, bool]:
    return line.generation or 0, line.api_key != JOIN_GROUP


def _follows(line: MemberLine, given: MemberLine, unread_lines: UnreadLines) -> bool:
    """Whether ``line`` is of a JoinGroup, and one file of a request log has both and all in between."""
    return (
        line.api_key == JOIN_GROUP
        and given.file == line.file
        and given.position <= line.position
        and are_read(unread_lines, given.file, given.position, line.position)
    )
