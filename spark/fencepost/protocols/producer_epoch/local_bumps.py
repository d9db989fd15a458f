"""Epochs that producers without a transactional id bumped themselves: ``silver.local_bumps``.

After org.apache.kafka.clients.producer.internals.TransactionManager: after a local bump the client begins at
sequence 0 and may send records again that were in flight. The partition appends them; ``same_records`` finds
out whether it has the same records already.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Longs, Piece
from fencepost.protocols.producer_epoch.log_state import BUMPED, OVER, LocalBump, Written
from fencepost.protocols.producer_epoch.partition_log import PartitionLog
from fencepost.protocols.producer_epoch.same_records import (
    may_be_repeated,
    of_bumping_producers,
    of_producers,
    originals,
)
from fencepost.replay.columns import Columns
from fencepost.replay.keys import OFFSETS_TOPIC, digest_of


def add_local_bumps(replayed: PartitionLog, rows: Columns) -> None:
    """Add the rows of one log (``silver.local_bumps``)."""
    if replayed.key[1] == OFFSETS_TOPIC or not replayed.has_producers:
        return
    known, batches = _known(replayed), of_bumping_producers(replayed)
    going_on = {producer_id for producer_id, each in known.items() if each.has_bump}
    own = _by_producer(batches)
    for producer_id in sorted(own.keys() | going_on):
        bumps = _bumps(own.get(producer_id, _no_batches(batches)), known.get(producer_id, Written()))
        for each, following in pairwise([*bumps, None]):
            assert each is not None
            key = digest_of(*replayed.key, producer_id, each.bump_epoch)
            ends = (None, None) if following is None else (following.first_offset, following.first_ms)
            twice = {1: True, 0: False}.get(each.written_twice, UNKNOWN)
            told = each._replace(written_twice=twice)
            *values, first_ms, _ = (None if value == UNKNOWN else value for value in told)
            rows.add(*replayed.key, key, producer_id, *values, each.first_offset, ends[0], first_ms, ends[1])


def bumped(replayed: PartitionLog, offset: int) -> Piece:
    """BUMPED of one log at an offset."""
    written: dict[int, Written] = {}
    if replayed.key[1] != OFFSETS_TOPIC:
        written, batches = _known(replayed), of_producers(replayed)
        own = _by_producer({name: column[batches["offset"] < offset] for name, column in batches.items()})
        for producer_id, each in own.items():
            written[producer_id] = _written(producer_id, each, written.get(producer_id, Written()))
    states = [(*each[:-1], *each.bump) for _, each in sorted(written.items())]
    columns = np.array(states, dtype=np.int64).reshape(-1, len(BUMPED)).T
    return dict(zip(BUMPED, columns, strict=True))


def _written(producer_id: int, own: Piece, before: Written) -> Written:
    """What one producer has written after the batches ``own``; ``before``: the same before them."""
    written = Written(
        producer_id,
        int(own["producer_epoch"][-1]),
        int(own["producer_epoch"].max(initial=before.highest_epoch)),
        int(own["max_timestamp_ms"].max(initial=before.newest_ms)),
        int(may_be_repeated(own).any()) | before.is_untold,
    )
    bumps = list(_bumps(own, before)) if written.highest_epoch > 0 else []
    if not bumps:
        return written
    goes_on = bumps[-1].last_offset == int(own["last_offset"][-1])
    return written._replace(has_bump=1 if goes_on else OVER, bump=bumps[-1])


def _known(replayed: PartitionLog) -> dict[int, Written]:
    """What each producer had written before the batches that were read."""
    states = zip(*(column.tolist() for column in replayed.evidence.state.bumped.values()), strict=True)
    fields = len(Written._fields) - 1
    return {state[0]: Written(*state[:fields])._replace(bump=LocalBump(*state[fields:])) for state in states}


def _by_producer(batches: Piece) -> dict[int, Piece]:
    order = np.argsort(batches["producer_id"], kind="stable")
    ids, begins = np.unique(batches["producer_id"][order], return_index=True)
    return {
        producer_id: {name: column[at] for name, column in batches.items()}
        for producer_id, at in zip(ids.tolist(), np.split(order, begins[1:]), strict=False)
    }


def _no_batches(batches: Piece) -> Piece:
    return {name: column[:0] for name, column in batches.items()}


def _stand_in_batches(own: Piece, before: Written) -> Piece:
    """Two batches without records that stand for all that a producer wrote before the batches ``own``."""
    same = {
        "max_timestamp_ms": before.newest_ms, "is_whole": 1 - before.is_untold, "offset": -1,
        "last_offset": -1, "size": -1, "records_checksum": -1,
    }  # fmt: skip
    epochs = {"producer_epoch": [before.highest_epoch, before.producer_epoch]}
    return {name: np.array(epochs.get(name, [same.get(name, 0)] * 2), dtype=np.int64) for name in own}


def _bumps(own: Piece, before: Written) -> Iterator[LocalBump]:
    """The bumps of one producer in one log: each is a run of batches with an epoch above all epochs before.

    ``before``: what the producer had written before the batches ``own``. Those records are no longer known.
    """
    known_rows = 0
    if before.highest_epoch != UNKNOWN:
        stand_ins = _stand_in_batches(own, before)
        own = {name: np.concatenate([stand_ins[name], column]) for name, column in own.items()}
        known_rows = 2
    epochs = own["producer_epoch"]
    original, may_repeat = originals(own), may_be_repeated(own)
    highest, newest_ms = (np.maximum.accumulate(own[name]) for name in ("producer_epoch", "max_timestamp_ms"))
    may_be_repeated_so_far = np.logical_or.accumulate(may_repeat)
    changes = np.flatnonzero(epochs[1:] != epochs[:-1]) + 1
    changes = changes[changes >= known_rows]
    if before.has_bump:
        end = int(changes[0]) if len(changes) else len(epochs)
        goes_on = slice(known_rows, end if before.has_bump != OVER else known_rows)
        following = {name: column[goes_on] for name, column in own.items()}
        yield _continued(before.bump, following, original[goes_on])
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
            bump_epoch=int(epochs[first]),
            previous_epoch=int(epochs[earlier])
            if own["stretch"][earlier] == own["stretch"][first]
            else UNKNOWN,
            first_offset=int(own["offset"][first]),
            last_offset=int(own["last_offset"][end - 1]),
            batches=end - first,
            records=int(own["record_count"][first:end].sum()),
            written_twice=1 if is_again else UNKNOWN if may_be_again else 0,
            batches_again=len(again),
            records_again=int(own["record_count"][again].sum()),
            again_offset=int(own["offset"][again[0]]) if is_again else UNKNOWN,
            original_offset=int(original[again[0]]) if is_again else UNKNOWN,
            first_ms=int(own["max_timestamp_ms"][first]),
            newest_before_ms=int(newest_ms[earlier]),
        )


def _continued(bump: LocalBump, following: Piece, original: Longs) -> LocalBump:
    """A bump with the batches that followed it."""
    again = np.flatnonzero(original != UNKNOWN)
    old = following["base_timestamp_ms"] <= bump.newest_before_ms
    if len(again):
        if bump.again_offset == UNKNOWN:
            at = again[0]
            bump = bump._replace(again_offset=int(following["offset"][at]), original_offset=int(original[at]))
        bump = bump._replace(written_twice=1)
    elif bump.written_twice == 0 and bool((may_be_repeated(following) | old).any()):
        bump = bump._replace(written_twice=UNKNOWN)
    return bump._replace(
        last_offset=int(following["last_offset"].max(initial=bump.last_offset)),
        batches=bump.batches + len(original),
        records=bump.records + int(following["record_count"].sum()),
        batches_again=bump.batches_again + len(again),
        records_again=bump.records_again + int(following["record_count"][again].sum()),
    )
