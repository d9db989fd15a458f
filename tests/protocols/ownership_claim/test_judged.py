"""The compiled definitions over the cases: each is holding, violated and unknown in some case, and none
flips when evidence is removed.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from fencepost import protocols
from fencepost.definitions import definitions, queries
from fencepost.protocols.ownership_claim.tables import TABLES

CASES = {path.stem: path for path in sorted(Path(__file__).with_name("cases").glob("*.json"))}
MODULE = "OwnershipClaimProps"
ELSEWHERE = {"commit_of_current_generation"}
"""Judged over commits, which these cases do not have: see tests/e2e."""
VIOLATED = {
    "different_topics": {
        "no_stale_claim_wins", "no_handover_before_revocation", "claim_was_assigned",
    },
    "same_generation": {"no_two_valid_claims", "no_handover_before_revocation", "claim_was_assigned"},
    "stale_claim": {"no_stale_claim_wins", "no_handover_before_revocation", "claim_was_assigned"},
    "broken_coordinator": {"broker_keeps_its_join_rule", "generation_grows_by_one"},
    "cooperative": set(),
    "let_in": set(),
    "migration_disabled": set(),
    "other_assignors": set(),
    "told_in_the_end": set(),
    "static": set(),
    "sticky": set(),
    "other_type": set(),
}  # fmt: skip
"""By case, exactly the definitions that are violated."""

Rows = Mapping[str, list[Mapping[str, Any]]]
Replay = Callable[[dict[str, Any]], Rows]
Verdicts = dict[str, dict[str, set[str]]]
"""{definition: {holds, violated, unknown: witnesses}}; a definition holds only where it is exercised."""


@pytest.fixture(scope="module")
def verdict_rows() -> Callable[[Rows], Iterator[Mapping[str, Any]]]:
    """Judges rows of silver, in DuckDB."""
    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA silver")
    tables = {table.name: table for table in TABLES}
    for table in protocols.tables():
        if table.name.startswith("silver."):
            empty = table.arrow_schema.empty_table()
            connection.register("rows", empty)
            connection.execute(f"CREATE TABLE {table.name} AS SELECT * FROM rows")
    definition_ids = {each.id for each in definitions() if each.module == MODULE}
    chosen_queries = [
        query
        for query in queries()
        if not query.decides and {each.id for each in query.definitions} <= definition_ids
    ]

    def run(silver: Rows) -> Iterator[Mapping[str, Any]]:
        for name, table in tables.items():
            rows = pa.Table.from_pylist(silver[name.removeprefix("silver.")], schema=table.arrow_schema)
            connection.register("rows", rows)
            connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM rows")
        for query in chosen_queries:
            yield from connection.sql(query.sql).to_arrow_table().to_pylist()

    return run


@pytest.fixture(scope="module")
def judge(
    verdict_rows: Callable[[Rows], Iterator[Mapping[str, Any]]],
) -> Callable[[Rows], Verdicts]:
    """Judges rows of silver; what is judged by the word."""

    def run(silver: Rows) -> Verdicts:
        verdicts: Verdicts = defaultdict(lambda: defaultdict(set))
        for row in verdict_rows(silver):
            verdict = row["verdict"]
            word = "unknown" if verdict is None else "holds" if verdict else "violated"
            if not verdict or row["exercised"]:
                verdicts[row["definition"]][word].add(f"{row['witness']} {row['from_position']}")
        return verdicts

    return run


def _case(name: str) -> dict[str, Any]:
    case: dict[str, Any] = json.loads(CASES[name].read_text(encoding="utf-8"))
    return case


def test_each_definition_is_seen_holding_violated_and_unknown(
    replay_of: Replay, judge: Callable[[Rows], Verdicts]
) -> None:
    verdicts_seen: dict[str, set[str]] = defaultdict(set)
    for name in CASES:
        verdicts = judge(replay_of(_case(name)))
        for definition, words in verdicts.items():
            verdicts_seen[definition] |= words.keys()
        if name in VIOLATED:
            assert {each for each, words in verdicts.items() if words["violated"]} == VIOLATED[name]
    expected = {each.id for each in definitions() if each.module == MODULE and each.kind != "decision"}
    assert {each: verdicts_seen[each] for each in expected - ELSEWHERE} == {
        each: {"holds", "violated", "unknown"} for each in expected - ELSEWHERE
    }


def test_a_claim_without_a_generation_is_unknown_because_its_client_does_not_say_it(
    replay_of: Replay, verdict_rows: Callable[[Rows], Iterator[Mapping[str, Any]]]
) -> None:
    rows = replay_of(_case("versions"))
    claims = {row["claim_id"]: row["member_id"] for row in rows["ownership_claims"]}
    reasons = {
        claims[json.loads(row["witness"])["c"]]: row["reason"]
        for row in verdict_rows(rows)
        if row["definition"] == "claim_was_assigned" and row["verdict"] is None and row["witness"]
    }
    assert reasons == {"v1": "not_said", "kip": "unread", "garbage": "unread", "empty": "unread"}


@pytest.mark.parametrize(
    "name",
    [
        "different_topics",
        "same_generation",
        "absent_static",
        "joins",
        "migration_disabled",
        "told_in_the_end",
    ],
)
def test_nothing_is_violated_for_want_of_evidence(
    name: str, replay_of: Replay, judge: Callable[[Rows], Verdicts]
) -> None:
    case = _case(name)
    whole = judge(replay_of(case))
    for at in range(len(case["log"]) - 1):
        batches = [{**batch, "lost": number == at} for number, batch in enumerate(case["log"])]
        less = judge(replay_of({**case, "log": batches}))
        for definition, words in less.items():
            assert words["violated"] <= whole[definition]["violated"], (definition, at)
