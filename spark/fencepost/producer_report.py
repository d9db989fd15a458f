"""What an audit found of producers, in words: for the screenful after a run and for single findings."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

FENCINGS = "marts.fct_fencing_events"
TRANSACTIONS = "marts.fct_transactions"
DANGLING = "marts.fct_dangling_transactions"
CAUSES = {
    "new_instance": "a new instance",
    "client_bump": "a bump that a client asked for",
    "timeout": "a timeout",
    "operator": "an operator",
    "end_txn": "the end of their transaction",
    "local": "their own local bump",
    None: "an unknown cause",
}
"""Who moved the epoch past a victim's, in words."""

# What the columns of evidence are called in a sentence, in the order in which they are told.
_SHOWN = (
    "transactional_id", "producer_id", "producer_epoch", "transaction_partition", "client_id", "connection",
    "provided_id", "provided_epoch", "error", "returned_id", "returned_epoch", "first_offset", "last_offset",
    "snapshot_offset", "due_type",
)  # fmt: skip
_DIGEST = re.compile(r"[0-9a-f]{64}")


def producer_lines(spark: SparkSession, cluster: str, width: int) -> list[str]:
    """The producers of a cluster: who was fenced and why, how transactions ended, what dangles."""
    mine = F.col("cluster") == cluster
    transactions = spark.table(TRANSACTIONS).where(mine)
    counts = transactions.agg(
        F.count("*").alias("all"),
        *(F.count_if(F.col("outcome") == end).alias(end) for end in ("committed", "aborted", "open")),
        F.count_if("is_late").alias("late"),
    ).first()
    fenced = spark.table(FENCINGS).where(mine & (F.col("protocol") == "producer_epoch"))
    causes = {row["cause"]: row["count"] for row in fenced.groupBy("cause").count().collect()}
    dangling = spark.table(DANGLING).where(mine).orderBy(F.desc("age"), "topic", "partition").collect()
    sentences = []
    if counts is not None and counts["all"]:
        sentences.append(
            f"{counts['all']} transactions: {counts['committed']} committed, {counts['aborted']} aborted, "
            f"{counts['open']} open ({counts['late']} of them past their timeout)."
        )
    if causes:
        told = sorted(causes.items(), key=lambda each: -each[1])
        words = ", ".join(f"{times} by {CAUSES.get(cause, cause)}" for cause, times in told)
        sentences.append(f"{sum(causes.values())} requests of fenced producers were refused: {words}.")
    lines = [line for text in sentences for line in textwrap.wrap(text, width)]
    if dangling:
        lines.append(
            f"{len(dangling)} dangling transactions hold back what read_committed consumers see; the oldest:"
        )
        lines += [f"    {dangling[0]['remedy']}"]
    return ["", *lines] if lines else []


def without_digests(witness: Mapping[str, Any]) -> dict[str, Any]:
    """The quantified variables that say something: those that name a record do it by a digest."""
    return {name: value for name, value in witness.items() if not _DIGEST.fullmatch(str(value))}


def record_words(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The record that a verdict is about, by what its evidence says of it."""
    return {name: evidence[name] for name in _SHOWN if evidence.get(name) not in (None, -1)}
