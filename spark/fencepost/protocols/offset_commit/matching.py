"""Which record of its group each accepted commit wrote.

First without a clock: an accepted commit has its record, each record was written by one commit, the requests
of a connection are in order, and a line is never written before its request. What that leaves open is asked
of the broker's clock, with a tolerance.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from fencepost.protocols.offset_commit.order import ANYWHERE, Between, Order
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest
from fencepost.replay.group_coordinator.records import OffsetCommitRecord
from fencepost.replay.requests import LATEST_MS

_AT_MOST = 64
"""A commit with more records of the same content before it is not looked at without a clock."""

_ROUNDS = 16

Content = tuple[int, int | None, int, int, int]
"""Partition, offset, leader epoch, and the producer's id and epoch in a transaction."""

Options = dict[Commit, list[OffsetCommitRecord]]
"""Commits with the records that each may have written, in offset order."""


Whole = Callable[[int, int, int], tuple[int, int] | None]
"""The stretch and leader epoch in which a broker decided everything from one time to another, if no record of
that can be missing there.
"""


@dataclass(slots=True)
class Matches:
    """``sure``: a commit's own record. ``doubtful``: the records that one without a sure one may have
    written. Of the others ``competing`` have records in time, but fewer than there are commits, and ``late``
    only records with their content from before.
    """

    sure: dict[Commit, OffsetCommitRecord] = field(default_factory=dict)
    doubtful: Options = field(default_factory=dict)
    competing: set[Commit] = field(default_factory=set)
    late: set[Commit] = field(default_factory=set)


class Matching:
    """The accepted commits of one group beside the records that it has, in offset order."""

    def __init__(
        self,
        requests: Iterable[CommitRequest],
        records: Sequence[OffsetCommitRecord],
        order: Order,
        tolerance_ms: int,
    ) -> None:
        """``tolerance_ms``: by how much the broker's clock may go back between a record and its line."""
        self._order, self._back_ms = order, tolerance_ms
        self._asked = _asked(requests)
        self._written = {
            key: _Written(found, tolerance_ms) for key, found in _written(records, self._asked).items()
        }
        self._options: Options = {}

    def place_without_clock(self, whole: Whole) -> Options:
        """Narrow down what each commit may have written, and give those that can only have written one."""
        options: Options = {}
        for key, written in self._written.items():
            for commit in self._asked[key]:
                start_ms = self._order.arrival(commit.request, LATEST_MS, self._back_ms)
                place = whole(commit.request.broker_id, start_ms, commit.request.responded_ms)
                if place is not None:
                    found = written.fitting(commit, start_ms, _AT_MOST)
                    found = [each for each in found if (each.stretch, each.leader_epoch) == place]
                    if found:
                        options[commit] = found
        self._options = _narrowed(options, self._order)
        return {commit: found for commit, found in self._options.items() if len(found) == 1}

    def place_by_clock(
        self, tolerance: Callable[[CommitRequest], int], state_at: Callable[[int], int]
    ) -> Matches:
        """Match the rest by time: a record fits that was written between arrival and answer.

        ``tolerance``: how late a request's line may be, in milliseconds; ``state_at``: the group's state at
        an offset. Identical commits that compete take identical records in order, if there are as many of
        each and all of them met one state; if records are missing nothing is said; otherwise every pair is
        doubtful.
        """
        certain = {commit: found[0] for commit, found in self._options.items() if len(found) == 1}
        matches = Matches(certain)
        fitting = self._fitting(certain, tolerance)
        for component in _competing(fitting):
            _choose(component, matches, state_at)
        for key, written in self._written.items():
            for commit in self._asked[key]:
                if commit in matches.sure or commit in matches.doubtful:
                    continue
                if commit in fitting:
                    matches.competing.add(commit)
                elif written.fitting(commit, commit.request.requested_ms - LATEST_MS):
                    matches.late.add(commit)
        return matches

    def _fitting(
        self, certain: Mapping[Commit, OffsetCommitRecord], tolerance: Callable[[CommitRequest], int]
    ) -> Options:
        """The records that each of the others may have written, by time and order."""
        taken = {own.offset for own in certain.values()}
        places = self._order.between(_decided(self._options).get)
        fitting: Options = {}
        for key in self._written:
            for commit in self._asked[key]:
                if commit in certain:
                    continue
                request = commit.request
                start_ms = self._order.arrival(request, tolerance(request), self._back_ms)
                place = places.get(request, ANYWHERE)
                found = self._in_time(key, commit, start_ms, taken)
                found = [each for each in found if place.after < each.offset < place.before]
                if found:
                    fitting[commit] = found
        return fitting

    def _in_time(
        self, key: Content, commit: Commit, start_ms: int, taken: Container[int]
    ) -> list[OffsetCommitRecord]:
        fitting = self._written[key].fitting(commit, start_ms)
        found = [each for each in fitting if each.offset not in taken]
        if commit not in self._options:
            return found
        # one of these is its own: when none is in time, its line was later than the tolerance
        options = self._options[commit]
        return [each for each in found if each in options] or options

    def between(self, matches: Matches) -> dict[CommitRequest, Between]:
        """Where each request was decided, as the order of requests tells of those whose record is sure."""
        return self._order.between(_decided({commit: [own] for commit, own in matches.sure.items()}).get)


class _Written:
    """Records of one content by time. A clock may have gone back ``back_ms`` before a line was written."""

    def __init__(self, records: Iterable[OffsetCommitRecord], back_ms: int) -> None:
        self._back_ms = back_ms
        self._by_time = sorted(records, key=attrgetter("timestamp_ms", "offset"))
        self._times = [record.timestamp_ms for record in self._by_time]

    def fitting(self, commit: Commit, start_ms: int, at_most: int | None = None) -> list[OffsetCommitRecord]:
        """Those that a commit may have written that arrived at this time or later; none if there are too
        many.
        """
        first = bisect_left(self._times, start_ms)
        end = bisect_right(self._times, commit.request.responded_ms + self._back_ms)
        if at_most is not None and end - first > at_most:
            return []
        found = [record for record in self._by_time[first:end] if same_topic(commit, record)]
        return sorted(found, key=attrgetter("offset"))


def _asked(requests: Iterable[CommitRequest]) -> dict[Content, list[Commit]]:
    """The accepted commits by what they wrote."""
    asked: dict[Content, list[Commit]] = {}
    for request in requests:
        for commit in request.commits:
            if commit.accepted:
                asked.setdefault(content_of(commit), []).append(commit)
    return asked


def content_of(commit: Commit) -> Content:
    """What the record of a commit has of it, if it has one."""
    request = commit.request
    return (
        commit.partition,
        commit.committed_offset,
        commit.committed_leader_epoch,
        -1 if request.producer_id is None else request.producer_id,
        -1 if request.producer_epoch is None else request.producer_epoch,
    )


def _written(
    records: Iterable[OffsetCommitRecord], asked: Container[Content]
) -> dict[Content, list[OffsetCommitRecord]]:
    """The records of commits that were asked for; what compaction left tells not how it came about."""
    written: dict[Content, list[OffsetCommitRecord]] = {}
    for record in records:
        if record.tombstone or record.based:
            continue
        content = content_of_record(record)
        if content in asked:
            written.setdefault(content, []).append(record)
    return written


def content_of_record(record: OffsetCommitRecord) -> Content:
    """What a record has of its commit."""
    producer = (record.producer_id, record.producer_epoch) if record.is_transactional else (-1, -1)
    return (record.partition, record.committed_offset, record.committed_leader_epoch, *producer)


def same_topic(commit: Commit, record: OffsetCommitRecord) -> bool:
    """Whether a record is of the topic that a commit names."""
    if commit.topic is not None:
        return commit.topic == record.topic
    return commit.topic_id is not None and commit.topic_id == record.topic_id


def _narrowed(options: Options, order: Order) -> Options:
    """The options less those that another commit must have written, or that the order of requests excludes.

    Where nothing is left to a commit, something that was taken for whole is not: of all that share an option
    with it, directly or through others, nothing is said.
    """
    left = {commit: list(found) for commit, found in options.items()}
    takers: dict[int, list[Commit]] = {}
    for commit, found in options.items():
        for record in found:
            takers.setdefault(record.offset, []).append(commit)
    open_before = -1
    for _ in range(_ROUNDS):
        open_now = sum(map(len, left.values()))
        if open_now == open_before:
            break
        open_before = open_now
        _apply_order(left, order)
        _take_singles(left, takers)
    refuted = [commit for commit, found in left.items() if not found]
    if not refuted:
        return left
    doubted: set[Commit] = set()
    for component in _competing(options):
        if any(not left[commit] for commit in component):
            doubted.update(component)
    return _narrowed({commit: found for commit, found in options.items() if commit not in doubted}, order)


def _apply_order(left: Options, order: Order) -> None:
    decided = _decided(left)
    places = order.between(decided.get)
    for commit, found in left.items():
        request = commit.request
        place, own = places.get(request, ANYWHERE), decided.get(request)
        # the records of one request are written one behind the other
        reach = len(request.commits)
        after = max(place.after, ANYWHERE.after if own is None else own.after - reach)
        before = min(place.before, ANYWHERE.before if own is None else own.before + reach)
        if len(found) > 1 or (found and not after < found[0].offset < before):
            left[commit] = [record for record in found if after < record.offset < before]


def _take_singles(left: Options, takers: Mapping[int, Sequence[Commit]]) -> None:
    """A record that is all that is left to one commit was not written by another."""
    singles = [commit for commit, found in left.items() if len(found) == 1]
    while singles:
        commit = singles.pop()
        if not left[commit]:
            continue
        record = left[commit][0]
        for other in takers[record.offset]:
            if other is not commit and record in left[other]:
                left[other].remove(record)
                if len(left[other]) == 1:
                    singles.append(other)


def _decided(options: Mapping[Commit, Sequence[OffsetCommitRecord]]) -> dict[CommitRequest, Between]:
    """Between which offsets, both included, the records of a request are, by what each commit may have
    written.
    """
    decided: dict[CommitRequest, Between] = {}
    for commit, found in options.items():
        if found:
            first, last = found[0].offset, found[-1].offset
            known = decided.get(commit.request)
            if known is not None:
                first, last = max(first, known.after), min(last, known.before)
            decided[commit.request] = Between(first, last)
    return decided


def _competing(fitting: Options) -> Iterator[Options]:
    """The commits that compete for records, directly or through others, with the records that fit them."""
    takers: dict[int, list[Commit]] = {}
    for commit, records in fitting.items():
        for record in records:
            takers.setdefault(record.offset, []).append(commit)
    seen: set[Commit] = set()
    for commit in fitting:
        if commit in seen:
            continue
        component, waiting = {}, [commit]
        seen.add(commit)
        while waiting:
            one = waiting.pop()
            component[one] = fitting[one]
            for record in fitting[one]:
                # asked once is enough
                for other in takers.pop(record.offset, ()):
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
        yield component


def _choose(component: Options, matches: Matches, state_at: Callable[[int], int]) -> None:
    records = sorted({record.offset: record for fits in component.values() for record in fits}.items())
    if len(component) < len(records):
        matches.doubtful.update(component)
    elif len(component) == len(records):
        if len({state_at(offset) for offset, _ in records}) > 1:
            _choose_apart(component, matches)
            return
        # ordered by where the log allows it first: no broker's clock can be wrong about that
        in_order = sorted(component, key=lambda commit: _order(commit, component[commit]))
        for commit, (_, record) in zip(in_order, records, strict=True):
            if record in component[commit]:
                matches.sure[commit] = record


def _choose_apart(component: Options, matches: Matches) -> None:
    """Where the order matters, only what leaves no choice is sure."""
    takers: dict[int, list[Commit]] = {}
    for commit, found in component.items():
        for record in found:
            takers.setdefault(record.offset, []).append(commit)
    left = {commit: list(found) for commit, found in component.items()}
    _take_singles(left, takers)
    for commit, found in left.items():
        if len(found) == 1:
            matches.sure[commit] = found[0]
        elif found:
            matches.doubtful[commit] = found


def _order(commit: Commit, fits: Iterable[OffsetCommitRecord]) -> tuple[int, int, str, int, str]:
    request = commit.request
    low = min(record.offset for record in fits)
    return (low, request.responded_ms, request.file, request.position, commit.commit_id)
