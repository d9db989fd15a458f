"""Subscriptions that members send again and again: most differ from the last one by their generation only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from fencepost.protocols.ownership_claim.message_reader import Reader
from fencepost.protocols.ownership_claim.subscriptions import (
    COOPERATIVE_STICKY,
    STICKY,
    SentSubscription,
    Subscription,
    read_subscriptions,
)
from fencepost.protocols.ownership_claim.tables import NO_GENERATION

Longs = NDArray[np.int64]

_AT_ONCE = 1_000
_MOST = 100_000
"""So many messages are remembered: user data of other assignors may be another each time."""


class _Places(NamedTuple):
    """Where a message has a generation, four bytes each: in its user data, in a field of its own."""

    user_data: int | None
    own: int | None


class _Numbers(NamedTuple):
    """The generations there; NO_GENERATION where there is no place."""

    user_data: int
    own: int


_Shape = tuple[str | None, tuple[bytes, ...], bool, bool]
"""An assignor, a message without its generations, and which of the two are none."""


class SubscriptionColumn:
    """What the messages of a column say: ``subscriptions``, by the ``codes`` of the messages, and the
    ``generations`` of their claims.
    """

    def __init__(self, count: int) -> None:
        self.subscriptions: list[Subscription] = []
        self.codes: Longs = np.full(count, -1, dtype=np.int64)
        self.generations: Longs = np.full(count, NO_GENERATION, dtype=np.int64)
        self._codes: dict[int, int] = {}

    def code(self, subscription: Subscription) -> int:
        """The code of a subscription, which is the same object each time."""
        code = self._codes.setdefault(id(subscription), len(self.subscriptions))
        if code == len(self.subscriptions):
            self.subscriptions.append(subscription)
        return code


class RepeatedSubscriptions:
    """Reads subscriptions; those that say the same, but for the generation, are the same object.

    A message is read once. One that has the same bytes but for four where the first has a generation is read
    alike: a reader that arrives there by the same bytes goes on by the same bytes behind it.
    """

    def __init__(self) -> None:
        self._same: dict[Subscription, Subscription] = {}
        self._places: defaultdict[tuple[str | None, int], list[_Places]] = defaultdict(list)
        self._known: dict[_Shape, Subscription] = {}

    def read(self, assignor: str | None, messages: Sequence[bytes]) -> list[SentSubscription]:
        """What each message says, sent for the assignor."""
        again = [self._again(assignor, data) for data in messages]
        new = [data for data, said in zip(messages, again, strict=True) if said is None]
        if not new:
            return [said for said in again if said is not None]
        read = iter(read_subscriptions([assignor] * len(new), new))
        return [
            self._learn(assignor, data, next(read)) if said is None else said
            for data, said in zip(messages, again, strict=True)
        ]

    def read_column(self, assignor: str | None, column: pa.BinaryArray) -> SubscriptionColumn:
        """The same of a whole column, without a look at each message that says what another one did."""
        found = SubscriptionColumn(len(column))
        left, at_once = self._recognise(assignor, column, np.arange(len(column)), found), _AT_ONCE
        while left.size:
            some, left = left[:at_once], left[at_once:]
            read = self.read(assignor, column.take(pa.array(some)).to_pylist())
            for at, said in zip(some.tolist(), read, strict=True):
                found.codes[at], found.generations[at] = found.code(said.subscription), said.generation
            # what was learned of some of them, most others say as well
            left, at_once = self._recognise(assignor, column, left, found), 2 * at_once
        return found

    def _recognise(
        self, assignor: str | None, column: pa.BinaryArray, at: Longs, found: SubscriptionColumn
    ) -> Longs:
        """Tell those of the messages that were read before; gives back the others."""
        offsets = np.frombuffer(column.buffers()[1], np.int32)[column.offset :][: len(column) + 1]
        data = np.frombuffer(column.buffers()[2] or b"", np.uint8)
        lengths = np.diff(offsets)[at]
        for length in np.unique(lengths[lengths > 0]).tolist():
            left = at[lengths == length]
            for places in self._places.get((assignor, length), ()):
                left = left[found.codes[left] < 0]
                if left.size:
                    messages = sliding_window_view(data, length)[offsets[left]]
                    self._recognise_alike(assignor, places, left, messages, found)
        return at[found.codes[at] < 0]

    def _recognise_alike(
        self,
        assignor: str | None,
        places: _Places,
        at: Longs,
        messages: NDArray[np.uint8],
        found: SubscriptionColumn,
    ) -> None:
        """The same of messages of one length, with their generations at these places."""
        user, own = (_numbers(messages, place) for place in places)
        for place in places:
            if place is not None:
                messages[:, place : place + 4] = 0
        rows, length = messages.shape
        shapes = pa.Array.from_buffers(pa.binary(length), rows, [None, pa.py_buffer(messages)])
        shape = shapes.dictionary_encode().indices.to_numpy().astype(np.int64)
        _, first, which = np.unique(
            4 * shape + 2 * (user < 0) + (own < 0), return_index=True, return_inverse=True
        )
        codes = np.full(len(first), -1, dtype=np.int64)
        for number, row in enumerate(first.tolist()):
            pieces, _ = _cut(messages[row].tobytes(), places)
            known = self._known.get((assignor, pieces, bool(user[row] < 0), bool(own[row] < 0)))
            if known is not None:
                codes[number] = found.code(known)
        found.codes[at] = codes[which]
        told = (
            user if assignor == STICKY else np.where((own < 0) & (assignor == COOPERATIVE_STICKY), user, own)
        )
        found.generations[at] = np.maximum(told, NO_GENERATION)

    def _again(self, assignor: str | None, data: bytes) -> SentSubscription | None:
        for places in self._places.get((assignor, len(data)), ()):
            pieces, numbers = _cut(data, places)
            found = self._known.get((assignor, pieces, numbers.user_data < 0, numbers.own < 0))
            if found is not None:
                return SentSubscription(found, _generation(assignor, numbers))
        return None

    def _learn(self, assignor: str | None, data: bytes, said: SentSubscription) -> SentSubscription:
        if len(self._known) > _MOST:
            self._known, self._same = {}, {}
            self._places.clear()
        subscription = self._same.setdefault(said.subscription, said.subscription)
        places = _Places(None, None) if subscription.unread is not None else _places(assignor, data)
        pieces, numbers = _cut(data, places)
        if _generation(assignor, numbers) == said.generation:
            known = self._places[assignor, len(data)]
            if places not in known:
                known.append(places)
            self._known[assignor, pieces, numbers.user_data < 0, numbers.own < 0] = subscription
        return SentSubscription(subscription, said.generation)


def _generation(assignor: str | None, numbers: _Numbers) -> int:
    """The generation of the claims: whose word counts is the assignor's to say."""
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
        inside = _in_user_data(assignor, user_data)
        own = None
        if int.from_bytes(data[:2], "big", signed=True) >= 2:
            reader.partitions()
            own = reader.at
            reader.int32()
    except ValueError:
        return _Places(None, None)
    return _Places(None if inside is None else before + inside, own)


def _in_user_data(assignor: str | None, user_data: bytes) -> int | None:
    """Where the generation begins that Kafka's sticky assignors put there."""
    reader = Reader(user_data, 0)
    try:
        if assignor == STICKY:
            reader.partitions()
        elif assignor != COOPERATIVE_STICKY:
            return None
        at = reader.at
        reader.int32()
    except ValueError:
        return None
    return at


def _cut(data: bytes, places: _Places) -> tuple[tuple[bytes, ...], _Numbers]:
    """The message without its generations, and these."""
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
    """The number at a place of each message; NO_GENERATION where there is no place."""
    if at is None:
        return np.full(len(messages), NO_GENERATION, dtype=np.int64)
    return np.ascontiguousarray(messages[:, at : at + 4]).view(">i4")[:, 0].astype(np.int64)
