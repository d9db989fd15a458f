"""The subscriptions that members send with JoinGroup: those of the consumer protocol, versions 0 to 3.

Kafka reads a newer version as the newest that it knows, and ignores bytes behind its fields
(ConsumerProtocol). The assignor decides where the generation of a member's claims is: in the subscription
(version 2 and later), or in the user data of Kafka's sticky assignors.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import pyarrow as pa

from fencepost.formats.decode import decode
from fencepost.protocols.ownership_claim.tables import NO_GENERATION
from fencepost.replay.group_coordinator.assignments import assigned_topics
from fencepost.replay.group_coordinator.message_reader import Reader

COOPERATIVE_STICKY, STICKY = "cooperative-sticky", "sticky"

GENERATION_ID, USER_DATA, NONE = "generation_id", "user_data", "none"
"""Where the generation of claims is: values of the column claim_source."""

_NEWEST = 3
_NUMBER = 4
"""The bytes of a generation."""
_KIP_ORDER = (
    "its fields are in the order of KIP-792's text (Topics, GenerationId, UserData, OwnedPartitions), which "
    "no release has: Kafka's is Topics, UserData, OwnedPartitions, GenerationId; correct the client"
)
_MALFORMED = "its bytes are no subscription of the consumer protocol"

Partition = tuple[str, int]
"""A topic's name and a partition's number, as members name partitions."""

_Topics = Sequence[tuple[str, Sequence[int]]]
"""Partitions by topic, as a message lists them."""


class Subscription(NamedTuple):
    """The topics and claims of one member, without their generation; ``unread``: why it could not be read.

    ``held``: ownedPartitions. ``remembered``: the partitions that an eager member had before it gave all of
    them up to join. Each partition is in it once, in the order of the message.
    """

    version: int | None
    topics: frozenset[str]
    held: tuple[Partition, ...]
    remembered: tuple[Partition, ...]
    source: str
    unread: str | None = None


class SentSubscription(NamedTuple):
    """A subscription as it was sent: with the generation of its claims, or NO_GENERATION."""

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
    subscriptions = []
    for assignor, data, values in zip(assignors, messages, decoded.values.to_pylist(), strict=True):
        if data is None or len(data) < 2:
            subscriptions.append(_unread(None, _MALFORMED))
            continue
        version = int.from_bytes(data[:2], "big", signed=True)
        if values is None:
            subscriptions.append(_read_as_kafka(assignor, version, data))
            continue
        owned = [(each["topic"], each["partitions"]) for each in values["owned_partitions"] or ()]
        generation = values["generation_id"]
        subscription_fields = _Fields(
            values["topics"],
            values["user_data"],
            owned,
            NO_GENERATION if generation is None else generation,
        )
        subscriptions.append(_subscription(assignor, version, subscription_fields))
    return subscriptions


def read_assignments(messages: Sequence[bytes | None]) -> list[frozenset[Partition] | None]:
    """The partitions in ConsumerProtocolAssignments: empty for no bytes, None for bytes that
    cannot be read.
    """
    topics_read = iter(assigned_topics([each for each in messages if each]))
    each_listed = (next(topics_read) if each else () for each in messages)
    return [None if listed is None else frozenset(_each(listed)) for listed in each_listed]


def _each(topics: Iterable[tuple[str, Sequence[int]]]) -> tuple[Partition, ...]:
    return tuple(
        dict.fromkeys((topic, partition) for topic, partitions in topics for partition in partitions)
    )


def _subscription(assignor: str | None, version: int, fields: _Fields) -> SentSubscription:
    generation, source = fields.generation, GENERATION_ID
    remembered: _Topics = ()
    if assignor == STICKY:
        # this assignor is eager, and uses only its own user data
        remembered, generation = _sticky_memory(fields.user_data)
        source = NONE if generation < 0 else USER_DATA
    elif generation < 0:
        generation, source = NO_GENERATION, NONE
        at = generation_place(assignor, fields.user_data or b"")
        if at is not None:
            (told,) = struct.unpack_from(">i", fields.user_data or b"", at)
            generation, source = max(told, NO_GENERATION), NONE if told < 0 else USER_DATA
    topics = frozenset(fields.topics)
    return SentSubscription(
        Subscription(version, topics, _each(fields.owned), _each(remembered), source), generation
    )


def generation_place(assignor: str | None, user_data: bytes) -> int | None:
    """The place of the generation that sticky assignors put into user data; None where they did not.

    CooperativeStickyAssignor puts it there alone; librdkafka writes for that assignor, too, what
    StickyAssignor does: partitions, and then their generation.
    """
    if assignor == COOPERATIVE_STICKY and len(user_data) == _NUMBER:
        return 0
    if assignor not in (STICKY, COOPERATIVE_STICKY):
        return None
    reader = Reader(user_data, 0)
    try:
        reader.partitions()
        at = reader.at
        reader.int32()
    except ValueError:
        return None
    return at if assignor == STICKY or reader.is_at_end else None


def _sticky_memory(user_data: bytes | None) -> tuple[_Topics, int]:
    """The previous assignment and its generation (user data of StickyAssignor, versions 1 and 0)."""
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


def _read_as_kafka(assignor: str | None, version: int, data: bytes) -> SentSubscription:
    """A subscription that the schema refuses, read as Kafka's classes do."""
    if version < 0:
        return _unread(version, _MALFORMED)
    try:
        fields = _fields(Reader(data, 2), min(version, _NEWEST))
    except ValueError:
        fields = None
    # a newer version may have fields of its own behind these
    if 2 <= version <= _NEWEST and _is_in_kip_order(data):
        return _unread(version, _KIP_ORDER)
    return _unread(version, _MALFORMED) if fields is None else _subscription(assignor, version, fields)


def _fields(reader: Reader, version: int) -> _Fields:
    topics, user_data = reader.texts(), reader.data()
    # kafka-go (version 1) and samsa (version 3) end here, and clients of other makers accept that
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
