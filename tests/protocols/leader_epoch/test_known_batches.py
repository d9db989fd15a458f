"""A partition's log that is read chapter by chapter says what it says when it is read whole."""

from __future__ import annotations

import random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fencepost.protocols.leader_epoch.captured_files import CapturedFiles
from fencepost.protocols.leader_epoch.known_batches import as_known, with_read
from fencepost.protocols.leader_epoch.log_batches import LogBatches
from fencepost.protocols.leader_epoch.partition_logs import LogPlace, PartitionLog
from fencepost.protocols.leader_epoch.tables import KNOWN_BATCHES
from fencepost.replay.logs import UNKNOWN
from fencepost.tables import BATCHES

PLACE = LogPlace("c", "t", "A" * 22, 0)
NOTHING = KNOWN_BATCHES.arrow_schema.empty_table()


def written(rng: random.Random, batches: int) -> list[dict[str, Any]]:
    """Rows of bronze.batches in the order of their time: leaders change, some cut off what came before, some
    batches were never found.
    """
    found: dict[tuple[int, int], dict[str, Any]] = {}
    epoch, end, broker = 0, 0, 1
    begins: list[int] = []
    for at in range(batches):
        if rng.random() < 0.06:
            epoch, broker = epoch + rng.randint(1, 2), rng.randint(1, 3)
            for _ in range(min(len(begins), rng.choice((0, 0, 0, 1, 20)))):
                end = begins.pop()
        count, known = rng.randint(1, 4), rng.random() > 0.01
        if known:
            found[end, epoch] = {
                "cluster": "c", "topic": "t", "topic_id": "A" * 22, "partition": 0, "leader_epoch": epoch,
                "base_offset": end, "last_offset": end + count - 1, "record_count": count, "size": 100,
                "attributes": rng.choice((0, 8)), "max_timestamp_ms": at * 10 + rng.randint(-15, 15),
                "broker_id": broker, "file": f"/{broker}/t-0/{at // 50}", "position": at * 100,
            }  # fmt: skip
        begins.append(end)
        end += count
    return list(found.values())


def table(rows: list[dict[str, Any]]) -> pa.Table:
    return as_known(pa.Table.from_pylist(rows, schema=BATCHES.arrow_schema))


def read(rows: pa.Table, cleaned_to: tuple[int, ...] = ()) -> PartitionLog:
    consumed = dict.fromkeys(zip(rows["broker_id"].to_pylist(), rows["file"].to_pylist(), strict=True), 10**9)
    return PartitionLog(PLACE, LogBatches.of(rows), cleaned_to, [], CapturedFiles(consumed))


def by_chapters(rows: list[dict[str, Any]], length: int, overlap: int) -> tuple[PartitionLog, int]:
    """The log as the last of several chapters knows it, and in how many rows it was dumped at most."""
    before, most, end = NOTHING, 0, length
    while True:
        since, until = end - length - overlap, end + overlap
        # as fencepost.replay.time_bounds has it: the log ends behind its last batch before the moment
        last = max(row["last_offset"] for row in rows if row["max_timestamp_ms"] < until)
        inside = [
            row
            for row in rows
            if row["base_offset"] <= last and row["max_timestamp_ms"] < until + 2 * overlap
        ]
        fresh = [row["base_offset"] for row in inside if row["max_timestamp_ms"] >= since]
        # the framework's cut: everything from the first offset on that is dated since then
        found = table([row for row in inside if fresh and row["base_offset"] >= min(fresh)])
        log = read(with_read(before, found))
        if len(inside) == len(rows):
            return log, most
        before, end = log.dump(), end + length
        most = max(most, before.num_rows)


def said(log: PartitionLog) -> dict[str, Any]:
    """Everything that rows of silver are made of."""
    runs, first = log.runs(), log.first_offsets()
    dated = log.clock()
    return {
        "runs": [
            (each.leader_epoch, each.begins, each.ends, each.ms, each.batches, log.dated_ms(each))
            for each in runs
        ],
        "provenance": [log.provenance(each) for each in runs],
        "first": first,
        "exactly": {epoch: log.begins_exactly(epoch, at) for epoch, at in first.items()},
        "lost": log.lost(),
        "end": log.end_offset(),
        "stretches": [
            (each.from_offset, each.to_offset, each.last_offset, each.last_ms, each.first_ms)
            for each in log.log.stretches
        ],
        "newest": [max(dated[log.log.stretch == each.number], default=UNKNOWN) for each in log.log.stretches],
    }


@pytest.mark.parametrize("seed", range(14))
def test_a_log_in_chapters_is_the_whole_log(seed: int) -> None:
    rng = random.Random(seed)
    rows = written(rng, 400)
    log, _ = by_chapters(rows, rng.choice((150, 400, 1000)), rng.choice((40, 100)))
    found, whole = said(log), said(read(table(rows)))
    exactly, of_whole = found.pop("exactly"), whole.pop("exactly")
    # where an election cut off what was written long before, it may be known less well where it began
    assert all(of_whole[epoch] for epoch, known in exactly.items() if known)
    assert sum(exactly.values()) >= sum(of_whole.values()) - 2
    # the newest of a piece that was cut may be told older than it is, never newer
    assert all(one <= other for one, other in zip(found.pop("newest"), whole.pop("newest"), strict=True))
    assert found == whole


def test_many_batches_are_known_by_few_rows() -> None:
    rows = [
        {
            "cluster": "c", "topic": "t", "topic_id": "A" * 22, "partition": 0, "leader_epoch": at // 2000,
            "base_offset": at, "last_offset": at, "record_count": 1, "size": 100, "attributes": 0,
            "max_timestamp_ms": at, "broker_id": 1, "file": f"/1/t-0/{at // 100}", "position": at % 100 * 100,
        }
        for at in range(6000)
    ]  # fmt: skip
    log, most = by_chapters(rows, 1000, 100)
    assert said(log)["runs"] == said(read(table(rows)))["runs"]
    assert most == 9


def test_where_it_is_not_known_how_many_of_the_batches_were_cut_off_none_are_counted() -> None:
    old = [
        {
            "cluster": "c", "topic": "t", "topic_id": "A" * 22, "partition": 0, "leader_epoch": 0,
            "base_offset": at * 10, "last_offset": at * 10 + 9, "record_count": 10, "size": 100,
            "attributes": 0, "max_timestamp_ms": at, "broker_id": 1, "file": "/1/t-0/0", "position": at * 100,
        }
        for at in range(10)
    ]  # fmt: skip
    new = {**old[5], "leader_epoch": 1, "max_timestamp_ms": 10**6, "broker_id": 2, "file": "/2/t-0/0"}
    # a replica that had been behind for long was elected: the next chapter reads nothing of what it cut off
    log = read(with_read(read(table(old)).dump(), table([new])))
    assert [(each.leader_epoch, each.begins, each.ends, each.batches) for each in log.runs()] == [
        (0, 0, 50, None), (1, 50, 60, 1),
    ]  # fmt: skip
    (lost,) = log.lost().values()
    assert (lost.begins, lost.ends, lost.leader_epoch, lost.brokers) == (50, 100, 0, (1,))
    assert pc.sum(log.dump()["record_count"]).as_py() is not None
