"""Pseudonyms of names, and of names inside texts and bytes, whatever the names are."""

from __future__ import annotations

import json
import struct
from base64 import b64decode, b64encode

import pytest
from hostile import NAMES

from fencepost.formats.schemas import Field, record_types
from fencepost.pseudonyms import Pseudonyms, texts, values
from fencepost.pseudonyms.fields import FIELDS, OF_RECORDS

UUID = "01234567-89ab-cdef-0123-456789abcdef"
KEYED = Pseudonyms("a key of some length")
HOSTILE = (
    "orders", "o", "a-b-c", f"app-{UUID}", UUID, "n" * 249, "日本語", 'with "quotes" and, commas',
    "x-StreamThread-y", "=Assignment(partitions=[])", "Set(a)", "a with group instance id b", *NAMES,
)  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_a_member_id_has_the_pseudonym_of_its_client_and_its_own_uuid(name: str) -> None:
    client = KEYED.client(name)
    assert KEYED.member(f"{name}-{UUID}") == f"{client}-{UUID}"
    assert KEYED.client(f"{name}-StreamThread-3-consumer") == f"{client}-StreamThread-3-consumer"
    assert (
        KEYED.member(f"{name}-StreamThread-3-consumer-{UUID}") == f"{client}-StreamThread-3-consumer-{UUID}"
    )
    assert client.startswith("client-") and len(client) == len("client-") + 16
    assert len(name) < 3 or name not in client
    # an id that the client has chosen is replaced as a whole
    chosen = KEYED.member(UUID)
    assert chosen.startswith("member-") and UUID not in chosen


def test_what_names_nobody_stays() -> None:
    assert [
        KEYED.client(""),
        KEYED.member(""),
        KEYED.host(""),
        KEYED.principal(""),
        KEYED.connection(""),
    ] == [""] * 5
    for own in ("AddPartitionsManager-client-1", "broker-3-txn-marker-sender", "adminclient-12"):
        assert KEYED.client(own) == own
    assert KEYED.client("AddPartitionsManager-client-alice").startswith("client-")
    assert (KEYED.principal("User:ANONYMOUS"), KEYED.principal("User:*"), KEYED.host("*")) == (
        "User:ANONYMOUS", "User:*", "*",
    )  # fmt: skip


def test_hosts_and_users_are_the_same_wherever_they_stand() -> None:
    host = KEYED.host("10.1.2.3")
    assert KEYED.host("/10.1.2.3") == f"/{host}"
    assert KEYED.connection("10.1.2.3:9092-10.1.2.3:51514-3-0") == f"{host}:9092-{host}:51514-3-0"
    long = KEYED.host("0:0:0:0:0:0:0:1")
    assert KEYED.connection("0:0:0:0:0:0:0:1:9092-0:0:0:0:0:0:0:1:5-1") == f"{long}:9092-{long}:5-1"
    assert "alice" not in KEYED.connection("alice")
    user = KEYED.principal("CN=alice,OU=a:b")
    assert user.startswith("user-") and "alice" not in user
    assert KEYED.principal("User:CN=alice,OU=a:b") == f"User:{user}"


def test_the_key_and_the_kind_of_a_name_make_its_pseudonym() -> None:
    other = Pseudonyms("another key of some length")
    assert KEYED.client("orders") != other.client("orders")
    assert KEYED.fingerprint != other.fingerprint
    assert KEYED.fingerprint != Pseudonyms(KEYED.key, ("hosts",)).fingerprint
    assert KEYED.client("a").partition("-")[2] != KEYED.host("a").partition("-")[2]
    only_hosts = Pseudonyms(KEYED.key, ("hosts",))
    assert (only_hosts.client("a"), only_hosts.principal("User:a")) == ("a", "User:a")
    assert KEYED.key not in repr(KEYED)


A, B = f"alice-{UUID}", f"bob, jr-{UUID}"


@pytest.mark.parametrize(
    ("logged", "expected"),
    [
        ("the consumer is being closed", None),
        ("removing member {A} on heartbeat expiration.", None),
        ("Adding new member {A} with group instance id null; client reason: not provided", None),
        ("Adding new member {A} with group instance id {I}; client reason: I am alice",
         "Adding new member {A} with group instance id {I}; client reason: left out"),
        ("Leader {A} re-joining group during Stable; client reason: need to re-join with the given "
         "member-id: {A}", None),
        ("explicit `LeaveGroup` request for ({A}, {A}) members.", None),
        ("rebalance failed due to 'alice is gone' (FencedException)",
         "rebalance failed due to 'left out' (FencedException)"),
        ("alice thinks so", "left out"),
    ],
)  # fmt: skip
def test_a_reason_keeps_the_words_of_kafka(logged: str, expected: str | None) -> None:
    def filled(text: str, member: str, instance: str) -> str:
        return text.replace("{A}", member).replace("{I}", instance)

    said = texts.reason(KEYED, filled(logged, A, "alice-1"))
    assert said == filled(expected or logged, KEYED.member(A), KEYED.client("alice-1"))
    assert "alice" not in said


def test_lists_of_members() -> None:
    assert texts.members(KEYED, f"Set({A}, {A})") == f"Set({KEYED.member(A)}, {KEYED.member(A)})"
    assert "bob" not in texts.members(KEYED, f"[{B}]") and "jr" not in texts.members(KEYED, f"[{B}]")
    told = f"{{{A}=Assignment(partitions=[orders-0, t.x-1]), {B}=Assignment(partitions=[], userDataSize=9)}}"
    expected = told.replace(A, KEYED.member(A)).replace(B, KEYED.member(B))
    assert texts.assignments(KEYED, told) == expected


def test_a_producers_message_ends_with_its_error() -> None:
    fatal = "Transiting to fatal error state due to org.apache.X: alice at 10.1.2.3 is gone"
    assert texts.message(fatal) == "Transiting to fatal error state due to org.apache.X"
    assert texts.message("ProducerId set to 4 with epoch 1") == "ProducerId set to 4 with epoch 1"


def test_a_part_of_a_client_id_is_no_group() -> None:
    assert texts.behind_client("orders, eu") == "orders, eu"
    # [Consumer clientId=alice, groupId=of bob, groupId=orders]
    assert texts.behind_client("of bob, groupId=orders") is None


def _text(text: str) -> bytes:
    return struct.pack(">h", len(text.encode())) + text.encode()


def _group(user_data: bytes) -> bytes:
    """A value of GroupMetadata, version 3, with one member."""
    subscription = struct.pack(">hi", 1, 1) + _text("orders") + struct.pack(">i", len(user_data)) + user_data
    subscription += struct.pack(">i", 0)
    member = _text(A) + _text("alice-1") + _text("alice") + _text("/10.1.2.3") + struct.pack(">ii", 9, 9)
    member += struct.pack(">i", len(subscription)) + subscription + struct.pack(">i", 0)
    head = struct.pack(">h", 3) + _text("consumer") + struct.pack(">i", 7) + _text("range") + _text(A)
    return head + struct.pack(">qi", 1, 1) + member


def test_the_record_of_a_group_has_no_name() -> None:
    def replaced(data: bytes, *, is_readable: bool = True) -> bytes:
        done = values.record(KEYED, "GroupMetadata", "value", data, is_readable=is_readable)
        assert done is not None
        assert b"alice" not in done and b"10.1.2.3" not in done
        return done

    of_the_sticky_assignor = struct.pack(">i", 5)
    done = replaced(_group(of_the_sticky_assignor))
    for name in (KEYED.member(A), KEYED.client("alice"), KEYED.client("alice-1"), KEYED.host("/10.1.2.3")):
        assert _text(name) in done
    assert of_the_sticky_assignor in done
    replaced(_group(b"I am alice"))
    # of what cannot be read only its version stays, so it stays unknown
    assert replaced(_group(b"")[:-3]) == struct.pack(">h", 3)
    assert replaced(_group(b""), is_readable=False) == struct.pack(">h", 3)


def test_a_request_keeps_what_is_read_and_nothing_that_nobody_has_looked_at() -> None:
    subscription = struct.pack(">hi", 0, 1) + _text("orders") + struct.pack(">i", 5) + b"alice"
    sent = {
        "groupId": "orders", "memberId": A, "groupInstanceId": None, "newField": "alice", "timeoutMs": 9,
        "protocols": [{"name": "range", "metadata": b64encode(subscription).decode()}], "reason": "I, alice",
    }  # fmt: skip
    done = json.loads(values.api(KEYED, "JOIN_GROUP", json.dumps(sent)) or "")
    metadata = b64decode(done["protocols"][0].pop("metadata"))
    assert metadata == struct.pack(">hi", 0, 1) + _text("orders") + struct.pack(">i", -1)
    assert done == {
        **sent, "memberId": KEYED.member(A), "newField": "", "protocols": [{"name": "range"}],
        "reason": "left out",
    }  # fmt: skip
    about = {"deletions": [{"name": "alice", "mechanism": 1}]}
    assert "alice" not in (values.api(KEYED, "ALTER_USER_SCRAM_CREDENTIALS", json.dumps(about)) or "")
    url = _text("http://10.1.2.3:8083/")
    worker = {"protocols": [{"name": "sessioned", "metadata": b64encode(b"\0\2" + url + b"\0" * 9).decode()}]}
    done = json.loads(values.api(KEYED, "JOIN_GROUP", json.dumps(worker)) or "")
    told = b64decode(done["protocols"][0]["metadata"])
    assert told == b"\0\2" + _text(f"http://{KEYED.host('10.1.2.3')}:8083/") + b"\0" * 8


def test_every_text_of_a_record_says_what_it_holds() -> None:
    """A field that a new release adds is left out until somebody has looked at it."""

    def texts_of(fields: tuple[Field, ...]) -> list[str]:
        return [
            name
            for each in fields
            for name in (texts_of(each.fields) if each.type == "struct" else [each.name])
            if each.type in {"struct", "string", "bytes", "records"}
        ]

    known = {name for _, name in OF_RECORDS} | set(FIELDS)
    found = {
        name
        for record in record_types().values()
        for message in (record.key, record.value)
        if message is not None
        for name in texts_of(message.fields)
    }
    assert found <= known
