"""Clusters whose topics come and go as their generator knows: the rebuild tells nothing differently."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from consumers import Mix
from steps import differences
from topic_lives import Size, generate

from fencepost import pipeline
from fencepost.settings import Settings, load

SIZE = Size(incarnations=90, partitions=100, clients=20, requests=1_500, rounds=12)
TROUBLED = Mix(everything=0.2, behind=0.3, seeks=0.05, restarts=0.02)


@pytest.fixture(scope="module")
def checked(
    empty_lake: Callable[[], Settings], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[str, object]]:
    """The generated files, and how what was rebuilt differs from what their generator knows."""
    folder = tmp_path_factory.mktemp("generated-incarnations")
    generate(folder, SIZE, mix=TROUBLED)
    settings = replace(load(folder / "fencepost.toml"), lake=empty_lake().lake)
    with pipeline.Run(settings) as run:
        assert pipeline.STEPS["capture"](run)["quarantined"] == 0
        pipeline.STEPS["rebuild"](run)
        return folder, differences(run)


def test_nothing_is_told_differently(checked: tuple[Path, dict[str, object]]) -> None:
    _, found = checked
    assert found["wrong"] == {}
    # whose an offset is may be unknown where the client went on past what a fetch could have returned
    assert max(found["unplaced"].values()) < 0.02, found["unplaced"]  # type: ignore[attr-defined]
    # a connection may fit two instances of one client: then both are unknown
    assert found["unsure"] <= SIZE.clients // 2  # type: ignore[operator]
    # of an answer that may not have come, or not for the cache, and of what follows it, little is open
    assert 0 < found["open"] < 0.18  # type: ignore[operator]


def test_every_corner_was_generated(checked: tuple[Path, dict[str, object]]) -> None:
    """Otherwise the test above says little."""
    folder, _ = checked
    truth = {file.stem: pq.read_table(file).to_pylist() for file in (folder / "truth").glob("*.parquet")}
    changes, positions, commits = (
        truth[name] for name in ("metadata_answer_partitions", "fetch_positions", "committed_offsets")
    )
    assert {row["accepted"] for row in changes} == {True, False}
    older = [row for row in changes if row["told_topic_id"] != row["cached_topic_id"]]
    assert len({row["connection"] for row in older}) > 10
    assert {row["origin"] for row in positions} == {"reset", "committed", "read", "elsewhere"}
    assert {row["error"] for row in positions} >= {
        "NONE", "UNKNOWN_TOPIC_ID", "NOT_LEADER_OR_FOLLOWER",
    }  # fmt: skip
    orphans = [row for row in commits if row["origin_topic_id"] not in (None, row["live_topic_id"])]
    assert orphans
    assert [row for row in truth["broker_fencings"] if row["leaders_moved"]]
    assert max(row["incarnation"] for row in truth["topic_incarnations"]) > 5
