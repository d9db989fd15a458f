"""Which record of its coordinator's log each accepted commit wrote.

First without a clock: an accepted commit has its record, each record was written by one commit, the requests
of a connection are in order, and a line is never written before its request. What that leaves open is asked
of the broker's clock, with a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fencepost.protocols.offset_commit.competing_commits import choose, group_competing
from fencepost.protocols.offset_commit.contents import numbered_contents
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.matches import Matches, Options
from fencepost.protocols.offset_commit.order import Order, Places
from fencepost.protocols.offset_commit.record_candidates import (
    Flags,
    Pairs,
    RequestSizes,
    narrow,
    offset_bounds,
)
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.terms import Terms
from fencepost.replay.group_coordinator.records import OffsetCommitRecord
from fencepost.replay.logs import Longs
from fencepost.replay.request_clocks import brokers_with_another_clock
from fencepost.replay.requests import LATEST_MS, NONE

_AT_MOST = 64
"""A commit with more records of the same content before it is not looked at without a clock."""


class Matching:
    """The accepted commits of one coordinator's groups beside the records of its log, as columns: commits
    whose content a record has, in the order of contents, and records by content and time.
    """

    def __init__(
        self,
        requests: Requests,
        records: Sequence[OffsetCommitRecord],
        order: Order,
        tolerance_ms: int,
    ) -> None:
        """``records`` in offset order. ``tolerance_ms``: by how much the broker's clock may go back between a
        record and its line.
        """
        self._requests, self._order, self._back_ms = requests, order, tolerance_ms
        self._matches = Matches(records, len(requests.request))
        # what compaction left tells not how it came about
        written = np.fromiter(
            (not (each.tombstone or each.based) for each in records), np.bool_, len(records)
        )
        numbers = np.flatnonzero(written)
        records = [records[at] for at in numbers.tolist()]
        times = np.fromiter((record.timestamp_ms for record in records), np.int64, len(records))
        accepted = requests.with_error([NONE])
        of_records, of_commits = numbered_contents(records, requests, accepted)
        self.other_clocks = _other_clocks(of_records, of_commits, times, requests, accepted, tolerance_ms)
        """The brokers of which no time of a line is compared with that of a record."""
        self._matches.other_clocks = self.other_clocks
        timed = ~np.isin(requests["broker_id"][requests.request[accepted]], list(self.other_clocks))
        accepted, of_commits = accepted[timed], of_commits[timed]
        has_record = np.flatnonzero(of_commits <= of_records.max(initial=-1))
        commit_order = has_record[np.argsort(of_commits[has_record], kind="stable")]
        self._commits = accepted[commit_order]
        record_order = np.lexsort((times, of_records))
        self._records = [records[at] for at in record_order.tolist()]
        self._numbers = numbers[record_order]
        self._content, self._content_of_record = of_commits[commit_order], of_records[record_order]
        self._times = times[record_order]
        self._offsets = np.fromiter((each.offset for each in self._records), np.int64, len(records))
        topics, topic_ids = (requests.texts_of_commits(name) for name in ("topic", "topic_id"))
        self._topics, self._ids = topics.values[self._commits], topic_ids.values[self._commits]
        self._topics_of_records = topics.numbers_of(each.topic for each in self._records)
        self._ids_of_records = topic_ids.numbers_of(each.topic_id for each in self._records)
        of = requests.request[self._commits]
        self._asked = RequestSizes(of, requests.size)
        self._requested_ms = requests["requested_ms"][of]
        self._responded_ms = requests["responded_ms"][of]
        self._brokers = requests["broker_id"][of]
        self._options = Pairs(*(np.empty(0, dtype=np.int64) for _ in Pairs._fields))

    def place_without_clock(self, terms: Terms, lateness: Lateness) -> None:
        """Narrow down what each commit may have written, and note how late the lines of those are that can
        only have written one record.
        """
        every = np.arange(len(self._commits))
        start_ms = self._order.arrivals(self._requested_ms, self._asked.request, LATEST_MS, self._back_ms)
        term = np.full(len(every), -1)
        for broker_id in np.unique(self._brokers).tolist():
            own = self._brokers == broker_id
            term[own] = terms.only(broker_id, start_ms[own], self._responded_ms[own])
        places = ((each.stretch, each.leader_epoch) for each in self._records)
        term_of_record = np.fromiter((terms.numbers.get(place, -2) for place in places), np.int64)
        pairs = self._in_time(every[term >= 0], start_ms[term >= 0], _AT_MOST)
        pairs = pairs.filter(term[pairs.commits] == term_of_record[pairs.records])
        self._options = narrow(pairs, self._asked, self._offsets, self._order.between)
        certain = self._certain()
        late_ms = self._requested_ms[certain.commits] - self._times[certain.records]
        brokers = self._brokers[certain.commits]
        for broker_id in np.unique(brokers).tolist():
            own = brokers == broker_id
            lateness.note(broker_id, self._responded_ms[certain.commits[own]], late_ms[own])

    def place_by_clock(self, lateness: Lateness, state_at: Callable[[int], int]) -> Matches:
        """Match the rest by time: a record fits that was written between arrival and answer.

        ``state_at``: the state that the group of a record had when it was written. Identical commits that
        compete take identical records in order, if there are as many of each and all of them met one state;
        if records are missing nothing is said; otherwise every pair is doubtful.
        """
        matches, certain = self._matches, self._certain()
        matches.record[self._commits[certain.commits]] = self._numbers[certain.records]
        is_open = np.ones(len(self._commits), dtype=np.bool_)
        is_open[certain.commits] = False
        left = np.flatnonzero(is_open)
        fitting = self._fitting(left, certain.records, lateness)
        for component in group_competing(fitting):
            choose(component, matches, state_at)
        late = self._in_time(left, self._requested_ms[left] - LATEST_MS)
        has_late = np.bincount(late.commits, minlength=len(self._commits)) > 0
        for at, commit in zip(left.tolist(), self._commits[left].tolist(), strict=True):
            if matches.record[commit] >= 0 or commit in matches.doubtful:
                continue
            if commit in fitting:
                matches.competing.add(commit)
            elif has_late[at]:
                matches.late.add(commit)
        return matches

    def between(self, matches: Matches) -> Places:
        """Where each request was decided, as the order of requests tells of those whose record is sure."""
        commits, records = matches.sure()
        offsets = np.fromiter((matches.records[at].offset for at in records.tolist()), np.int64, len(records))
        own = Pairs(np.arange(len(commits)), np.arange(len(commits)))
        asked = RequestSizes(self._requests.request[commits], self._asked.size)
        return self._order.between(offset_bounds(own, asked, offsets))

    def _certain(self) -> Pairs:
        """The options of those commits that have one."""
        counts = np.bincount(self._options.commits, minlength=len(self._commits))
        return self._options.filter(counts[self._options.commits] == 1)

    def _in_time(self, commits: Longs, start_ms: Longs, at_most: int | None = None) -> Pairs:
        """The records that commits may have written that arrived at this time or later; none of a commit that
        has too many. A clock may have gone back before a line was written.
        """
        times, rank = np.unique(self._times, return_inverse=True)
        # a record's content and time in one number
        keys = self._content_of_record * (len(times) + 1) + rank
        end_ms = self._responded_ms[commits] + self._back_ms
        content = self._content[commits] * (len(times) + 1)
        first = np.searchsorted(keys, content + np.searchsorted(times, start_ms))
        end = np.searchsorted(keys, content + np.searchsorted(times, end_ms, side="right"))
        count = np.maximum(end - first, 0)
        if at_most is not None:
            count[count > at_most] = 0
        ends = np.cumsum(count)
        which = np.repeat(np.arange(len(commits)), count)
        records = np.arange(len(which)) - (ends - count)[which] + first[which]
        pairs = Pairs(commits[which], records)
        pairs = pairs.filter(self._is_of_topic(pairs))
        order = np.lexsort((self._offsets[pairs.records], pairs.commits))
        return Pairs(pairs.commits[order], pairs.records[order])

    def _is_of_topic(self, pairs: Pairs) -> Flags:
        """Whether a record is of the topic that a commit names (``contents.same_topic``)."""
        topic, topic_id = self._topics[pairs.commits], self._ids[pairs.commits]
        same_id = (topic_id >= 0) & (topic_id == self._ids_of_records[pairs.records])
        same: Flags = np.where(topic >= 0, topic == self._topics_of_records[pairs.records], same_id)
        return same

    def _fitting(self, commits: Longs, taken: Longs, lateness: Lateness) -> Options:
        """The records, not taken, that each of the commits may have written, by time and order."""
        of = self._asked.request[commits]
        late_ms = lateness.of_requests(self._requests, of)
        start_ms = self._order.arrivals(self._requested_ms[commits], of, late_ms, self._back_ms)
        found = self._in_time(commits, start_ms)
        is_taken = np.zeros(len(self._records), dtype=np.bool_)
        is_taken[taken] = True
        in_time, options = _listed(found.filter(~is_taken[found.records])), _listed(self._options)
        places = self._order.between(offset_bounds(self._options, self._asked, self._offsets))
        fitting: Options = {}
        for at, number in zip(commits.tolist(), of.tolist(), strict=True):
            records, own = in_time.get(at, []), options.get(at)
            if own is not None:
                # one of these is its own: when none is in time, its line was later than the tolerance
                records = [record for record in records if record in own] or own
            fits = [
                each for each in records if places.after[number] < self._offsets[each] < places.before[number]
            ]
            if fits:
                fitting[int(self._commits[at])] = self._numbers[fits].tolist()
        return fitting


def _other_clocks(  # noqa: PLR0917 (columns of records and of commits)
    of_records: Longs, of_commits: Longs, times: Longs, requests: Requests, commits: Longs, tolerance_ms: int
) -> frozenset[int]:
    """The brokers with another clock, by the commits and records whose content no other has."""
    contents = of_records.max(initial=-1) + 1
    has_record = np.flatnonzero(of_commits < contents)
    of = of_commits[has_record]
    once = (np.bincount(of_records, minlength=contents) == 1) & (np.bincount(of, minlength=contents) == 1)
    alone = has_record[once[of]]
    written_ms = np.zeros(contents, dtype=np.int64)
    written_ms[of_records] = times
    asked = requests.request[commits[alone]]
    return brokers_with_another_clock(
        requests["broker_id"][asked],
        requests["requested_ms"][asked],
        requests["responded_ms"][asked],
        written_ms[of_commits[alone]],
        tolerance_ms=tolerance_ms,
    )


def _listed(pairs: Pairs) -> dict[int, list[int]]:
    """The records of each commit."""
    found: dict[int, list[int]] = {}
    for commit, record in zip(pairs.commits.tolist(), pairs.records.tolist(), strict=True):
        found.setdefault(commit, []).append(record)
    return found
