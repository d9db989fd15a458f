"""Episodes and counts from row-level results: small tables in, small tables out."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from fencepost.judge.episodes import coverage, episodes

SCHEMA = (
    "module string, invariant string, kind string, severity string, cluster string, scope string, "
    "witness string, from_position bigint, to_position bigint, from_time timestamp, to_time timestamp, "
    "verdict boolean, exercised boolean, failed_conjunct string, values string, evidence string"
)

Row = tuple[str, int, int | None, bool | None]

CASES: dict[str, tuple[list[Row], set[tuple[Any, ...]]]] = {
    "what holds without a break is one episode": (
        [("a", 0, 10, True), ("a", 10, None, True)],
        {("holds", None, 0, None)},
    ),
    "touching rows of one witness are one episode, apart they are two": (
        [("a", 0, 10, False), ("a", 10, 20, False), ("a", 30, 40, False)],
        {("violated", "a", 0, 20), ("violated", "a", 30, 40)},
    ),
    "nothing is said to hold while another witness breaks it": (
        [("a", 0, None, True), ("b", 50, 60, False)],
        {("holds", None, 0, 50), ("violated", "b", 50, 60), ("holds", None, 60, None)},
    ),
    "a gap is unknown and splits what holds": (
        [("a", 0, 10, True), ("a", 10, 30, None), ("a", 30, 40, True)],
        {("holds", None, 0, 10), ("unknown", "a", 10, 30), ("holds", None, 30, 40)},
    ),
    "moments are episodes of one position": (
        [("a", 5, 5, True), ("b", 7, 7, False), ("c", 9, 9, True)],
        {("holds", None, 5, 6), ("violated", "b", 7, 8), ("holds", None, 9, 10)},
    ),
    "an open violation leaves no room to hold": (
        [("a", 0, None, False)],
        {("violated", "a", 0, None)},
    ),
    "the first row of a stretch gives its values": (
        [("a", 10, 20, False), ("a", 0, 10, False)],
        {("violated", "a", 0, 20)},
    ),
    "what was only vacuously true is no episode": (
        [("vacuous", 0, None, True)],
        set(),
    ),
}


def _time(position: int | None) -> dt.datetime | None:
    return None if position is None else dt.datetime(2026, 1, 1) + dt.timedelta(seconds=position)


def results(spark: SparkSession, invariants: dict[str, list[Row]]) -> DataFrame:
    """Rows (witness, from, to, verdict) of each invariant, in one scope."""
    return spark.createDataFrame(
        [
            (
                *("M", invariant, "invariant", "critical", "c", '{"group_id":"g"}'),
                *(witness, start, end, _time(start), _time(end), verdict, witness != "vacuous"),
                *("x < y" if verdict is False else None, f'{{"at":{start}}}', "{}"),
            )
            for invariant, rows in invariants.items()
            for witness, start, end, verdict in rows
        ],
        SCHEMA,
    )


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> list[Any]:
    """The episodes of all cases, computed at once: an invariant a case."""
    return episodes(results(spark, {name: rows for name, (rows, _) in CASES.items()})).collect()


@pytest.mark.parametrize("case", CASES)
def test_episodes(found: list[Any], case: str) -> None:
    rows = [row for row in found if row.invariant == case]
    assert {(row.verdict, row.witness, row.from_position, row.to_position) for row in rows} == CASES[case][1]


def test_an_episode_keeps_the_values_of_its_first_row(found: list[Any]) -> None:
    (row,) = [row for row in found if row.invariant == "the first row of a stretch gives its values"]
    assert row["values"] == '{"at":0}'


def test_a_rerun_gives_the_same_distinct_ids(spark: SparkSession, found: list[Any]) -> None:
    again = episodes(results(spark, {name: rows for name, (rows, _) in CASES.items()})).collect()
    ids = {row.verdict_id for row in found}
    assert ids == {row.verdict_id for row in again}
    assert len(ids) == len(found)


STATUSES: dict[str, list[Row]] = {
    "violated": [("a", 0, 1, True), ("a", 1, 2, None), ("a", 2, 3, False)],
    "unknown": [("a", 0, 1, True), ("a", 1, 2, None)],
    "holds": [("a", 0, 1, True)],
    "not_exercised": [("vacuous", 0, 1, True)],
}


def test_status(spark: SparkSession) -> None:
    names = [*STATUSES, "without any row"]
    catalogue = spark.createDataFrame(
        [("M", name, "invariant", "critical", "c") for name in names],
        "module string, invariant string, kind string, severity string, cluster string",
    )
    rows = {row.invariant: row for row in coverage(results(spark, STATUSES), catalogue).collect()}
    expected = {**{name: name for name in STATUSES}, "without any row": "not_exercised"}
    assert {name: row.status for name, row in rows.items()} == expected
    assert {name: row.checked for name, row in rows.items()} == {
        name: len(STATUSES.get(name, [])) for name in names
    }
