"""One instance of a client as its request lines show it: its metadata, what it was told, where it reads."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

from fencepost.protocols.leader_epoch.client_cache import ClientCache
from fencepost.protocols.leader_epoch.client_requests import ClientRequest
from fencepost.protocols.leader_epoch.correlation_ids import CorrelationIds

COMMITTED, RESET, READ, ELSEWHERE = "committed", "reset", "read", "elsewhere"
"""Where an offset comes from."""
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
    line: ClientRequest

    def is_of(self, group_id: str | None, offset: int) -> bool:
        """Whether it is what a group had committed, at that offset."""
        return self.origin == COMMITTED and (self.group_id, self.offset) == (group_id, offset)


@dataclass(slots=True)
class Position:
    """Where a client reads a partition: since ``began_at``, an offset of the incarnation ``began_of``, as it
    was ``told``, if it was.

    ``row`` is the number of its row of silver.fetch_positions.
    """

    topic_id: str | None
    offset: int
    leader_epoch: int
    line: ClientRequest
    row: int
    began_at: int
    began_of: str | None
    told: ToldOffset | None = None

    def incarnation_of(self, offset: int) -> str | None:
        """The topic id that an offset is of: where it began, of what it brought along."""
        return self.began_of if offset == self.began_at else self.topic_id


@dataclass(slots=True)
class Client:
    """One instance: its cache, the offsets it was told last, and where it reads.

    ``numbering``: the correlation ids of all its lines. ``is_followed``: it counts its requests as a Java
    client does, from 0 over all its connections, so that a missing line shows; ``heard`` is the highest id of
    its lines so far. ``is_producer``: it sent a Produce. ``asked``: the ids of its requests for metadata, in
    order.
    """

    name: str
    numbering: CorrelationIds
    is_followed: bool = False
    is_producer: bool = False
    heard: int = -1
    asked: list[int] = field(default_factory=list)
    cache: ClientCache = field(init=False)
    told: dict[Place, ToldOffset] = field(default_factory=dict)
    reads: dict[Place, Position] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cache = ClientCache(a_producer=self.is_producer)

    def hear(self, line: ClientRequest) -> None:
        """Its next line: where a request before it may be missing, so may be an answer that it had.

        Where answers come late, one that is missing may have come as late.
        """
        is_late = line.correlation_id < self.heard
        span = (-1, self.heard) if is_late else (self.heard, line.correlation_id)
        if not self.is_followed or not self.numbering.is_whole(*span):
            self.cache.lose()
        self.heard = max(self.heard, line.correlation_id)

    def has_answer(self, line: ClientRequest) -> bool:
        """Whether it certainly had the answer to a request for metadata, and did not give it up before.

        It has one such request at a time, and who gives one up closes its connection: so it had the answer if
        it used the connection once more, after its next request for metadata (NetworkClient).
        """
        after = bisect_right(self.asked, line.correlation_id)
        connection = (line.broker_id, line.connection or "")
        if not self.is_followed or after == len(self.asked):
            return False
        return self.numbering.last(connection) >= self.asked[after]

    def is_known_until(self, line: ClientRequest) -> bool:
        """Whether every request before one is known, since its first, which told which versions it speaks."""
        return self.numbering.is_whole(0, line.correlation_id)

    def committed(self, place: Place, group_id: str | None, offset: int) -> ToldOffset | None:
        """The answer that told it where its group was, if it has not gone on from there."""
        told = self.told.get(place)
        if told is None and (reads := self.reads.get(place)) is not None and reads.offset == reads.began_at:
            told = reads.told
        return told if told is not None and told.is_of(group_id, offset) else None

    def sent_nothing_else(self, one: ClientRequest, other: ClientRequest) -> bool:
        """Whether every request between two of its requests is known: no correlation id is missing."""
        return self.numbering.is_whole(one.correlation_id, other.correlation_id)
