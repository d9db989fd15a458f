"""What members said when they joined: subscriptions of the consumer protocol, versions 0 to 3.

Kafka reads a newer version as the newest it knows, and takes no notice of what follows the fields
(ConsumerProtocol). Where the generation of what a member claims stands depends on its assignor: in the
subscription (version 2 and later), else in the user data of Kafka's sticky assignors.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from fencepost.formats.decode import decode
from fencepost.protocols.ownership_claim.message_reader import Reader
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

Partition = tuple[str, int]
"""A topic's name and a partition's number: what members speak of."""

_Topics = Sequence[tuple[str, Sequence[int]]]
"""Partitions by topic, as a message lists them."""


class Subscription(NamedTuple):
    """What one member subscribes to and claims, whatever the generation; ``unread`` says why nothing of it is
    known.

    ``held``: ownedPartitions. ``remembered``: what an eager member had before it gave everything up to join.
    Each partition is there once, in the order of the message.
    """

    version: int | None
    topics: frozenset[str]
    held: tuple[Partition, ...]
    remembered: tuple[Partition, ...]
    source: str
    unread: str | None = None


class SentSubscription(NamedTuple):
    """A subscription as it was sent once: with the generation of its claims, NO_GENERATION without one."""

    subscription: Subscription
    generation: int


class _Fields(NamedTuple):
    topics: Sequence[str]
    user_data: bytes | None
    owned: _Topics
    generation: int


def read_subscriptions(
    assignors: Sequence[str | None], messages: Sequence[bytes | None]
) -> list[SentSubscription]:
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


def read_assignments(messages: Sequence[bytes | None]) -> list[frozenset[Partition] | None]:
    """The partitions in ConsumerProtocolAssignments: none for no bytes, None for what cannot be read."""
    decoded = decode(
        "ConsumerProtocolAssignment", "value", pa.array([each or None for each in messages], pa.binary())
    )
    found: list[frozenset[Partition] | None] = []
    for data, fields in zip(messages, decoded.values.to_pylist(), strict=True):
        if not data:
            found.append(frozenset())
        elif fields is not None:
            listed = ((each["topic"], each["partitions"]) for each in fields["assigned_partitions"])
            found.append(frozenset(_each(listed)))
        else:
            try:
                found.append(frozenset(_each(Reader(data, 2).partitions())))
            except ValueError:
                found.append(None)
    return found


def _each(topics: Iterable[tuple[str, Sequence[int]]]) -> tuple[Partition, ...]:
    return tuple(
        dict.fromkeys((topic, partition) for topic, partitions in topics for partition in partitions)
    )


def _subscription(assignor: str | None, version: int, told: _Fields) -> SentSubscription:
    generation, source = told.generation, GENERATION_ID
    remembered: _Topics = ()
    if assignor == STICKY:
        # it is eager, and reads its own user data only
        remembered, generation = _sticky_memory(told.user_data)
        source = NONE if generation < 0 else USER_DATA
    elif generation < 0:
        generation, source = NO_GENERATION, NONE
        if assignor == COOPERATIVE_STICKY and told.user_data is not None and len(told.user_data) >= 4:
            generation = max(struct.unpack_from(">i", told.user_data)[0], NO_GENERATION)
            source = NONE if generation < 0 else USER_DATA
    topics = frozenset(told.topics)
    return SentSubscription(
        Subscription(version, topics, _each(told.owned), _each(remembered), source), generation
    )


def _sticky_memory(user_data: bytes | None) -> tuple[_Topics, int]:
    """The assignment before and its generation (StickyAssignor's user data, versions 1 and 0)."""
    if not user_data:
        return (), NO_GENERATION
    try:
        reader = Reader(user_data, 0)
        partitions = reader.partitions()
    except ValueError:
        return (), NO_GENERATION
    try:
        return partitions, max(reader.int32(), NO_GENERATION)
    except ValueError:
        return partitions, NO_GENERATION


def _leniently(assignor: str | None, version: int, data: bytes) -> SentSubscription:
    """What the strict reading of the schema refused: as Kafka's classes would read it."""
    if version < 0:
        return _unread(version, _MALFORMED)
    try:
        told = _fields(Reader(data, 2), min(version, _NEWEST))
    except ValueError:
        told = None
    # what follows the fields of a newer version is that version's own
    if 2 <= version <= _NEWEST and _is_in_kip_order(data):
        return _unread(version, _KIP_ORDER)
    return _unread(version, _MALFORMED) if told is None else _subscription(assignor, version, told)


def _fields(reader: Reader, version: int) -> _Fields:
    topics, user_data = reader.texts(), reader.data()
    # other makers than Kafka write no more, whatever version they say, and read it so
    if version == 0 or reader.is_at_end:
        return _Fields(topics, user_data, (), NO_GENERATION)
    owned = reader.partitions()
    generation = reader.int32() if version >= 2 else NO_GENERATION
    if version >= 3:
        reader.text(nullable=True)
    return _Fields(topics, user_data, owned, generation)


def _is_in_kip_order(data: bytes) -> bool:
    reader = Reader(data, 2)
    try:
        reader.texts()
        reader.int32()
        reader.data()
        reader.partitions()
    except ValueError:
        return False
    return reader.is_at_end


def _unread(version: int | None, why: str) -> SentSubscription:
    return SentSubscription(Subscription(version, frozenset(), (), (), NONE, why), NO_GENERATION)
