"""Which records of groups are replayed, of those that compaction left."""

from __future__ import annotations

import struct
from collections.abc import Collection, Sequence

import numpy as np
import pyarrow as pa
import pytest

from fencepost.replay.group_coordinator.needed_records import select_needed_records
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.logs import Batches, Log
from fencepost.tables import RECORDS

GROUP, MEMBER, TARGET, ASSIGNMENT, CLASSIC = 3, 5, 6, 8, 2
CUT = 100

LOG = (
    "group", "a joins", "a has", "epoch", "a drops", "a leaves", "target", "b joins", "c joins", "b has",
    "c leaves", "epoch",
)  # fmt: skip
"""One record after the other, from offset 0 on."""
_OF_A = ["a joins", "a has", "a drops", "a leaves"]

_TYPES = {
    "joins": MEMBER, "leaves": MEMBER, "has": ASSIGNMENT, "drops": ASSIGNMENT, "target": TARGET,
    "classic": CLASSIC,
}  # fmt: skip
_TOMBSTONES = {"drops", "leaves", "ends"}


@pytest.mark.parametrize(
    ("log", "cut", "asked", "left_out"),
    [
        # a was gone before b began; the group's first record names its life, its newest says what was so then
        (LOG, CUT, (), _OF_A),
        # c was gone before the cut, but not before b began: what it had, b may have had, too
        (LOG, CUT, ("b",), _OF_A),
        (LOG, CUT, ("a",), []),
        # what is written behind the cut asks, too
        ((*LOG[:4], "epoch", *LOG[4:], "a joins"), len(LOG) + 1, (), []),
        (LOG, 0, (), []),
        (("group", "epoch", "epoch", "target", *LOG[7:]), CUT, (), ["epoch"]),
        # the life before is over; that it was seen to end tells that this one was seen to begin
        (
            (*LOG[:6], "ends", "epoch", *LOG[6:]),
            CUT,
            (),
            ["group", "a joins", "a has", "epoch", "a drops", "a leaves"],
        ),
        # a classic group's members are in its own records
        ((*LOG, "classic"), CUT, (), []),
        # nobody is there, and yet the newest batch made a state that a request may have met
        (("group", *_OF_A), CUT, (), []),
        (("group", *_OF_A, "epoch"), CUT, (), _OF_A),
    ],
)
def test_members_that_are_asked_about(
    log: Sequence[str], cut: int, asked: Collection[str], left_out: Sequence[str]
) -> None:
    rows = _rows(log)
    kept = select_needed_records(rows, _log(len(log)), cut, asked)["record_offset"].to_pylist()
    gone = [each for offset, each in enumerate(log) if offset not in kept]
    assert gone == left_out


def _rows(log: Sequence[str]) -> pa.Table:
    rows = []
    for offset, said in enumerate(log):
        *member, what = said.split()
        kind = _TYPES.get(what, GROUP)
        key = struct.pack(">h", kind) + b"".join(
            struct.pack(">h", len(name)) + name.encode() for name in ("orders", *member)
        )
        rows.append(
            {
                "topic": OFFSETS_TOPIC,
                "partition": 0,
                "base_offset": offset,
                "record_offset": offset,
                "leader_epoch": 0,
                "record_type": kind,
                "decode_status": "known",
                "is_control": False,
                "key": key,
                "value": None if what in _TOMBSTONES else b"",
            }
        )
    return pa.Table.from_pylist(rows, schema=RECORDS.arrow_schema)


def _log(count: int) -> Log:
    offsets = np.arange(count)
    nothing = np.zeros(count, dtype=np.int64)
    return Log(Batches(offsets, offsets, nothing, nothing + 1, nothing, nothing, nothing, ("a.log",)))
