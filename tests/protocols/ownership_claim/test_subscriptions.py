"""Subscriptions as bytes that real members sent, and bytes that are no subscription."""

from __future__ import annotations

import struct
from base64 import b64decode

from hypothesis import given
from hypothesis import strategies as st

from fencepost.protocols.ownership_claim.repeated_subscriptions import RepeatedSubscriptions
from fencepost.protocols.ownership_claim.subscriptions import (
    SentSubscription,
    Subscription,
    read_assignments,
    read_subscriptions,
)

# a fresh cooperative-sticky member of Kafka 4.3.1: version 3, user data -1, nothing owned
FRESH = b64decode("AAMAAAABAAF0AAAABP////8AAAAA////////")


def test_a_fresh_member_claims_nothing() -> None:
    (sent,) = read_subscriptions(["cooperative-sticky"], [FRESH])
    assert sent == SentSubscription(Subscription(3, frozenset({"t"}), (), (), "none", None), -1)


def test_what_a_newer_version_adds_is_skipped() -> None:
    newer = (9).to_bytes(2, "big") + FRESH[2:] + b"anything"
    ((subscription, _),) = read_subscriptions(["cooperative-sticky"], [newer])
    assert (subscription.version, subscription.topics, subscription.unread) == (9, frozenset({"t"}), None)


# a member of librdkafka 1.9.2 that goes from generation 2 to 3: version 1, user data as of StickyAssignor
LIBRDKAFKA = b64decode("AAEAAAABAANxaW4AAAAVAAAAAQADcWluAAAAAQAAAAEAAAACAAAAAQADcWluAAAAAQAAAAE=")


def test_librdkafka_tells_its_generation_behind_its_partitions() -> None:
    (sent,) = read_subscriptions(["cooperative-sticky"], [LIBRDKAFKA])
    assert sent == SentSubscription(Subscription(1, frozenset({"qin"}), (("qin", 1),), (), "user_data"), 2)
    repeated = RepeatedSubscriptions()
    next_one = LIBRDKAFKA.replace(b"\0\0\0\1\0\0\0\2", b"\0\0\0\1\0\0\0\3")
    read = repeated.read("cooperative-sticky", [LIBRDKAFKA]) + repeated.read("cooperative-sticky", [next_one])
    assert [generation for _, generation in read] == [2, 3]
    assert read[0].subscription is read[1].subscription


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_any_bytes_are_read_or_refused(messages: list[bytes]) -> None:
    for assignor in ("cooperative-sticky", "sticky", None):
        subscriptions = read_subscriptions([assignor] * len(messages), messages)
        assert len(subscriptions) == len(messages)
        assert all(each.unread is None or not each.held for each, _ in subscriptions)
    assert len(read_assignments(messages)) == len(messages)


def _sent(
    version: int, user_data: bytes | None, generation: int, owned: list[int], rack: str | None
) -> bytes:
    message = struct.pack(">hi", version, 1) + b"\0\1t"
    message += struct.pack(">i", -1) if user_data is None else struct.pack(">i", len(user_data)) + user_data
    if version >= 1:
        message += struct.pack(">i", 1) + b"\0\1t" + struct.pack(f">i{len(owned)}i", len(owned), *owned)
    if version >= 2:
        message += struct.pack(">i", generation)
    if version >= 3:
        message += struct.pack(">h", -1) if rack is None else struct.pack(">h", len(rack)) + rack.encode()
    return message


_NUMBERS = st.sampled_from([-1, 0, 5, 6, 257])
_MEMORY = struct.pack(">i", 1) + b"\0\1t" + struct.pack(">ii", 1, 4)
_USER_DATA = st.one_of(
    st.none(),
    st.sampled_from([b"", b"\0\0", _MEMORY]),
    _NUMBERS.map(lambda number: struct.pack(">i", number)),
    _NUMBERS.map(lambda number: _MEMORY + struct.pack(">i", number)),
)
_MESSAGE = st.one_of(
    st.binary(max_size=20),
    st.builds(
        _sent, st.integers(0, 4), _USER_DATA, _NUMBERS, st.lists(st.integers(0, 1), max_size=2),
        st.sampled_from([None, "r", "\0\0\0\5"]),
    ),
)  # fmt: skip


@given(st.lists(st.tuples(st.sampled_from(["cooperative-sticky", "sticky", "range", None]), _MESSAGE)))
def test_repeated_subscriptions_are_read_like_new_ones(sent: list[tuple[str | None, bytes]]) -> None:
    repeated = RepeatedSubscriptions()
    for assignor, message in (*sent, *sent):
        assert repeated.read(assignor, [message]) == read_subscriptions([assignor], [message])


def test_equal_subscriptions_of_two_generations_are_the_same_object() -> None:
    for assignor, user_data in (("cooperative-sticky", None), ("cooperative-sticky", 1), ("sticky", 2)):
        repeated, subscriptions = RepeatedSubscriptions(), []
        for generation in (7, 8):
            number = struct.pack(">i", generation)
            data = None if user_data is None else number if user_data == 1 else _MEMORY + number
            subscriptions += repeated.read(assignor, [_sent(3, data, generation, [3], "rack")])
        assert [generation for _, generation in subscriptions] == [7, 8]
        assert subscriptions[0].subscription is subscriptions[1].subscription
