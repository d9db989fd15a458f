"""Rules about commits, seen violated in real brokers' logs: a line of them, or a record, was altered."""

from __future__ import annotations

import gzip
import json
import shutil
import struct
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pytest

from fencepost import protocols
from fencepost.definitions import queries
from fencepost.protocols.offset_commit.replay import replay_rows
from fencepost.protocols.offset_commit.shard import ShardRows
from fencepost.replay.metadata import ClusterMetadata
from fencepost.tables import RECORDS

CAPTURE, TOLERANCE_MS = "rebalances-3.9.2", 25
COMMITS = ("silver.offset_commits", "silver.offset_commit_states")
_TOPICS, _PARTITIONS = 11, 28
"""Where a member's current assignment has the number of topics, and of the first one's partitions."""

Line = dict[str, Any]
Verdicts = dict[str, set[str]]
"""{definition: the commits that violate it}."""


def _codes(line: Line) -> list[Line]:
    return [each for topic in line["response"]["topics"] for each in topic["partitions"]]


def of_the_generation_before(line: Line) -> None:
    line["request"]["generationIdOrMemberEpoch"] -= 1


def of_a_generation_to_come(line: Line) -> None:
    line["request"]["generationIdOrMemberEpoch"] += 1


def of_a_stranger(line: Line) -> None:
    line["request"]["memberId"] = "stranger"


def refused(line: Line) -> None:
    for each in _codes(line):
        each["errorCode"] = 22


class Fault(NamedTuple):
    """What is done to the last commit of a real consumer that was told to join generation 4, and the
    definitions that must see it.
    """

    plant: Callable[[Line], None]
    violated: set[str]


FAULTS = {
    "of the generation before": Fault(
        of_the_generation_before, {"commit_of_current_generation", "broker_keeps_its_rule"}
    ),
    # who presents generation 4 may know more than the log: but it waits for its assignment
    "of a generation to come": Fault(of_a_generation_to_come, {"broker_keeps_its_rule"}),
    "of a stranger": Fault(
        of_a_stranger,
        {"commit_of_current_generation", "broker_keeps_its_rule", "no_commit_for_anothers_partition"},
    ),
    "refused": Fault(refused, {"broker_keeps_its_rule", "broker_names_its_error", "no_owner_refused"}),
}


@pytest.fixture(scope="module")
def judged(
    captures: Path,
    tmp_path_factory: pytest.TempPathFactory,
    bronze_of: Callable[[Path], dict[str, pa.Table]],
    shards_of: Callable[..., tuple[list[ShardRows], ClusterMetadata]],
) -> Callable[[str | None], Verdicts]:
    """What is violated by commits once a fault was planted; by none with None."""

    @cache
    def run(name: str | None) -> Verdicts:
        folder = tmp_path_factory.mktemp("broken") / CAPTURE
        shutil.copytree(captures / CAPTURE, folder)
        if name is not None:
            _alter(folder, FAULTS[name].plant)
        parts, metadata = shards_of(bronze_of(folder))
        return _violated([replay_rows(rows, metadata, TOLERANCE_MS) for rows in parts])

    return run


@pytest.mark.parametrize("name", FAULTS)
def test_an_altered_line_is_seen_and_breaks_no_other_rule(
    name: str, judged: Callable[[str | None], Verdicts]
) -> None:
    whole, broken = judged(None), judged(name)
    new = {definition: commits - whole.get(definition, set()) for definition, commits in broken.items()}
    assert {definition for definition, commits in new.items() if commits} == FAULTS[name].violated


def _alter(folder: Path, plant: Callable[[Line], None]) -> None:
    """Change the last line that is meant, and nothing else."""
    for log in sorted((folder / "broker-1").glob("kafka-request.log*"), reverse=True):
        packed = log.suffix == ".gz"
        text = gzip.decompress(log.read_bytes()) if packed else log.read_bytes()
        lines = text.decode().splitlines(keepends=True)
        for at in reversed(range(len(lines))):
            if '"OFFSET_COMMIT"' not in lines[at]:
                continue
            first, last = lines[at].index("{"), lines[at].rindex("}") + 1
            told = json.loads(lines[at][first:last])
            if _is_meant(told):
                plant(told)
                lines[at] = lines[at][:first] + json.dumps(told, separators=(",", ":")) + lines[at][last:]
                changed = "".join(lines).encode()
                log.write_bytes(gzip.compress(changed) if packed else changed)
                return
    raise AssertionError("no such commit")


def _is_meant(line: Line) -> bool:
    sent = line["request"]
    return sent["groupId"] == "java-rolling" and sent["generationIdOrMemberEpoch"] == 3


def _violated(found: list[dict[str, pa.Table]]) -> Verdicts:
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA silver")
    for table in protocols.tables():
        if table.name.startswith("silver."):
            rows = [each[table.name] for each in found if table.name in COMMITS]
            connection.register("rows", pa.concat_tables([table.arrow_schema.empty_table(), *rows]))
            connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM rows")
    return {
        definition: {row["witness"] for row in rows}
        for query in queries()
        if not query.decides and "silver.offset_commits" in query.sql
        for definition, rows in _by_definition(connection.sql(query.sql).to_arrow_table().to_pylist())
    }


def _by_definition(rows: list[dict[str, Any]]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    bad = [row for row in rows if row["verdict"] is False]
    for definition in {row["definition"] for row in bad}:
        yield definition, [row for row in bad if row["definition"] == definition]


def test_an_assignment_epoch_that_moves_with_its_member_is_seen(
    captures: Path,
    bronze_of: Callable[[Path], dict[str, pa.Table]],
    shards_of: Callable[..., tuple[list[ShardRows], ClusterMetadata]],
) -> None:
    """A member keeps its partitions, and its records say that each was assigned anew: KIP-1251 refuses what
    revocation epochs accept.
    """
    bronze = bronze_of(captures / "groups-4.3.1")
    moved = {**bronze, RECORDS.name: _assigned_anew(bronze[RECORDS.name], "late-kept")}
    whole, broken = (
        _violated([replay_rows(rows, metadata, TOLERANCE_MS) for rows in parts])
        for parts, metadata in (shards_of(bronze), shards_of(moved))
    )
    new = {definition: commits - whole.get(definition, set()) for definition, commits in broken.items()}
    assert {definition for definition, commits in new.items() if commits} == {
        "policies_relax_in_order",
        "broker_keeps_its_rule",
    }


def test_a_partition_that_comes_back_in_the_same_epoch_breaks_no_rule(
    captures: Path,
    bronze_of: Callable[[Path], dict[str, pa.Table]],
    shards_of: Callable[..., tuple[list[ShardRows], ClusterMetadata]],
) -> None:
    parts, metadata = shards_of(bronze_of(captures / "subscribed-again-4.3.1"))
    found = [replay_rows(rows, metadata, TOLERANCE_MS) for rows in parts]
    states = [row for each in found for row in each["silver.offset_commit_states"].to_pylist()]
    assert any(
        row["partition_revocation_epoch"] == row["client_epoch"] == row["member_epoch"] for row in states
    )
    assert _violated(found) == {}


def _assigned_anew(records: pa.Table, group_id: str) -> pa.Table:
    """Every assignment epoch in the records of a group's members as large as the member's epoch."""
    values = records["value"].to_pylist()
    names, keys = records["record_name"].to_pylist(), records["key"].to_pylist()
    for at, (name, key, value) in enumerate(zip(names, keys, values, strict=True)):
        if name != "ConsumerGroupCurrentMemberAssignment" or value is None or group_id.encode() not in key:
            continue
        # int16 version, int32 member epoch, int32 the one before, int8 state; topics of id, partitions, tags
        (epoch,) = struct.unpack_from(">i", value, 2)
        count = value[_PARTITIONS] - 1
        if value[_TOPICS] == 2 and count > 0:
            first = _PARTITIONS + 1 + 4 * count + 4
            anew = struct.pack(f">{count}i", *[epoch] * count)
            values[at] = value[:first] + anew + value[first + 4 * count :]
    column = pa.chunked_array([pa.array(values, records.schema.field("value").type)])
    return records.set_column(records.schema.get_field_index("value"), "value", column)
