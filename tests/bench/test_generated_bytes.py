"""kafka-dump-log reads what the generator writes, and shows the records that Fencepost decodes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest
import rebalance_files
import rebalance_group
import topic_lives
import transaction_cluster
from coordinator import RELEASES
from generate import Size, generate
from rebalance_bytes import Partition
from transaction_walk import Size as Transactions
from walk import Mix

ROOT = Path(__file__).resolve().parents[2]
DECODERS = {"__consumer_offsets": "--offsets-decoder", "__cluster_metadata": "--cluster-metadata-decoder"}


@cache
def _formats(name: str) -> ModuleType:
    """A module of tests/formats, which compares the captures of real brokers in the same way."""
    spec = importlib.util.spec_from_file_location(
        f"formats_{name}", ROOT / "tests" / "formats" / f"{name}.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _as_kafka_json(record: str, part: str, version: int, row: object, known: object) -> object:
    formats = _formats("conftest")
    kind = formats.record_types()[record]
    return formats.kafka_fields((kind.key if part == "key" else kind.value).fields, row, version, known)


def _listed(topics: list[dict[str, Any]]) -> list[Partition]:
    return [(each["topic"], number) for each in topics for number in each["partitions"]]


@pytest.mark.parametrize("release", RELEASES)
def test_dump_log_shows_the_same_records(release: str, tmp_path: Path) -> None:
    made = generate(tmp_path, Size(300, 10, 60, 3), release=release, mix=Mix(empties=0.5, rebalance_every=10))
    oracle = _formats("test_dump_log")
    jars = Path(os.environ.get("FENCEPOST_JARS", ROOT / ".jars"))
    compared: dict[str, int] = {}
    for topic, option in DECODERS.items():
        files = sorted(tmp_path.glob(f"broker-1/log_dir/{topic}-*/*.log"))
        printed = oracle.dump(jars, option, files)
        compared[topic] = sum(
            oracle.compare(file, topic, printed[str(file)], _as_kafka_json) for file in files
        )
        said = [line for lines in printed.values() for line in lines if line.startswith("| offset: ")]
        assert len(said) == compared[topic]
    assert compared["__consumer_offsets"] == made.records > 1000


def test_dump_log_shows_the_members_that_a_generated_group_has(tmp_path: Path) -> None:
    """Generation, members, what each claims and is given."""
    size, mix = (
        rebalance_group.Size(60, 150, 40, 2),
        rebalance_group.Mix(unheard=0.02, absent=0.05, leaves=0.8),
    )
    rebalance_files.generate(tmp_path, size, mix=mix, seed=3)
    (file,) = (tmp_path / "broker-1" / "log_dir" / "__consumer_offsets-0").glob("*.log")
    jars = Path(os.environ.get("FENCEPOST_JARS", ROOT / ".jars"))
    oracle = _formats("test_dump_log")
    (lines,) = oracle.dump(jars, "--offsets-decoder", [file]).values()
    assert oracle.compare(file, "__consumer_offsets", lines, _as_kafka_json) == size.rebalances
    shown = [oracle.printed_parts(rest) for _, rest in oracle.expected_records(lines)]
    group = rebalance_group.Group(size, mix, Random(3))
    claims = 0
    for each, (key, value) in zip(group.rebalances(), shown, strict=True):
        said = value["data"]
        assert key["data"]["group"] == rebalance_files.GROUP
        assert (said["generation"], said["leader"]) == (each.generation, each.leader.member_id)
        for client, member in zip(each.members, said["members"], strict=True):
            names = client.member_id, client.instance_id, client.client_id
            assert (member["memberId"], member["groupInstanceId"], member["clientId"]) == names
            owned, generation = client.sent
            sent = member["subscription"]
            assert (sent["topics"], sent["generationId"]) == (list(group.topics), generation)
            assert _listed(sent["ownedPartitions"]) == list(owned)
            given = sorted(partition for partition, owner in each.owners.items() if owner is client)
            assert _listed(member["assignment"]["assignedPartitions"]) == given
            claims += len(owned)
    assert claims > size.rebalances * size.partitions / 2


def test_dump_log_has_nothing_to_complain_about(tmp_path: Path) -> None:
    """It prints what it finds wrong to the end of its output, or to the console."""
    generate(tmp_path / "groups", Size(100, 4, 20, 2))
    topic_lives.generate(tmp_path / "topics", topic_lives.Size(30, 40, 10, 200, rounds=8))
    transaction_cluster.generate(tmp_path / "producers", Transactions(60, 5, 60))
    files = sorted(tmp_path.glob("*/broker-1/log_dir/__*/*.log"))
    files += sorted(tmp_path.glob("producers/broker-1/log_dir/payments.*/*.log"))
    jars = Path(os.environ.get("FENCEPOST_JARS", ROOT / ".jars"))
    command = [
        "java",
        "-cp",
        f"{jars}/kafka-4.3.1/*",
        "org.apache.kafka.tools.DumpLogSegments",
        "--deep-iteration",
    ]
    done = subprocess.run(
        [*command, "--files", ",".join(map(str, files))],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    complaints = ("non-consecutive", "not a valid", "isvalid: false", "Exception", "mismatch")
    assert [
        line for line in (done.stdout + done.stderr).splitlines() if any(c in line for c in complaints)
    ] == []


def test_the_same_seed_gives_the_same_cluster(tmp_path: Path) -> None:
    for name in ("once", "again"):
        generate(tmp_path / name, Size(100, 4, 20, 2), seed=7, name="same")
    once, again = (
        {
            file.relative_to(tmp_path / name): file.read_bytes()
            for file in (tmp_path / name).rglob("*")
            if file.is_file()
        }
        for name in ("once", "again")
    )
    assert once == again
