"""Reading the lake without Spark: the rows that Spark sees, whatever happened to a table; plain errors."""

from __future__ import annotations

import datetime as dt
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fencepost.opening import open_lake
from fencepost.reading import ENGINES, LakeError, QueryError, Reader, rows
from fencepost.reading.spark import SparkReader
from fencepost.reading.tables import row_count, tables_of
from fencepost.settings import Lake, Settings

Made = tuple[SparkSession, Settings]

KINDS = """
    n int, big bigint, d double, f float, ok boolean, price decimal(12, 3), day date, at timestamp,
    local timestamp_ntz, raw binary, words array<string>, point struct<x: int, `the y`: array<double>>,
    counts map<string, bigint>, cluster string
"""
VALUES = """
SELECT 1, 9223372036854775807, 0.1, cast(1.5 AS float), true, 123456789.125, date '2026-01-31',
  timestamp '2026-01-31 23:59:59.123456', timestamp_ntz '2026-06-30 01:02:03', x'00ff', array('a', null, ''),
  named_struct('x', 1, 'the y', array(1.5, null)), map('k', 1, 'l', null), 'a'
UNION ALL SELECT 2, null, null, null, null, null, null, null, null, null, null, null, null, 'b'
UNION ALL SELECT 3, -1, double('NaN'), float('-inf'), false, -0.001, date '0001-01-01',
  timestamp '0001-01-01 00:00:00', timestamp_ntz '9999-12-31 23:59:59', x'', array(),
  named_struct('x', null, 'the y', null), map(), 'a'
"""


@pytest.fixture(scope="module")
def made(new_lake: Callable[[], Made]) -> Made:
    """A lake with tables to which everything has happened that Spark does to tables."""
    spark, settings = new_lake()
    for statement in (
        "CREATE SCHEMA odd",
        f"CREATE TABLE odd.kinds ({KINDS}) USING iceberg PARTITIONED BY (cluster)",
        f"INSERT INTO odd.kinds {VALUES}",
        "CREATE TABLE odd.empty (a int, b array<string>) USING iceberg",
        # columns that came, went, moved, and took another's name
        "CREATE TABLE odd.changed (a int, b string, c string) USING iceberg",
        "INSERT INTO odd.changed VALUES (1, 'b1', 'c1'), (2, 'b2', 'c2')",
        "ALTER TABLE odd.changed ADD COLUMN later timestamp",
        "ALTER TABLE odd.changed ALTER COLUMN a TYPE bigint",
        "ALTER TABLE odd.changed DROP COLUMN b",
        "ALTER TABLE odd.changed RENAME COLUMN c TO b",
        "ALTER TABLE odd.changed ALTER COLUMN later FIRST",
        "INSERT INTO odd.changed VALUES (timestamp '2026-01-01', 5000000000, 'new')",
        # rows that are deleted in files beside the data
        """CREATE TABLE odd.deleted (id int, word string, cluster string) USING iceberg
           PARTITIONED BY (cluster)
           TBLPROPERTIES ('write.delete.mode' = 'merge-on-read', 'write.update.mode' = 'merge-on-read')""",
        *(
            f"INSERT INTO odd.deleted SELECT id, 'w' || id, 'c' || (id % 3) FROM range({first}, {first + 40})"
            for first in range(0, 240, 40)
        ),
        "DELETE FROM odd.deleted WHERE id % 7 = 0",
        "UPDATE odd.deleted SET word = 'again' WHERE id % 11 = 0",
        "INSERT INTO odd.deleted VALUES (0, 'new', 'c0'), (7, null, 'c1')",
        "DELETE FROM odd.deleted WHERE word = 'w5'",
        "CREATE VIEW odd.counted (cluster, `how many`) AS "
        "SELECT cluster, count(*) FROM odd.deleted GROUP BY cluster",
        "CREATE VIEW odd.doubled AS SELECT cluster, `how many` * 2 AS twice FROM odd.counted",
    ):
        spark.sql(statement)
    return spark, settings


@pytest.fixture
def reader(made: Made) -> Iterator[Reader]:
    with open_lake(made[1]) as opened:
        yield opened


def same(found: Any, expected: Any) -> None:
    assert found.schema.types == expected.schema.types
    assert found.column_names == expected.column_names
    assert sorted(map(repr, rows(found))) == sorted(map(repr, rows(expected)))


@pytest.mark.parametrize("table", ["kinds", "empty", "changed", "deleted", "counted", "doubled"])
def test_the_same_rows_as_spark(made: Made, reader: Reader, table: str) -> None:
    assert reader.engine == "duckdb"
    expected = SparkReader(made[0]).scan(f"odd.{table}")
    same(reader.scan(f"odd.{table}"), expected)
    same(reader.query(f"SELECT * FROM odd.{table}"), expected)
    same(reader.query(f"SELECT * FROM lake.odd.{table}"), expected)
    assert (expected.num_rows == 0) == (table == "empty")


def test_values_come_as_python_has_them(reader: Reader) -> None:
    (row,) = rows(reader.scan("odd.kinds", where={"n": 1}))
    assert row["at"] == dt.datetime(2026, 1, 31, 23, 59, 59, 123456)
    assert row["local"] == dt.datetime(2026, 6, 30, 1, 2, 3)
    assert row["counts"] == {"k": 1, "l": None}
    assert row["point"] == {"x": 1, "the y": [1.5, None]}
    assert str(row["price"]) == "123456789.125"
    (span,) = rows(reader.query("SELECT timestamp '2026-01-02 00:00:01.5' - timestamp '2026-01-01' AS span"))
    assert span["span"] == dt.timedelta(days=1, seconds=1.5)


@pytest.mark.parametrize(
    ("columns", "where"),
    [
        (("word",), {"id": 12}),
        (("word", "cluster"), {"cluster": "c1", "word": None}),
        ((), {"cluster": ["c0", "c2"]}),
        (("id",), {"cluster": []}),
        (("id",), {"word": "it's"}),
    ],
)
def test_columns_and_rows_are_chosen(
    made: Made, reader: Reader, columns: tuple[str, ...], where: dict[str, Any]
) -> None:
    same(reader.scan("odd.deleted", columns, where), SparkReader(made[0]).scan("odd.deleted", columns, where))


def test_spark_plans_for_as_many_rows_as_the_lake_has(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    spark, settings = made
    counts = [spark.table(f"odd.{name}").count() for name in ("kinds", "empty", "changed")]
    tables = tables_of(settings.lake)
    assert row_count(tables) >= sum(counts) > 0

    def partitions() -> int:
        with open_lake(settings, "spark") as opened:
            (option,) = rows(opened.query("SET spark.sql.shuffle.partitions"))
        return int(option["value"])

    assert partitions() == 1
    monkeypatch.setattr("fencepost.session.MANY_ROWS", row_count(tables))
    assert partitions() > 1
    monkeypatch.undo()
    assert partitions() == 1


def test_files_that_cannot_hold_the_rows_are_not_opened(made: Made) -> None:
    spark, settings = made
    spark.sql("CREATE TABLE odd.parts (cluster string, n int) USING iceberg PARTITIONED BY (cluster)")
    spark.sql("INSERT INTO odd.parts VALUES ('a', 1), ('b', 2)")
    (there,) = Path(settings.lake.warehouse).glob("odd/parts/data/cluster=b/*.parquet")
    there.unlink()
    with open_lake(settings) as lake:
        assert rows(lake.scan("odd.parts", where={"cluster": "a"})) == [{"cluster": "a", "n": 1}]
        with pytest.raises(LakeError):
            lake.query("SELECT * FROM odd.parts")


def test_equality_deletes_are_left_to_spark(made: Made) -> None:
    """Other engines (Flink) write them; PyIceberg does not read them: no row may come back to life."""
    spark, settings = made
    spark.sql("CREATE TABLE odd.equal (id int, word string) USING iceberg")
    spark.sql("INSERT INTO odd.equal VALUES (1, 'a'), (2, 'b')")
    _delete_equal(spark, Path(settings.lake.warehouse) / "odd" / "equal" / "data" / "deleted.parquet", 2)
    assert rows(SparkReader(spark).scan("odd.equal")) == [{"id": 1, "word": "a"}]
    with open_lake(settings) as lake, pytest.raises(LakeError, match=r"(?s)odd\.equal .*--engine spark"):
        lake.scan("odd.equal")


def test_what_pyiceberg_reads_wrong_is_left_to_spark(made: Made) -> None:
    spark, settings = made
    spark.sql("CREATE TABLE odd.nested (a array<struct<b: int>>) USING iceberg")
    spark.sql("INSERT INTO odd.nested VALUES (null)")
    with open_lake(settings) as lake, pytest.raises(LakeError, match=r"(?s)odd\.nested .*--engine spark"):
        lake.scan("odd.nested")


def _delete_equal(spark: SparkSession, path: Path, value: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    field = pa.field("id", pa.int32(), metadata={"PARQUET:field_id": "1"})
    pq.write_table(pa.table([pa.array([value], pa.int32())], schema=pa.schema([field])), path)
    jvm = spark._jvm  # type: ignore[attr-defined]
    iceberg = jvm.org.apache.iceberg
    table = iceberg.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, "odd.equal")  # type: ignore[attr-defined]
    ids = spark.sparkContext._gateway.new_array(jvm.int, 1)  # type: ignore[union-attr]
    ids[0] = 1
    file = (
        iceberg.FileMetadata.deleteFileBuilder(table.spec())
        .ofEqualityDeletes(ids)
        .withPath(str(path))
        .withFormat("PARQUET")
        .withFileSizeInBytes(path.stat().st_size)
        .withRecordCount(1)
        .build()
    )
    table.newRowDelta().addDeletes(file).commit()


# What people ask of the marts, in Spark's words.
QUERIES = [
    "SELECT count(*), count(DISTINCT cluster), min(word), avg(id) FROM odd.deleted",
    "SELECT cluster, sum(id) AS total, count_if(id > 20) FROM odd.deleted GROUP BY cluster ORDER BY 2 DESC",
    "SELECT id + 1, id / 2, id % 3, upper(word) FROM odd.deleted WHERE word LIKE 'w1%' ORDER BY id LIMIT 5",
    "SELECT id, lag(id) OVER (PARTITION BY cluster ORDER BY id) AS before FROM odd.deleted WHERE id < 9 "
    "ORDER BY id, before",
    "WITH few AS (SELECT * FROM odd.deleted WHERE id < 9) SELECT a.id, b.id AS other FROM few a JOIN few b "
    "ON a.id = b.id + 1 ORDER BY 1",
    "SELECT word FROM odd.deleted ORDER BY word LIMIT 1",
    "SELECT word FROM odd.deleted ORDER BY word DESC LIMIT 1",
    "SELECT n, explode(words) AS word FROM odd.kinds",
    "SELECT n, word FROM odd.kinds LATERAL VIEW explode(words) w AS word",
    "SELECT words[0], size(words), point.x, counts['k'] FROM odd.kinds WHERE n = 1",
    "SELECT array_contains(words, 'a') AS has, point.`the y` FROM odd.kinds WHERE n = 1",
    "SELECT date_trunc('hour', at) AS hour, date(at), year(at), hour(at) FROM odd.kinds WHERE n = 1",
    "SELECT n FROM odd.kinds WHERE at >= '2026-01-31' AND at < timestamp '2026-02-01' + INTERVAL 1 HOUR",
    "SELECT unix_micros(at), unix_millis(at), timestamp_millis(1767225600123) FROM odd.kinds WHERE n = 1",
    """SELECT get_json_object('{"a":{"b":7}}', '$.a.b') AS b, coalesce(null, 'x') AS c, nvl(null, 3) AS d""",
    "SELECT cast('12' AS int), cast(at AS date), cast(n AS string) FROM odd.kinds WHERE n = 1",
    "SELECT cluster, collect_set(ok) AS oks FROM odd.kinds WHERE ok GROUP BY cluster",
    "SELECT n FROM odd.kinds WHERE d IS NULL UNION ALL SELECT 10 UNION ALL SELECT count(*) FROM odd.counted",
    "SELECT * FROM odd.deleted a WHERE EXISTS (SELECT 1 FROM odd.kinds k WHERE k.n = a.id)",
    "SELECT * EXCEPT (raw, counts) FROM odd.kinds WHERE cluster = 'b'",
    "SELECT 1 AS a, 'x,y' AS b, 1.5 AS c, null AS d",
    "SELECT a.cluster, twice FROM odd.counted a JOIN odd.doubled b USING (cluster) WHERE a.`how many` > 1",
    "SELECT id FROM odd.deleted WHERE word RLIKE '^w1[0-9]$' ORDER BY id",
    r"SELECT x LIKE '\\_a%' AS a, x ILIKE '%\\%' AS b, x LIKE '/_%' ESCAPE '/' AS c, NOT x LIKE '\\__' AS d "
    r"FROM VALUES ('_a'), ('ba'), ('x%'), ('_') AS t(x) ORDER BY x",
    "SELECT concat_ws('-', cluster, id), substring(word, 2, 1), length(word) FROM odd.deleted WHERE id = 12",
    "SELECT max_by(word, id), min_by(word, id), first(cluster) FROM odd.deleted WHERE id IN (12, 15)",
    "SELECT DISTINCT cluster FROM odd.deleted ORDER BY cluster",
    "SELECT count(*) FROM odd.deleted a NATURAL JOIN odd.deleted b",
    "SELECT id, `how many` FROM odd.deleted a JOIN odd.counted b ON b.cluster = a.cluster WHERE id = 12",
    "SELECT cluster, id DIV 50, count(*) FROM odd.deleted GROUP BY 1, 2 ORDER BY 1, 2",
    "SELECT * FROM VALUES (1, 'a'), (2, 'b') AS t (n, word)",
    "SELECT sum(price) AS total, percentile(n, 0.4) AS p, median(n) AS m FROM odd.kinds",
    "SELECT collect_list(ok) AS oks, count(DISTINCT cluster, n) AS n FROM odd.kinds",
    "SELECT transform(words, w -> upper(w)) AS up, filter(words, w -> w = 'a') AS a FROM odd.kinds",
    "SELECT split('a,b', ',') AS parts, instr('abc', 'b') AS at, regexp_extract('x12', '([0-9]+)', 1) AS n",
    "SELECT greatest(1, null, 3) AS g, nullif(1, 1) AS n, 7 <=> null AS same, concat('a', null) AS c",
    "SELECT datediff(day, date '2026-01-01') AS days, date_format(at, 'yyyy-MM-dd HH:mm') AS f "
    "FROM odd.kinds WHERE n = 1",
    "SELECT timestampdiff(SECOND, timestamp '2026-01-01', timestamp '2026-01-01 00:01:30') AS s",
    "SELECT count_if(n > 0) AS c, count(*) AS a FROM odd.kinds WHERE n < -9",
    "SELECT max_by(a, b) AS x, min_by(unix_millis(c), b) AS y FROM VALUES (1, 1, null), "
    "(null, 2, timestamp '1969-01-01 00:00:00.0007') AS t (a, b, c)",
    "SELECT floor(n / 2) AS f, floor(-0.5D) AS g, unix_millis(timestamp '2026-01-01 00:00:00.0009') AS m "
    "FROM odd.kinds",
    r"""SELECT to_json(struct(a, b, c)) AS j, to_json(collect_list(struct(b, a)) OVER ()) AS k FROM VALUES
    (null, 'x"y,"b":null{', null), (1, null, array(named_struct('d', null))),
    (null, null, null) AS t (a, b, c)""",
    "SELECT n, stack(2, 'one', n, 'ten', n * 10) AS (name, number), cluster FROM odd.kinds",
    "SELECT date_format(at, 'yyyy-MM-dd\\'T\\'HH:mm:ss.SSSXXX') AS f FROM odd.kinds WHERE n < 9",
    "SELECT /*+ broadcast(b) */ a.id FROM odd.deleted a JOIN odd.deleted b ON a.id = b.id ORDER BY 1",
    "SELECT stddev(id) > 1 AS s, approx_count_distinct(cluster) AS a, any_value(1) AS v FROM odd.deleted",
]


@pytest.mark.parametrize("query", QUERIES, ids=range(len(QUERIES)))
def test_queries_mean_what_they_mean_to_spark(made: Made, reader: Reader, query: str) -> None:
    expected, found = SparkReader(made[0]).query(query), reader.query(query)
    assert found.column_names == expected.column_names
    ordered = "ORDER BY" in query
    by_spark, by_duckdb = rows(expected), rows(found)
    key: Callable[[list[dict[str, Any]]], list[str]] = (
        (lambda each: list(map(repr, each))) if ordered else (lambda each: sorted(map(repr, each)))
    )
    assert key(by_duckdb) == key(by_spark)


def test_one_query_after_another_has_its_columns(reader: Reader) -> None:
    """The table has deletes, so that only the columns in question are loaded: of all queries so far."""
    for column in ("id", "word"):
        assert reader.query("SELECT * FROM odd.counted").num_rows == 3
        assert reader.query(f"SELECT {column} FROM odd.deleted").column_names == [column]


@pytest.mark.parametrize("engine", ENGINES)
def test_parameters_are_values(made: Made, engine: str) -> None:
    asked = {"word": "it's :id", "id": 5, "at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "none": None}
    query = "SELECT :word AS word, :id + 1 AS id, :at AS at, :none IS NULL AS nothing"
    with open_lake(made[1]) as lake:
        found = rows((SparkReader(made[0]) if engine == "spark" else lake).query(query, **asked, unused=1))
    assert found == [{"word": "it's :id", "id": 6, "at": dt.datetime(2026, 1, 1), "nothing": True}]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("SELECT * FROM odd.none", "The lake has no table odd.none. odd has: odd.changed, "),
        ("SELECT * FROM odd.kind", "Near: odd.kinds"),
        ("SELECT * FROM none.kinds", "the schemas are bronze, ledger, odd, silver, verdicts"),
        ("SELECT nothing FROM odd.kinds", "DuckDB, which runs queries here, refused this one: Binder Error"),
        ("SELECT * FROM kinds", "The lake has no table kinds. Near: "),
        ("SELECT FROM WHERE", "sqlglot, which translates Spark's SQL, cannot read this (line 1, column "),
        ("SELECT values FROM odd.kinds", "needs backquotes: `values`"),
        ("DESCRIBE odd.none", "The lake has no table odd.none. odd has: odd.changed, "),
        ("DELETE FROM odd.kinds", "one query that reads (SELECT, WITH, DESCRIBE, SHOW)"),
        ("SELECT 1; SELECT 2", "one query that reads (SELECT, WITH, DESCRIBE, SHOW)"),
        ("DESCRIBE kinds", "The lake has no table kinds. Near: odd.kinds"),
        ("SHOW COLUMNS IN odd.none", "The lake has no table odd.none. odd has: odd.changed, "),
        ("SHOW TABLES IN none", "The lake has no schema none, but bronze, ledger, odd, silver, verdicts."),
        ("SELECT * FROM odd.kinds.files", "odd.kinds.files: there is no catalog odd"),
        ("SELECT * FROM odd.kinds VERSION AS OF 1", "Older versions of a table"),
    ],
)
def test_what_cannot_be_asked_is_told_in_words(reader: Reader, query: str, words: str) -> None:
    with pytest.raises(LakeError) as caught:
        reader.query(query)
    assert words in str(caught.value)


def test_a_table_and_a_view_are_described_as_in_spark(made: Made) -> None:
    with open_lake(made[1]) as lake:
        for name in ("odd.kinds", "odd.doubled"):
            by_spark = made[0].sql(f"DESCRIBE {name}").select("col_name", "data_type").toArrow()
            described = lake.query(f"describe table {name}")
            assert rows(described) == rows(by_spark)[: described.num_rows]
            assert described.num_rows == len(lake.scan(name).column_names)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_what_the_lake_has_is_shown(made: Made, reader: Reader, engine: str) -> None:
    """As Spark shows it, and views as well, of one schema or all, by either engine."""
    spark = made[0]
    asked = reader if engine == "duckdb" else SparkReader(spark)

    def shown(query: str) -> list[tuple[str, ...]]:
        return sorted(tuple(row.values()) for row in rows(asked.query(query)))

    def by_spark(query: str) -> list[tuple[str, ...]]:
        return sorted(tuple(row)[:2] for row in spark.sql(query).collect())

    of_odd = [*by_spark("SHOW TABLES IN odd"), ("odd", "counted"), ("odd", "doubled")]
    assert shown("show tables in odd") == shown("SHOW TABLES FROM `odd` ;") == sorted(of_odd)
    assert shown("SHOW TABLES IN odd LIKE 'c*|k*'") == [
        ("odd", "changed"),
        ("odd", "counted"),
        ("odd", "kinds"),
    ]
    assert {schema for schema, _ in shown("SHOW TABLES")} == {"bronze", "ledger", "odd", "silver", "verdicts"}
    # a schema without tables is none without Spark
    assert {*shown("SHOW SCHEMAS"), ("marts",)} == {*by_spark("SHOW SCHEMAS")}
    columns = by_spark("SHOW COLUMNS IN odd.kinds")
    assert shown("SHOW COLUMNS IN odd.kinds") == shown("SHOW COLUMNS FROM kinds IN odd") == columns
    assert shown("SHOW COLUMNS IN lake.odd.doubled") == [("cluster",), ("twice",)]
    assert shown("desc odd.doubled") == [("cluster", "string"), ("twice", "bigint")]


def test_spark_tells_in_words_what_it_refuses(made: Made, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(QueryError, match=r"Spark refused the query: .*nothing") as refused:
        SparkReader(made[0]).query("SELECT nothing FROM odd.kinds")
    assert "\n" not in str(refused.value)
    assert capfd.readouterr() == ("", "")
    with pytest.raises(LakeError, match="`fencepost audit` makes the tables"):
        SparkReader(made[0]).scan("odd.none")


def test_nothing_is_there(tmp_path: Path, made: Made) -> None:
    with open_lake(elsewhere(made[1], tmp_path / "catalog.db")) as lake:
        with pytest.raises(LakeError, match=r"catalog\.db cannot be read .*Check \[lake\]"):
            lake.has("odd.kinds")
        assert list(tmp_path.iterdir()) == []
    sqlite3.connect(tmp_path / "catalog.db").close()
    with open_lake(elsewhere(made[1], tmp_path / "catalog.db")) as lake:
        assert not lake.has("odd.kinds")
    (tmp_path / "catalog.db").write_text("no database " * 1000)
    with (
        open_lake(elsewhere(made[1], tmp_path / "catalog.db")) as lake,
        pytest.raises(LakeError, match="not a database"),
    ):
        lake.has("odd.kinds")


def test_a_locked_catalog_is_told(tmp_path: Path, made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fencepost.reading.tables._BUSY_SECONDS", 0.1)
    settings = elsewhere(made[1], tmp_path / "catalog.db")
    shutil.copy(made[1].lake.catalog.removeprefix("sqlite:///"), tmp_path / "catalog.db")
    lock = sqlite3.connect(tmp_path / "catalog.db", isolation_level=None)
    try:
        lock.execute("PRAGMA journal_mode = DELETE")
        lock.execute("BEGIN EXCLUSIVE")
        with (
            open_lake(settings) as lake,
            pytest.raises(LakeError, match="another process has locked the catalog"),
        ):
            lake.has("odd.kinds")
    finally:
        lock.close()


def test_tables_stay_as_they_were_when_the_lake_was_opened(made: Made) -> None:
    spark, settings = made
    spark.sql("CREATE TABLE odd.grows (n int) USING iceberg")
    spark.sql("INSERT INTO odd.grows VALUES (1)")
    with open_lake(settings) as lake:
        assert lake.has("odd.grows")
        spark.sql("INSERT INTO odd.grows VALUES (2)")
        assert lake.scan("odd.grows").num_rows == 1
    with open_lake(settings) as lake:
        assert lake.scan("odd.grows").num_rows == 2


def test_a_folder_may_be_called_anything(made: Made, tmp_path: Path) -> None:
    """Brackets and stars are patterns to whoever opens files by pattern."""
    spark, _ = made
    location = tmp_path / "od[d] *'na?me"
    spark.sql(f"""CREATE TABLE odd.elsewhere (n int) USING iceberg LOCATION "{location}" """)
    spark.sql("INSERT INTO odd.elsewhere VALUES (1), (2)")
    with open_lake(made[1]) as lake:
        assert sorted(row["n"] for row in rows(lake.scan("odd.elsewhere"))) == [1, 2]


def elsewhere(settings: Settings, database: Path) -> Settings:
    return Settings(settings.path, Lake(settings.lake.warehouse, f"sqlite:///{database}"), settings.clusters)
