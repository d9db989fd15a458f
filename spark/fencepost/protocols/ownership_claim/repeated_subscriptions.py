"""Subscriptions that members send again and again: most differ from the one before by their
generation only.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fencepost.protocols.ownership_claim.subscriptions import (
    COOPERATIVE_STICKY,
    STICKY,
    SentSubscription,
    Subscription,
    generation_place,
    read_subscriptions,
)
from fencepost.protocols.ownership_claim.tables import NO_GENERATION
from fencepost.replay.group_coordinator.message_reader import Reader

Longs = NDArray[np.int64]

_AT_ONCE = 1_000
_MOST_MESSAGES = 100_000
"""How many messages are remembered: user data of other assignors may differ each time."""


class _Places(NamedTuple):
    """The places of a message's generations, four bytes each: in its user data, and in a field of its own."""

    user_data: int | None
    own: int | None


class _Numbers(NamedTuple):
    """The generations at _Places; NO_GENERATION without a place."""

    user_data: int
    own: int


_Shape = tuple[str | None, tuple[bytes, ...], bool, bool]
"""An assignor, a message without its generations, and whether each of the two is NO_GENERATION."""


class SubscriptionColumn:
    """The distinct ``subscriptions`` in a column of messages; the ``codes`` of the messages are places among
    them, and ``generations`` are those of their claims.
    """

    def __init__(self, count: int) -> None:
        self.subscriptions: list[Subscription] = []
        self.codes: Longs = np.full(count, -1, dtype=np.int64)
        self.generations: Longs = np.full(count, NO_GENERATION, dtype=np.int64)
        self._codes: dict[int, int] = {}

    def code(self, subscription: Subscription) -> int:
        """The code of a subscription; equal subscriptions must be the same object."""
        code = self._codes.setdefault(id(subscription), len(self.subscriptions))
        if code == len(self.subscriptions):
            self.subscriptions.append(subscription)
        return code


class RepeatedSubscriptions:
    """Reads subscriptions; those that are equal but for the generation are the same object.

    A message is decoded once. If another message has the same bytes, except for the four bytes of a
    generation, its fields are at the same places: so it has the same subscription.
    """

    def __init__(self) -> None:
        self._distinct: dict[Subscription, Subscription] = {}
        self._places: defaultdict[tuple[str | None, int], list[_Places]] = defaultdict(list)
        self._by_shape: dict[_Shape, Subscription] = {}

    def read(self, assignor: str | None, messages: Sequence[bytes]) -> list[SentSubscription]:
        """The subscription in each message, sent for the assignor."""
        again = [self._known_subscription(assignor, data) for data in messages]
        new_messages = [data for data, known in zip(messages, again, strict=True) if known is None]
        if not new_messages:
            return [known for known in again if known is not None]
        read = iter(read_subscriptions([assignor] * len(new_messages), new_messages))
        return [
            self._learn(assignor, data, next(read)) if known is None else known
            for data, known in zip(messages, again, strict=True)
        ]

    def read_column(self, assignor: str | None, column: pa.BinaryArray) -> SubscriptionColumn:
        """The same for a whole column, without decoding messages that repeat another one."""
        subscriptions = SubscriptionColumn(len(column))
        unread, at_once = self._recognise(assignor, column, np.arange(len(column)), subscriptions), _AT_ONCE
        while unread.size:
            chunk, unread = unread[:at_once], unread[at_once:]
            read = self.read(assignor, column.take(pa.array(chunk)).to_pylist())
            for at, sent in zip(chunk.tolist(), read, strict=True):
                subscriptions.codes[at], subscriptions.generations[at] = (
                    subscriptions.code(sent.subscription),
                    sent.generation,
                )
            # most of the others repeat one of this chunk
            unread, at_once = self._recognise(assignor, column, unread, subscriptions), 2 * at_once
        return subscriptions

    def _recognise(
        self, assignor: str | None, column: pa.BinaryArray, at: Longs, subscriptions: SubscriptionColumn
    ) -> Longs:
        """Set codes and generations of the messages that repeat one read before; returns the others."""
        offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1]
        data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
        lengths = np.diff(offsets)[at]
        for length in np.unique(lengths[lengths > 0]).tolist():
            unread = at[lengths == length]
            for places in self._places.get((assignor, length), ()):
                unread = unread[subscriptions.codes[unread] < 0]
                if unread.size:
                    messages = sliding_window_view(data, length)[offsets[unread]]
                    self._recognise_at_places(assignor, places, unread, messages, subscriptions)
        return at[subscriptions.codes[at] < 0]

    def _recognise_at_places(
        self,
        assignor: str | None,
        places: _Places,
        at: Longs,
        messages: NDArray[np.uint8],
        subscriptions: SubscriptionColumn,
    ) -> None:
        """The same for messages of one length, which have their generations at these places."""
        user, own = (_numbers(messages, place) for place in places)
        for place in places:
            if place is not None:
                messages[:, place : place + 4] = 0
        rows, length = messages.shape
        shapes = pa.Array.from_buffers(pa.binary(length), rows, [None, pa.py_buffer(messages)])
        shape = shapes.dictionary_encode().indices.to_numpy().astype(np.int64)
        _, first, group = np.unique(
            4 * shape + 2 * (user < 0) + (own < 0), return_index=True, return_inverse=True
        )
        codes = np.full(len(first), -1, dtype=np.int64)
        for number, row in enumerate(first.tolist()):
            pieces, _ = _split(messages[row].tobytes(), places)
            known = self._by_shape.get((assignor, pieces, bool(user[row] < 0), bool(own[row] < 0)))
            if known is not None:
                codes[number] = subscriptions.code(known)
        subscriptions.codes[at] = codes[group]
        generations = (
            user if assignor == STICKY else np.where((own < 0) & (assignor == COOPERATIVE_STICKY), user, own)
        )
        subscriptions.generations[at] = np.maximum(generations, NO_GENERATION)

    def _known_subscription(self, assignor: str | None, data: bytes) -> SentSubscription | None:
        for places in self._places.get((assignor, len(data)), ()):
            pieces, numbers = _split(data, places)
            known = self._by_shape.get((assignor, pieces, numbers.user_data < 0, numbers.own < 0))
            if known is not None:
                return SentSubscription(known, _generation(assignor, numbers))
        return None

    def _learn(self, assignor: str | None, data: bytes, sent: SentSubscription) -> SentSubscription:
        if len(self._by_shape) > _MOST_MESSAGES:
            self._by_shape, self._distinct = {}, {}
            self._places.clear()
        subscription = self._distinct.setdefault(sent.subscription, sent.subscription)
        places = _Places(None, None) if subscription.unread is not None else _places(assignor, data)
        pieces, numbers = _split(data, places)
        if _generation(assignor, numbers) == sent.generation:
            places_known = self._places[assignor, len(data)]
            if places not in places_known:
                places_known.append(places)
            self._by_shape[assignor, pieces, numbers.user_data < 0, numbers.own < 0] = subscription
        return SentSubscription(subscription, sent.generation)


def _generation(assignor: str | None, numbers: _Numbers) -> int:
    """The generation of the claims: the assignor decides which of the two numbers counts."""
    if assignor == STICKY:
        return max(numbers.user_data, NO_GENERATION)
    if numbers.own < 0 and assignor == COOPERATIVE_STICKY:
        return max(numbers.user_data, NO_GENERATION)
    return max(numbers.own, NO_GENERATION)


def _places(assignor: str | None, data: bytes) -> _Places:
    reader = Reader(data, 2)
    try:
        reader.texts()
        before = reader.at + 4
        user_data = reader.data() or b""
        inside = generation_place(assignor, user_data)
        own = None
        if int.from_bytes(data[:2], "big", signed=True) >= 2:
            reader.partitions()
            own = reader.at
            reader.int32()
    except ValueError:
        return _Places(None, None)
    return _Places(None if inside is None else before + inside, own)


def _split(data: bytes, places: _Places) -> tuple[tuple[bytes, ...], _Numbers]:
    """The message without its generations, and the generations."""
    user, own = places
    if user is None:
        if own is None:
            return (data,), _Numbers(NO_GENERATION, NO_GENERATION)
        return (data[:own], data[own + 4 :]), _Numbers(NO_GENERATION, _number(data, own))
    if own is None:
        return (data[:user], data[user + 4 :]), _Numbers(_number(data, user), NO_GENERATION)
    pieces = (data[:user], data[user + 4 : own], data[own + 4 :])
    return pieces, _Numbers(_number(data, user), _number(data, own))


def _number(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "big", signed=True)


def _numbers(messages: NDArray[np.uint8], at: int | None) -> Longs:
    """The number at a place of each message; NO_GENERATION without a place."""
    if at is None:
        return np.full(len(messages), NO_GENERATION, dtype=np.int64)
    return np.ascontiguousarray(messages[:, at : at + 4]).view(">i4")[:, 0].astype(np.int64)
