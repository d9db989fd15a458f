"""The commit requests of one coordinator's groups as columns: a group may have millions of them."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import fields
from itertools import islice
from operator import attrgetter

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.offset_commit.attributes import Numbers, Texts
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest, is_accepted, is_fenced
from fencepost.replay.logs import Longs

_AT_ONCE = 4_096
"""So many requests are objects at a time."""

_TEXTS = (
    "connection", "group_id", "member_id", "instance_id", "client_id", "transactional_id", "file"
)  # fmt: skip
_NUMBERS = (
    "broker_id", "correlation_id", "api_key", "api_version", "client_epoch", "is_transactional",
    "producer_id", "producer_epoch", "requested_ms", "responded_ms", "position",
)  # fmt: skip
_COMMIT_TEXTS = ("reference", "topic", "topic_id", "partition_key", "broker_error")
_COMMIT_NUMBERS = ("partition", "committed_offset", "committed_leader_epoch")


class Requests:
    """Requests in the order of their answers, each with its number, and the commits of all of them, in the
    order of the requests. ``request`` is of each commit its request's number, ``size`` of each request how
    many commits it has, ``stored`` of each commit whether it was, though its broker said otherwise.
    """

    def __init__(self, requests: Iterable[CommitRequest]) -> None:
        """``requests`` are gone through once, in any order, and have no commits afterwards: both name each
        other, and only a search for cycles would let them go.
        """
        self._texts = {name: Texts() for name in _TEXTS}
        self._numbers = {name: Numbers() for name in _NUMBERS}
        self._texts_of_commits = {name: Texts() for name in _COMMIT_TEXTS}
        self._numbers_of_commits = {name: Numbers() for name in _COMMIT_NUMBERS}
        self._of: dict[str, Texts | Numbers] = {**self._texts, **self._numbers}
        self._of_commits: dict[str, Texts | Numbers] = {**self._texts_of_commits, **self._numbers_of_commits}
        sizes = array("q")
        self._ids = pa.chunked_array(self._take(iter(requests), sizes), pa.string())
        self._order(np.frombuffer(sizes, np.int64))

    def __len__(self) -> int:
        return len(self.size)

    def __getitem__(self, name: str) -> Longs:
        """A number of all requests."""
        return self._numbers[name].values

    def texts(self, name: str) -> Texts:
        """A text of all requests."""
        return self._texts[name]

    def of_commits(self, name: str) -> Longs:
        """A number of all commits."""
        return self._numbers_of_commits[name].values

    def texts_of_commits(self, name: str) -> Texts:
        """A text of all commits."""
        return self._texts_of_commits[name]

    def each(self, numbers: Longs) -> Iterator[CommitRequest]:
        """The requests with these numbers, in this order; who has done with one takes its commits away."""
        for begin in range(0, len(numbers), _AT_ONCE):
            some = numbers[begin : begin + _AT_ONCE]
            yield from self._with_commits(some, self._objects(some))

    def each_alone(self, numbers: Longs) -> Iterator[CommitRequest]:
        """The same without their commits."""
        for begin in range(0, len(numbers), _AT_ONCE):
            yield from self._objects(numbers[begin : begin + _AT_ONCE])

    def by_group(self) -> dict[str, Longs]:
        """The numbers of each group's requests."""
        groups = self.texts("group_id")
        order = np.argsort(groups.values, kind="stable")
        ends = np.cumsum(np.bincount(groups.values, minlength=len(groups.names)))
        return dict(zip(groups.names, np.split(order, ends), strict=False))

    def with_error(self, errors: Collection[str]) -> Longs:
        """The numbers of the commits that were answered one of these."""
        column = self.texts_of_commits("broker_error")
        return np.flatnonzero(np.isin(column.values, column.numbers_of(sorted(errors))))

    def _take(self, requests: Iterator[CommitRequest], sizes: array[int]) -> Iterator[pa.Array]:
        """Take all requests; gives their ids."""
        values, values_of_commit = attrgetter(*self._of), attrgetter(*self._of_commits)
        while some := list(islice(requests, _AT_ONCE)):
            commits = [commit for request in some for commit in request.commits]
            for columns, rows in (
                (self._of, map(values, some)),
                (self._of_commits, map(values_of_commit, commits)),
            ):
                for column, taken in zip(columns.values(), zip(*rows, strict=True), strict=True):
                    column.take(taken)
            sizes.extend([len(request.commits) for request in some])
            yield pa.array([request.request_id for request in some], pa.string())
            for request in some:
                request.commits = []

    def _order(self, size: Longs) -> None:
        file = self.texts("file")
        position, responded_ms = (self._numbers[name].taken for name in ("position", "responded_ms"))
        keys = (position, file.ranks()[file.taken], responded_ms)
        order = np.lexsort((np.asarray(pc.rank(self._ids)), *keys))
        ends = np.cumsum(size)
        self.size: Longs = size[order]
        self.request: Longs = np.repeat(np.arange(len(order)), self.size)
        self._begins = np.cumsum(self.size) - self.size
        own = np.arange(len(self.request)) - self._begins[self.request]
        of_commits = (ends - size)[order][self.request] + own
        for columns, places in ((self._of, order), (self._of_commits, of_commits)):
            for column in columns.values():
                column.order(places)
        self._ids = self._ids.combine_chunks().take(pa.array(order))
        self.stored = np.zeros(len(self.request), dtype=np.bool_)

    def _objects(self, numbers: Longs) -> list[CommitRequest]:
        values = {name: column.objects(numbers) for name, column in self._of.items()}
        values["request_id"] = self._ids.take(pa.array(numbers)).to_pylist()
        values["is_transactional"] = list(map(bool, values["is_transactional"]))
        values["commits"] = [[] for _ in values["request_id"]]
        values["number"] = numbers.tolist()
        return list(map(CommitRequest, *(values[each.name] for each in fields(CommitRequest))))

    def _with_commits(self, numbers: Longs, requests: Sequence[CommitRequest]) -> Sequence[CommitRequest]:
        size = self.size[numbers]
        own = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        commits = np.repeat(self._begins[numbers], size) + own
        values = {name: column.objects(commits) for name, column in self._of_commits.items()}
        values["request"] = [requests[at] for at in np.repeat(np.arange(len(size)), size).tolist()]
        errors, stored = values["broker_error"], self.stored[commits].tolist()
        values["accepted"] = [was or is_accepted(error) for was, error in zip(stored, errors, strict=True)]
        values["fenced"] = list(map(is_fenced, errors))
        values["number"] = commits.tolist()
        for commit in map(Commit, *(values[each.name] for each in fields(Commit))):
            commit.request.commits.append(commit)
        return requests
