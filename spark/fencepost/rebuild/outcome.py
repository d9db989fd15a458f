"""The two tables about commits, put together: what was asked and answered, and the states it may have met."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild.frames import OFFSETS_TOPIC
from fencepost.rebuild.states import QUESTION

_NOT_REBUILT = ("classic", "share", "streams")


def commit_states(
    commits: DataFrame, candidates: DataFrame, answers: DataFrame, rules: DataFrame
) -> DataFrame:
    """Every commit with every state it may have met.

    Columns: those of ``silver.offset_commit_states``, and ``known`` (nothing of the group is missing).

    Members of classic, share and streams groups are not rebuilt: their groups' commits appear only when no
    member is involved. ``request_id`` groups the commits that were decided together: a partition that was
    refused for a reason of its own before fencing was looked at (an unknown topic, say) stands alone.
    """
    met = candidates.select("request_id", "candidate", "state_no", "stretch")
    rows = commits.drop("stretch", "state_no").join(met, on="request_id", how="inner")
    rows = _ask(rows, answers)
    rows = rows.where(
        ~F.col("alive")
        | ~F.coalesce(F.col("group_type"), F.lit("")).isin(*_NOT_REBUILT)
        | (F.col("client_epoch") < 0)
    )
    rows = _with_rule(rows, rules)
    # Brokers that do not know assignment epochs write none. What a later one would have done there is told by
    # the epoch it would have written, not by its reading of such records (the member epoch).
    derived = (F.col("rule") == "strict") & ~F.col("recorded")
    rows = rows.withColumn(
        "assignment_epoch",
        F.when(derived, F.col("entered_epoch")).otherwise(F.col("assignment_epoch")),
    )
    # a transactional commit without member and epoch is let through whatever the group holds
    outside = F.col("is_transactional") & (F.col("member_id") == "") & ~F.col("has_instance")
    unfenced = F.when(F.col("client_epoch") >= 0, False).when(outside, True).otherwise(F.col("empty"))
    decided = F.coalesce(F.col("accepted") | F.col("fenced"), F.lit(False))
    any_decided = F.max(decided).over(Window.partitionBy("request_id"))
    rows = rows.withColumns(
        {
            "unfenced": unfenced,
            "together": F.when(any_decided & ~decided, F.col("commit_id")).otherwise(F.col("request_id")),
            "from_position": F.col("state_position"),
            "to_position": F.col("state_position") + 1,
            "from_time": F.col("requested_at"),
            "to_time": F.col("responded_at"),
        }
    )
    return rows.withColumn("request_id", F.col("together"))


def _ask(rows: DataFrame, answers: DataFrame) -> DataFrame:
    asked = answers.withColumnsRenamed({name: f"a_{name}" for name in QUESTION})
    condition = F.lit(True)
    for name in QUESTION:
        condition = condition & F.col(name).eqNullSafe(F.col(f"a_{name}"))
    return rows.join(asked, on=condition, how="inner").drop(*[f"a_{name}" for name in QUESTION])


def _with_rule(rows: DataFrame, rules: DataFrame) -> DataFrame:
    """Adds ``rule``: that of the broker's last registration before the answer."""
    then = rules.select(
        F.col("cluster").alias("b_cluster"), F.col("broker_id").alias("b_id"), "rule", "from_ms", "to_ms"
    )
    condition = (
        (F.col("cluster") == F.col("b_cluster"))
        & (F.col("broker_id") == F.col("b_id"))
        & (F.col("from_ms") <= F.col("responded_ms"))
        & (F.col("to_ms").isNull() | (F.col("responded_ms") < F.col("to_ms")))
    )
    return rows.join(F.broadcast(then), on=condition, how="left").drop(
        "b_cluster", "b_id", "from_ms", "to_ms"
    )


def offset_commits(
    commits: DataFrame, pairs: DataFrame, candidates: DataFrame, states: DataFrame
) -> DataFrame:
    """``silver.offset_commits``: every commit, its record where there is one, and why no state is known."""
    own = pairs.where("sure").groupBy("commit_id").agg(F.min("record_offset").alias("record_offset"))
    met = candidates.groupBy("request_id").agg(F.count("*").cast("int").alias("met"))
    seen = states.groupBy("commit_id").agg(
        F.count("*").cast("int").alias("candidates"),
        F.min(F.coalesce("known", F.lit(False)) | F.coalesce("unfenced", F.lit(False))).alias("complete"),
        F.min(F.col("rule").isNotNull()).alias("ruled"),
    )
    rows = commits.join(own, on="commit_id", how="left").join(met, on="request_id", how="left")
    rows = rows.join(seen, on="commit_id", how="left")
    rows = rows.withColumn("unknown_reason", _reason()).withColumn(
        "candidates", F.coalesce("candidates", F.lit(0))
    )
    return lake.align(rows, lake.COMMITS)


def _reason() -> Column:
    log = F.concat(
        F.lit(f"{OFFSETS_TOPIC}-"), F.coalesce(F.col("coordinator_partition").cast("string"), F.lit("?"))
    )
    return (
        F.when(F.col("broker_error").isNull(), "the request log has no answer for this partition")
        .when(
            F.col("met").isNull() & F.col("accepted"),
            F.concat(F.lit("the record of this accepted commit is not in the captured log of "), log),
        )
        .when(
            F.col("met").isNull(),
            F.concat(F.lit("records of "), log, F.lit(" from around this request were not captured")),
        )
        .when(
            F.col("candidates").isNull(),
            "members of classic, share and streams groups are not rebuilt: only their group's epoch is known",
        )
        .when(
            ~F.col("complete"),
            F.concat(F.lit("the group's history before this commit is not complete in the log of "), log),
        )
        .when(
            F.col("partition_key").isNull(),
            "the topic's id is not known: no record of the topic is in the captured metadata log",
        )
        .when(
            ~F.col("ruled"),
            F.concat(
                F.lit("the version of broker "),
                F.col("broker_id").cast("string"),
                F.lit(" is not known: its registration is not in the captured metadata log"),
            ),
        )
    )
