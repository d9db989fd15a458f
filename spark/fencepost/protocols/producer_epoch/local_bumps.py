"""Epochs that producers without a transactional id gave themselves: ``silver.local_bumps``.

After org.apache.kafka.clients.producer.internals.TransactionManager: at a local bump the client begins at
sequence 0 and may send again what was in flight. The partition takes it; whether it has the same records
already, ``same_records`` tells.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.handed_down_logs import BUMPED, OVER
from fencepost.protocols.producer_epoch.partition_log import PartitionLog
from fencepost.protocols.producer_epoch.same_records import (
    of_bumping_producers,
    of_producers,
    originals,
    untold,
)
from fencepost.replay.columns import Columns
from fencepost.replay.keys import OFFSETS_TOPIC, digest_of


def add_local_bumps(replayed: PartitionLog, rows: Columns) -> None:
    """Add the rows of one log (``silver.local_bumps``)."""
    if replayed.key[1] == OFFSETS_TOPIC or not replayed.has_producers:
        return
    earlier, behind = _before(replayed), of_bumping_producers(replayed)
    going_on = {producer_id for producer_id, each in earlier.items() if each["has_bump"]}
    own = _by_producer(behind)
    for producer_id in sorted(own.keys() | going_on):
        batches, known = own.get(producer_id, _none_of(behind)), earlier.get(producer_id)
        times = dict(zip(batches["offset"].tolist(), batches["max_timestamp_ms"].tolist(), strict=True))
        if known is not None:
            times.setdefault(known["first_offset"], known["first_ms"])
        for each, following in pairwise([*_bumps(batches, known), None]):
            assert each is not None
            key = digest_of(*replayed.key, producer_id, each.producer_epoch)
            end = following.first_offset if following else None
            ms = times[end] if end is not None else None
            interval = (each.first_offset, end, times[each.first_offset], ms)
            rows.add(*replayed.key, key, producer_id, *vars(each).values(), *interval)


def bumped(replayed: PartitionLog) -> Piece:
    """BUMPED of one log where it is cut for the next chapter."""
    found: list[Mapping[str, int]] = []
    if replayed.key[1] != OFFSETS_TOPIC and replayed.cut is not None:
        earlier, behind = _before(replayed), of_producers(replayed)
        own = _by_producer({name: column[behind["offset"] < replayed.cut] for name, column in behind.items()})
        for producer_id in sorted(own.keys() | earlier.keys()):
            batches, known = own.get(producer_id), earlier.get(producer_id)
            if batches is not None:
                known = _after(producer_id, batches, known)
            assert known is not None
            found.append(known)
    return {name: np.array([each[name] for each in found], dtype=np.int64) for name in BUMPED}


def _after(producer_id: int, own: Piece, known: Mapping[str, int] | None) -> Mapping[str, int]:
    """BUMPED of one producer after these batches; ``known``: before them."""
    epochs, newest_ms = own["producer_epoch"], own["max_timestamp_ms"]
    said = dict.fromkeys(BUMPED, UNKNOWN) | {
        "producer_id": producer_id,
        "producer_epoch": int(epochs[-1]),
        "highest_epoch": max(int(epochs.max()), UNKNOWN if known is None else known["highest_epoch"]),
        "newest_ms": max(int(newest_ms.max()), UNKNOWN if known is None else known["newest_ms"]),
        "is_untold": int(bool(untold(own).any()) or (known is not None and known["is_untold"] == 1)),
        "has_bump": 0,
    }
    bumps = list(_bumps(own, known)) if said["highest_epoch"] > 0 else []
    if not bumps:
        return said
    bump = bumps[-1]
    is_older = known is not None and known["has_bump"] and known["first_offset"] == bump.first_offset
    if known is not None and is_older:
        first_ms, before_ms = known["first_ms"], known["newest_before_ms"]
    else:
        first = int(np.flatnonzero(own["offset"] == bump.first_offset)[0])
        first_ms = int(newest_ms[first])
        before_ms = max(
            int(newest_ms[:first].max(initial=UNKNOWN)), UNKNOWN if known is None else known["newest_ms"]
        )
    of_bump = {name: UNKNOWN if value is None else int(value) for name, value in vars(bump).items()}
    of_bump["bump_epoch"] = of_bump.pop("producer_epoch")
    goes_on = 1 if bump.last_offset == int(own["last_offset"][-1]) else OVER
    return said | of_bump | {"has_bump": goes_on, "first_ms": first_ms, "newest_before_ms": before_ms}


def _before(replayed: PartitionLog) -> dict[int, Mapping[str, int]]:
    """What an earlier chapter knew of each producer: BUMPED."""
    before = replayed.evidence.before
    if before is None:
        return {}
    columns = zip(*(before.bumped[name].tolist() for name in BUMPED), strict=True)
    return {row[0]: dict(zip(BUMPED, row, strict=True)) for row in columns}


def _by_producer(batches: Piece) -> dict[int, Piece]:
    order = np.argsort(batches["producer_id"], kind="stable")
    ids, begins = np.unique(batches["producer_id"][order], return_index=True)
    return {
        producer_id: {name: column[at] for name, column in batches.items()}
        for producer_id, at in zip(ids.tolist(), np.split(order, begins[1:]), strict=False)
    }


def _none_of(batches: Piece) -> Piece:
    return {name: column[:0] for name, column in batches.items()}


@dataclass(frozen=True)
class LocalBump:
    """The columns of ``silver.local_bumps`` behind ``producer_id``, in their order."""

    producer_epoch: int
    previous_epoch: int | None
    first_offset: int
    last_offset: int
    batches: int
    records: int
    written_twice: bool | None
    batches_again: int
    records_again: int
    again_offset: int | None
    original_offset: int | None


def _standing(own: Piece, known: Mapping[str, int]) -> Piece:
    """Two batches that stand for all that a producer wrote before these: they have no records."""
    same = {
        "max_timestamp_ms": known["newest_ms"], "is_whole": 1 - known["is_untold"], "offset": -1,
        "last_offset": -1, "size": -1, "records_checksum": -1,
    }  # fmt: skip
    epochs = {"producer_epoch": [known["highest_epoch"], known["producer_epoch"]]}
    return {name: np.array(epochs.get(name, [same.get(name, 0)] * 2), dtype=np.int64) for name in own}


def _bumps(own: Piece, known: Mapping[str, int] | None = None) -> Iterator[LocalBump]:
    """The bumps of one producer in one log: its batches from the first of an epoch above all before it.

    ``known``: BUMPED of it, before these batches. Of what it wrote then the records are not known any more.
    """
    before_own = 0
    if known is not None:
        standing = _standing(own, known)
        own = {name: np.concatenate([standing[name], column]) for name, column in own.items()}
        before_own = 2
    epochs = own["producer_epoch"]
    original, is_untold = originals(own), untold(own)
    highest, newest_ms = (np.maximum.accumulate(own[name]) for name in ("producer_epoch", "max_timestamp_ms"))
    untold_so_far = np.logical_or.accumulate(is_untold)
    changes = np.flatnonzero(epochs[1:] != epochs[:-1]) + 1
    changes = changes[changes >= before_own]
    if known is not None and known["has_bump"]:
        end = int(changes[0]) if len(changes) else len(epochs)
        goes_on = slice(before_own, end if known["has_bump"] != OVER else before_own)
        yield _continued(known, {name: column[goes_on] for name, column in own.items()}, original[goes_on])
    for first, end in zip(changes.tolist(), [*changes[1:].tolist(), len(epochs)], strict=False):
        before = first - 1
        if epochs[first] <= highest[before]:
            continue
        again = np.flatnonzero(original[first:end] != UNKNOWN) + first
        # who puts records together anew keeps their timestamps and their order: what begins later is new
        old = own["base_timestamp_ms"][first:end] <= newest_ms[before]
        may_be_again = untold_so_far[before] or bool((is_untold[first:end] | old).any())
        found = len(again) > 0
        yield LocalBump(
            producer_epoch=int(epochs[first]),
            previous_epoch=int(epochs[before]) if own["stretch"][before] == own["stretch"][first] else None,
            first_offset=int(own["offset"][first]),
            last_offset=int(own["last_offset"][end - 1]),
            batches=end - first,
            records=int(own["record_count"][first:end].sum()),
            written_twice=True if found else None if may_be_again else False,
            batches_again=len(again),
            records_again=int(own["record_count"][again].sum()),
            again_offset=int(own["offset"][again[0]]) if found else None,
            original_offset=int(original[again[0]]) if found else None,
        )


def _continued(known: Mapping[str, int], more: Piece, original: Longs) -> LocalBump:
    """A bump of an earlier chapter with the batches that followed it."""
    said = {name: None if known[name] == UNKNOWN else known[name] for name in LocalBump.__dataclass_fields__}
    said["producer_epoch"] = known["bump_epoch"]
    again = np.flatnonzero(original != UNKNOWN)
    old = more["base_timestamp_ms"] <= known["newest_before_ms"]
    twice = None if said["written_twice"] is None else bool(said["written_twice"])
    if len(again):
        twice = True
        if said["again_offset"] is None:
            said["again_offset"], said["original_offset"] = (
                int(more["offset"][again[0]]),
                int(original[again[0]]),
            )
    elif twice is False and bool((untold(more) | old).any()):
        twice = None
    counts = {
        "batches": len(original),
        "records": int(more["record_count"].sum()),
        "batches_again": len(again),
        "records_again": int(more["record_count"][again].sum()),
    }
    added = {name: (said[name] or 0) + count for name, count in counts.items()}
    last = {"last_offset": int(more["last_offset"][-1])} if len(original) else {}
    return LocalBump(**{**said, **added, **last, "written_twice": twice})  # type: ignore[arg-type]
