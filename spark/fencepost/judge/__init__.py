"""The judge: runs the compiled definitions over silver, once, and writes the verdicts."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.judge.compiled import Definition, definitions
from fencepost.judge.episodes import coverage, episodes, union_all
from fencepost.settings import Settings

__all__ = ["JudgeSummary", "judge"]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class JudgeSummary:
    """How many definitions ended in each status, over all clusters."""

    violated: int
    unknown: int
    holds: int
    not_exercised: int


def judge(spark: SparkSession, settings: Settings, run_id: str) -> JudgeSummary:
    """Evaluate every marked definition over silver and replace ``verdicts.*`` with what this run found.

    The row-level results are computed once and kept for the episodes and for the coverage counts.
    Severities that the configuration overrides are written as overridden.
    """
    compiled = definitions()
    decided = [_decided(spark, found, run_id) for found in compiled if found.kind == "decision"]
    lake.replace(spark, lake.DECISIONS, union_all(decided))

    judged = [_judged(spark, settings, found) for found in compiled if found.kind != "decision"]
    rows = union_all(judged).persist()
    try:
        lake.replace(spark, lake.EPISODES, episodes(rows).withColumn("run_id", F.lit(run_id)))
        catalogue = _catalogue(spark, settings, compiled)
        counted = coverage(rows, catalogue).withColumn("run_id", F.lit(run_id)).persist()
        lake.replace(spark, lake.VERDICT_COVERAGE, counted)
        statuses = {row["status"]: row["count"] for row in counted.groupBy("status").count().collect()}
        counted.unpersist()
    finally:
        rows.unpersist()
    summary = JudgeSummary(*(statuses.get(name, 0) for name in JudgeSummary.__dataclass_fields__))
    log.info("judged %d definitions: %s", len(compiled), summary)
    return summary


def _judged(spark: SparkSession, settings: Settings, found: Definition) -> DataFrame:
    severity = settings.severities.get(found.id, found.severity)
    return spark.sql(found.sql).select(
        F.lit(found.module).alias("module"),
        F.lit(found.id).alias("invariant"),
        F.lit(found.kind).alias("kind"),
        F.lit(severity).alias("severity"),
        "*",
    )


def _decided(spark: SparkSession, found: Definition, run_id: str) -> DataFrame:
    return spark.sql(found.sql).select(
        F.lit(run_id).alias("run_id"),
        F.lit(found.module).alias("module"),
        F.lit(found.id).alias("decision"),
        "cluster",
        "subject",
        "outcome",
    )


def _catalogue(spark: SparkSession, settings: Settings, compiled: list[Definition]) -> DataFrame:
    """Every definition for every cluster, so that what produced no row at all is still reported."""
    rows = [
        (found.module, found.id, found.kind, settings.severities.get(found.id, found.severity), cluster.name)
        for found in compiled
        if found.kind != "decision"
        for cluster in settings.clusters
    ]
    return spark.createDataFrame(
        rows, "module string, invariant string, kind string, severity string, cluster string"
    )
