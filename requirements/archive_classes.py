"""Keep beside Spark's jars what each lake would make anew: archived classes, the marts parsed and compiled.

The classes are those that an audit of the demo's healthy cluster needs. The archive belongs to one
JVM and class path; another JVM leaves it aside. What was parsed belongs to one version of dbt; another leaves
it aside, and files that have changed since are parsed again. What was compiled belongs to the code as it is:
where that has changed since, as after an upgrade, the marts are parsed and compiled again, and nothing else.

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
from fencepost.places import work_folder
from fencepost.session import CLASS_ARCHIVE, java_options
from fencepost.settings import DEFAULT_SPARK, Lake, Settings, load

DEMO = Path(__file__).resolve().parents[1] / "demo" / "healthy.toml"


def main() -> int:
    """Make them, unless they are there; gives back the exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        lake = Lake(str(folder / "warehouse"), f"sqlite:///{folder / 'catalog.db'}")
        settings = dataclasses.replace(load(DEMO), lake=lake, run_on="spark", spark=DEFAULT_SPARK)
        if not all(prepared(spark_jars(settings), each).is_file() for each in (CLASS_ARCHIVE, marts.PARSED)):
            _archive(settings)
        _compile(settings)
    return 0


def _archive(settings: Settings) -> None:
    """Audit in a session that archives its classes when it ends."""
    print("Preparing Spark's classes, so that it starts in half the time (once; a minute) ...", flush=True)
    jars = spark_jars(settings)
    archive = prepared(jars, CLASS_ARCHIVE)
    # a JVM that starts from an archive makes none
    archive.unlink(missing_ok=True)
    options = f"{java_options(jars, small=True)} -XX:ArchiveClassesAtExit={archive} -Xlog:cds*=off"
    spark = {**settings.spark, "spark.driver.extraJavaOptions": options}
    with pipeline.Run(dataclasses.replace(settings, spark=spark)) as run:
        pipeline.audit(run)
    _end_jvm()


def _compile(settings: Settings) -> None:
    """Compile the marts, unless they were compiled of this code."""
    marts.project(settings)
    folder = work_folder(settings, "dbt")
    for made in (folder / marts.COMPILED, folder / "target" / marts.PARSED):
        if made.is_file():
            shutil.copyfile(made, prepared(spark_jars(settings), made.name))


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
