"""Which batches of a log survive, and where it has holes."""

from __future__ import annotations

import random
from dataclasses import replace

import pyarrow as pa
import pytest

from fencepost.replay.logs import BATCH_COLUMNS, COMPACTED, Base, Batches, Log, Term
from fencepost.replay.unreadable import UnreadPiece, damaged_batches, unread_pieces

Row = tuple[int, int, int]
"""Base offset, last offset, leader epoch; whole, and written when its base offset says."""


def _batches(rows: list[Row], kept: dict[int, int] | None = None) -> Batches:
    """``kept``: how many records the batch at a base offset has left."""
    columns = {
        "base_offset": [base for base, _, _ in rows],
        "last_offset": [last for _, last, _ in rows],
        "leader_epoch": [epoch for _, _, epoch in rows],
        "record_count": [(kept or {}).get(base, last - base + 1) for base, last, _ in rows],
        "max_timestamp_ms": [1000 + base for base, _, _ in rows],
        "file": ["00000000000000000000.log"] * len(rows),
        "position": [100 * base for base, _, _ in rows],
    }
    return Batches.of(pa.table({name: pa.array(columns[name]) for name in BATCH_COLUMNS}))


def _pieces(log: Log) -> list[tuple[int, int, int | None]]:
    return [(stretch.number, stretch.from_offset, stretch.to_offset) for stretch in log.stretches]


def test_a_whole_log_is_one_open_stretch() -> None:
    assert _pieces(Log(_batches([(0, 1, 0), (2, 2, 0)]))) == [(0, 0, None)]


def test_a_log_without_batches_has_nothing() -> None:
    log = Log(_batches([]))
    assert (len(log), log.stretches, log.terms({}), log.find(0, 0)) == (0, (), [], None)


def test_a_hole_is_a_missing_offset_or_a_batch_that_lost_a_record() -> None:
    missing = Log(_batches([(0, 1, 0), (4, 4, 0)]))
    assert _pieces(missing) == [(0, 0, 2), (1, 4, None)]
    thinned = Log(_batches([(0, 1, 0), (2, 3, 0), (4, 4, 0)], kept={2: 1}))
    assert _pieces(thinned) == [(0, 0, 2), (1, 2, 4), (2, 4, None)]
    damaged = Log(_batches([(0, 1, 0), (2, 3, 0), (4, 4, 0)]), damaged={(2, 0)})
    assert _pieces(damaged) == _pieces(thinned)
    headers = Log(_batches([(0, 1, 0), (2, 3, 0), (4, 4, 0)], kept={2: 1}), whole_as_headers=True)
    assert _pieces(headers) == [(0, 0, None)]


def test_what_a_later_leader_wrote_over_is_gone() -> None:
    log = Log(_batches([(0, 1, 0), (2, 3, 0), (4, 5, 0), (2, 2, 1), (3, 3, 1)]))
    assert log.rows.tolist() == [0, 3, 4]
    assert _pieces(log) == [(0, 0, None)]
    assert log.find(2, 1) == 1
    assert log.find(2, 0) is None


def test_a_compacted_beginning_is_a_base_where_nothing_is_missing_above() -> None:
    compacted = [(3, 3, 0), (6, 9, 0), (10, 12, 1)]
    log = Log(_batches(compacted, kept={6: 2}), cleaned_to=[10, 7])
    assert (log.base, log.based) == (Base(9, 1006), 2)
    assert _pieces(log) == [(COMPACTED, 3, None)]
    assert log.terms({1: 2}) == [Term(COMPACTED, 1, 10, 1010, 1010, 2)]
    above = Log(_batches([*compacted, (14, 14, 1)], kept={6: 2}), cleaned_to=[10])
    assert above.base is None


def test_what_could_not_be_read_is_not_taken_for_compacted() -> None:
    batches = _batches([(3, 3, 0), (6, 9, 0), (10, 12, 1)], kept={6: 2})
    for damaged in ({(3, 0)}, {(10, 1)}):
        assert Log(batches, cleaned_to=[10], damaged=damaged).base is None
    piece = UnreadPiece("t", 0, 0, "00000000000000000000.log", 500)
    assert Log(batches, cleaned_to=[10], unread=[piece]).base is None
    assert Log(batches, cleaned_to=[10], unread=[replace(piece, segment_from=10)]).base == Base(9, 1006)


def test_what_could_not_be_read_closes_the_last_stretch() -> None:
    batches = _batches([(0, 1, 0)])
    behind = UnreadPiece("t", 0, 0, "00000000000000000000.log", 500)
    assert _pieces(Log(batches, unread=[behind])) == [(0, 0, 2)]
    assert _pieces(Log(batches, unread=[replace(behind, segment_from=9, file="later")])) == [(0, 0, 2)]
    assert _pieces(Log(batches, unread=[replace(behind, file="another")])) == [(0, 0, None)]


def test_terms_begin_with_stretches_and_leaders() -> None:
    log = Log(_batches([(0, 1, 0), (2, 2, 1), (3, 3, 1), (5, 5, 1)]))
    assert log.terms({0: 1, 1: None}) == [
        Term(0, 0, 0, 1000, 1000, 1),
        Term(0, 1, 2, 1002, 1003, None),
        Term(1, 1, 5, 1005, 1005, None),
    ]


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_batches_changes_nothing(seed: int) -> None:
    chance = random.Random(seed)
    rows = [(base, base + 1, epoch) for epoch in range(3) for base in range(epoch * 4, 20, 2)]
    rows = [row for row in rows if chance.random() < 0.8]
    shuffled = chance.sample(rows, k=len(rows))
    checkpoints = [chance.randrange(20) for _ in range(3)]
    one, two = (Log(_batches(each), cleaned_to=checkpoints) for each in (rows, shuffled))
    assert one.stretches == two.stretches
    assert [rows[at] for at in one.rows] == [shuffled[at] for at in two.rows]


def test_pieces_and_damage_are_found_in_bronze() -> None:
    name = "/data/__consumer_offsets-7/00000000000000000042.log"
    quarantine = pa.table(
        {"kind": ["segment", "segment", "request_log"], "file": [name, "/x.log", name], "position": [5, 6, 7]}
    )
    assert unread_pieces(quarantine) == [UnreadPiece("__consumer_offsets", 7, 42, name, 5)]
    records = pa.table(
        {
            "decode_status": ["known", "malformed", "unknown_version", "malformed", "unknown_type"],
            "record_type": pa.array([3, 3, 1, None, 99], pa.int32()),
            "base_offset": [0, 1, 2, 3, 4],
            "leader_epoch": [0, 0, 0, 0, 0],
        }
    )
    assert damaged_batches(records) == {(1, 0), (2, 0), (3, 0)}
    assert damaged_batches(records, {3}) == {(1, 0), (3, 0)}
