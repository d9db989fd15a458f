"""The checkpoints of replicas: which content counts, and what can disagree with it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from less import Bronze

from fencepost.capture.digests import head_digest
from fencepost.protocols.leader_epoch.bronze import LEADER_EPOCH_CHECKPOINTS
from fencepost.protocols.leader_epoch.checkpoints import checkpoints_by_log
from fencepost.tables import BATCHES, FILES

CAPTURE = "natural-4.3.1"
CHECKPOINT = "leader-epoch-checkpoint"
Row = dict[str, Any]


@pytest.fixture(scope="module")
def natural(captures: Path, captured: Any, tmp_path_factory: pytest.TempPathFactory) -> Bronze:
    found: Bronze = captured([captures / CAPTURE], tmp_path_factory.mktemp("natural"))
    return found


def entries(rebuilt: Any, bronze: Bronze) -> list[Row]:
    rows: list[Row] = rebuilt(bronze)["leader_epoch_entries"]
    return rows


def test_a_stopped_cluster_leaves_no_checkpoint_in_doubt(rebuilt: Any, natural: Bronze) -> None:
    """It has logs that nobody ever wrote to, and logs whose first batches the cleaner removed."""
    rows = entries(rebuilt, natural)
    assert {row["agrees"] for row in rows} == {True}
    starts = {(row["batches_start_offset"], row["start_offset"]) for row in rows}
    assert (1, 0) in starts, "no log was compacted at its beginning"


def test_a_log_without_a_batch_agrees_only_if_it_is_known_to_be_empty(rebuilt: Any, bronze: Bronze) -> None:
    def of_empty_logs(files: pa.Table) -> set[bool | None]:
        silver = rebuilt({**bronze, FILES.name: files})
        written = {row["partition_key"] for row in silver["partition_batches"]}
        return {
            row["agrees"] for row in silver["leader_epoch_entries"] if row["partition_key"] not in written
        }

    files = bronze[FILES.name]
    assert of_empty_logs(files) == {True}
    assert of_empty_logs(files.filter(pc.not_equal(files["kind"], "segment"))) == {None}
    sizes = pa.array([size or 1 for size in files["size"].to_pylist()], pa.int64())
    place = files.schema.get_field_index("size")
    assert of_empty_logs(files.set_column(place, "size", sizes)) == {None}


@pytest.mark.parametrize(
    "contents",
    [("0\n1\n0 0\n",), ("0\n0\n",), ("0\n1\n0 0\n", "now"), ("now", "0\n1\n0 0\n"), ("",)],
    ids=["of one epoch", "of none", "first another one", "another one in between", "without a byte"],
)
def test_what_a_checkpoint_had_before_does_not_count(
    captures: Path, captured: Any, rebuilt: Any, tmp_path: Path, contents: Sequence[str]
) -> None:
    """An audit of a copy, and then of all, has the rows of an audit of all at once."""
    home = tmp_path / CAPTURE
    shutil.copytree(captures / CAPTURE, home)
    file = home / "broker-1/log_dir/__consumer_offsets-0" / CHECKPOINT
    now = file.read_text()
    for content in contents:
        file.write_text(now if content == "now" else content)
        captured([home], tmp_path)
    file.write_text(now)
    found, once = captured([home], tmp_path), captured([home], tmp_path / "once")
    without_time = [
        [{**row, "captured_at": None} for row in entries(rebuilt, each)] for each in (found, once)
    ]
    assert without_time[0] == without_time[1]
    ours = found[LEADER_EPOCH_CHECKPOINTS.name].filter(
        pc.equal(found[LEADER_EPOCH_CHECKPOINTS.name]["file"], str(file))
    )
    assert hashlib.sha256(now.encode()).hexdigest() in ours["content_digest"].to_pylist()
    with file.open("rb") as content:
        assert head_digest(content, len(now)) in found[FILES.name]["head_digest"].to_pylist()


def test_entries_that_retention_has_removed_still_count_and_truncated_ones_do_not() -> None:
    contents = [[(0, 0), (3, 100)], [(0, 0), (5, 100)], [(0, 40), (5, 100)], [(5, 150), (6, 200)]]
    log = {"cluster": "c", "topic": "t", "topic_id": "i", "partition": 0, "broker_id": 1, "state": "live"}
    rows = [
        {**log, "file": "f", "content_digest": str(number), "leader_epoch": epoch, "start_offset": start,
         "captured_at": datetime(2026, 1, 1, 0, number, tzinfo=UTC)}
        for number, content in enumerate(contents)
        for epoch, start in content
    ]  # fmt: skip
    table = pa.Table.from_pylist(rows, schema=LEADER_EPOCH_CHECKPOINTS.arrow_schema)
    ((checkpoint,),) = checkpoints_by_log(table, {}).values()
    assert checkpoint.entries == [(5, 150), (6, 200)]
    assert checkpoint.all_entries == [(0, 0), (5, 100), (6, 200)]


def test_an_epoch_with_batches_that_has_no_entry_contradicts_the_one_before(
    rebuilt: Any, bronze: Bronze
) -> None:
    """Who asks where that one ends is told where the epoch after the missing one begins."""
    name = LEADER_EPOCH_CHECKPOINTS.name
    rows = bronze[name].to_pylist()
    file = next(row["file"] for row in rows if "/epochs-0/" in row["file"] and row["leader_epoch"] > 1)
    assert [row["leader_epoch"] for row in rows if row["file"] == file] == [0, 1, 4]
    without = [row for row in rows if (row["file"], row["leader_epoch"]) != (file, 1)]
    altered = {**bronze, name: pa.Table.from_pylist(without, schema=bronze[name].schema)}
    found = {
        (row["file"], row["leader_epoch"]) for row in entries(rebuilt, altered) if row["agrees"] is not True
    }
    before = {(row["file"], row["leader_epoch"]) for row in entries(rebuilt, bronze) if not row["agrees"]}
    assert found - before == {(file, 0)}


def test_a_leader_that_wrote_nothing_agrees_where_no_batch_is_missing(rebuilt: Any, bronze: Bronze) -> None:
    """The entry of such a leader stays in its file while it follows nobody: the next leader has written."""
    before = entries(rebuilt, bronze)
    one = next(
        row
        for row in before
        if row["leader_epoch"] >= 2
        and row["batches_start_offset"] == row["start_offset"] > 0
        and row["leader_epoch"] - 1 not in {each["leader_epoch"] for each in before if _is_of(each, row)}
    )
    name = LEADER_EPOCH_CHECKPOINTS.name
    of_file = [row for row in bronze[name].to_pylist() if row["file"] == one["file"]]
    (own,) = [row for row in of_file if row["leader_epoch"] == one["leader_epoch"]]
    without = {**own, "leader_epoch": own["leader_epoch"] - 1}
    added = pa.Table.from_pylist([without], schema=bronze[name].schema)
    altered = {**bronze, name: pa.concat_tables([bronze[name], added])}

    def agrees(given: Bronze) -> bool | None:
        (entry,) = [
            row
            for row in entries(rebuilt, given)
            if row["file"] == one["file"] and row["leader_epoch"] == without["leader_epoch"]
        ]
        found: bool | None = entry["agrees"]
        return found

    assert agrees(altered) is True
    batches = bronze[BATCHES.name]
    right_before = pc.and_(
        pc.and_(pc.equal(batches["cluster"], one["cluster"]), pc.equal(batches["topic"], one["topic"])),
        pc.and_(
            pc.equal(batches["partition"], one["partition"]),
            pc.equal(batches["last_offset"], one["start_offset"] - 1),
        ),
    )
    with_hole = {**altered, BATCHES.name: batches.filter(pc.invert(right_before))}
    assert agrees(with_hole) is None


def _is_of(one: Row, other: Row) -> bool:
    return (one["cluster"], one["partition_key"]) == (other["cluster"], other["partition_key"])
