"""Partitions' own logs: what was cut off, what fell, and where epochs begin."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.leader_epoch.captured_files import CapturedFiles
from fencepost.protocols.leader_epoch.known_batches import as_known
from fencepost.protocols.leader_epoch.log_batches import LogBatches
from fencepost.protocols.leader_epoch.partition_logs import LogPlace, PartitionLog
from fencepost.protocols.leader_epoch.truncations import Truncation
from fencepost.tables import BATCHES

PLACE = LogPlace("c", "t", "A" * 22, 0)


def log_of(*batches: tuple[int, int, int], consumed: int = 10**6, broker: int = 1) -> PartitionLog:
    """Batches of one file as (base offset, records, leader epoch), each of 100 bytes, in their order."""
    rows = [row(number * 100, *each, broker) for number, each in enumerate(batches)]
    return of_rows(rows, {(broker, f"/{broker}/t-0/log"): consumed})


def row(position: int, base: int, count: int, epoch: int, broker: int) -> dict[str, Any]:
    return {
        "cluster": "c", "topic": "t", "topic_id": "A" * 22, "partition": 0, "leader_epoch": epoch,
        "base_offset": base, "last_offset": base + count - 1, "record_count": count, "size": 100,
        "attributes": 0, "max_timestamp_ms": base, "broker_id": broker, "file": f"/{broker}/t-0/log",
        "position": position,
    }  # fmt: skip


def of_rows(rows: list[dict[str, Any]], consumed: dict[tuple[int, str], int]) -> PartitionLog:
    table = as_known(pa.Table.from_pylist(rows, schema=BATCHES.arrow_schema))
    return PartitionLog(PLACE, LogBatches.of(table), (), [], CapturedFiles(consumed))


def runs(log: PartitionLog) -> list[tuple[int, int, int]]:
    return [(run.leader_epoch, run.begins, run.ends) for run in log.runs()]


def test_a_run_is_one_epoch_s() -> None:
    log = log_of((0, 5, 0), (5, 5, 0), (10, 1, 2))
    assert runs(log) == [(0, 0, 10), (2, 10, 11)]
    assert log.lost() == {} and log.end_offset() == 11
    assert log.begins_exactly(2, 10) and log.begins_exactly(0, 0)


def test_what_an_election_wrote_over_is_lost_and_not_in_the_log() -> None:
    old = [row(0, 0, 10, 0, 1), row(100, 10, 7, 0, 1)]
    new = [row(0, 0, 10, 0, 3), row(100, 10, 2, 1, 3)]
    log = of_rows([*old, new[1]], {})
    assert runs(log) == [(0, 0, 10), (1, 10, 12)]
    (lost,) = log.lost().items()
    assert lost[0] == 1 and (lost[1].begins, lost[1].ends, lost[1].brokers) == (10, 17, (1,))
    # nobody's disk has it any more, but a leader said where it and a replica parted
    cut = Truncation(10, 17, 0, 1, 1)
    assert of_rows(new, {}).lost([cut])[1].ends == 17


@pytest.mark.parametrize(
    ("consumed", "fell"),
    [(400, True), (300, False)],
    ids=["the file still has it", "the file was cut before it"],
)
def test_an_older_epoch_behind_a_newer_one(consumed: int, fell: bool) -> None:
    log = log_of((0, 5, 0), (5, 5, 2), (10, 5, 2), (15, 5, 1), consumed=consumed)
    found = runs(log)
    assert found == ([(0, 0, 5), (2, 5, 15), (1, 15, 20)] if fell else [(0, 0, 5), (2, 5, 15)])


def test_what_was_cut_off_and_written_anew_did_not_fall() -> None:
    """Read twice: before the cut with epoch 1, after it with epoch 2, in batches of the same shape."""
    rows = [row(n * 100, n * 5, 5, epoch, 1) for n, epoch in ((0, 0), (1, 1), (2, 1), (3, 1), (1, 2), (2, 2))]
    rows.append(row(300, 15, 5, 2, 3))
    assert runs(of_rows(rows, {(1, "/1/t-0/log"): 400})) == [(0, 0, 5), (2, 5, 20)]


def test_where_an_epoch_begins_is_only_sure_behind_an_older_one_on_the_same_disk() -> None:
    log = of_rows([row(0, 0, 5, 0, 1), row(0, 5, 5, 1, 3)], {})
    assert log.first_offsets() == {0: 0, 1: 5}
    assert not log.begins_exactly(1, 5)
