"""Catalogs by configuration: the properties that PyIceberg and Spark are given, and how both read by them."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from fencepost.environment import MissingVariableError
from fencepost.iceberg.catalog import (
    CatalogError,
    MissingPackageError,
    catalog_properties,
    is_on_s3,
    open_catalog,
    spark_catalog_conf,
)
from fencepost.iceberg.patience import ATTEMPTS, PatientStrategy
from fencepost.opening import open_lake, reads_without_spark
from fencepost.reading import LakeError, rows
from fencepost.reading.spark import SparkReader
from fencepost.session import spark_session
from fencepost.settings import Lake, Settings

Made = tuple[SparkSession, Settings]
PREFIX = "spark.sql.catalog.lake"


def test_sqlite_is_the_default() -> None:
    lake = Lake("/lake/warehouse", "sqlite:////lake/catalog.db", {"io.threads": "2"})
    assert catalog_properties(lake) == {
        "type": "sql",
        "uri": "sqlite:////lake/catalog.db",
        "warehouse": "/lake/warehouse",
        "io.threads": "2",
    }
    assert spark_catalog_conf(lake) == {
        PREFIX: "org.apache.iceberg.spark.SparkCatalog",
        f"{PREFIX}.type": "jdbc",
        f"{PREFIX}.uri": "jdbc:sqlite:/lake/catalog.db?journal_mode=WAL&busy_timeout=60000",
        f"{PREFIX}.jdbc.schema-version": "V1",
        f"{PREFIX}.cache-enabled": "false",
        f"{PREFIX}.warehouse": "/lake/warehouse",
        f"{PREFIX}.io.threads": "2",
    }


def test_rest_is_called_the_same_by_both() -> None:
    properties = {"type": "rest", "uri": "https://catalog", "token": "t", "s3.endpoint": "https://store"}
    lake = Lake("analytics", "rest", properties)
    # PyArrow would give up after a second or two
    patient = {"s3.retry-strategy-impl": f"{PatientStrategy.__module__}.{PatientStrategy.__name__}"}
    assert PatientStrategy().max_attempts == ATTEMPTS
    assert catalog_properties(lake) == {**properties, **patient, "warehouse": "analytics"}
    conf = spark_catalog_conf(lake)
    assert {name: conf[f"{PREFIX}.{name}"] for name in properties} == properties
    assert conf[f"{PREFIX}.warehouse"] == "analytics"


@pytest.mark.parametrize(
    ("properties", "uri"),
    [
        ({"uri": "jdbc:postgresql://db:5432/lake"}, "postgresql+psycopg://db:5432/lake"),
        (
            {"uri": "jdbc:postgresql://db/lake?ssl=true", "jdbc.user": "me@x", "jdbc.password": "p:/w"},
            "postgresql+psycopg://me%40x:p%3A%2Fw@db/lake?sslmode=verify-full",
        ),
        (
            {"uri": "jdbc:postgresql://db/lake?sslmode=require&tcpKeepAlive=true&sslrootcert=/a%20b"},
            "postgresql+psycopg://db/lake?sslmode=require&sslrootcert=%2Fa+b",
        ),
        ({"uri": "jdbc:sqlite:/lake/catalog.db?busy_timeout=1"}, "sqlite:////lake/catalog.db"),
    ],
)
def test_a_database_is_named_as_each_of_them_names_it(properties: dict[str, str], uri: str) -> None:
    lake = Lake("s3://bucket/lake", "jdbc", {"type": "jdbc", **properties})
    found = catalog_properties(lake)
    assert (found["type"], found["uri"]) == ("sql", uri)
    assert spark_catalog_conf(lake)[f"{PREFIX}.uri"] == properties["uri"]
    assert spark_catalog_conf(lake)[f"{PREFIX}.jdbc.schema-version"] == "V1"


def test_secrets_are_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    properties = {"type": "jdbc", "uri": "jdbc:postgresql://db/lake", "jdbc.password": "${DB_PASSWORD}"}
    lake = Lake("/w", "jdbc", {**properties, "jdbc.user": "me"})
    monkeypatch.delenv("DB_PASSWORD", raising=False)
    for of in (catalog_properties, spark_catalog_conf):
        with pytest.raises(
            MissingVariableError, match=r"lake\.catalog_properties\.jdbc\.password: .* no DB_PASSWORD"
        ):
            of(lake)
    monkeypatch.setenv("DB_PASSWORD", "p:/w")
    assert catalog_properties(lake)["uri"] == "postgresql+psycopg://me:p%3A%2Fw@db/lake"
    assert spark_catalog_conf(lake)[f"{PREFIX}.jdbc.password"] == "p:/w"


def test_spark_is_told_what_pyiceberg_knows_of_a_store_on_s3() -> None:
    properties = {"type": "rest", "uri": "u", "s3.endpoint": "http://store", "s3.region": "eu"}
    conf = spark_catalog_conf(Lake("s3://bucket/lake", "rest", properties))
    assert conf[f"{PREFIX}.io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    assert conf[f"{PREFIX}.client.region"] == "eu"
    assert conf[f"{PREFIX}.s3.path-style-access"] == "true"
    own = {**properties, "s3.path-style-access": "false", "io-impl": "org.example.IO"}
    told = spark_catalog_conf(Lake("s3://bucket/lake", "rest", own))
    assert (told[f"{PREFIX}.io-impl"], told[f"{PREFIX}.s3.path-style-access"]) == ("org.example.IO", "false")


def test_properties_say_that_a_warehouse_with_a_name_is_on_s3() -> None:
    of_store = {"type": "rest", "uri": "u", "s3.region": "eu"}
    own = {"type": "rest", "uri": "u", "io-impl": "org.apache.iceberg.aws.s3.S3FileIO"}
    assert is_on_s3(Lake("analytics", "rest", of_store))
    assert is_on_s3(Lake("analytics", "rest", own))
    assert not is_on_s3(Lake("analytics", "rest", {"type": "rest", "uri": "u"}))
    # logs may be on S3 where the lake is not
    assert not is_on_s3(Lake("/lake", "sqlite:////c.db", of_store))
    assert not is_on_s3(Lake("gs://bucket/lake", "rest", of_store))


@pytest.mark.parametrize(
    "properties",
    [
        {"type": "hadoop"},
        {"catalog-impl": "org.example.Own"},
        {"type": "jdbc", "uri": "jdbc:oracle:thin:@db"},
    ],
)
def test_what_pyiceberg_does_not_know_is_spark_s(properties: dict[str, str]) -> None:
    lake = Lake("/w", "other", properties)
    assert not reads_without_spark(lake)
    with pytest.raises(CatalogError):
        open_catalog(lake)
    assert spark_catalog_conf(lake)[f"{PREFIX}.warehouse"] == "/w"


@pytest.fixture(scope="module")
def made(new_lake: Callable[[], Made]) -> Made:
    """A lake in SQLite with a table and a view."""
    spark, settings = new_lake()
    spark.sql("CREATE SCHEMA odd")
    spark.sql("CREATE TABLE odd.numbers (n int, at timestamp) USING iceberg")
    spark.sql("INSERT INTO odd.numbers VALUES (1, timestamp '2026-01-01 12:00:00'), (2, null)")
    spark.sql("CREATE VIEW odd.doubled AS SELECT n * 2 AS twice FROM odd.numbers")
    return spark, settings


ENDPOINTS = [
    "GET /v1/{prefix}/namespaces",
    "GET /v1/{prefix}/namespaces/{namespace}",
    *(
        f"{verb} /v1/{{prefix}}/namespaces/{{namespace}}/{each}"
        for each in ("tables", "tables/{table}", "views", "views/{view}")
        for verb in ("GET", "HEAD")
    ),
]


class Rest(BaseHTTPRequestHandler):
    """As much of Iceberg's REST catalog as reading asks for, over the tables of a catalog in SQLite."""

    entries: dict[tuple[str, str], dict[str, Any]]

    def do_GET(self) -> None:
        parts = self.path.partition("?")[0].strip("/").split("/")[1:]
        match parts:
            case ["config"]:
                self.answer({"defaults": {}, "overrides": {}, "endpoints": ENDPOINTS})
            case ["namespaces"]:
                self.answer({"namespaces": [["odd"]]})
            case ["namespaces", "odd"]:
                self.answer({"namespace": ["odd"], "properties": {}})
            case ["namespaces", "odd", "tables"]:
                tables = [name for kind, name in self.entries if kind == "tables"]
                self.answer({"identifiers": [{"namespace": ["odd"], "name": name} for name in tables]})
            case ["namespaces", "odd", kind, name] if (kind, name) in self.entries:
                self.answer(self.entries[kind, name])
            case _:
                kind = "View" if "views" in parts else "Table"
                words = {"message": "there is none", "type": f"NoSuch{kind}Exception", "code": 404}
                self.answer({"error": words}, 404)

    do_HEAD = do_GET  # noqa: N815

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.answer({})

    def answer(self, body: dict[str, Any], status: int = 200) -> None:
        content = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def rest(made: Made) -> Iterator[Settings]:
    """The same lake, behind a REST catalog on loopback."""
    import gzip

    database = made[1].lake.catalog.removeprefix("sqlite:///")
    query = (
        "SELECT iceberg_type, table_name, metadata_location FROM iceberg_tables WHERE table_namespace = 'odd'"
    )
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute(query).fetchall()
    entries = {}
    for kind, name, location in found:
        content = Path(location).read_bytes()
        content = gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
        entries[f"{kind.lower()}s", name] = {
            "metadata-location": location,
            "metadata": json.loads(content),
            "config": {},
        }
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Over", (Rest,), {"entries": entries}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    properties = {"type": "rest", "uri": f"http://127.0.0.1:{server.server_port}"}
    yield Settings(made[1].path, Lake("", "rest", properties), made[1].clusters, spark=made[1].spark)
    server.shutdown()
    server.server_close()


def test_a_rest_catalog_is_read_by_both(rest: Settings) -> None:
    expected = SparkReader(spark_session(rest)).query("SELECT * FROM odd.numbers ORDER BY n")
    with open_lake(rest) as lake:
        assert lake.engine == "duckdb"
        found = lake.query("SELECT * FROM odd.numbers ORDER BY n")
        assert found.schema.types == expected.schema.types
        assert rows(found) == rows(expected)
        assert len(rows(found)) == 2
        assert rows(lake.query("SELECT sum(twice) AS s FROM odd.doubled")) == [{"s": 6}]
        assert not lake.has("odd.none")
        with pytest.raises(LakeError, match=r"no table odd\.none. Near: |odd has: odd\.numbers"):
            lake.scan("odd.none")


def test_a_catalog_that_does_not_answer_is_told(made: Made) -> None:
    properties = {"type": "rest", "uri": "http://127.0.0.1:9"}
    silent = Settings(made[1].path, Lake("", "rest", properties), made[1].clusters)
    with (
        pytest.raises(LakeError, match=r"The catalog rest cannot be read .*Check \[lake\]"),
        open_lake(silent),
    ):
        pass


def test_a_database_given_as_jdbc_is_the_same_catalog(made: Made) -> None:
    database = made[1].lake.catalog.removeprefix("sqlite:///")
    properties = {"type": "jdbc", "uri": f"jdbc:sqlite:{database}"}
    settings = Settings(
        made[1].path, Lake(made[1].lake.warehouse, "jdbc", properties), made[1].clusters, spark=made[1].spark
    )
    by_spark = rows(SparkReader(spark_session(settings)).query("SELECT twice FROM odd.doubled ORDER BY 1"))
    with open_lake(settings) as lake:
        assert (
            rows(lake.query("SELECT twice FROM odd.doubled ORDER BY 1"))
            == by_spark
            == [{"twice": 2}, {"twice": 4}]
        )


def test_a_driver_that_is_not_there_leaves_the_lake_to_spark(
    made: Made, monkeypatch: pytest.MonkeyPatch
) -> None:
    properties = {"type": "jdbc", "uri": "jdbc:postgresql://127.0.0.1:9/lake"}
    settings = Settings(made[1].path, Lake("/w", "jdbc", properties), made[1].clusters, spark=made[1].spark)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingPackageError, match=r"fencepost\[collect\]"), open_lake(settings, "duckdb"):
        pass
    monkeypatch.setattr("fencepost.reading.spark.session_for_lake", lambda _: made[0])
    with open_lake(settings) as lake:
        assert lake.engine == "spark"


def test_pyiceberg_s_own_catalog_finds_what_spark_wrote(made: Made) -> None:
    """What writes to the lake opens it in this way."""
    catalog = open_catalog(made[1].lake)
    assert catalog.load_table("odd.numbers").scan().to_arrow().num_rows == 2
    assert ("odd", "doubled") not in catalog.list_tables("odd")


def test_a_catalog_of_spark_alone_is_read_by_spark(made: Made, tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "hadoop", {"type": "hadoop"})
    settings = Settings(made[1].path, lake, made[1].clusters, spark=made[1].spark)
    spark = spark_session(settings)
    spark.sql("CREATE TABLE odd.here (n int) USING iceberg")
    spark.sql("INSERT INTO odd.here VALUES (7)")
    with open_lake(settings) as reader:
        assert reader.engine == "spark"
        assert rows(reader.scan("odd.here", where={"n": 7})) == [{"n": 7}]
        assert reader.has("odd.here")
        assert not reader.has("odd.none")
    # the session was there before, and still is
    assert spark.sql("SELECT 1").count() == 1


def test_hadoops_configuration_has_what_file_systems_read(made: Made) -> None:
    conf = spark_session(made[1]).sparkContext._jsc.hadoopConfiguration()
    said = {name: conf.get(name) for name in ("fs.defaultFS", "yarn.acl.enable", "mapreduce.task.timeout")}
    assert said == {"fs.defaultFS": "file:///", "yarn.acl.enable": None, "mapreduce.task.timeout": None}
