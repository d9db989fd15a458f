"""The commit requests of one coordinator's groups as columns: a group may have millions of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields

import numpy as np
import pyarrow as pa

from fencepost.protocols.offset_commit.attributes import Attributes, Texts
from fencepost.protocols.offset_commit.commit_lines import CommitLines
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest, is_accepted, is_fenced
from fencepost.replay.logs import Longs

_AT_ONCE = 4_096
"""So many requests are objects at a time."""


class Requests:
    """Requests in the order of their answers, each with its number, and the commits of all of them, in the
    order of the requests. ``request`` is of each commit its request's number, ``size`` of each request how
    many commits it has, ``stored`` of each commit whether it was, though its broker said otherwise.
    """

    def __init__(self, lines: CommitLines) -> None:
        self._ids = lines.requests["request_id"].combine_chunks()
        self._of, self._of_commits = Attributes.of(lines.requests), Attributes.of(lines.commits)
        self.request: Longs = self.of_commits("request")
        self.size: Longs = np.bincount(self.request, minlength=len(self._ids))
        self._begins = np.cumsum(self.size) - self.size
        self.stored = np.zeros(len(self.request), dtype=np.bool_)

    def __len__(self) -> int:
        return len(self.size)

    def __getitem__(self, name: str) -> Longs:
        """A number of all requests."""
        return self._of.numbers[name].values

    def texts(self, name: str) -> Texts:
        """A text of all requests."""
        return self._of.texts[name]

    def of_commits(self, name: str) -> Longs:
        """A number of all commits."""
        return self._of_commits.numbers[name].values

    def texts_of_commits(self, name: str) -> Texts:
        """A text of all commits."""
        return self._of_commits.texts[name]

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

    def _objects(self, numbers: Longs) -> list[CommitRequest]:
        values = self._of.objects(numbers)
        values["request_id"] = self._ids.take(pa.array(numbers)).to_pylist()
        values["is_transactional"] = list(map(bool, values["is_transactional"]))
        values["commits"] = [[] for _ in values["request_id"]]
        values["number"] = numbers.tolist()
        return list(map(CommitRequest, *(values[each.name] for each in fields(CommitRequest))))

    def _with_commits(self, numbers: Longs, requests: Sequence[CommitRequest]) -> Sequence[CommitRequest]:
        size = self.size[numbers]
        own = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        commits = np.repeat(self._begins[numbers], size) + own
        values = self._of_commits.objects(commits)
        values["request"] = [requests[at] for at in np.repeat(np.arange(len(size)), size).tolist()]
        errors, stored = values["broker_error"], self.stored[commits].tolist()
        values["accepted"] = [was or is_accepted(error) for was, error in zip(stored, errors, strict=True)]
        values["fenced"] = list(map(is_fenced, errors))
        values["number"] = commits.tolist()
        for commit in map(Commit, *(values[each.name] for each in fields(Commit))):
            commit.request.commits.append(commit)
        return requests
