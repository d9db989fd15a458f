"""Archive the classes that a session of Spark loads, beside its jars: the next JVM starts in half the time.

The archive is made by what most sessions do: dbt builds every mart, of an empty lake. It belongs to one JVM
and one class path; another JVM leaves it aside.

Usage: ``python requirements/archive_classes.py``, when the jars are there. ``FENCEPOST_JARS`` as everywhere.
"""

from __future__ import annotations

import dataclasses
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext

from fencepost import marts, pipeline
from fencepost.session import CLASS_ARCHIVE, java_options, spark_jars
from fencepost.settings import Broker, Cluster, Lake, Settings


def main() -> int:
    """Make the archive, if it is not there; gives back the exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        settings = Settings(
            path=folder / "fencepost.toml",
            lake=Lake(str(folder / "warehouse"), f"sqlite:///{folder / 'catalog.db'}"),
            clusters=(Cluster("none", (Broker(1),)),),
        )
        jars = spark_jars(settings)
        archive = jars[0].with_name(CLASS_ARCHIVE)
        if archive.is_file():
            return 0
        print(
            "Preparing Spark's classes, so that it starts in half the time (once; a minute) ...",
            flush=True,
        )
        options = f"{java_options(jars, small=True)} -XX:ArchiveClassesAtExit={archive} -Xlog:cds*=off"
        spark = {**settings.spark, "spark.driver.extraJavaOptions": options}
        with pipeline.Run(dataclasses.replace(settings, spark=spark)) as run:
            run.catalog  # noqa: B018 (the tables are made)
            marts.build(run.spark(), run.settings)
        _end_jvm()
    return 0


def _end_jvm() -> None:
    """End the JVM and wait for it: it writes the archive when it ends."""
    gateway = SparkContext._gateway
    assert gateway is not None
    gateway.shutdown()
    # it lives as long as its standard input is open
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=300)


if __name__ == "__main__":
    sys.exit(main())
