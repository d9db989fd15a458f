"""Epochs that producers without a transactional id bumped themselves: ``silver.local_bumps``.

After org.apache.kafka.clients.producer.internals.TransactionManager: after a local bump the client begins at
sequence 0 and may send records again that were in flight. The partition appends them; ``same_records`` finds
out whether it has the same records already.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.log_state import BUMPED, OVER
from fencepost.protocols.producer_epoch.partition_log import PartitionLog
from fencepost.protocols.producer_epoch.same_records import (
    may_be_repeated,
    of_bumping_producers,
    of_producers,
    originals,
)
from fencepost.replay.columns import Columns
from fencepost.replay.keys import OFFSETS_TOPIC, digest_of

_State = Mapping[str, int]
"""BUMPED of one producer."""

_NOTHING: _State = dict.fromkeys(BUMPED, UNKNOWN) | {"is_untold": 0, "has_bump": 0}
"""That of a producer of which nothing is known."""


def add_local_bumps(replayed: PartitionLog, rows: Columns) -> None:
    """Add the rows of one log (``silver.local_bumps``)."""
    if replayed.key[1] == OFFSETS_TOPIC or not replayed.has_producers:
        return
    known, batches_of_all = _known(replayed), of_bumping_producers(replayed)
    going_on = {producer_id for producer_id, each in known.items() if each["has_bump"]}
    own = _by_producer(batches_of_all)
    for producer_id in sorted(own.keys() | going_on):
        batches, before = own.get(producer_id, _no_batches(batches_of_all)), known.get(producer_id, _NOTHING)
        times = dict(zip(batches["offset"].tolist(), batches["max_timestamp_ms"].tolist(), strict=True))
        times.setdefault(before["first_offset"], before["first_ms"])
        for each, following in pairwise([*_bumps(batches, before), None]):
            assert each is not None
            key = digest_of(*replayed.key, producer_id, each.producer_epoch)
            end = following.first_offset if following else None
            ms = times[end] if end is not None else None
            interval = (each.first_offset, end, times[each.first_offset], ms)
            rows.add(*replayed.key, key, producer_id, *vars(each).values(), *interval)


def bumped(replayed: PartitionLog, offset: int) -> Piece:
    """BUMPED of one log at an offset."""
    states: dict[int, _State] = {}
    if replayed.key[1] != OFFSETS_TOPIC:
        states, batches = _known(replayed), of_producers(replayed)
        own = _by_producer({name: column[batches["offset"] < offset] for name, column in batches.items()})
        for producer_id, each in own.items():
            states[producer_id] = _state_after(producer_id, each, states.get(producer_id, _NOTHING))
    columns = [[state[name] for _, state in sorted(states.items())] for name in BUMPED]
    return {name: np.array(column, dtype=np.int64) for name, column in zip(BUMPED, columns, strict=True)}


def _state_after(producer_id: int, own: Piece, before: _State) -> _State:
    """The state of one producer after the batches ``own``; ``before``: that before them."""
    epochs, newest_ms = own["producer_epoch"], own["max_timestamp_ms"]
    state = dict.fromkeys(BUMPED, UNKNOWN) | {
        "producer_id": producer_id,
        "producer_epoch": int(epochs[-1]),
        "highest_epoch": max(int(epochs.max()), before["highest_epoch"]),
        "newest_ms": max(int(newest_ms.max()), before["newest_ms"]),
        "is_untold": int(may_be_repeated(own).any()) | before["is_untold"],
        "has_bump": 0,
    }
    bumps = list(_bumps(own, before)) if state["highest_epoch"] > 0 else []
    if not bumps:
        return state
    bump = bumps[-1]
    if before["has_bump"] and before["first_offset"] == bump.first_offset:
        first_ms, before_ms = before["first_ms"], before["newest_before_ms"]
    else:
        first = int(np.flatnonzero(own["offset"] == bump.first_offset)[0])
        first_ms = int(newest_ms[first])
        before_ms = int(newest_ms[:first].max(initial=before["newest_ms"]))
    of_bump = {name: UNKNOWN if value is None else int(value) for name, value in vars(bump).items()}
    of_bump["bump_epoch"] = of_bump.pop("producer_epoch")
    goes_on = 1 if bump.last_offset == int(own["last_offset"][-1]) else OVER
    return state | of_bump | {"has_bump": goes_on, "first_ms": first_ms, "newest_before_ms": before_ms}


def _known(replayed: PartitionLog) -> dict[int, _State]:
    """The state of each producer before the batches that were read."""
    columns = (column.tolist() for column in replayed.evidence.state.bumped.values())
    return {row[0]: dict(zip(BUMPED, row, strict=True)) for row in zip(*columns, strict=True)}


def _by_producer(batches: Piece) -> dict[int, Piece]:
    order = np.argsort(batches["producer_id"], kind="stable")
    ids, begins = np.unique(batches["producer_id"][order], return_index=True)
    return {
        producer_id: {name: column[at] for name, column in batches.items()}
        for producer_id, at in zip(ids.tolist(), np.split(order, begins[1:]), strict=False)
    }


def _no_batches(batches: Piece) -> Piece:
    return {name: column[:0] for name, column in batches.items()}


@dataclass(frozen=True)
class LocalBump:
    """The columns of ``silver.local_bumps`` after ``producer_id``, in their order."""

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


def _stand_in_batches(own: Piece, before: _State) -> Piece:
    """Two batches without records that stand for all that a producer wrote before the batches ``own``."""
    same = {
        "max_timestamp_ms": before["newest_ms"], "is_whole": 1 - before["is_untold"], "offset": -1,
        "last_offset": -1, "size": -1, "records_checksum": -1,
    }  # fmt: skip
    epochs = {"producer_epoch": [before["highest_epoch"], before["producer_epoch"]]}
    return {name: np.array(epochs.get(name, [same.get(name, 0)] * 2), dtype=np.int64) for name in own}


def _bumps(own: Piece, before: _State) -> Iterator[LocalBump]:
    """The bumps of one producer in one log: each is a run of batches with an epoch above all epochs before.

    ``before``: the state of the producer before the batches ``own``. The records that it wrote then are no
    longer known.
    """
    known_rows = 0
    if before["highest_epoch"] != UNKNOWN:
        stand_ins = _stand_in_batches(own, before)
        own = {name: np.concatenate([stand_ins[name], column]) for name, column in own.items()}
        known_rows = 2
    epochs = own["producer_epoch"]
    original, may_repeat = originals(own), may_be_repeated(own)
    highest, newest_ms = (np.maximum.accumulate(own[name]) for name in ("producer_epoch", "max_timestamp_ms"))
    may_be_repeated_so_far = np.logical_or.accumulate(may_repeat)
    changes = np.flatnonzero(epochs[1:] != epochs[:-1]) + 1
    changes = changes[changes >= known_rows]
    if before["has_bump"]:
        end = int(changes[0]) if len(changes) else len(epochs)
        goes_on = slice(known_rows, end if before["has_bump"] != OVER else known_rows)
        yield _continued(before, {name: column[goes_on] for name, column in own.items()}, original[goes_on])
    for first, end in zip(changes.tolist(), [*changes[1:].tolist(), len(epochs)], strict=False):
        earlier = first - 1
        if epochs[first] <= highest[earlier]:
            continue
        again = np.flatnonzero(original[first:end] != UNKNOWN) + first
        # a producer that batches records again keeps their timestamps and order: a batch whose first record
        # is later than all before has new records
        old = own["base_timestamp_ms"][first:end] <= newest_ms[earlier]
        may_be_again = may_be_repeated_so_far[earlier] or bool((may_repeat[first:end] | old).any())
        is_again = len(again) > 0
        yield LocalBump(
            producer_epoch=int(epochs[first]),
            previous_epoch=int(epochs[earlier]) if own["stretch"][earlier] == own["stretch"][first] else None,
            first_offset=int(own["offset"][first]),
            last_offset=int(own["last_offset"][end - 1]),
            batches=end - first,
            records=int(own["record_count"][first:end].sum()),
            written_twice=True if is_again else None if may_be_again else False,
            batches_again=len(again),
            records_again=int(own["record_count"][again].sum()),
            again_offset=int(own["offset"][again[0]]) if is_again else None,
            original_offset=int(original[again[0]]) if is_again else None,
        )


def _continued(before: _State, following: Piece, original: Longs) -> LocalBump:
    """The bump of a state, with the batches that followed it."""
    state = {
        name: None if before[name] == UNKNOWN else before[name] for name in LocalBump.__dataclass_fields__
    }
    state["producer_epoch"] = before["bump_epoch"]
    again = np.flatnonzero(original != UNKNOWN)
    old = following["base_timestamp_ms"] <= before["newest_before_ms"]
    twice = None if state["written_twice"] is None else bool(state["written_twice"])
    if len(again):
        twice = True
        if state["again_offset"] is None:
            state["again_offset"], state["original_offset"] = (
                int(following["offset"][again[0]]),
                int(original[again[0]]),
            )
    elif twice is False and bool((may_be_repeated(following) | old).any()):
        twice = None
    counts = {
        "batches": len(original),
        "records": int(following["record_count"].sum()),
        "batches_again": len(again),
        "records_again": int(following["record_count"][again].sum()),
    }
    added = {name: (state[name] or 0) + count for name, count in counts.items()}
    last = {"last_offset": int(following["last_offset"][-1])} if len(original) else {}
    return LocalBump(**{**state, **added, **last, "written_twice": twice})  # type: ignore[arg-type]
