"""Keep beside Spark's jars what each lake would make anew: archived classes, the marts parsed and compiled.

They are made by what most sessions do: dbt builds every mart, of an empty lake. The archive belongs to one
JVM and class path; another JVM leaves it aside. What was parsed belongs to one version of dbt; another leaves
it aside, and files that have changed since are parsed again. What was compiled belongs to the code as it is.

Usage: ``python requirements/archive_classes.py``, when the jars are there. ``FENCEPOST_JARS`` as everywhere.
"""

from __future__ import annotations

import dataclasses
import shutil
import sys
import tempfile
from pathlib import Path

from pyspark import SparkContext

from fencepost import marts, pipeline
from fencepost.jars import prepared, spark_jars
from fencepost.marts.in_spark import build_all
from fencepost.places import work_folder
from fencepost.session import CLASS_ARCHIVE, java_options
from fencepost.settings import Broker, Cluster, Lake, Settings


def main() -> int:
    """Make them, unless they are there; gives back the exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        settings = Settings(
            path=folder / "fencepost.toml",
            lake=Lake(str(folder / "warehouse"), f"sqlite:///{folder / 'catalog.db'}"),
            clusters=(Cluster("none", (Broker(1),)),),
        )
        jars = spark_jars(settings)
        archive, parsed = prepared(jars, CLASS_ARCHIVE), prepared(jars, marts.PARSED)
        compiled = prepared(jars, marts.COMPILED)
        if all(each.is_file() for each in (archive, parsed, compiled)):
            return 0
        print(
            "Preparing Spark's classes, so that it starts in half the time (once; a minute) ...",
            flush=True,
        )
        # a JVM that starts from an archive makes none
        archive.unlink(missing_ok=True)
        options = f"{java_options(jars, small=True)} -XX:ArchiveClassesAtExit={archive} -Xlog:cds*=off"
        spark = {**settings.spark, "spark.driver.extraJavaOptions": options}
        with pipeline.Run(dataclasses.replace(settings, spark=spark)) as run:
            run.catalog  # noqa: B018 (the tables are made)
            build_all(run.spark(), run.settings)
            shutil.copyfile(work_folder(run.settings, "dbt") / "target" / marts.PARSED, parsed)
            marts.project(run.settings)
            shutil.copyfile(work_folder(run.settings, "dbt") / marts.COMPILED, compiled)
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
