"""The commit requests of one coordinator's groups as columns, because a group may have millions of them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import chain, repeat
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.protocols.offset_commit.attributes import Attributes, Texts
from fencepost.protocols.offset_commit.commit_lines import CommitLines
from fencepost.protocols.offset_commit.requests import FENCING, Commit, CommitRequest
from fencepost.replay.keys import digests_of_texts
from fencepost.replay.logs import Longs
from fencepost.replay.requests import NONE

_AT_ONCE = 4_096
"""At most so many requests are objects at a time."""
_DIGESTS_AT_ONCE = 1 << 16
_OF_REQUESTS = ("broker_id", "member_id", "instance_id", "client_epoch")
_OF_COMMITS = ("partition_key", "broker_error")
"""The attributes of requests and commits that their objects have themselves."""
_ACCEPTED = (False, True, None)
"""Indexed by 0, 1 and -1."""


class Requests:
    """Requests in the order of their answers, and the commits of all of them in the order of the requests. A
    request's, or a commit's, number is its place.

    ``request``: the number of each commit's request. ``size``: how many commits each request has. ``stored``:
    whether each commit was stored although its broker answered an error.
    """

    def __init__(self, lines: CommitLines) -> None:
        self._ids = lines.requests["request_id"].combine_chunks()
        self._of, self._of_commits = Attributes.of(lines.requests), Attributes.of(lines.commits)
        self.request: Longs = self.of_commits("request")
        self.size: Longs = np.bincount(self.request, minlength=len(self._ids))
        self._begins = np.cumsum(self.size) - self.size
        self.stored = np.zeros(len(self.request), dtype=np.bool_)
        self._commit_ids = self._digests()

    def __len__(self) -> int:
        return len(self.size)

    def __getitem__(self, name: str) -> Longs:
        """A numeric attribute of all requests."""
        return self._of.numbers[name].values

    def texts(self, name: str) -> Texts:
        """A textual attribute of all requests."""
        return self._of.texts[name]

    def of_commits(self, name: str) -> Longs:
        """A numeric attribute of all commits."""
        return self._of_commits.numbers[name].values

    def texts_of_commits(self, name: str) -> Texts:
        """A textual attribute of all commits."""
        return self._of_commits.texts[name]

    def value(self, name: str, number: int) -> Any:
        """An attribute of one request."""
        return self._of[name].value(number)

    def value_of_commit(self, name: str, number: int) -> Any:
        """An attribute of one commit."""
        return (
            self._commit_ids[number].as_py() if name == "commit_id" else self._of_commits[name].value(number)
        )

    def each(self, numbers: Longs) -> Iterator[CommitRequest]:
        """The requests with these numbers, in this order, with their commits.

        A request and its commits refer to each other: when the caller is done with a request it should set
        ``commits`` to an empty list, so that both are freed at once.
        """
        for begin in range(0, len(numbers), _AT_ONCE):
            some = numbers[begin : begin + _AT_ONCE]
            yield from self._with_commits(some, self._objects(some))

    def each_alone(self, numbers: Longs) -> Iterator[CommitRequest]:
        """The requests with these numbers, in this order, without their commits."""
        for begin in range(0, len(numbers), _AT_ONCE):
            yield from self._objects(numbers[begin : begin + _AT_ONCE])

    def by_group(self) -> dict[str, Longs]:
        """The numbers of each group's requests."""
        return self.texts("group_id").places()

    def with_error(self, errors: Collection[str]) -> Longs:
        """The numbers of the commits that were answered with one of these errors."""
        column = self.texts_of_commits("broker_error")
        return np.flatnonzero(np.isin(column.values, column.numbers_of(sorted(errors))))

    def commit_ids(self, commits: Longs) -> pa.Array:
        """Commit.commit_id of these commits."""
        return self._commit_ids.take(pa.array(commits))

    def column(self, name: str, commits: Longs) -> pa.Array:
        """An attribute of these commits, or of their requests if commits do not have it."""
        if name in self._of_commits:
            return self._of_commits[name].column(commits)
        return self._of[name].column(self.request[commits])

    def request_ids(self, commits: Longs) -> pa.Array:
        """The ids of the requests of these commits: digests of broker and line."""
        return self._ids.take(pa.array(self.request[commits]))

    def accepted(self, commits: Longs) -> pa.Array:
        """Commit.accepted of these commits."""
        is_accepted = self._is_accepted(commits)
        return pa.array(is_accepted == 1, mask=is_accepted < 0)

    def fenced(self, commits: Longs) -> pa.Array:
        """Whether a fencing rule refused these commits; null for commits without an answer."""
        errors = self.texts_of_commits("broker_error")
        values = errors.values[commits]
        return pa.array(np.isin(values, errors.numbers_of(sorted(FENCING))), mask=values < 0)

    def _digests(self) -> pa.Array:
        """Commit.commit_id of all commits, computed for some at a time because the texts take much memory."""
        digests = [pa.array([], pa.string())]
        for begin in range(0, len(self.request), _DIGESTS_AT_ONCE):
            some = np.arange(begin, min(begin + _DIGESTS_AT_ONCE, len(self.request)))
            texts = (
                self.request_ids(some),
                self.column("reference", some),
                self.column("partition", some).cast(pa.string()),
            )
            digests.append(pa.array(digests_of_texts(*texts), pa.string()))
        return pa.concat_arrays(digests)

    def _is_accepted(self, commits: Longs) -> Longs:
        """1 for commits that were stored, 0 for others, -1 if that is not known."""
        errors = self.texts_of_commits("broker_error")
        values, (none,) = errors.values[commits], errors.numbers_of([NONE])
        return np.where(self.stored[commits] | (values == none), 1, np.where(values < 0, -1, 0))

    def _commits_of(self, numbers: Longs) -> Longs:
        size = self.size[numbers]
        own = np.arange(size.sum()) - np.repeat(np.cumsum(size) - size, size)
        found: Longs = np.repeat(self._begins[numbers], size) + own
        return found

    def _objects(self, numbers: Longs) -> list[CommitRequest]:
        return list(
            map(
                CommitRequest,
                repeat(self),
                numbers.tolist(),
                *(self._of[name].objects(numbers) for name in _OF_REQUESTS),
                (self["is_transactional"][numbers] != 0).tolist(),
                self["responded_ms"][numbers].tolist(),
                map(list, repeat((), len(numbers))),
            )
        )

    def _with_commits(self, numbers: Longs, requests: Sequence[CommitRequest]) -> Sequence[CommitRequest]:
        commits = self._commits_of(numbers)
        objects = map(
            Commit,
            chain.from_iterable(map(repeat, requests, self.size[numbers].tolist())),
            commits.tolist(),
            *(self._of_commits[name].objects(commits) for name in _OF_COMMITS),
            map(_ACCEPTED.__getitem__, self._is_accepted(commits).tolist()),
        )
        for commit in objects:
            commit.request.commits.append(commit)
        return requests
