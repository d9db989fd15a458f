"""What members said when they joined: subscriptions of the consumer protocol, versions 0 to 3.

Kafka reads a newer version as the newest it knows, and takes no notice of what follows the fields
(ConsumerProtocol). Where the generation of what a member claims stands depends on its assignor: in the
subscription (version 2 and later), else in the user data of Kafka's sticky assignors.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import NamedTuple

import pyarrow as pa

from fencepost.formats.decode import decode
from fencepost.protocols.ownership_claim.tables import NO_GENERATION

COOPERATIVE_STICKY, STICKY = "cooperative-sticky", "sticky"

GENERATION_ID, USER_DATA, NONE = "generation_id", "user_data", "none"
"""Where the generation of claims stands: a column claim_source."""

_NEWEST = 3
_KIP_ORDER = (
    "its fields are in the order of KIP-792's text (Topics, GenerationId, UserData, OwnedPartitions), which "
    "no release has: Kafka's is Topics, UserData, OwnedPartitions, GenerationId; correct the client"
)
_MALFORMED = "its bytes are no subscription of the consumer protocol"

Topics = Sequence[tuple[str, Sequence[int]]]
"""Partitions by topic, as a message lists them."""


def each_partition(topics: Topics) -> dict[tuple[str, int], None]:
    """Topic and number of each partition that a message lists, once, in its order."""
    return dict.fromkeys((topic, partition) for topic, partitions in topics for partition in partitions)


class Subscription(NamedTuple):
    """What one member subscribes to and claims; ``unread`` says why nothing of it is known.

    ``held``: ownedPartitions. ``remembered``: what an eager member had before it gave everything up to join.
    """

    version: int | None
    topics: frozenset[str]
    held: Topics
    remembered: Topics
    generation: int
    source: str
    unread: str | None = None


class _Fields(NamedTuple):
    topics: Sequence[str]
    user_data: bytes | None
    owned: Topics
    generation: int


def read_subscriptions(
    assignors: Sequence[str | None], messages: Sequence[bytes | None]
) -> list[Subscription]:
    """The subscriptions in these bytes, each sent for the assignor of the same place."""
    column = pa.array(messages, pa.binary())
    decoded = decode("ConsumerProtocolSubscription", "value", column)
    found = []
    for assignor, data, fields in zip(assignors, messages, decoded.values.to_pylist(), strict=True):
        if data is None or len(data) < 2:
            found.append(_unread(None, _MALFORMED))
            continue
        version = int.from_bytes(data[:2], "big", signed=True)
        if fields is None:
            found.append(_leniently(assignor, version, data))
            continue
        owned = [(each["topic"], each["partitions"]) for each in fields["owned_partitions"] or ()]
        generation = fields["generation_id"]
        told = _Fields(
            fields["topics"],
            fields["user_data"],
            owned,
            NO_GENERATION if generation is None else generation,
        )
        found.append(_subscription(assignor, version, told))
    return found


def read_assignments(messages: Sequence[bytes | None]) -> list[list[tuple[str, Sequence[int]]] | None]:
    """The partitions in ConsumerProtocolAssignments: nothing for no bytes, None for what cannot be read."""
    decoded = decode(
        "ConsumerProtocolAssignment", "value", pa.array([each or None for each in messages], pa.binary())
    )
    found: list[list[tuple[str, Sequence[int]]] | None] = []
    for data, fields in zip(messages, decoded.values.to_pylist(), strict=True):
        if not data:
            found.append([])
        elif fields is not None:
            found.append([(each["topic"], each["partitions"]) for each in fields["assigned_partitions"]])
        else:
            try:
                found.append(_Reader(data, 2).partitions())
            except ValueError:
                found.append(None)
    return found


def _subscription(assignor: str | None, version: int, told: _Fields) -> Subscription:
    generation, source = told.generation, GENERATION_ID
    remembered: Topics = ()
    if assignor == STICKY:
        # it is eager, and reads its own user data only
        remembered, generation = _sticky_memory(told.user_data)
        source = NONE if generation < 0 else USER_DATA
    elif generation < 0:
        generation, source = NO_GENERATION, NONE
        if assignor == COOPERATIVE_STICKY and told.user_data is not None and len(told.user_data) >= 4:
            generation = max(struct.unpack_from(">i", told.user_data)[0], NO_GENERATION)
            source = NONE if generation < 0 else USER_DATA
    return Subscription(version, frozenset(told.topics), told.owned, remembered, generation, source)


def _sticky_memory(user_data: bytes | None) -> tuple[Topics, int]:
    """The assignment before and its generation (StickyAssignor's user data, versions 1 and 0)."""
    if not user_data:
        return (), NO_GENERATION
    try:
        reader = _Reader(user_data, 0)
        partitions = reader.partitions()
    except ValueError:
        return (), NO_GENERATION
    try:
        return partitions, max(reader.int32(), NO_GENERATION)
    except ValueError:
        return partitions, NO_GENERATION


def _leniently(assignor: str | None, version: int, data: bytes) -> Subscription:
    """What the strict reading of the schema refused: as Kafka's classes would read it."""
    if version < 0:
        return _unread(version, _MALFORMED)
    try:
        told = _Reader(data, 2).subscription(min(version, _NEWEST))
    except ValueError:
        told = None
    # what follows the fields of a newer version is that version's own
    if 2 <= version <= _NEWEST and _is_in_kip_order(data):
        return _unread(version, _KIP_ORDER)
    return _unread(version, _MALFORMED) if told is None else _subscription(assignor, version, told)


def _is_in_kip_order(data: bytes) -> bool:
    reader = _Reader(data, 2)
    try:
        reader.texts()
        reader.int32()
        reader.data()
        reader.partitions()
    except ValueError:
        return False
    return reader.is_at_end


def _unread(version: int | None, why: str) -> Subscription:
    return Subscription(version, frozenset(), (), (), NO_GENERATION, NONE, why)


class _Reader:
    """Kafka's types, one after the other; ValueError where the bytes are none."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data, self._at = data, at

    @property
    def is_at_end(self) -> bool:
        return self._at == len(self._data)

    def subscription(self, version: int) -> _Fields:
        topics, user_data = self.texts(), self.data()
        owned = self.partitions() if version >= 1 else []
        generation = self.int32() if version >= 2 else NO_GENERATION
        if version >= 3:
            self._text(nullable=True)
        return _Fields(topics, user_data, owned, generation)

    def texts(self) -> list[str]:
        return [self._text() for _ in range(self._count())]

    def partitions(self) -> list[tuple[str, Sequence[int]]]:
        return [(self._text(), [self.int32() for _ in range(self._count())]) for _ in range(self._count())]

    def data(self) -> bytes | None:
        size = self.int32()
        return None if size == -1 else self._take(size)

    def int32(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def _text(self, *, nullable: bool = False) -> str:
        size = int.from_bytes(self._take(2), "big", signed=True)
        return "" if nullable and size == -1 else self._take(size).decode("utf-8", "replace")

    def _count(self) -> int:
        """The length of an array, whose elements have two bytes at least."""
        count = self.int32()
        if not 0 <= count <= (len(self._data) - self._at) // 2:
            raise ValueError(f"{count} elements")
        return count

    def _take(self, size: int) -> bytes:
        end = self._at + size
        if size < 0 or end > len(self._data):
            raise ValueError(f"{size} bytes")
        taken, self._at = self._data[self._at : end], end
        return taken
