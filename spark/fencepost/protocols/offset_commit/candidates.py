"""The candidates of each commit request: the states of its group by which it may have been decided."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.matches import Matches
from fencepost.protocols.offset_commit.order import Between, Order, Places
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.requests import CommitRequest
from fencepost.replay.entities import first_of_each, numbered_rows
from fencepost.replay.group_coordinator.conversions import batches_of
from fencepost.replay.group_coordinator.records import CONSUMER_MEMBER, EPOCH_TYPES, GroupRecord
from fencepost.replay.group_coordinator.requests import ELSEWHERE
from fencepost.replay.logs import Longs, Term
from fencepost.replay.requests import LATEST_MS
from fencepost.replay.rising import Rising
from fencepost.replay.terms import Terms, answered_leaders


class Candidate(NamedTuple):
    """A state that a request may have met: after the group's record ``state_no`` (0: before the first).

    ``stretch`` and ``leader_epoch``: where in the log the request was decided if it met this state.
    """

    state_no: int
    stretch: int
    leader_epoch: int


_NONE: Rising[int] = Rising()


class GroupStates:
    """The states of one group in its log, found by offset or by time."""

    def __init__(self, records: Sequence[GroupRecord], endings: Sequence[bool]) -> None:
        """``records`` in offset order; ``endings``: whether each ends a life (conversions.Endings)."""
        self._offsets = [record.offset for record in records]
        times: dict[tuple[int, int], list[tuple[int, int]]] = {}
        changed: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._before: dict[int, int] = {}
        group_type, number, ends_of = None, 0, iter(endings)
        speaks_classic: dict[str, bool] = {}
        for batch in batches_of(records):
            before, changes = number, False
            for record in batch:
                converted = record.type in EPOCH_TYPES and group_type != record.type
                if record.type in EPOCH_TYPES:
                    group_type = None if record.tombstone else record.type
                # an upgrade, or a downgrade, begins with the tombstone of the group's former type
                converted |= record.type in EPOCH_TYPES and record.tombstone
                changes |= next(ends_of) or converted or record.changes_a_member
                changes |= record.classic_members is not None
                if record.type == CONSUMER_MEMBER and record.member_id is not None:
                    # a member may go on with the other protocol, of which only its metadata tells
                    spoke_classic = speaks_classic.get(record.member_id)
                    changes |= spoke_classic is not None and spoke_classic != record.speaks_classic
                    speaks_classic[record.member_id] = record.speaks_classic
                number += 1
            # no request met a state between the records of one batch
            self._before[number] = before
            newest = batch[-1]
            for of_term in (times, changed) if changes else (times,):
                term = (newest.stretch, newest.leader_epoch)
                of_term.setdefault(term, []).append((newest.timestamp_ms, number))
        self._in_term = {term: Rising(states) for term, states in times.items()}
        self._changed_in = {term: Rising(states) for term, states in changed.items()}

    def before(self, offset: int) -> int:
        """The number of the group's newest record before an offset of its log; 0 for none."""
        return bisect_left(self._offsets, offset)

    def before_all(self, offsets: Longs) -> Longs:
        """``before`` of many offsets."""
        return np.searchsorted(self._offsets, offsets)

    def during(self, term: Term, start_ms: int, end_ms: int) -> list[int]:
        """The numbers of all states that the group had in a term between two times."""
        place = (term.stretch, term.leader_epoch)
        inside = sorted(self._changed_in.get(place, _NONE).between(start_ms, end_ms))
        if inside:
            return [self._before[inside[0]], *inside]
        return [self._in_term.get(place, _NONE).greatest_before(start_ms) or self.before(term.begins)]


class PlacedRequests(NamedTuple):
    """Candidates as columns: the number of a request, and a state that it may have met."""

    number: Longs
    state_no: Longs
    stretch: Longs
    leader_epoch: Longs

    def in_order(self) -> PlacedRequests:
        """The same, sorted by state, and for one state by the number of the request."""
        order = np.lexsort((self.number, self.state_no))
        return PlacedRequests(*(column[order] for column in self))


class RecordedRequests:
    """The requests of which at least one commit has a record for sure. A request met the state before the
    first such record, because all its records are appended together.
    """

    def __init__(self, requests: Requests, matches: Matches) -> None:
        commits, records = matches.sure()
        count = len(matches.records)
        self._first: Longs = np.full(len(requests), count)
        np.minimum.at(self._first, requests.request[commits], records)
        self._places = [matches.records[name] for name in ("offset", "stretch", "leader_epoch")]

    def placed(self, numbers: Longs, states: GroupStates) -> tuple[PlacedRequests, Longs]:
        """Of a group's requests (``numbers``): those with a place, and the numbers of those without one."""
        first = self._first[numbers]
        has = first < len(self._places[0])
        offset, stretch, leader_epoch = (column[first[has]] for column in self._places)
        return PlacedRequests(numbers[has], states.before_all(offset), stretch, leader_epoch), numbers[~has]


def candidates_of(
    request: CommitRequest,
    matches: Matches,
    states: GroupStates,
    terms: Terms,
    *,
    order: Order,
    places: Places,
    lateness: Lateness,
) -> list[Candidate]:
    """The states that a request may have met, in log order.

    An accepted request without a sure record (``RecordedRequests``) met the state before one of the records
    that it may have written. A refused request met any state of its group from its arrival to its answer, as
    late as its line may be, except those that the order of requests excludes (``places``). There are no
    candidates if the coordinator's log has a hole or is missing where the request was decided, if the request
    has no answer, or if the broker that answered was not the group's coordinator.
    """
    for commit in request.commits:
        # without an answer it is unknown whether it was accepted; another broker's answer shows no state
        if commit.accepted is not False or commit.broker_error in ELSEWHERE:
            return _candidates_of_accepted(request, matches, states)
    place = places.of(request)
    start_ms = order.arrival(request, lateness.of(request))
    candidates = _candidates_of_refused(request, states, terms, place, start_ms)
    # if no state fits, the order of requests shows that the line was even later than assumed
    return candidates or _candidates_of_refused(
        request, states, terms, place, order.arrival(request, LATEST_MS)
    )


def is_decided(request: CommitRequest) -> bool:
    """Whether the group's coordinator decided every commit of a request, and the line has the answers."""
    return all(
        commit.accepted is not None and commit.broker_error not in ELSEWHERE for commit in request.commits
    )


def _candidates_of_refused(
    request: CommitRequest, states: GroupStates, terms: Terms, place: Between, start_ms: int
) -> list[Candidate]:
    end_ms = request.responded_ms  # a line is never early
    lowest, highest = states.before(place.after + 1), states.before(place.before)
    candidates = set()
    for term in terms.of(request.broker_id, start_ms, end_ms):
        during = states.during(term, start_ms, end_ms)
        for no, following in zip(during, [*during[1:], None], strict=True):
            if no <= highest and (following is None or following > lowest):
                candidates.add(Candidate(no, term.stretch, term.leader_epoch))
    return sorted(candidates)


def _candidates_of_accepted(request: CommitRequest, matches: Matches, states: GroupStates) -> list[Candidate]:
    numbers = _doubtful_records(request, matches)
    offset, stretch, leader_epoch = (
        matches.records[name][numbers].tolist() for name in ("offset", "stretch", "leader_epoch")
    )
    return list(dict.fromkeys(map(Candidate, map(states.before, offset), stretch, leader_epoch)))


def _doubtful_records(request: CommitRequest, matches: Matches) -> list[int]:
    """The records that one of the request's commits may have written. One commit is enough: the records of a
    request are appended together.
    """
    doubtful = [commit for commit in request.commits if commit.number in matches.doubtful]
    if not doubtful:
        return []
    one = min(doubtful, key=lambda commit: commit.commit_id)
    return sorted(matches.doubtful[one.number])


def leaders_who_answered(requests: Requests, matches: Matches) -> dict[int, int]:
    """terms.answered_leaders of the requests with a sure record."""
    commits, records = matches.sure()
    brokers = requests["broker_id"][requests.request[commits]]
    leader_epochs = matches.records["leader_epoch"][records]
    first = first_of_each(numbered_rows(leader_epochs, brokers))
    return answered_leaders(zip(leader_epochs[first].tolist(), brokers[first].tolist(), strict=True))
