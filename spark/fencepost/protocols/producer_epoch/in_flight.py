"""Fencings with what was in flight: ``silver.producer_fencings``."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Account, rows_of
from fencepost.protocols.producer_epoch.facts import Facts
from fencepost.protocols.producer_epoch.tables import PRODUCER_FENCINGS
from fencepost.replay.columns import Columns


def producer_fencings(told: Account, held: pa.Table, known: Facts) -> pa.Table:
    """``silver.producer_fencings``, with what the victim's transaction held when it was fenced."""
    fenced = rows_of(told, account.FENCED).to_pylist()
    rows = Columns(PRODUCER_FENCINGS)
    if not fenced:
        return rows.to_arrow()
    newest = _held_by(held, {(each["cluster"], each["producer_id"]) for each in fenced})
    epochs = _epochs(told)
    for each in fenced:
        if each["transactional_id"] is None:
            each.update(_moved_locally(each, epochs, known))
        each["in_flight"] = _in_flight(each, newest, known)
        each["occurred_at"], each["fenced_at"] = each["occurred_ms"], each["fenced_ms"]
        rows.add(*(each[name] for name in PRODUCER_FENCINGS.columns))
    return rows.to_arrow()


_Held = Mapping[tuple[object, ...], tuple[int, int | None]]


def _held_by(held: pa.Table, producers: Iterable[tuple[str, int | None]]) -> _Held:
    """First offset and records of the newest transaction: by cluster, producer id, epoch and partition.

    Records are null where two incarnations of a topic have one there.
    """
    wanted = set(producers)
    ids = pa.array({producer_id for _, producer_id in wanted if producer_id is not None}, pa.int64())
    rows = held.filter(pc.is_in(held["producer_id"], ids))
    names = ("cluster", "producer_id", "producer_epoch", "name", "first_offset", "records")
    found: dict[tuple[object, ...], tuple[int, int | None]] = {}
    for *key, first_offset, records in zip(*(rows[name].to_pylist() for name in names), strict=True):
        place = tuple(key)
        newest, counted = found.get(place, (-1, None))
        if first_offset > newest:
            found[place] = (first_offset, records)
        elif first_offset == newest and records != counted:
            # of two topics of one name: nothing tells which
            found[place] = (first_offset, None)
    return found


def _in_flight(fencing: Mapping[str, object], held: _Held, known: Facts) -> str | None:
    listed = fencing["in_flight"]
    if not isinstance(listed, list):
        return None
    said = []
    for each in listed:
        topic, _, partition = each["name"].rpartition(":")
        key = (fencing["cluster"], fencing["producer_id"], fencing["victim_epoch"], each["name"])
        first_offset, records = held.get(key, (None, None))
        if records is None and known.whole.get((str(fencing["cluster"]), each["name"])):
            # a partition may be part of a transaction before anything is written to it
            records = 0
        said.append(
            {
                "topic": topic,
                "partition": int(partition),
                "first_offset": first_offset,
                "records": records,
                "outcome": each["outcome"],
            }
        )
    said.sort(key=lambda at: (at["topic"], at["partition"], at["first_offset"] or -1))
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False)


def _epochs(told: Account) -> dict[tuple[object, ...], list[tuple[int, int]]]:
    """When producers without transactions first wrote with each epoch: by cluster, producer, partition."""
    rows = rows_of(told, account.EPOCH)
    names = ("cluster", "producer_id", "topic", "partition", "first_ms", "producer_epoch")
    found: dict[tuple[object, ...], list[tuple[int, int]]] = {}
    for *key, first_ms, epoch in zip(*(rows[name].to_pylist() for name in names), strict=True):
        found.setdefault(tuple(key), []).append((first_ms, epoch))
    return found


def _moved_locally(
    fencing: Mapping[str, object], epochs: Mapping[tuple[object, ...], list[tuple[int, int]]], known: Facts
) -> dict[str, object]:
    """The current epoch is the newest in the partition by then, unless a hole may hide a newer one."""
    cluster, producer_id, topic, partition = (
        fencing[name] for name in ("cluster", "producer_id", "topic", "partition")
    )
    until = fencing["occurred_ms"]
    assert isinstance(until, int)
    there = epochs.get((cluster, producer_id, topic, partition), ())
    newest = max((epoch for ms, epoch in there if ms <= until), default=None)
    current = newest if known.unbroken.get((str(cluster), f"{topic}:{partition}")) else None
    return {
        "current_epoch": current,
        # the only epoch below 1
        "victim_epoch": 0 if current == 1 else None,
        "cause": "local" if newest is not None and newest > 0 else None,
    }
