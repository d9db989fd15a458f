"""Operations on the lake's tables, and what is said when Spark cannot start."""

from __future__ import annotations

import dataclasses
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyiceberg.types import BooleanType
from pyspark.sql import SparkSession

from fencepost import engines, jars, lake, protocols
from fencepost.conditions import Where, Within
from fencepost.engines import Target, entities, new_rows, parts, piece_files, tasks
from fencepost.engines.backends import Backend
from fencepost.engines.key_hashes import hashes_of
from fencepost.engines.parts import parts_of
from fencepost.engines.scratch import Scratches
from fencepost.engines.tasks import TaskEngine
from fencepost.lake.whereabouts import MisplacedLakeError
from fencepost.opening import ensure
from fencepost.protocols.offset_commit import tables as offset_commit
from fencepost.settings import SQLITE, Settings
from fencepost.tables import BATCHES, DECISIONS, EPISODES, PIECES, Table

GROUPS = offset_commit.GROUPS
ANY: Where = [{"from_position": Within(least=0)}]


def groups(*rows: tuple[str | None, int, int]) -> pa.Table:
    """Rows of GROUPS from (group_id, from_position, group_epoch)."""
    named = [
        {"cluster": "c", "life": 1, "group_id": group_id, "from_position": position, "group_epoch": epoch}
        for group_id, position, epoch in rows
    ]
    return pa.Table.from_pylist(named, schema=GROUPS.arrow_schema)


def batches(*topics: str) -> pa.Table:
    """A row of BATCHES of each topic."""
    return pa.Table.from_pylist(
        [{"cluster": "c", "topic": topic} for topic in topics], schema=BATCHES.arrow_schema
    )


@pytest.fixture(params=["process", "process, in pieces", "processes", "spark"])
def engine(
    request: pytest.FixtureRequest,
    empty_lake: Callable[[], Settings],
    backend_for: Callable[[str], Backend],
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """Each engine, on an empty lake of its own; and a function that makes its rows from Arrow. Tasks do
    whatever they can.
    """
    settings = empty_lake()
    catalog = ensure(settings.lake)
    if request.param == "process":
        return TaskEngine(catalog), lambda rows: rows
    if request.param == "process, in pieces":
        monkeypatch.setattr(tasks, "READ_BYTES", 0)
        monkeypatch.setattr(parts, "HELD_BYTES", 1)
        monkeypatch.setattr(piece_files, "HELD_BYTES", 0)
        monkeypatch.setattr(piece_files, "PIECE_BYTES", 0)
        monkeypatch.setattr(entities, "HELD_BYTES", 0)
        return TaskEngine(catalog), parts_of
    request.getfixturevalue("all_by_tasks")
    return TaskEngine(catalog, 3, backend_for(request.param), Scratches(catalog)), parts_of


@pytest.mark.parametrize("described", [False, True])
def test_a_catalog_is_not_continued_in_another_warehouse(
    empty_lake: Callable[[], Settings], tmp_path: Path, described: bool
) -> None:
    """Its tables would stay where they are, and new ones lie elsewhere. A link to the warehouse is it."""
    place = empty_lake().lake
    if described:
        # the same file, as a database is described that may be on another machine
        jdbc = {"type": "jdbc", "uri": f"jdbc:{place.catalog.replace('sqlite:///', 'sqlite:')}"}
        place = dataclasses.replace(place, catalog="jdbc", catalog_properties=jdbc)
    (tmp_path / "link").symlink_to(place.warehouse)
    ensure(dataclasses.replace(place, warehouse=str(tmp_path / "link")))
    moved = dataclasses.replace(place, warehouse=str(tmp_path / "new"))
    with pytest.raises(MisplacedLakeError) as refused:
        ensure(moved)
    assert f"has its tables in {place.warehouse}, and the configured warehouse is {tmp_path}/new. " in str(
        refused.value
    )
    assert not (tmp_path / "new").exists()
    nothing = tmp_path / "empty.db"
    sqlite3.connect(nothing).close()
    empty = dataclasses.replace(moved, catalog=f"{SQLITE}{nothing}", catalog_properties={})
    assert ensure(empty, []).list_tables("bronze") == []


def test_a_lake_of_an_older_release_gets_the_columns_it_lacks(empty_lake: Callable[[], Settings]) -> None:
    settings = empty_lake()
    catalog = ensure(settings.lake)
    lake.append(catalog, GROUPS, groups(("g", 1, 5)))
    with catalog.load_table(GROUPS.name).update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("target_assignment_epoch")
    catalog = ensure(settings.lake)
    (row,) = lake.scan(catalog, GROUPS).to_pylist()
    assert (row["group_id"], row["target_assignment_epoch"]) == ("g", None)
    assert lake.append(catalog, GROUPS, groups(("g", 2, 6))) == 1
    assert lake.count(catalog, GROUPS) == 2


@pytest.mark.usefixtures("all_by_tasks")
def test_a_lake_of_an_older_release_is_partitioned_anew_from_now_on(
    empty_lake: Callable[[], Settings], processes: Backend
) -> None:
    settings = empty_lake()
    older = ensure(settings.lake).load_table(BATCHES.name)
    with older.update_spec() as update:
        update.add_identity("topic")
    older.append(batches("a", "b"))
    catalog = ensure(settings.lake)
    lake.append(catalog, BATCHES, batches("c", "d"))
    files = catalog.load_table(BATCHES.name).inspect.files()
    assert sorted(files["record_count"].to_pylist()) == [1, 1, 2]
    in_tasks = TaskEngine(catalog, 3, processes, Scratches(catalog))
    for engine in (TaskEngine(catalog), in_tasks):
        found = engine.collect(engine.scan(BATCHES, where=[{"topic": frozenset({"a", "d"})}]))
        assert sorted(found["topic"].to_pylist()) == ["a", "d"]
        assert engine.collect(engine.scan(BATCHES)).num_rows == 4
    # tasks write files of the new kind, in place of some of both kinds
    chosen = in_tasks.scan(BATCHES, where=[{"topic": frozenset({"a", "c"})}])
    assert in_tasks.replace(BATCHES, chosen) == 2
    assert sorted(lake.scan(catalog, BATCHES)["topic"].to_pylist()) == ["a", "c"]
    (added,) = in_tasks.spread_into([batches("a", "e")], _itself(BATCHES), [Target(BATCHES, _any)], GROUPS)
    assert added.added == {BATCHES.name: 1}


def test_what_is_asked_of_clusters_alike_chooses_no_row_of_others(empty_lake: Callable[[], Settings]) -> None:
    """Iceberg gets one condition for them, whatever else is asked of a cluster of its own."""
    catalog = ensure(empty_lake().lake)
    rows = [{"cluster": cluster, "topic": topic} for cluster in "abc" for topic in "xyz"]
    lake.append(catalog, BATCHES, pa.Table.from_pylist(rows, schema=BATCHES.arrow_schema))
    alike: lake.Where = [{"cluster": cluster, "topic": frozenset({"x", "y"})} for cluster in "ab"]
    apart: lake.Where = [{"cluster": "b", "topic": "z"}, {"cluster": frozenset({"c"}), "topic": "x"}]
    found = lake.scan(catalog, BATCHES, ("cluster", "topic"), [*alike, *apart]).to_pylist()
    chosen = {row["cluster"] + row["topic"] for row in found}
    assert (len(found), chosen) == (6, {"ax", "ay", "bx", "by", "bz", "cx"})


def test_which_values_a_column_has_is_known_whatever_its_files_hold(
    empty_lake: Callable[[], Settings],
) -> None:
    catalog = ensure(empty_lake().lake)
    long = "a name of more than sixteen characters"
    for names in (["a", "c"], [None, "b"], [long, f"{long}, another"], [None]):
        lake.append(catalog, GROUPS, groups(*((name, number, 1) for number, name in enumerate(names))))
    found = lake.present(catalog, GROUPS, "group_id", ["a", "b", "bb", "c", "d", long, f"{long},"])
    assert found == {"a", "b", "c", long}
    assert not lake.present(catalog, BATCHES, "topic", ["a"])


def test_a_verdict_of_an_older_release_may_change_its_type(empty_lake: Callable[[], Settings]) -> None:
    settings = empty_lake()
    present = ensure(settings.lake).load_table(DECISIONS.name)
    with present.update_schema(allow_incompatible_changes=True) as update:
        update.delete_column("outcome")
        update.add_column("outcome", BooleanType())
    decided = {"module": "M", "decision": "d", "cluster": "c", "subject": "s", "chapter": 0}
    present.append(pa.Table.from_pylist([{**decided, "outcome": True}]))
    catalog = ensure(settings.lake)
    assert lake.scan(catalog, DECISIONS).to_pylist() == [{**decided, "outcome": None, "reason": None}]
    rows = pa.Table.from_pylist([{**decided, "outcome": "NONE"}], schema=DECISIONS.arrow_schema)
    lake.append(catalog, DECISIONS, rows)
    assert sorted(lake.scan(catalog, DECISIONS)["outcome"].to_pylist(), key=str) == ["NONE", None]


def test_a_column_of_verdicts_that_an_older_release_had_goes(empty_lake: Callable[[], Settings]) -> None:
    settings = empty_lake()
    for table in (EPISODES, PIECES):
        with ensure(settings.lake).load_table(table.name).update_schema() as update:
            update.rename_column("observed", "values")
    catalog = ensure(settings.lake)
    for table in (EPISODES, PIECES):
        assert set(catalog.load_table(table.name).schema().column_names) == set(table.stored)


def _itself(table: Table) -> Any:
    """Work on rows of the table, which it yields."""
    return lambda rows: ((table, batch) for batch in rows.to_batches())


def _any(_: Any) -> lake.Where:
    return [{}]


def test_new_rows_are_appended_and_replaced(engine: Any) -> None:
    here, made = engine

    def append(within: lake.Where, *rows: pa.Table) -> int:
        (done,) = here.spread_into(rows, _itself(GROUPS), [Target(GROUPS, lambda _: within)], BATCHES)
        added: int = done.added[GROUPS.name]
        return added

    hostile = 'pay\'ments "eu"\n☃'
    assert append(ANY, groups((hostile, 1, 5), (hostile, 1, 5), (None, 1, 6))) == 2
    # a null in the key is a value like any other
    second = groups((None, 1, 6), (hostile, 2, 7))
    assert append([{"from_position": Within(least=1), "cluster": "c"}], second, second) == 1
    assert append(ANY, second, second) == 0
    names = [{"group_id": frozenset({hostile})}, {"group_id": None}]
    epochs = here.collect(here.scan(GROUPS, ("group_epoch",), names))["group_epoch"]
    assert sorted(epochs.to_pylist()) == [5, 6, 7]
    assert here.replace(GROUPS, made(groups((None, 3, 8)))) == 1
    (row,) = here.collect(here.scan(GROUPS)).to_pylist()
    assert (row["group_id"], row["group_epoch"]) == (None, 8)
    assert here.replace(GROUPS, made(groups((None, 1, 9), ("a", 2, 9)))) == 2
    # what is replaced is a part of a file, and of several
    assert here.replace(GROUPS, made(groups(("b", 2, 9), ("c", 2, 9))), [{"from_position": 2}]) == 3
    assert sorted(here.collect(here.scan(GROUPS))["group_id"].to_pylist(), key=str) == [None, "b", "c"]


@pytest.mark.parametrize("hashes", [hashes_of, lambda keys: np.zeros(keys.num_rows, dtype=np.uint64)])
def test_keys_are_told_apart_whatever_their_hashes(
    empty_lake: Callable[[], Settings], monkeypatch: pytest.MonkeyPatch, hashes: Any
) -> None:
    monkeypatch.setattr(new_rows, "hashes_of", hashes)
    catalog = ensure(empty_lake().lake)
    new = new_rows.NewRows(catalog, GROUPS, ANY)
    assert new.append(groups(("a", 1, 1), ("b", 1, 2), ("a", 1, 3), (None, 1, 4))) == 3
    assert new.append(groups(("b", 1, 5), ("c", 1, 6), (None, 1, 7))) == 1
    # another process writes meanwhile
    lake.append(catalog, GROUPS, groups(("d", 1, 8)))
    assert new.append(groups(("d", 1, 9), ("e", 1, 10))) == 1
    found = lake.scan(catalog, GROUPS)["group_epoch"].to_pylist()
    assert sorted(found) == [1, 2, 4, 6, 8, 10]


def test_every_task_is_done_once_and_every_entity_has_all_its_evidence(engine: Any) -> None:
    here, made = engine
    found = here.spread([2, 3], _numbers, [GROUPS])
    assert sorted(here.collect(found[GROUPS.name])["from_position"].to_pylist()) == [0, 0, 1, 1, 2]
    named = groups(("a", 1, 1), ("b", 2, 2), ("a", 3, 3), (None, 4, 4))
    rows = named.append_column("entity", named["group_id"])
    entities = here.replay({"rows": [made(rows)], "none": [made(rows.slice(0, 0))]}, _counted, [GROUPS])
    counted = here.collect(entities[GROUPS.name])
    assert sorted(
        zip(counted["group_id"].to_pylist(), counted["from_position"].to_pylist(), strict=True)
    ) == [
        ("a", 2),
        ("b", 1),
    ]


def _numbers(count: int) -> Any:
    yield GROUPS, groups(*(("g", number, 1) for number in range(count))).to_batches()[0]


def _counted(entity: str, evidence: Any) -> Any:
    assert evidence["none"].num_rows == 0
    yield GROUPS, groups((entity, evidence["rows"].num_rows, 1))


def test_where_work_is_done(empty_lake: Callable[[], Settings], monkeypatch: pytest.MonkeyPatch) -> None:
    settings = empty_lake()

    def chosen(size: int, **changed: Any) -> str:
        return engines.choose(dataclasses.replace(settings, **changed), size, 3, "bytes").run_on

    far = {**settings.spark, "spark.master": "k8s://https://cluster"}
    monkeypatch.setattr(engines, "available_cores", lambda: 2)
    assert chosen(3) == "process"
    assert chosen(4, run_on="auto") == "processes"
    assert chosen(3, spark=far) == "spark"
    for named in ("process", "processes", "spark"):
        assert chosen(3, run_on=named, spark=far) == chosen(4, run_on=named) == named
    monkeypatch.setattr(engines, "available_cores", lambda: 1)
    assert chosen(4) == "process"


def test_schemas_are_told_as_json() -> None:
    told = json.loads(protocols.schemas_json())
    assert told["bronze.batches"]["base_offset"] == "bigint"
    assert set(told) == {table.name for table in protocols.tables()}


def test_every_key_and_partition_is_a_column() -> None:
    for table in protocols.tables():
        assert {*table.key, *table.partitioned_by} <= set(table.columns)


def test_missing_jars_and_java_are_named(
    new_lake: Callable[[], tuple[SparkSession, Settings]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, settings = new_lake()
    monkeypatch.setenv(jars.JARS_ENV, str(tmp_path))
    with pytest.raises(jars.SessionError, match=r"No jars of Iceberg and its catalogs in .*make setup"):
        jars.spark_jars(settings)
    jars.java_version.cache_clear()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(jars.SessionError, match=r"No java in JAVA_HOME .*Java 17"):
        jars.java_version()
    java = tmp_path / "bin" / "java"
    java.parent.mkdir()
    for version, found in (("11.0.2", "Java 11"), ("25.0.3", "Java 25"), ("next", "of an unknown version")):
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
        java.chmod(0o755)
        with pytest.raises(jars.SessionError, match=rf"is {found}\. Spark needs Java 17 to 21\."):
            jars.java_version()
