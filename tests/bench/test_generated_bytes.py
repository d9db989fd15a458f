"""kafka-dump-log reads what the generator writes, and shows the records that Fencepost decodes."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
import topic_lives
import transaction_cluster
from coordinator import RELEASES
from generate import Size, generate
from transaction_walk import Size as Transactions
from walk import Mix

ROOT = Path(__file__).resolve().parents[2]
DECODERS = {"__consumer_offsets": "--offsets-decoder", "__cluster_metadata": "--cluster-metadata-decoder"}


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


@pytest.mark.parametrize("release", RELEASES)
def test_dump_log_shows_the_same_records(release: str, tmp_path: Path) -> None:
    made = generate(tmp_path, Size(300, 10, 60, 3), release=release, mix=Mix(empties=0.5, rebalance_every=10))
    oracle, formats = _formats("test_dump_log"), _formats("conftest")

    def as_kafka_json(record: str, part: str, version: int, row: object, known: object) -> object:
        kind = formats.record_types()[record]
        return formats.kafka_fields((kind.key if part == "key" else kind.value).fields, row, version, known)

    jars = Path(os.environ.get("FENCEPOST_JARS", ROOT / ".jars"))
    compared: dict[str, int] = {}
    for topic, option in DECODERS.items():
        files = sorted(tmp_path.glob(f"broker-1/log_dir/{topic}-*/*.log"))
        printed = oracle.dump(jars, option, files)
        compared[topic] = sum(
            oracle.compare(file, topic, printed[str(file)], as_kafka_json) for file in files
        )
        said = [line for lines in printed.values() for line in lines if line.startswith("| offset: ")]
        assert len(said) == compared[topic]
    assert compared["__consumer_offsets"] == made.records > 1000


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
