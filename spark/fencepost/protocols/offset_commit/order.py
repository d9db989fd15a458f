"""What the order of requests tells of where each was decided, without a clock.

A broker takes the next request of a connection when the answer to the one before has been sent and logged
(SocketServer.Processor.processCompletedSends). What the one before wrote, or was told, was so before the next
one was decided; and the other way round.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple, TypeVar

from fencepost.protocols.offset_commit.requests import CommitRequest, HeartbeatAnswer, MemberLine
from fencepost.replay.group_coordinator.records import ASSIGNMENT_TYPES, MEMBER_TYPES, GroupRecord


class Between(NamedTuple):
    """A place in a group's log: behind the record at ``after``, and before the one at ``before`` was written.

    Offsets, neither of them included.
    """

    after: int = -1
    before: int = 2**63 - 1


ANYWHERE = Between()

Decided = Callable[[CommitRequest], Between | None]
"""Between which offsets, both included, a request's own records are; None for one that has none."""

_Line = CommitRequest | HeartbeatAnswer
_Any = TypeVar("_Any", bound=CommitRequest | HeartbeatAnswer | MemberLine)


def turns(lines: Iterable[_Any]) -> list[list[_Any]]:
    """The lines of each connection in the order in which they were handled; those with a neighbour.

    Cut where the lines of two files, or a clock that went back, do not tell the order.
    """
    connections: dict[tuple[int, str], list[_Any]] = {}
    for line in lines:
        if line.connection is not None:
            connections.setdefault((line.broker_id, line.connection), []).append(line)
    found = []
    for each in connections.values():
        each.sort(key=lambda line: (line.responded_ms, line.file, line.position))
        chain = each[:1]
        for line in each[1:]:
            if not _follows(chain[-1], line):
                found.append(chain)
                chain = []
            chain.append(line)
        found.append(chain)
    return [chain for chain in found if len(chain) > 1]


def _follows(one: _Any, other: _Any) -> bool:
    if one.file == other.file:
        return one.position < other.position
    return one.responded_ms < other.responded_ms


class Order:
    """The requests of one group by the turn that they had on their connections."""

    def __init__(
        self,
        requests: Iterable[CommitRequest],
        answers: Iterable[HeartbeatAnswer],
        epochs: Mapping[tuple[str, int], Between],
    ) -> None:
        """``epochs``: where each member had each of its epochs, as ``epochs_of`` has it. ``last`` are the
        requests that no line of their connection follows.
        """
        self._turns: list[Sequence[CommitRequest | Between]] = []
        self._since: dict[CommitRequest, int] = {}
        requests = list(requests)
        self.last = set(requests)
        lines: list[_Line] = [*requests, *answers]
        for chain in turns(lines):
            self.last.difference_update(each for each in chain[:-1] if isinstance(each, CommitRequest))
            known: list[CommitRequest | Between] = []
            for before, line in pairwise(chain):
                if isinstance(line, CommitRequest):
                    self._since[line] = before.responded_ms
            for line in chain:
                if isinstance(line, CommitRequest):
                    known.append(line)
                elif line.member_epoch is not None and (line.member_id, line.member_epoch) in epochs:
                    known.append(epochs[line.member_id, line.member_epoch])
            if len(known) > 1:
                self._turns.append(known)

    def arrival(self, request: CommitRequest, late_ms: int, back_ms: int = 0) -> int:
        """When a request arrived at the earliest, its line being ``late_ms`` late at most: not before the
        line of the one before it was written, if the clock did not go back since by more than ``back_ms``.
        """
        arrival = request.requested_ms - late_ms
        return max(arrival, self._since.get(request, arrival) - back_ms)

    def between(self, decided: Decided) -> dict[CommitRequest, Between]:
        """Where each request was decided, as far as its neighbours tell; those of which nothing is told are
        left out.
        """
        found: dict[CommitRequest, Between] = {}
        for chain in self._turns:
            places = [decided(each) if isinstance(each, CommitRequest) else each for each in chain]
            after = ANYWHERE.after
            lows = []
            for place in places:
                lows.append(after)
                if place is not None:
                    after = max(after, place.after)
            before = ANYWHERE.before
            for each, place, low in zip(reversed(chain), reversed(places), reversed(lows), strict=True):
                if isinstance(each, CommitRequest):
                    found[each] = Between(low, before)
                if place is not None:
                    before = min(before, place.before)
        return found


def epochs_of(records: Iterable[GroupRecord]) -> dict[tuple[str, int], Between]:
    """Where each member of a group that is not classic had each of its epochs: from its first record with it
    to the record that ended it.

    ``records`` of one group without a hole, in offset order. An epoch that a member had twice, in two lives
    of its id, is left out.
    """
    found: dict[tuple[str, int], Between] = {}
    twice: set[tuple[str, int]] = set()
    now: dict[str, tuple[int, int]] = {}
    for record in records:
        member_id = record.member_id
        if member_id is None or not (
            record.type in ASSIGNMENT_TYPES or (record.tombstone and record.type in MEMBER_TYPES)
        ):
            continue
        epoch = None if record.tombstone else record.member_epoch
        had = now.get(member_id)
        if had is not None and had[0] == epoch:
            continue
        if had is not None:
            found[member_id, had[0]] = Between(had[1], record.offset)
            del now[member_id]
        if epoch is not None:
            if (member_id, epoch) in found:
                twice.add((member_id, epoch))
            now[member_id] = (epoch, record.offset)
    for member_id, (epoch, since) in now.items():
        found[member_id, epoch] = Between(since, ANYWHERE.before)
    return {key: place for key, place in found.items() if key not in twice}
