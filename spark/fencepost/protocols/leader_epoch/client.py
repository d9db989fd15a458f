"""One instance of a client as its request lines show it: its cache, the offsets it got, where it fetches."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field

from fencepost.protocols.leader_epoch.client_cache import ClientCache
from fencepost.protocols.leader_epoch.client_requests import ClientRequest
from fencepost.protocols.leader_epoch.lines import PartitionLine
from fencepost.replay.correlation_ids import CorrelationIds

COMMITTED, RESET, TRUNCATED = "committed", "reset", "truncated"
READ, ELSEWHERE = "read", "elsewhere"
"""Where an offset comes from (silver.fetch_positions, ``origin``): an answer to OffsetFetch; to ListOffsets;
to OffsetForLeaderEpoch, by which the log ends before the offset that the client had; the end of the fetch
before; something that no request shows.
"""
Place = tuple[str, int]
"""Topic and partition."""


@dataclass(slots=True)
class AnsweredOffset:
    """An offset that a client got for a partition, in an answer to the request ``line``.

    ``topic_id``: of the incarnation that the offset is of, None if the request does not show it.
    ``reset_group_id``: of a reset, the group of which the client had been told that it had no offset.
    ``committed``: the offset that OffsetFetch gave, also where it was cut off since.
    """

    origin: str
    offset: int
    leader_epoch: int
    request_id: str
    group_id: str | None
    topic_id: str | None
    line: ClientRequest
    reset_group_id: str | None = None
    committed: int | None = None

    def is_of(self, group_id: str | None, offset: int) -> bool:
        """Whether it is an offset that this group had committed."""
        return self.origin == COMMITTED and (self.group_id, self.offset) == (group_id, offset)


AnsweredOffsets = Mapping[str, AnsweredOffset]
"""The newest offset of each origin (COMMITTED, RESET, TRUNCATED) that a client got for a partition."""


@dataclass(slots=True)
class Position:
    """Where a client fetches a partition.

    It began at the offset ``began_at`` of the incarnation ``began_of``, which an ``answer`` gave it, None if
    none did. Since then it has read from ``read_from`` up to ``read_to`` at most: the high watermark in the
    answers. ``line`` is its newest Fetch, ``row`` the number of its row of silver.fetch_positions;
    ``earlier`` is where it last fetched another incarnation. ``listed``: what its newest request that lists
    the partition says of it, which is what a fetch session has; None if that is not known. ``refused``: the
    newest answer was an error, or that the logs part, so that the client may have to reset its offset.
    """

    topic_id: str | None
    offset: int
    leader_epoch: int
    line: ClientRequest
    row: int
    began_at: int
    began_of: str | None
    read_from: int
    read_to: int
    answer: AnsweredOffset | None = None
    earlier: Position | None = None
    listed: PartitionLine | None = None
    refused: bool = False

    def explains(self, offset: int) -> bool:
        """Whether the client can have come to an offset by reading."""
        return self.read_from <= offset <= self.read_to

    def incarnation_of(self, offset: int) -> str | None:
        """The topic id of an offset: at the beginning that of where the offset comes from, else the fetched
        one. None for an offset that it cannot have come to by reading.
        """
        if offset == self.began_at:
            return self.began_of
        return self.topic_id if self.explains(offset) else None


@dataclass(slots=True)
class Client:
    """One instance of a client: its cache, the newest offsets in its answers, and where it fetches. Without a
    ``name`` it is the client at the other end of one connection; what it sent on others is not known.

    ``numbering``: the correlation ids of all its lines. ``is_followed``: it counts its requests as a Java
    client does, from 0 over all its connections, so that a missing line shows. ``highest_id``: the highest
    correlation id of its lines so far. ``is_producer``: it sent a Produce. ``metadata_requests``: the
    correlation ids of its requests for metadata, in order. ``answered_offsets``: the offsets in answers from
    which it has not fetched yet. ``without_offset``: the group that it asked last for its committed offset of
    a partition, if that had none.
    """

    name: str | None
    numbering: CorrelationIds
    is_followed: bool = False
    is_producer: bool = False
    highest_id: int = -1
    metadata_requests: list[int] = field(default_factory=list)
    cache: ClientCache = field(init=False)
    answered_offsets: dict[Place, AnsweredOffsets] = field(default_factory=dict)
    without_offset: dict[Place, str | None] = field(default_factory=dict)
    positions: dict[Place, Position] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.cache = ClientCache(a_producer=self.is_producer)

    def follow(self, line: ClientRequest) -> None:
        """Take its next line. Where the line of a request before this one may be missing, the client may have
        got an answer that is not known, so its cache is lost.

        The answer of a missing line may have come as late as an answer that is known to have come late.
        """
        is_late = line.correlation_id < self.highest_id
        span = (-1, self.highest_id) if is_late else (self.highest_id, line.correlation_id)
        if not self.is_followed or not self.numbering.is_whole(*span):
            self.cache.lose()
        self.highest_id = max(self.highest_id, line.correlation_id)

    def has_answer(self, line: ClientRequest) -> bool:
        """Whether it certainly got the answer to a request for metadata, and did not give up waiting for it.

        A client has one such request at a time, and closes the connection when it gives one up. So it got the
        answer if it used the connection again after its next request for metadata (NetworkClient).
        """
        after = bisect_right(self.metadata_requests, line.correlation_id)
        connection = (line.broker_id, line.connection or "")
        if not self.is_followed or after == len(self.metadata_requests):
            return False
        return self.numbering.last(connection) >= self.metadata_requests[after]

    def is_known_until(self, line: ClientRequest) -> bool:
        """Whether the line of every request before this one is known, from the first (ApiVersions) on."""
        return self.name is not None and self.numbering.is_whole(0, line.correlation_id)

    def begun(self, place: Place) -> tuple[Position | None, AnsweredOffsets]:
        """Where it fetched before, and the offsets that it got since; now it fetches again."""
        self.without_offset.pop(place, None)
        return self.positions.get(place), self.answered_offsets.get(place, {})

    def note(self, place: Place, answer: AnsweredOffset) -> None:
        """Note an offset that it got, from which it may fetch."""
        self.answered_offsets[place] = {**self.answered_offsets.get(place, {}), answer.origin: answer}

    def committed(self, place: Place, group_id: str | None, offset: int) -> AnsweredOffset | None:
        """The answer to OffsetFetch that gave it this committed offset, if it has not read on from there."""
        answer = self.answered_offsets.get(place, {}).get(COMMITTED)
        if (
            answer is None
            and (position := self.positions.get(place)) is not None
            and position.offset == position.began_at
        ):
            answer = position.answer
        return answer if answer is not None and answer.is_of(group_id, offset) else None

    def sent_nothing_else(self, one: ClientRequest, other: ClientRequest) -> bool:
        """Whether the line of every request between these two is known: no correlation id is missing."""
        between = (one.correlation_id, other.correlation_id)
        return self.name is not None and self.numbering.is_whole(*between)
