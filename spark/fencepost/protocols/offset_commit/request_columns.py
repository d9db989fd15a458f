"""The commit requests of one coordinator's groups as columns: a group may have millions of them."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import fields
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.offset_commit.requests import Commit, CommitRequest, is_accepted, is_fenced
from fencepost.replay.logs import UNKNOWN, Longs

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


class Column:
    """One attribute of many objects: a number for each. Texts, of which the same are there again and again,
    are numbered by ``texts``; -1 is None.
    """

    def __init__(self, *, of_texts: bool) -> None:
        self.texts: dict[str, int] | None = {} if of_texts else None
        self._grown = array("i" if of_texts else "q")
        self.values: Longs = np.empty(0, dtype=np.int64)

    def add(self, value: Any) -> None:
        """Add the next object's."""
        if value is None:
            self._grown.append(UNKNOWN if self.texts is None else -1)
        elif self.texts is None:
            self._grown.append(value)
        else:
            self._grown.append(self.texts.setdefault(value, len(self.texts)))

    def order(self, order: Longs) -> None:
        """No more come; they are put in this order."""
        self.values = self.grown[order]
        self._grown = array(self._grown.typecode)

    @property
    def grown(self) -> Longs:
        """All that were added."""
        return np.frombuffer(self._grown, self._grown.typecode)

    def objects(self, which: Longs) -> list[Any]:
        """Some of the attributes, as they were."""
        values = self.values[which]
        if self.texts is not None:
            texts = [*self.texts, None]
            return [texts[each] for each in values.tolist()]
        found = values.tolist()
        return [None if each == UNKNOWN else each for each in found] if (values == UNKNOWN).any() else found

    def ranks(self) -> Longs:
        """Of each text its place in their order."""
        texts = self.texts or {}
        rank = np.empty(len(texts), dtype=np.int64)
        rank[[texts[text] for text in sorted(texts)]] = np.arange(len(texts))
        return rank

    def number(self, others: Iterable[str | None]) -> Longs:
        """The numbers of other texts: as here, and above these of such as are not here."""
        numbers: dict[str | None, int] = {None: -1}
        numbers.update(self.texts or {})
        # None is there, but is no text
        return np.fromiter((numbers.setdefault(each, len(numbers) - 1) for each in others), np.int64)


class Requests:
    """Requests in the order of their answers, each with its number, and the commits of all of them, in the
    order of the requests. ``request`` is of each commit its request's number, ``size`` of each request how
    many commits it has, ``stored`` of each commit whether it was, though its broker said otherwise.
    """

    def __init__(self, requests: Iterable[CommitRequest]) -> None:
        """``requests`` are gone through once, in any order, and have no commits afterwards: both name each
        other, and only a search for cycles would let them go.
        """
        self._of = {name: Column(of_texts=True) for name in _TEXTS}
        self._of |= {name: Column(of_texts=False) for name in _NUMBERS}
        self._of_commits = {name: Column(of_texts=True) for name in _COMMIT_TEXTS}
        self._of_commits |= {name: Column(of_texts=False) for name in _COMMIT_NUMBERS}
        sizes = array("q")
        self._ids = self._taken(requests, sizes)
        self._order(np.frombuffer(sizes, np.int64))

    def __len__(self) -> int:
        return len(self.size)

    def __getitem__(self, name: str) -> Column:
        """An attribute of all requests."""
        return self._of[name]

    def of_commits(self, name: str) -> Column:
        """An attribute of all commits."""
        return self._of_commits[name]

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
        groups = self["group_id"]
        order = np.argsort(groups.values, kind="stable")
        names = list(groups.texts or ())
        ends = np.cumsum(np.bincount(groups.values, minlength=len(names)))
        return dict(zip(names, np.split(order, ends), strict=False))

    def with_error(self, errors: Collection[str]) -> Longs:
        """The numbers of the commits that were answered one of these."""
        column = self.of_commits("broker_error")
        return np.flatnonzero(np.isin(column.values, column.number(sorted(errors))))

    def _taken(self, requests: Iterable[CommitRequest], sizes: array[int]) -> pa.ChunkedArray:
        columns = [column.add for column in self._of.values()]
        of_commits = [column.add for column in self._of_commits.values()]
        values, values_of_commit = attrgetter(*self._of), attrgetter(*self._of_commits)
        ids: list[str] = []
        chunks = []
        for request in requests:
            for add, value in zip(columns, values(request), strict=True):
                add(value)
            for commit in request.commits:
                for add, value in zip(of_commits, values_of_commit(commit), strict=True):
                    add(value)
            sizes.append(len(request.commits))
            request.commits = []
            ids.append(request.request_id)
            if len(ids) == _AT_ONCE:
                chunks.append(pa.array(ids, pa.string()))
                ids = []
        return pa.chunked_array([*chunks, pa.array(ids, pa.string())])

    def _order(self, size: Longs) -> None:
        file = self["file"]
        keys = (self["position"].grown, file.ranks()[file.grown], self["responded_ms"].grown)
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
