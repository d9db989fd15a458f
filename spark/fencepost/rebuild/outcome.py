"""The two tables about commits, put together: what was asked and answered, and the states it may have met."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild.frames import GROUP, OFFSETS_TOPIC, as_time
from fencepost.rebuild.requests import ELSEWHERE
from fencepost.rebuild.states import QUESTION


def states_met(commits: DataFrame, candidates: DataFrame, answers: DataFrame) -> DataFrame:
    """Every commit with every state of the log that it may have met: the columns of all three."""
    met = candidates.select("request_id", "candidate", "state_no", "stretch")
    rows = commits.drop("stretch", "state_no").join(met, on="request_id", how="inner")
    return _ask(rows, answers)


def commit_states(met: DataFrame, rules: DataFrame) -> DataFrame:
    """Every commit with every state it may have met, in the log (states_met) or in memory (unwritten).

    Columns: those of ``silver.offset_commit_states``, ``known`` (nothing of the group is missing) and
    ``owned_key``. ``request_id`` groups the commits that were decided together: a partition that was
    refused for a reason of its own before fencing was looked at (an unknown topic, say) stands alone.
    """
    rows = _with_rule(met, rules)
    # Brokers that do not know assignment epochs write none. What a later one would have done there is told by
    # the epoch it would have written, not by its reading of such records (the member epoch).
    derived = (F.col("rule") != "assignment_epoch") & ~F.col("recorded") & F.col("member_known")
    rows = rows.withColumn(
        "assignment_epoch",
        F.when(derived, F.col("entered_epoch")).otherwise(F.col("assignment_epoch")),
    )
    # a transactional commit without member and epoch is let through whatever the group holds
    outside = F.col("is_transactional") & (F.col("member_id") == "") & F.col("instance_id").isNull()
    unfenced = F.when(F.col("client_epoch") >= 0, False).when(outside, True).otherwise(F.col("empty"))
    decided = F.coalesce(F.col("accepted") | F.col("fenced"), F.lit(False))
    any_decided = F.max(decided).over(Window.partitionBy("request_id"))
    rows = rows.withColumns(
        {
            "unfenced": unfenced,
            "transactional": F.col("is_transactional"),
            "protocol": F.when(F.col("alive"), F.col("group_type")),
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
    """Adds ``rule``: for this kind of group, that of the broker's last registration before the answer.

    A group that is not there is decided about as an empty classic group.
    """
    then = rules.withColumnsRenamed({"cluster": "b_cluster", "broker_id": "b_id"})
    condition = (
        (F.col("cluster") == F.col("b_cluster"))
        & (F.col("broker_id") == F.col("b_id"))
        & (F.col("from_ms").isNull() | (F.col("from_ms") <= F.col("responded_ms")))
        & (F.col("to_ms").isNull() | (F.col("responded_ms") < F.col("to_ms")))
    )
    rows = rows.join(F.broadcast(then), on=condition, how="left")
    rule = (
        F.when(~F.col("alive") | (F.col("group_type") == "classic"), "generation")
        .when(F.col("group_type") == "streams", F.col("streams_rule"))
        .otherwise(F.col("consumer_rule"))
    )
    return rows.withColumn("rule", rule).drop(
        "b_cluster", "b_id", "from_ms", "to_ms", "consumer_rule", "streams_rule"
    )


def records_of(pairs: DataFrame) -> DataFrame:
    """The record that an accepted commit wrote, where it is sure: commit_id, coordinator_partition,
    record_offset, stretch.
    """
    own = F.min(F.struct("record_offset", "coordinator_partition", "stretch"))
    return pairs.where("sure").groupBy("commit_id").agg(own.alias("own")).select("commit_id", "own.*")


def offset_commits(
    commits: DataFrame, own: DataFrame, candidates: DataFrame, states: DataFrame, events: DataFrame
) -> DataFrame:
    """Every commit, its record where there is one (``own``: as records_of), and why no state is known.

    The columns of ``silver.offset_commits`` but for what became of the commit (see ``with_outcomes``).
    """
    own = own.select("commit_id", "record_offset", F.col("stretch").alias("record_stretch"))
    met = candidates.groupBy("request_id").agg(F.count("*").cast("int").alias("met"))
    seen = states.groupBy("commit_id").agg(
        F.count("*").cast("int").alias("candidates"),
        F.min(F.coalesce("known", F.lit(False)) | F.coalesce("unfenced", F.lit(False))).alias("complete"),
        F.min(F.col("rule").isNotNull()).alias("ruled"),
        F.min(F.col("owned_key").isNotNull()).alias("keyed"),
        F.when(F.min("protocol").eqNullSafe(F.max("protocol")), F.min("protocol")).alias("group_type"),
    )
    rows = commits.join(own, on="commit_id", how="left").join(met, on="request_id", how="left")
    rows = rows.join(seen, on="commit_id", how="left")
    managed = events.select(*GROUP, F.lit(True).alias("managed")).distinct()
    rows = rows.join(managed, on=list(GROUP), how="left")
    named = (F.col("member_id") != "") | F.col("instance_id").isNotNull() | (F.col("client_epoch") >= 0)
    committer = (
        F.when(named, "member")
        .when(F.col("is_transactional"), "producer")
        .when(F.col("managed"), "administrator")
        .otherwise("simple_consumer")
    )
    return rows.withColumns(
        {
            "unknown_reason": _reason(),
            "candidates": F.coalesce("candidates", F.lit(0)),
            "committer": committer,
        }
    )


def with_outcomes(rows: DataFrame, became: DataFrame, refused: DataFrame, before: DataFrame) -> DataFrame:
    """``silver.offset_commits``: adds what became of each commit.

    ``became``: as transactions.outcomes, by the record the commit wrote; ``refused`` and
    ``before``: both as transactions.of_commits.
    """
    place = ["cluster", "coordinator_partition", "record_offset"]
    became = became.select(*place, "transaction_outcome", "ended_offset", "ended_ms", "outcome")
    rows = rows.join(became, on=place, how="left")
    rows = rows.join(refused, on="commit_id", how="left").join(before, on="commit_id", how="left")
    rows = rows.withColumns(
        {
            "transaction_outcome": F.coalesce("transaction_outcome", "refused_outcome"),
            "transaction_ended_position": F.coalesce("ended_offset", "refused_ended"),
            "transaction_ended_at": as_time(F.coalesce("ended_ms", "refused_ended_ms")),
        }
    )
    return lake.align(rows, lake.COMMITS)


def _reason() -> Column:
    log = F.concat(
        F.lit(f"{OFFSETS_TOPIC}-"), F.coalesce(F.col("coordinator_partition").cast("string"), F.lit("?"))
    )
    return (
        F.when(F.col("broker_error").isNull(), "the request log has no answer for this partition")
        .when(
            F.col("broker_error").isin(*ELSEWHERE),
            "the broker that answered did not have the group's state: it decided nothing",
        )
        .when(
            F.col("met").isNull() & F.col("accepted"),
            F.concat(F.lit("the record of this accepted commit is not in the captured log of "), log),
        )
        .when(
            F.col("met").isNull(),
            F.concat(F.lit("records of "), log, F.lit(" from around this request were not captured")),
        )
        .when(
            ~F.col("complete"),
            F.concat(F.lit("the group's history before this commit is not complete in the log of "), log),
        )
        .when(
            ~F.col("keyed"),
            "what the commit's topic is to the group is not known: no record of the topic is in the captured "
            "metadata log, or none of the topology in the group's",
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
