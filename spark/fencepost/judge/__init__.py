"""The judge: runs the compiled definitions over silver, once, and writes the verdicts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.judge.compiled import Definition, Query, definitions, queries
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
    decided = [_decided(spark, query, run_id) for query in queries() if _decides(query)]
    lake.replace(spark, lake.DECISIONS, union_all(decided))

    judged = [_judged(spark, settings, query) for query in queries() if not _decides(query)]
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


def _decides(query: Query) -> bool:
    return query.definitions[0].kind == "decision"


def _judged(spark: SparkSession, settings: Settings, query: Query) -> DataFrame:
    kinds = {found.id: found.kind for found in query.definitions}
    severities = {found.id: settings.severities.get(found.id, found.severity) for found in query.definitions}
    facts = (
        F.lit(query.definitions[0].module).alias("module"),
        F.col("definition").alias("invariant"),
        _looked_up(kinds).alias("kind"),
        _looked_up(severities).alias("severity"),
    )
    return spark.sql(query.sql).select(*facts, "*").drop("definition")


def _looked_up(facts: Mapping[str, str | None]) -> Column:
    pairs = [F.lit(each) for pair in facts.items() for each in pair]
    return F.create_map(*pairs)[F.col("definition")]


def _decided(spark: SparkSession, query: Query, run_id: str) -> DataFrame:
    return spark.sql(query.sql).select(
        F.lit(run_id).alias("run_id"),
        F.lit(query.definitions[0].module).alias("module"),
        F.col("definition").alias("decision"),
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
