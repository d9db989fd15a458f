"""Hand-made cases of classic groups whose subscriptions cannot be read, or are not those of consumers."""

from __future__ import annotations

import json
import struct
import time

from group_requests import Subscription
from rebalance_cases import SHORT_MS, Case
from rebalance_groups import RebalanceGroup
from truth import Partition


def undecodable(group: RebalanceGroup) -> None:
    """Members whose subscription cannot be read, or is read differently, and one with a correct one."""
    a = group.member("a", strategies=("custom",))
    group.account.because("join")
    group.rebalance(a)
    seed = Subscription((min(group.partitions)[0],), frozenset({min(group.partitions)}), 1).seeds_order()
    future = struct.pack(">h", 9) + a.subscription("custom").bytes(group.stage.cluster.clients_jar)[2:]
    whole = a.subscription("custom").bytes(group.stage.cluster.clients_jar)
    strange = {
        "seed": seed,
        "garbage": b"\xff",
        "cut": whole[:4],
        "empty": b"",
    }
    group.unreadable |= set(strange.values())
    others = [group.member(name, strategies=("custom",), raw=data) for name, data in strange.items()]
    others.append(group.member("future", strategies=("custom",), raw=future + b"more"))
    members = [a]
    for each in others:
        members.append(each)
        group.round(*members)


def poisoned(group: RebalanceGroup) -> None:
    """A subscription with an absurd length: it stops the group of a newer broker, whose members never get
    an answer again. They give up in the end."""
    a = group.member("a", strategies=("custom",), session_timeout_ms=SHORT_MS)
    group.account.because("join")
    group.round(a)
    poison = struct.pack(">hi", 3, 2_000_000_000)
    group.unreadable.add(poison)
    b = group.member("b", strategies=("custom",), raw=poison, session_timeout_ms=SHORT_MS)
    b.join()
    group.await_rebalance(a)
    a.join()
    time.sleep(SHORT_MS / 1000)
    for each in (a, b):
        each.give_up()


def connect(group: RebalanceGroup) -> None:
    """A cluster of Kafka Connect: another protocol type, whose bytes are its own."""
    url = b"http://127.0.0.1:8083/"
    data = struct.pack(">hh", 1, len(url)) + url + struct.pack(">qi", 7, -1)
    _others_protocol(group, "connect", ("sessioned", "compatible", "default"), data)


def schema_registry(group: RebalanceGroup) -> None:
    """A group of schema registries: JSON."""
    data = json.dumps({"host": "127.0.0.1", "port": 8081, "master_eligibility": True, "version": 1}).encode()
    _others_protocol(group, "sr", ("v0",), data)


def _others_protocol(group: RebalanceGroup, kind: str, names: tuple[str, ...], data: bytes) -> None:
    group.unreadable.add(data)
    a = group.member("a", protocol_type=kind, strategies=names, raw=data)
    b = group.member("b", protocol_type=kind, strategies=names, raw=data)
    group.account.because("join")
    group.round(a, rule=_nothing)
    group.round(a, b, rule=_nothing)


def _nothing(seen: object, partitions: frozenset[Partition]) -> dict[str, frozenset[Partition]]:
    return {}


CASES: dict[str, Case] = {
    "undecodable": undecodable,
    "poisoned": poisoned,
    "connect-cluster": connect,
    "schema-registry": schema_registry,
}
"""Group id -> the case played in it."""
