"""Clusters whose every commit is known beforehand: an audit tells nothing differently."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest
from coordinator import POLICIES, RELEASES
from generate import Generated, Size, generate
from pyspark.sql import SparkSession
from walk import Mix

from fencepost import pipeline
from fencepost.protocols.offset_commit.tables import COMMIT_STATES, COMMITS
from fencepost.settings import Cluster, Settings, load
from fencepost.tables import DECISIONS, VERDICT_COVERAGE

SIZE = Size(commits=400, groups=20, members=120, coordinators=4)
CLUSTERS = [(f"{release}-{seed}", release, seed) for release in RELEASES for seed in (1, 2, 3)]
# Late commits, rogues and empty groups in every corner, which a healthy cluster has too few of.
TROUBLED = Mix(
    moments_held=0.25,
    unheard=0.3,
    rogue=0.02,
    ahead=0.01,
    outsider=0.01,
    interrupted=0.08,
    empties=0.3,
    rebalance_every=8,
)
KEY = ("group_id", "client_id", "correlation_id", "topic", "partition")

Rows = dict[tuple[Any, ...], dict[str, Any]]


class Audited:
    """The generated clusters in one lake: what was made, what is true, and what the audit says."""

    def __init__(self, spark: SparkSession, made: dict[str, Generated], truth: dict[str, Rows]) -> None:
        self.spark, self.made, self.truth = spark, made, truth

    def rows(self, query: str) -> list[dict[str, Any]]:
        return [row.asDict() for row in self.spark.sql(query).collect()]


@pytest.fixture(scope="module")
def audited(
    new_lake: Callable[[], tuple[SparkSession, Settings]], tmp_path_factory: pytest.TempPathFactory
) -> Audited:
    spark, settings = new_lake()
    folder = tmp_path_factory.mktemp("generated")
    made: dict[str, Generated] = {}
    truth: dict[str, Rows] = {}
    clusters: list[Cluster] = []
    for name, release, seed in CLUSTERS:
        made[name] = generate(folder / name, SIZE, seed=seed, release=release, name=name, mix=TROUBLED)
        rows = pq.read_table(folder / name / "ground_truth.parquet").to_pylist()
        truth[name] = {tuple(row[part] for part in KEY): row for row in rows}
        assert len(truth[name]) == len(rows)
        clusters += load(folder / name / "fencepost.toml").clusters
    settings = replace(settings, clusters=tuple(clusters))
    with pipeline.Run(settings) as run:
        assert pipeline.STEPS["capture"](run)["quarantined"] == 0
        for step in ("rebuild", "judge"):
            pipeline.STEPS[step](run)
    return Audited(spark, made, truth)


def _truth(state: dict[str, Any]) -> str:
    if state["client_epoch"] < 0:
        return "unfenced"
    if state["owned_at_client_epoch"] is None:
        return "unknown"
    if state["owned_at_client_epoch"] and state["reassigned_since"]:
        return "zombie"
    return "owner" if state["owned_at_client_epoch"] and state["uninterrupted"] else "not_owner"


def test_every_commit_is_there_with_the_answer_it_got(audited: Audited) -> None:
    commits = audited.rows(f"SELECT * FROM {COMMITS.name}")
    found = {(row["cluster"], *(row[part] for part in KEY)): row for row in commits}
    assert len(found) == len(commits) == sum(made.commits for made in audited.made.values())
    for name, rows in audited.truth.items():
        for key, told in rows.items():
            row = found[(name, *key)]
            assert row["unknown_reason"] is None, (name, told, row["unknown_reason"])
            for column in ("member_id", "committed_offset", "client_epoch"):
                assert row[column] == told[column], (name, told)
            assert row["broker_error"] == told["error"], (name, told)
            assert (row["record_offset"] is not None) == (told["error"] == "NONE"), (name, told)


def test_every_commit_met_the_state_that_it_met(audited: Audited) -> None:
    states = audited.rows(
        f"SELECT s.*, c.client_id, c.correlation_id, c.topic, c.partition "
        f"FROM {COMMIT_STATES.name} s JOIN {COMMITS.name} c USING (cluster, commit_id)"
    )
    met: dict[tuple[Any, ...], set[str]] = {}
    for state in states:
        met.setdefault((state["cluster"], *(state[part] for part in KEY)), set()).add(_truth(state))
    for name, rows in audited.truth.items():
        for key, told in rows.items():
            assert met[(name, *key)] == {told["truth"]}, (name, told)


def test_every_policy_decides_as_the_generator_knows(audited: Audited) -> None:
    decisions = audited.rows(
        f"SELECT d.decision, d.outcome, d.cluster, {', '.join(KEY)} FROM {DECISIONS.name} d "
        f"JOIN {COMMITS.name} c ON d.cluster = c.cluster AND d.subject = c.commit_id"
    )
    compared: Counter[str] = Counter()
    for row in decisions:
        told = audited.truth[row["cluster"]][tuple(row[part] for part in KEY)]
        assert row["outcome"] == _expected(row["decision"], told), (row["decision"], row["outcome"], told)
        compared[row["decision"]] += 1
    commits = sum(made.commits for made in audited.made.values())
    assert {*POLICIES} <= compared.keys()
    assert set(compared.values()) == {commits}


def _expected(decision: str, told: dict[str, Any]) -> str:
    """What the answering broker's own rule says is what it answered; so is the error, that of a refusal alike
    for every policy.
    """
    if decision == "truth":
        return "not_owner" if told["truth"] == "unfenced" else str(told["truth"])
    if decision == "shipped_error":
        return str(told["error"])
    if decision == "proposed_error":
        refused = "STALE_MEMBER_EPOCH" if told["error"] == "NONE" else str(told["error"])
        return "NONE" if told["member_revocation"] else refused
    return str(told.get(decision, told["error"] == "NONE")).lower()


def test_no_broker_broke_its_rule_and_nothing_is_unknown(audited: Audited) -> None:
    coverage = audited.rows(f"SELECT * FROM {VERDICT_COVERAGE.name}")
    # topics that were there before the metadata log began are nobody's business here
    groups = [row for row in coverage if row["module"] == "OffsetCommitProps"]
    assert [row for row in groups if row["unknown"]] == []
    kept = [row for row in coverage if row["invariant"] == "broker_keeps_its_rule"]
    assert {row["cluster"]: row["exercised"] for row in kept} == {
        name: made.commits for name, made in audited.made.items()
    }
    assert {row["status"] for row in kept} == {"holds"}
    critical = {row["invariant"] for row in coverage if row["status"] == "violated"}
    assert {"epoch_order", "no_partition_owned_twice", "assignment_epoch_bound"}.isdisjoint(critical)


def test_every_corner_was_generated(audited: Audited) -> None:
    """Otherwise the tests above say little."""
    kinds: Counter[str] = Counter()
    for made in audited.made.values():
        kinds.update(made.kinds)
    assert kinds.keys() >= {
        f"{truth}, {error}"
        for error in ("NONE", "STALE_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID")
        for truth in ("owner", "zombie", "not_owner")
        # a member that is not there owns nothing
        if (truth, error) != ("owner", "UNKNOWN_MEMBER_ID")
    } | {"unfenced, NONE", "unfenced, UNKNOWN_MEMBER_ID", "not_owner, GROUP_ID_NOT_FOUND"}
    rows = [row for rows in audited.truth.values() for row in rows.values()]
    for stricter, laxer in ((0, 1), (1, 2), (1, 3), (2, 3), (3, 2)):
        apart = [row for row in rows if row[POLICIES[laxer]] and not row[POLICIES[stricter]]]
        assert apart, (POLICIES[stricter], POLICIES[laxer])
