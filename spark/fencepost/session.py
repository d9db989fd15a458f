"""The one place that builds a Spark session: jars, catalog, and a quiet console.

Everything is plain Spark configuration, so the same code runs locally, standalone, on Kubernetes or on YARN:
``[spark]`` in the configuration file overrides any option given here.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

from py4j.java_gateway import JavaGateway
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkRuntimeError
from pyspark.java_gateway import launch_gateway
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession

from fencepost.engines import MANY_ROWS
from fencepost.engines.interrupts import keeping_handler, starting_deaf
from fencepost.iceberg.catalog import NAME, CatalogError, spark_catalog_conf
from fencepost.jars import SessionError, java_version, prepared, spark_jars
from fencepost.protocols import functions
from fencepost.reading import LakeError
from fencepost.reading.tables import row_count, tables_of
from fencepost.settings import Lake, Settings

CLASS_ARCHIVE = "classes.jsa"
"""The file, beside the jars, with the prepared classes of a session (the JVM's dynamic AppCDS archive)."""

# as Spark's spark.redaction.regex
_SECRET = re.compile(r"secret|password|token|access[.-]?key", re.IGNORECASE)

# Without this option Spark parses every query twice, first for parameters, which no query here has.
_PARSED_ONCE = {"spark.sql.legacy.parameterSubstitution.constantsOnly": "true"}
_FOR_FEW_ROWS = {
    **_PARSED_ONCE,
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # each broadcast is a job of its own, and takes more memory than to sort few rows
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    # Tables are partitioned by cluster, by which all joins are, too. So Spark copies one side of each join
    # into a filter of the other side, and again in each copy: a query of ten tables had 3,000 nodes.
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
}
# Whole stages are not compiled: their code is so large that compiling takes more time than it saves.
_FOR_MANY_ROWS = {
    **_PARSED_ONCE,
    "spark.sql.shuffle.partitions": "200",
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "FALLBACK",
    "spark.sql.autoBroadcastJoinThreshold": "10m",
}


def spark_session(settings: Settings, *, small: bool = True) -> SparkSession:
    """A session whose default catalog is the configured lake; ``small``: as in :func:`session_conf`.

    A process has one JVM. So a second call returns the same session or, for another lake, a new session with
    its own catalog in that JVM. Queries are planned by the new ``small``, but the options of the JVM stay as
    they are. Raises SessionError if Java or the jars are missing.
    """
    if SparkContext._active_spark_context is None:
        context = spark_context(settings, small=small)
        session = _with_functions(SparkSession.builder.getOrCreate())
        if not str(context.master).startswith("yarn"):
            _drop_defaults(context)
        return session
    session = SparkSession.getActiveSession() or SparkSession(SparkContext._active_spark_context)
    catalog_conf = spark_catalog_conf(settings.lake)
    if any(session.conf.get(key, None) != value for key, value in catalog_conf.items()):
        session = session.newSession()
        for key, value in catalog_conf.items():
            session.conf.set(key, value)
        _with_functions(session)
    for key, value in _plans(small=small).items():
        session.conf.set(key, settings.spark.get(key, value))
    return session


def session_for_lake(settings: Settings) -> SparkSession:
    """A session on an existing lake. It plans queries for as many rows as all tables have now, and for many
    if PyIceberg cannot count them. Raises SessionError.
    """
    try:
        small = row_count(tables_of(settings.lake)) < MANY_ROWS
    except (CatalogError, LakeError):
        small = False
    return spark_session(settings, small=small)


def session_conf(settings: Settings, *, small: bool = True) -> dict[str, str]:
    """Every option of the session, also for a caller that starts Spark in another process (dbt,
    spark-submit).

    ``small``: the tables have so few rows that compiling code for them does not pay.
    """
    jars = spark_jars(settings)
    local = settings.spark.get("spark.master", "local").startswith("local")
    # a local driver reads jars from its class path: with spark.jars it would copy all of them at every start
    jar_conf = (
        {"spark.driver.extraClassPath": os.pathsep.join(map(str, jars))}
        if local
        else {"spark.jars": ",".join(map(str, jars))}
    )
    return {
        "spark.app.name": "fencepost",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": java_options(jars, small=small),
        "spark.ui.showConsoleProgress": "false",
        **_KEEP_LITTLE,
        "spark.pyspark.python": sys.executable,
        "spark.python.daemon.module": "fencepost.engines.workers",
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.defaultCatalog": NAME,
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(Path(tempfile.gettempdir()) / "fencepost-spark-warehouse"),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # ten thousand rows at a time may be gigabytes: values of a group's records can be large
        "spark.sql.execution.arrow.maxBytesPerBatch": "32m",
        **_plans(small=small),
        **jar_conf,
        **spark_catalog_conf(settings.lake),
        **settings.spark,
    }


_KEEP_LITTLE = {
    # by default a driver keeps a thousand queries with their plans for its web pages: of marts megabytes each
    "spark.sql.ui.retainedExecutions": "20",
    "spark.ui.retainedJobs": "100",
    "spark.ui.retainedStages": "100",
    # what a history server shows of each query: its plan, without every operator's columns once more
    "spark.sql.ui.explainMode": "simple",
}


_TOLD_TWICE = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""By these PySpark prints errors about queries, with the JVM's stack. It also raises them."""


def _plans(*, small: bool) -> dict[str, str]:
    return _FOR_FEW_ROWS if small else _FOR_MANY_ROWS


def java_options(jars: list[Path], *, small: bool) -> str:
    """Options of the driver's JVM.

    A small run ends before the optimizing compiler (C2) and the parallel collector pay for themselves. Its
    young generation holds the plan of a large query, else collections of garbage take a sixth of the run;
    twice as much of it saves a second, and takes a quarter of a gigabyte once tasks hand over rows.
    Classes come from an archive if setup has made one (CLASS_ARCHIVE).
    """
    log4j2 = Path(__file__).with_name("log4j2.properties").as_uri()
    options = ["-Duser.timezone=UTC", f"-Dlog4j2.configurationFile={log4j2}"]
    if small:
        # C1's default code cache is too small for Spark, which would then be interpreted
        options += ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:ReservedCodeCacheSize=256m"]
        options += ["-Xms384m", "-Xmn256m"]
    archive = prepared(jars, CLASS_ARCHIVE)
    if small and archive.is_file():
        # the JVM silently ignores an archive of another JVM or class path
        options += [f"-XX:SharedArchiveFile={archive}", "-Xlog:cds*=off", "-Xlog:class+path=off"]
    return " ".join(options)


def _with_functions(session: SparkSession) -> SparkSession:
    """The same session, with the functions of the protocols registered for its queries."""
    for each in functions():
        session.udf.register(each.name, partial(_unless_null, each.call), each.returns)
    return session


def _unless_null(call: Callable[..., Any], *values: Any) -> Any:
    """Call the function as SQL does: the result is null if an argument is null."""
    if None in values:
        return None
    # Spark passes bytes as a bytearray
    return call(*(bytes(value) if isinstance(value, bytearray) else value for value in values))


def spark_context(settings: Settings, *, small: bool = True) -> SparkContext:
    """The process's Spark context, which is started if there is none; ``small``: as in :func:`session_conf`.

    Raises SessionError if Java or the jars are missing.
    """
    if SparkContext._active_spark_context is not None:
        return SparkContext._active_spark_context
    java_version()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # without it Spark resolves the machine's name, and warns if that is a loopback address
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # by default glibc keeps freed memory for each of the JVM's many threads: 70 MiB
    os.environ.setdefault("MALLOC_ARENA_MAX", "2")
    conf = SparkConf(loadDefaults=False)
    conf.setAll(list(session_conf(settings, small=small).items()))
    # a JVM whose context was stopped is still running and is used again
    gateway = None if SparkContext._gateway else _launch(conf, settings.lake)
    with keeping_handler():  # Spark's own calls the JVM, perhaps within a call
        return SparkContext(conf=conf, gateway=gateway)


def _drop_defaults(context: SparkContext) -> None:
    """Drop the defaults of YARN and of MapReduce from Hadoop's configuration: 700 of its 1,100 values, which
    no file system reads. Iceberg writes the configuration into what it sends to the tasks of each scan.
    Spark reads them when it prepares its first query: so a session must have been used.
    """
    conf, jvm = context._jsc.hadoopConfiguration(), context._jvm
    assert jvm is not None
    text = jvm.java.io.StringWriter()
    jvm.org.apache.hadoop.conf.Configuration.dumpConfiguration(conf, text)
    for value in json.loads(text.toString())["properties"]:
        if value["resource"] in ("yarn-default.xml", "mapred-default.xml"):
            conf.unset(value["key"])


def _launch(conf: SparkConf, lake: Lake) -> JavaGateway:
    logging.getLogger("py4j").setLevel(logging.WARNING)
    logging.getLogger().addFilter(_is_not_of_py4j)
    for name in _TOLD_TWICE:
        PySparkLogger.getLogger(name).disabled = True
    with _spark_log(lake) as log:
        try:
            with starting_deaf():
                return launch_gateway(_without_secrets(conf), {"stderr": log})  # type: ignore[no-untyped-call]
        except PySparkRuntimeError as error:
            raise SessionError(
                f"Java did not start Spark. The reason is at the end of {log.name}."
            ) from error


def _without_secrets(conf: SparkConf) -> SparkConf:
    """The options with which a JVM is started: every user of the machine can read its command line. The
    context gets the others, too, and only the session reads those of the catalog.
    """
    shown = SparkConf(loadDefaults=False)
    for name, value in conf.getAll():
        if not name.startswith(f"spark.sql.catalog.{NAME}") and not _SECRET.search(name):
            shown.set(name, value)
    return shown


def _is_not_of_py4j(record: logging.LogRecord) -> bool:
    """py4j logs errors, with their tracebacks, by the root logger. It raises them, too."""
    return Path(record.pathname).parent.name != "py4j"


def _spark_log(lake: Lake) -> IO[bytes]:
    """The file for the JVM's standard error: beside a local catalog, otherwise a temporary one."""
    folder = lake.folder
    if folder is None:
        return tempfile.NamedTemporaryFile(prefix="fencepost-spark-", suffix=".log", delete=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        return (folder / "spark.log").open("ab")
    except OSError as error:
        raise SessionError(
            f"{folder}: cannot be written ({error.strerror}). Give the lake another place."
        ) from error
