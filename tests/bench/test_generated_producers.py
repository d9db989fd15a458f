"""A cluster whose every transaction is known beforehand: the rebuild tells nothing differently."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from transaction_cluster import generate
from transaction_steps import differences
from transaction_walk import Mix, Size

from fencepost import pipeline
from fencepost.settings import Settings, load

SIZE = Size(transactions=300, ids=12, logged=200)
TROUBLED = Mix(aborted=0.3, two_partitions=0.6, fenced=0.2)


@pytest.fixture(scope="module")
def audited(
    empty_lake: Callable[[], Settings], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Settings, dict[str, Any]]:
    """The generated files, the lake, and how what was rebuilt differs from what their generator knows."""
    folder = tmp_path_factory.mktemp("generated-producers")
    generate(folder, SIZE, mix=TROUBLED)
    settings = replace(load(folder / "fencepost.toml"), lake=empty_lake().lake)
    with pipeline.Run(settings) as run:
        assert pipeline.STEPS["capture"](run)["quarantined"] == 0
        pipeline.STEPS["rebuild"](run)
        pipeline.STEPS["judge"](run)
        return folder, settings, differences(run)


def test_nothing_is_told_differently(audited: tuple[Path, Settings, dict[str, Any]]) -> None:
    assert audited[2]["wrong"] == {}


def test_a_truth_that_is_another_is_seen(
    audited: tuple[Path, Settings, dict[str, Any]], tmp_path: Path
) -> None:
    """What the test above rests on."""
    folder, settings, _ = audited
    shutil.copytree(folder / "truth", tmp_path / "truth")
    changed = {
        "transactions": "completed_position",
        "partition_transactions": "marker_epoch",
        "transaction_markers": "marker_position",
        "producer_fencings": "fenced_position",
        "end_txns": "record_offset",
        "add_partitions_to_txns": "record_offset",
        "init_producer_ids": "record_offset",
    }
    assert {f"{name}.parquet" for name in changed} == {file.name for file in (tmp_path / "truth").iterdir()}
    for name, column in changed.items():
        rows = pq.read_table(tmp_path / "truth" / f"{name}.parquet")
        values = rows[column].to_pylist()
        values[-1] += 1
        at = rows.column_names.index(column)
        pq.write_table(rows.set_column(at, column, [values]), tmp_path / "truth" / f"{name}.parquet")
    with pipeline.Run(replace(settings, path=tmp_path / "fencepost.toml")) as run:
        wrong = differences(run)["wrong"]
    assert {each.partition(":")[0] for each in wrong} == set(changed)
