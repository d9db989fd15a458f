"""``fencepost simulate``: a release answers as real brokers of that release did, and as newer ones would."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import Any

import pytest

from fencepost.opening import open_lake
from fencepost.protocols.base import UsageError
from fencepost.protocols.offset_commit.simulation.command import run
from fencepost.reading import rows


def simulate(audit: Any, rule: str | None = None, **chosen: Any) -> list[dict[str, Any]]:
    arguments = Namespace(**{"rule": rule, "cluster": None, "group": None, "limit": 1000, **chosen})
    with open_lake(audit.settings, "duckdb") as lake:
        table, is_good, says = run(lake, arguments)
    assert is_good
    assert rule is None or says is not None
    return rows(table)


def test_what_is_not_known_is_said_beside_the_rows(audit: Any) -> None:
    arguments = Namespace(rule="4.3", cluster="troubled-4.2.1", group=None, limit=1)
    with open_lake(audit.settings, "duckdb") as lake:
        _, _, says = run(lake, arguments)
    assert re.fullmatch(
        r"Of \d+ commits it would have accepted 19 that were refused, and refused 0 that were accepted; "
        r"of [1-9]\d* it is not known\.",
        says or "",
    )


@pytest.mark.parametrize(
    "cluster",
    ["groups-4.4.0", "troubled-4.3.1", "troubled-4.2.1", "groups-4.1.2", "groups-4.2.1", "streams-4.3.1"],
)
def test_a_release_answers_as_its_brokers_did(audit: Any, cluster: str) -> None:
    release = cluster.rpartition("-")[2]
    assert simulate(audit, release, cluster=cluster) == []
    counted = {row["rule"]: row for row in simulate(audit, cluster=cluster)}
    # 4.4 decides as 4.3, and is counted with it
    broker, own = counted["broker"], counted[min(release, "4.3.1").rpartition(".")[0]]
    assert (own["accepted_instead"], own["refused_instead"]) == (0, 0)
    assert own["commits"] == broker["commits"] > 0
    for name in ("owners_refused", "zombies_admitted"):
        assert own[name] <= broker[name] <= own[name] + own["unknown"]


def test_a_newer_release_would_have_accepted_what_an_older_one_refused(audit: Any) -> None:
    """The refusal of one owner is unknown: brokers of 4.2 stored no assignment epochs."""
    counted = {row["rule"]: row for row in simulate(audit, cluster="troubled-4.2.1")}
    assert counted["4.1"] == {**counted["4.2"], "rule": "4.1"}
    newer, older = counted["4.3"], counted["4.2"]
    assert (older["owners_refused"], older["accepted_instead"]) == (20, 0)
    assert (newer["owners_refused"], newer["accepted_instead"]) == (0, 19)
    assert newer["unknown"] == older["unknown"] + 1
    listed = simulate(audit, "4.3", cluster="troubled-4.2.1")
    assert len(listed) == 19
    assert {(row["broker_answer"], row["simulated"], row["truth"]) for row in listed} == {
        ("reject", "accept", "owner")
    }
    (group,) = {
        row["group_id"] for row in simulate(audit, "4.3", cluster="troubled-4.2.1", group="in-flight")
    }
    assert group == "in-flight"


def test_commits_that_are_not_counted_are_told(audit: Any) -> None:
    """Else a report's number of commits contradicts this one."""
    arguments = Namespace(rule=None, cluster="troubled-4.3.1", group=None, limit=1)
    with open_lake(audit.settings, "duckdb") as lake:
        table, _, says = run(lake, arguments)
    (row,) = audit.rows("SELECT count(*) AS n FROM marts.fct_offset_commits WHERE cluster = 'troubled-4.3.1'")
    left_out = row["n"] - rows(table)[0]["commits"]
    assert left_out > 1
    assert says == (
        f"{left_out} commits without an epoch are not counted here, and are in a report: "
        "no rule can fence such a commit."
    )


def test_policies_are_counted_as_the_mart_counts_them(audit: Any) -> None:
    compared = audit.rows(
        "SELECT cluster, policy AS rule, sum(commits) AS commits, sum(spurious) AS owners_refused, "
        "sum(zombies_admitted) AS zombies_admitted FROM marts.fct_policy_comparison "
        "WHERE policy <> 'broker' GROUP BY cluster, policy"
    )
    simulated = {(row["cluster"], row["rule"]): row for row in simulate(audit)}
    for row in compared:
        counted = simulated.get((row["cluster"], row["rule"]))
        if row["commits"]:
            assert counted is not None and {name: counted[name] for name in row} == row
    assert len(compared) >= 4 * len({row["cluster"] for row in compared}) > 40


def test_what_has_no_commits_is_a_mistake_of_the_command(audit: Any) -> None:
    with pytest.raises(UsageError, match="no commits are known of cluster 'none'"):
        simulate(audit, cluster="none")
    with pytest.raises(UsageError, match="--limit 0"):
        simulate(audit, "4.3", limit=0)


@pytest.mark.parametrize("rule", ["3.9", "4", "9.9", "strictly", "4.3; DROP"])
def test_another_rule_is_a_mistake_of_the_command(audit: Any, rule: str) -> None:
    with pytest.raises(UsageError, match=r"name a policy .* or a release since|newest release"):
        simulate(audit, rule)
