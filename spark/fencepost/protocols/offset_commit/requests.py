"""Commits as the request log has them: the request and the answer for each partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from fencepost.replay.group_coordinator.requests import OFFSET_COMMIT, TXN_OFFSET_COMMIT
from fencepost.replay.requests import NONE

COMMIT_APIS = (OFFSET_COMMIT, TXN_OFFSET_COMMIT)
FENCING = frozenset(
    {
        "ILLEGAL_GENERATION",
        "UNKNOWN_MEMBER_ID",
        "STALE_MEMBER_EPOCH",
        "FENCED_MEMBER_EPOCH",
        "FENCED_INSTANCE_ID",
        "REBALANCE_IN_PROGRESS",
        "GROUP_ID_NOT_FOUND",
    }
)
"""The errors by which a coordinator fences: it is the group's coordinator and refuses this member
or epoch.
"""
NO_MEMBER = frozenset({"UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"})
"""The errors by which a coordinator says that the group has no such member."""
_OF_MEMBERS = frozenset({"ILLEGAL_GENERATION", "REBALANCE_IN_PROGRESS"})


class Columns(Protocol):
    """The columns that have the attributes which objects do not have themselves
    (request_columns.Requests).
    """

    def value(self, name: str, number: int) -> Any:
        """An attribute of one request."""

    def value_of_commit(self, name: str, number: int) -> Any:
        """An attribute of one commit."""


@dataclass(slots=True, eq=False)
class CommitRequest:
    """An OffsetCommit or TxnOffsetCommit, with each of its partitions once, as last mentioned.

    ``client_epoch`` is the member epoch or generation that it presents, -1 for none. ``requested_ms`` and
    ``responded_ms`` are by the clock of the broker that answered. ``number`` is its place in the order of its
    coordinator's requests. Attributes that are rarely needed stay in ``columns``.
    """

    columns: Columns
    number: int
    broker_id: int
    member_id: str
    instance_id: str | None
    client_epoch: int
    is_transactional: bool
    responded_ms: int
    commits: list[Commit]

    @property
    def connection(self) -> str | None:
        """The connection, as its broker names it."""
        value: str | None = self.columns.value("connection", self.number)
        return value

    @property
    def group_id(self) -> str:
        """The group's id."""
        return str(self.columns.value("group_id", self.number))

    @property
    def producer_id(self) -> int | None:
        """The producer's id, if the commit is in a transaction."""
        value: int | None = self.columns.value("producer_id", self.number)
        return value

    @property
    def producer_epoch(self) -> int | None:
        """The producer's epoch, if the commit is in a transaction."""
        value: int | None = self.columns.value("producer_epoch", self.number)
        return value

    @property
    def requested_ms(self) -> int:
        """When the request arrived, as its line says."""
        return int(self.columns.value("requested_ms", self.number))

    @property
    def file(self) -> str:
        """The file of the request log that has its line."""
        return str(self.columns.value("file", self.number))

    @property
    def position(self) -> int:
        """The place of its line in the file."""
        return int(self.columns.value("position", self.number))

    @property
    def api_version(self) -> int:
        """The version of the API."""
        return int(self.columns.value("api_version", self.number))

    @property
    def answers(self) -> set[str | None]:
        """What it was answered for its partitions: Kafka's names of errors, NONE for one that was stored."""
        return {NONE if commit.accepted else commit.broker_error for commit in self.commits}

    @property
    def is_answered_as_member(self) -> bool:
        """Whether a coordinator refused it with an error that it has only for a member of its group."""
        return self.member_id != "" and bool(self.answers & _OF_MEMBERS)


@dataclass(slots=True, eq=False)
class Commit:
    """One partition of a CommitRequest.

    ``number`` is its place among the commits of its coordinator's requests. ``broker_error`` is Kafka's name
    of the error. ``accepted``: the commit was stored, whatever was answered (see NotCoordinatorCommits).
    Both are None if the line has no answer.
    """

    request: CommitRequest
    number: int
    partition_key: str | None
    broker_error: str | None
    accepted: bool | None

    @property
    def commit_id(self) -> str:
        """A digest of the request and of the partition as the request names it."""
        return str(self._value("commit_id"))

    @property
    def topic(self) -> str | None:
        """The topic's name."""
        value: str | None = self._value("topic")
        return value

    @property
    def topic_id(self) -> str | None:
        """The topic's id."""
        value: str | None = self._value("topic_id")
        return value

    @property
    def partition(self) -> int:
        """The partition's number."""
        return int(self._value("partition"))

    @property
    def committed_offset(self) -> int | None:
        """The committed offset."""
        value: int | None = self._value("committed_offset")
        return value

    @property
    def committed_leader_epoch(self) -> int:
        """The leader epoch committed with the offset; -1 for none."""
        return int(self._value("committed_leader_epoch"))

    def _value(self, name: str) -> Any:
        return self.request.columns.value_of_commit(name, self.number)
