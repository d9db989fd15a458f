"""Subscriptions as bytes that real members sent, and what is none."""

from __future__ import annotations

from base64 import b64decode

from hypothesis import given
from hypothesis import strategies as st

from fencepost.protocols.ownership_claim.subscriptions import read_assignments, read_subscriptions

# a fresh cooperative-sticky member of Kafka 4.3.1: version 3, user data -1, nothing owned
FRESH = b64decode("AAMAAAABAAF0AAAABP////8AAAAA////////")


def test_a_fresh_member_claims_nothing() -> None:
    (found,) = read_subscriptions(["cooperative-sticky"], [FRESH])
    assert found == (3, frozenset({"t"}), [], (), -1, "none", None)


def test_what_a_newer_version_adds_is_skipped() -> None:
    newer = (9).to_bytes(2, "big") + FRESH[2:] + b"anything"
    (found,) = read_subscriptions(["cooperative-sticky"], [newer])
    assert (found.version, found.topics, found.unread) == (9, frozenset({"t"}), None)


@given(st.lists(st.binary(max_size=60), max_size=4))
def test_whatever_was_sent_is_read_or_refused(messages: list[bytes]) -> None:
    for assignor in ("cooperative-sticky", "sticky", None):
        found = read_subscriptions([assignor] * len(messages), messages)
        assert len(found) == len(messages)
        assert all(each.unread is None or not each.held for each in found)
    assert len(read_assignments(messages)) == len(messages)
