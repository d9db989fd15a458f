"""One instance of a client as its request lines show it: its metadata, what it was told, where it reads."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field

from fencepost.protocols.leader_epoch.client_cache import ClientCache
from fencepost.replay.requests import RequestLine

Place = tuple[str, int]
"""Topic and partition."""


@dataclass(slots=True)
class ToldOffset:
    """An offset that a client was told for a partition."""

    origin: str
    offset: int
    leader_epoch: int
    request_id: str
    group_id: str | None
    topic_id: str | None


@dataclass(slots=True)
class Position:
    """Where a client reads a partition: since ``began_at``, an offset of the incarnation ``began_of``.

    ``row`` is the number of its row of silver.fetch_positions.
    """

    topic_id: str | None
    offset: int
    leader_epoch: int
    line: RequestLine
    row: int
    began_at: int
    began_of: str | None

    def incarnation_of(self, offset: int) -> str | None:
        """The topic id that an offset is of: where it began, of what it brought along."""
        return self.began_of if offset == self.began_at else self.topic_id


@dataclass(slots=True)
class Client:
    """One instance: its cache, the offsets it was told last, and where it reads.

    ``ids``: the correlation ids of all its lines, sorted.
    """

    name: str
    ids: list[int]
    cache: ClientCache = field(default_factory=ClientCache)
    told: dict[Place, ToldOffset] = field(default_factory=dict)
    reads: dict[Place, Position] = field(default_factory=dict)

    def sent_nothing_else(self, one: RequestLine, other: RequestLine) -> bool:
        """Whether every request between two of its requests is known: no correlation id is missing."""
        first, last = bisect_right(self.ids, one.correlation_id), bisect_left(self.ids, other.correlation_id)
        return last - first == other.correlation_id - one.correlation_id - 1
