"""A group whose claims its generator knows: the rebuild tells nothing differently, record by record."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rebalance_files import generate
from rebalance_group import Mix, Size
from rebalance_steps import differences, judge, rebuild

from fencepost import lake, pipeline
from fencepost.opening import ensure
from fencepost.settings import Settings, load
from fencepost.tables import RECORDS, VERDICT_COVERAGE

SIZE = Size(members=14, partitions=30, rebalances=160, logged=50)
TROUBLED = Mix(
    unheard=0.02, absent=0.1, contradicts=0.1, abandoned=0.08, stale_wins=0.2, handed_over=0.05, static=0.3
)


@pytest.fixture(scope="module")
def audited(
    empty_lake: Callable[[], Settings], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, Settings, dict[str, Any]]:
    """The generated files, the lake, and how what was rebuilt differs from what their generator knows."""
    folder = tmp_path_factory.mktemp("generated-rebalances")
    generate(folder, SIZE, mix=TROUBLED, whole=True)
    settings = replace(load(folder / "fencepost.toml"), lake=empty_lake().lake)
    with pipeline.Run(settings) as run:
        assert pipeline.STEPS["capture"](run)["quarantined"] == 0
        rebuild(run)
        judge(run)
        return folder, settings, differences(run)


def test_nothing_is_told_differently(audited: tuple[Path, Settings, dict[str, Any]]) -> None:
    _, _, found = audited
    assert found["wrong"] == {}
    assert found["rows"]["claims"] < found["counts"]["claims"] / 2
    assert found["known"] > 0.8 * found["joins"]


def test_records_that_are_kept_compressed_tell_the_same(
    empty_lake: Callable[[], Settings], tmp_path: Path
) -> None:
    """Members enough for a record to be a large value; those of the group above are not."""
    generate(tmp_path, Size(members=110, partitions=160, rebalances=10, logged=2), mix=TROUBLED, whole=True)
    settings = replace(load(tmp_path / "fencepost.toml"), lake=empty_lake().lake)
    with pipeline.Run(settings) as run:
        pipeline.STEPS["capture"](run)
        kept = lake.scan(run.catalog, RECORDS, ("value", "value_size"), [{"topic": "__consumer_offsets"}])
        assert kept["value_size"].null_count == 0
        assert pc.sum(pc.binary_length(kept["value"])).as_py() < pc.sum(kept["value_size"]).as_py() / 3
        rebuild(run)
        assert differences(run)["wrong"] == {}


def test_a_truth_that_is_another_is_seen(
    audited: tuple[Path, Settings, dict[str, Any]], tmp_path: Path
) -> None:
    """What the test above rests on."""
    folder, settings, _ = audited
    shutil.copytree(folder / "truth", tmp_path / "truth")
    for name, column in (("claims", "was_assigned"), ("assignments", "is_added"), ("joins", "member_known")):
        rows = pq.read_table(tmp_path / "truth" / f"{name}.parquet")
        values = rows[column].to_pylist()
        values[3] = not values[3]
        at = rows.column_names.index(column)
        pq.write_table(rows.set_column(at, column, [values]), tmp_path / "truth" / f"{name}.parquet")
    with pipeline.Run(replace(settings, path=tmp_path / "fencepost.toml")) as run:
        wrong = differences(run)["wrong"]
    assert {each.partition(":")[0] for each in wrong} == {"claims", "assignments", "joins"}


def test_every_corner_was_generated(audited: tuple[Path, Settings, dict[str, Any]]) -> None:
    """Otherwise the first test says little."""
    folder, settings, found = audited
    claims = pq.read_table(folder / "truth" / "claims.parquet").to_pylist()
    assert {row["was_assigned"] for row in claims} >= {True, False}
    stale = [row for row in claims if row["claimed_generation"] < row["greatest_claim_of_others"]]
    valid = [row for row in claims if row["claimed_generation"] > row["greatest_claim_of_others"]]
    assert {row["assigned_to_self"] for row in stale} == {True, False}
    assert any(row["assigned_to_another"] for row in valid)
    assert found["counts"]["standings"].keys() == {"valid", "stale", "contradicted"}
    assert json.loads((folder / "truth" / "counts.json").read_text()) == found["counts"]
    coverage = lake.scan(ensure(settings.lake), VERDICT_COVERAGE).to_pylist()
    violated = {row["invariant"] for row in coverage if row["status"] == "violated"}
    assert violated >= {
        "no_two_valid_claims", "no_stale_claim_wins", "no_handover_before_revocation", "claim_was_assigned",
        "no_stale_join_admitted",
    }  # fmt: skip
