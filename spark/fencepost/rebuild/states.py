"""The state of group, member and partition that a commit met: the fields of the specification's commit
record.

Commits that meet the same state with the same epoch are one question, answered once.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fencepost.rebuild.frames import GROUP, LIFE, MEMBER, SPAN, covers, over
from fencepost.rebuild.keys import NAMED, TASK, key_of
from fencepost.rebuild.lives import EPOCH_TYPES, STREAMS_TOPOLOGY

QUESTION = (
    *GROUP, "stretch", "state_no", "member_id", "topic", "topic_id", "partition", "partition_key",
    "client_epoch",
)  # fmt: skip
_ABSENT = -1
_NO_TASK = f"{TASK}:"


def questions(commits: DataFrame, candidates: DataFrame) -> DataFrame:
    """The distinct things to find out: the columns of QUESTION."""
    rows = candidates.select("request_id", "state_no", "stretch").join(commits, on="request_id", how="inner")
    return rows.select(*QUESTION).distinct()


def answers(
    asked: DataFrame, events: DataFrame, steps: DataFrame, owned: DataFrame, revoked: DataFrame
) -> DataFrame:
    """Each question with ``life``, ``group_type``, ``known``, ``empty``, ``state_position`` and the state's
    columns.

    Beside them ``owned_key`` (by which the commit's partition is owned: its own key, or in a streams group
    the task that reads it; null when that is not known), ``recorded`` (the member's record carries the
    partition's assignment epoch) and ``entered_epoch`` (the member epoch at which the partition entered its
    assignment).

    A column is null when the evidence does not settle it. Inside a stretch that does not know the whole life,
    what records of the stretch show is still true: a member's own epochs and partitions, an ownership that
    was seen. That something was not there is only said when nothing is missing.
    """
    rows = _with_owned_key(_with_group(asked, events), events)
    rows = _with_partition(_with_member(rows, steps, revoked), owned)
    # who owned what at an epoch from before a compaction is not told by what it left
    told = F.coalesce(F.col("client_epoch") > F.col("base_epoch"), F.lit(True))
    known, absent = F.col("known") & F.col("owned_key").isNotNull(), ~F.col("member_known")
    ever = F.col("own_last").isNotNull()

    return rows.select(
        *QUESTION,
        "owned_key",
        "life",
        "group_type",
        "known",
        "alive",
        "empty",
        "state_position",
        "member_known",
        "member_instance_id",
        _unless(absent, "member_epoch"),
        _unless(absent, "revocation_epoch"),
        _unless(absent, "partition_revocation_epoch"),
        _unless(absent, "assignment_epoch"),
        F.col("entry.recorded").alias("recorded"),
        "entered_epoch",
        F.when(ever, True).when(known & told, False).alias("owned_at_client_epoch"),
        F.when(ever, F.coalesce(F.col("own_since") <= F.col("own_last"), F.lit(False)))
        .when(known & told, False)
        .alias("uninterrupted"),
        F.when(ever & F.coalesce(F.col("other_last") > F.col("own_last"), F.lit(False)), True)
        .when(known & (ever | told), False)
        .alias("reassigned_since"),
        F.when(absent, False).otherwise(F.col("owned_by_self")).alias("owned_by_self"),
        F.when(F.col("owner_member_id").isNotNull(), True).when(known, False).alias("owned_by_another"),
        "owner_member_id",
    )


def _unless(absent: Column, name: str) -> Column:
    return F.when(absent, _ABSENT).otherwise(F.col(name)).alias(name)


def _with_group(asked: DataFrame, events: DataFrame) -> DataFrame:
    """Adds the group after its record ``state_no``: its life, whether it exists, is known, is empty."""
    states = events.select(
        *GROUP,
        "state_no",
        "life",
        "group_type",
        "alive",
        "members",
        F.col("known").alias("known_then"),
        F.col("stretch").alias("state_stretch"),
        F.col("record_offset").alias("state_position"),
        F.max(F.when(F.col("based") & F.col("record_type").isin(*EPOCH_TYPES), F.col("epoch")))
        .over(Window.partitionBy(*LIFE))
        .alias("base_epoch"),
    )
    rows = asked.join(states, on=[*GROUP, "state_no"], how="left")
    none = F.col("life").isNull()
    known = F.when(none, F.col("stretch") <= 0).otherwise(
        F.col("known_then") & (F.col("state_stretch") == F.col("stretch"))
    )
    here = F.col("state_stretch") == F.col("stretch")
    rows = rows.withColumn("known", known).withColumn("alive", F.coalesce("alive", F.lit(False)))
    empty = (
        F.when(F.col("known"), ~F.col("alive") | (F.col("members") == 0))
        # a member that was seen is there, whoever else was not seen
        .when(here & F.col("alive") & (F.col("members") > 0), False)
    )
    rows = rows.withColumns({"empty": empty, "life": F.coalesce("life", F.lit(0))})
    return rows.drop("known_then", "state_stretch", "members")


def _with_owned_key(rows: DataFrame, events: DataFrame) -> DataFrame:
    """Adds ``owned_key``; a topic that the topology of a streams group does not have is read by no task.

    Consumer groups own topic ids. Classic groups own names, so a name will do where the id is not known.
    """
    window = over(*SPAN, by="state_no")
    topologies = (
        events.where(F.col("record_type") == STREAMS_TOPOLOGY)
        .withColumn("until_no", F.coalesce(F.lead("state_no").over(window), "end_no"))
        .select(*SPAN, F.col("state_no").alias("since_no"), "until_no", "topology")
    )
    streams = rows.where("group_type = 'streams'")
    found = streams.join(topologies, on=list(SPAN), how="inner").where(
        covers(F.col("since_no"), F.col("until_no"), F.col("state_no"))
    )
    reads = F.filter("topology", lambda each: F.array_contains(each["topics"], F.col("topic")))
    task = key_of(F.concat(F.lit(TASK), F.get(reads, F.lit(0))["subtopology_id"]), F.col("partition"))
    found = found.withColumn("task", F.when(F.col("topic").isNotNull(), F.coalesce(task, F.lit(_NO_TASK))))
    rows = _left(rows, found.select(*QUESTION, "task", F.lit(True).alias("with_topology")))
    key = (
        F.when(
            F.col("group_type") == "streams",
            F.when(F.col("with_topology"), F.col("task")).when(F.col("known"), F.lit(_NO_TASK)),
        )
        .when(F.col("group_type") == "classic", F.col("partition_key"))
        .when(~F.startswith("partition_key", F.lit(NAMED)), F.col("partition_key"))
    )
    return rows.withColumn("owned_key", key).drop("task", "with_topology")


def _with_member(rows: DataFrame, steps: DataFrame, revoked: DataFrame) -> DataFrame:
    """Adds the member's own state: ``member_known`` and its epochs, as its newest record there says."""
    entry = F.filter("owned", lambda p: p["partition_key"] == F.col("owned_key"))
    members = steps.select(
        *MEMBER,
        F.col("state_no").alias("step_no"),
        "to_no",
        "tombstone",
        "member_life",
        "member_epoch",
        "revocation_epoch",
        "first_epoch",
        "owned",
        F.col("instance_id").alias("member_instance_id"),
    )
    keys = [*SPAN, "member_id"]
    found = rows.select(*QUESTION, "owned_key", "life").join(members, on=keys, how="inner")
    found = found.where(covers(F.col("step_no"), F.col("to_no"), F.col("state_no")))
    revoked = revoked.select(
        *MEMBER,
        "member_life",
        F.col("partition_key").alias("owned_key"),
        "from_no",
        F.col("to_no").alias("until_no"),
        "partition_revocation_epoch",
    )
    taken = found.join(revoked, on=[*MEMBER, "member_life", "owned_key"], how="inner")
    taken = taken.where(covers(F.col("from_no"), F.col("until_no"), F.col("state_no")))
    taken = taken.select(*QUESTION, F.col("partition_revocation_epoch").alias("taken_at"))
    # a static member that is away (member epoch -2) keeps its place, and owns nothing until it is back
    present = F.col("member_epoch") >= 0
    found = found.withColumn("entry", F.when(present, F.get(entry, F.lit(0)))).drop(
        "life", "owned", "owned_key", "step_no", "to_no", "member_life"
    )
    rows = _left(_left(rows, found), taken)
    gone = F.col("tombstone") | (~F.col("alive") & F.col("known"))
    named = F.col("owned_key").isNotNull()
    return rows.withColumns(
        {
            "member_known": F.when(gone, False)
            .when(F.col("tombstone").isNotNull(), True)
            .when(F.col("known"), False),
            "partition_revocation_epoch": F.when(named, F.greatest(F.col("taken_at"), F.col("first_epoch"))),
            "assignment_epoch": F.when(
                named & F.col("tombstone").isNotNull(), F.coalesce("entry.assignment_epoch", F.lit(_ABSENT))
            ),
            "owned_by_self": F.when(named & F.col("tombstone").isNotNull(), F.col("entry").isNotNull()),
        }
    )


def _with_partition(rows: DataFrame, owned: DataFrame) -> DataFrame:
    """Adds who had the partition, by state_no: ``own_last`` (the member, last at its client epoch),
    ``own_since`` (the member, without a break until now), ``other_last`` (any other member, last),
    ``owner_member_id`` (now).
    """
    history = owned.select(
        *SPAN,
        F.col("partition_key").alias("owned_key"),
        F.col("member_id").alias("owner"),
        F.col("member_epoch").alias("owner_epoch"),
        F.col("state_no").alias("own_no"),
        "to_no",
        "owned_from_no",
        "entered_epoch",
    )
    found = rows.select(*QUESTION, "owned_key", "life").join(history, on=[*SPAN, "owned_key"], how="inner")
    found = found.where(F.col("own_no") <= F.col("state_no"))
    self = F.col("owner") == F.col("member_id")
    now = covers(F.col("own_no"), F.col("to_no"), F.col("state_no")) & (F.col("owner_epoch") >= 0)
    until = F.least(F.coalesce(F.col("to_no") - 1, F.col("state_no")), F.col("state_no"))
    seen = found.groupBy(*QUESTION).agg(
        F.max(F.when(self & (F.col("owner_epoch") == F.col("client_epoch")), F.col("own_no"))).alias(
            "own_last"
        ),
        F.max(F.when(self & now, F.col("owned_from_no"))).alias("own_since"),
        F.max(F.when(self & now, F.col("entered_epoch"))).alias("entered_epoch"),
        F.max(F.when(~self, until)).alias("other_last"),
        F.min(F.when(~self & now, F.col("owner"))).alias("owner_member_id"),
    )
    return _left(rows, seen)


def _left(rows: DataFrame, found: DataFrame) -> DataFrame:
    """Join what was found out about questions; keys may be null (a topic without an id, say)."""
    renamed = found.withColumnsRenamed({name: f"f_{name}" for name in QUESTION})
    condition = F.lit(True)
    for name in QUESTION:
        condition = condition & F.col(name).eqNullSafe(F.col(f"f_{name}"))
    return rows.join(renamed, on=condition, how="left").drop(*[f"f_{name}" for name in QUESTION])
