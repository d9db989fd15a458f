"""Subscriptions that members send again and again: most differ from the last one by their generation only."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from fencepost.protocols.ownership_claim.message_reader import Reader
from fencepost.protocols.ownership_claim.subscriptions import (
    COOPERATIVE_STICKY,
    STICKY,
    Said,
    Subscription,
    read_subscriptions,
)
from fencepost.protocols.ownership_claim.tables import NO_GENERATION

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


class SaidBefore:
    """Reads subscriptions; those that say the same, but for the generation, are the same object.

    A message is read once. One that has the same bytes but for four where the first has a generation is read
    alike: a reader that arrives there by the same bytes goes on by the same bytes behind it.
    """

    def __init__(self) -> None:
        self._same: dict[Subscription, Subscription] = {}
        self._places: defaultdict[tuple[str | None, int], list[_Places]] = defaultdict(list)
        self._known: dict[_Shape, Subscription] = {}

    def read(self, assignor: str | None, messages: Sequence[bytes]) -> list[Said]:
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

    def _again(self, assignor: str | None, data: bytes) -> Said | None:
        for places in self._places.get((assignor, len(data)), ()):
            pieces, numbers = _cut(data, places)
            found = self._known.get((assignor, pieces, numbers.user_data < 0, numbers.own < 0))
            if found is not None:
                return Said(found, _generation(assignor, numbers))
        return None

    def _learn(self, assignor: str | None, data: bytes, said: Said) -> Said:
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
        return Said(subscription, said.generation)


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
