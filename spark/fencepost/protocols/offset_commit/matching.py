"""Finds the record of its coordinator's log that each accepted commit wrote.

The first step uses no clock: each accepted commit wrote one record, one commit wrote each record, the
requests of a connection are in order, and a line is never written before its request. Where several records
remain, the second step compares times of the broker's clock, with a tolerance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from fencepost.protocols.offset_commit.commit_records import CommitRecords
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
from fencepost.protocols.offset_commit.unlike_lines import lines_unlike_records, lost_commits
from fencepost.replay.group_coordinator.records import GroupRecord
from fencepost.replay.logs import Log, Longs
from fencepost.replay.request_clocks import brokers_with_another_clock, differences
from fencepost.replay.requests import LATEST_MS, NONE
from fencepost.replay.terms import Terms

_AT_MOST = 64
"""The first step leaves out a commit with more earlier records of the same content."""


class Matching:
    """The accepted commits of one coordinator's groups and the records of its log, as columns: commits whose
    content some record has, sorted by content, and records sorted by content and time.
    """

    def __init__(
        self,
        requests: Requests,
        records: CommitRecords,
        order: Order,
        tolerance_ms: int,
        *,
        group_records: Iterable[GroupRecord],
        log: Log,
        ended: bool = False,
    ) -> None:
        """``ended``: nothing follows the log's newest record. ``tolerance_ms``: by how much the broker's
        clock may go back between a record and its line. ``group_records``: those about groups in the
        coordinator's log.
        """
        self._requests, self._order, self._clock_back_ms = requests, order, tolerance_ms
        self._matches = Matches(records, len(requests.request))
        # records that compaction left do not show when and in which order they were written
        numbers = np.flatnonzero((records["tombstone"] == 0) & (records["based"] == 0))
        times = records["timestamp_ms"][numbers]
        accepted = requests.with_error([NONE])
        of_records, of_commits = numbered_contents(records, numbers, requests, accepted)
        compared = _compared(of_records, of_commits, times, requests, accepted)
        self.other_clocks = brokers_with_another_clock(compared, tolerance_ms)
        """The brokers whose lines' times are not compared with those of records."""
        self.clock_differences = differences(compared, self.other_clocks)
        self._matches.other_clocks = self.other_clocks
        is_stored = of_commits <= of_records.max(initial=-1)
        unlike = lines_unlike_records(requests, accepted, is_stored, group_records, log)
        self.clock_differences += unlike
        self.unlike = self._matches.unlike = frozenset(each.broker_id for each in unlike)
        """The brokers whose lines are not about these records."""
        self.without_accepted = numbers[~np.isin(of_records, of_commits)]
        """The records whose content no accepted commit has."""
        untimed = list(self.other_clocks | self.unlike)
        is_timed = ~np.isin(requests["broker_id"][requests.request[accepted]], untimed)
        lost, self.gaps = lost_commits(requests, accepted[is_timed], is_stored[is_timed], log, ended=ended)
        """The times from and to which records of accepted commits are gone."""
        self.clock_differences += lost
        has_record = np.flatnonzero(is_timed & is_stored)
        commit_order = has_record[np.argsort(of_commits[has_record], kind="stable")]
        self._commits = accepted[commit_order]
        record_order = np.lexsort((times, of_records))
        self._numbers = numbers[record_order]
        self._content, self._content_of_record = of_commits[commit_order], of_records[record_order]
        self._times = times[record_order]
        self._offsets = records["offset"][self._numbers]
        topics, topic_ids = (requests.texts_of_commits(name) for name in ("topic", "topic_id"))
        self._topics, self._ids = topics.values[self._commits], topic_ids.values[self._commits]
        self._topics_of_records = topics.numbers_in(records.texts("topic"))[self._numbers]
        self._ids_of_records = topic_ids.numbers_in(records.texts("topic_id"))[self._numbers]
        of = requests.request[self._commits]
        self._sizes = RequestSizes(of, requests.size)
        self._requested_ms = requests["requested_ms"][of]
        self._responded_ms = requests["responded_ms"][of]
        self._brokers = requests["broker_id"][of]
        self._options = Pairs(*(np.empty(0, dtype=np.int64) for _ in Pairs._fields))

    def place_without_clock(self, terms: Terms, lateness: Lateness) -> None:
        """Narrow down the records that each commit may have written. Note how late the lines are of commits
        that can only have written one.
        """
        every = np.arange(len(self._commits))
        start_ms = self._order.arrivals(
            self._requested_ms, self._sizes.request, LATEST_MS, self._clock_back_ms
        )
        term = np.full(len(every), -1)
        for broker_id in np.unique(self._brokers).tolist():
            own = self._brokers == broker_id
            term[own] = terms.only(broker_id, start_ms[own], self._responded_ms[own])
        records = self._matches.records
        term_of_record = terms.numbers_at(
            records["stretch"][self._numbers], records["leader_epoch"][self._numbers]
        )
        pairs = self._in_time(every[term >= 0], start_ms[term >= 0], _AT_MOST)
        pairs = pairs.filter(term[pairs.commits] == term_of_record[pairs.records])
        self._options = narrow(pairs, self._sizes, self._offsets, self._order.between)
        certain = self._certain()
        late_ms = self._requested_ms[certain.commits] - self._times[certain.records]
        brokers = self._brokers[certain.commits]
        for broker_id in np.unique(brokers).tolist():
            own = brokers == broker_id
            lateness.note(broker_id, self._responded_ms[certain.commits[own]], late_ms[own])

    def place_by_clock(self, lateness: Lateness, state_at: Callable[[int], int]) -> Matches:
        """Match the remaining commits by time: a record fits if it was written between arrival and answer.

        ``state_at``: the number of the state that a record's group was in when the record was written. If as
        many commits as records compete and all met one state, they take the records in order. If there are
        fewer records than commits, none is matched. Otherwise every pair that has an alternative is doubtful.
        """
        matches, certain = self._matches, self._certain()
        matches.record[self._commits[certain.commits]] = self._numbers[certain.records]
        is_open = np.ones(len(self._commits), dtype=np.bool_)
        is_open[certain.commits] = False
        open_commits = np.flatnonzero(is_open)
        fitting = self._fitting(open_commits, certain.records, lateness)
        for component in group_competing(fitting):
            choose(component, matches, state_at)
        late = self._in_time(open_commits, self._requested_ms[open_commits] - LATEST_MS)
        has_late = np.bincount(late.commits, minlength=len(self._commits)) > 0
        for at, commit in zip(open_commits.tolist(), self._commits[open_commits].tolist(), strict=True):
            if matches.record[commit] >= 0 or commit in matches.doubtful:
                continue
            if commit in fitting:
                matches.competing.add(commit)
            elif has_late[at]:
                matches.late.add(commit)
        return matches

    def between(self, matches: Matches) -> Places:
        """Where in the log each request was decided, by the order of requests and the records
        that are sure.
        """
        commits, records = matches.sure()
        offsets = matches.records["offset"][records]
        own = Pairs(np.arange(len(commits)), np.arange(len(commits)))
        sizes = RequestSizes(self._requests.request[commits], self._sizes.size)
        return self._order.between(offset_bounds(own, sizes, offsets))

    def _certain(self) -> Pairs:
        """The options of those commits that have exactly one."""
        counts = np.bincount(self._options.commits, minlength=len(self._commits))
        return self._options.filter(counts[self._options.commits] == 1)

    def _in_time(self, commits: Longs, start_ms: Longs, at_most: int | None = None) -> Pairs:
        """The records that commits may have written if they arrived at ``start_ms`` or later. A commit with
        more than ``at_most`` gets none. The clock may have gone back before a line was written.
        """
        times, rank = np.unique(self._times, return_inverse=True)
        # one number has a record's content and time
        keys = self._content_of_record * (len(times) + 1) + rank
        end_ms = self._responded_ms[commits] + self._clock_back_ms
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

    def _fitting(self, commits: Longs, written: Longs, lateness: Lateness) -> Options:
        """The records that each of the commits may have written, by time and order, without ``written``:
        those that other commits certainly wrote.
        """
        of = self._sizes.request[commits]
        late_ms = lateness.of_requests(self._requests, of)
        start_ms = self._order.arrivals(self._requested_ms[commits], of, late_ms, self._clock_back_ms)
        candidates = self._in_time(commits, start_ms)
        is_written = np.zeros(len(self._numbers), dtype=np.bool_)
        is_written[written] = True
        in_time, options = _listed(candidates.filter(~is_written[candidates.records])), _listed(self._options)
        places = self._order.between(offset_bounds(self._options, self._sizes, self._offsets))
        fitting: Options = {}
        for at, number in zip(commits.tolist(), of.tolist(), strict=True):
            records, own = in_time.get(at, []), options.get(at)
            if own is not None:
                # one of its options is its record: if none is in time, the line was later than the tolerance
                records = [record for record in records if record in own] or own
            fits = [
                each for each in records if places.after[number] < self._offsets[each] < places.before[number]
            ]
            if fits:
                fitting[int(self._commits[at])] = self._numbers[fits].tolist()
        return fitting


def _compared(
    of_records: Longs, of_commits: Longs, times: Longs, requests: Requests, commits: Longs
) -> Longs:
    """The times of the commits and records whose content occurs once (request_clocks)."""
    contents = of_records.max(initial=-1) + 1
    has_record = np.flatnonzero(of_commits < contents)
    of = of_commits[has_record]
    once = (np.bincount(of_records, minlength=contents) == 1) & (np.bincount(of, minlength=contents) == 1)
    alone = has_record[once[of]]
    written_ms = np.zeros(contents, dtype=np.int64)
    written_ms[of_records] = times
    request_numbers = requests.request[commits[alone]]
    of_requests = [requests[name][request_numbers] for name in ("broker_id", "requested_ms", "responded_ms")]
    return np.column_stack([*of_requests, written_ms[of_commits[alone]]])


def _listed(pairs: Pairs) -> dict[int, list[int]]:
    """Commit -> its records."""
    records_of: dict[int, list[int]] = {}
    for commit, record in zip(pairs.commits.tolist(), pairs.records.tolist(), strict=True):
        records_of.setdefault(commit, []).append(record)
    return records_of
