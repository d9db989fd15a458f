"""The histories of members: epochs, and the revocation epoch that KAFKA-19779 proposes."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fencepost import lake
from fencepost.rebuild.classic import classic_steps
from fencepost.rebuild.frames import (
    MEMBER,
    MEMBER_LIFE,
    SPAN,
    before,
    count_if,
    named,
    over,
    so_far,
    with_times,
)
from fencepost.rebuild.lives import CLASSIC_METADATA, GROUP_TYPES, MEMBER_TYPES

# org.apache.kafka.coordinator.group: modern.MemberState and streams.MemberState
_STATES = {0: "STABLE", 1: "UNREVOKED_PARTITIONS", 2: "UNRELEASED_PARTITIONS"}
_STREAMS_STATES = {1: "STABLE", 2: "UNREVOKED_TASKS", 3: "UNRELEASED_TASKS"}


def member_steps(events: DataFrame, topics: DataFrame) -> DataFrame:
    """Every record that changes a member of a group, with what it means: one row per record and member.

    Current assignments (types 8, 14, 22), the tombstones of members, and what each record of a classic group
    says of each member. Within SPAN and ``member_id``, beside the columns of the record: ``protocol`` (what
    the member speaks), ``member_life`` (one more with each tombstone), ``start_known`` (the member is seen
    from its beginning), ``revocation_epoch``, ``keys`` and ``left`` (partition keys owned, and given up, with
    this record: what was pending revocation and is assigned again was given up in between, as KAFKA-19449
    lets the member have it back in one step), ``previous_epoch`` (of the record before), ``row`` (number
    within MEMBER_LIFE), ``to_no`` (state_no of the next step), ``last_in_batch``, and the interval at batch
    boundaries
    ``from_position``, ``to_position``, ``from_ms``, ``to_ms`` (to be used on rows that are
    ``last_in_batch``).

    ``revocation_epoch`` is 0 when a member begins. When a record raises the member epoch, and partitions left
    the member with it or since the rise before, it becomes the member epoch before the rise. After a hole it
    is null until that happens. A member that a conversion takes over from a classic group begins one below
    its epoch, because the coordinator knows nothing from before: that is ``first_epoch``, else 0.
    """
    member = over(*MEMBER, by="state_no")
    rows = _without_taken_back(_recorded(events).unionByName(classic_steps(events, topics)))
    rows = rows.withColumn("protocol", _protocol())
    following = F.lead(F.struct("state_no", "last_offset", "timestamp_ms")).over(member)
    rows = (
        rows.withColumn("following", following)
        .withColumn("member_life", F.coalesce(count_if(F.col("tombstone")).over(before(member)), F.lit(0)))
        .withColumn("start_known", (F.col("known") & ~_of_life("based")) | (F.col("member_life") > 0))
        .withColumn("to_no", F.coalesce("following.state_no", "end_no"))
        .withColumn("last_in_batch", ~F.col("last_offset").eqNullSafe(F.col("following.last_offset")))
        .withColumn("from_position", F.col("last_offset"))
        .withColumn("to_position", F.coalesce("following.last_offset", "end_position"))
        .withColumn("from_ms", F.col("timestamp_ms"))
        .withColumn("to_ms", F.coalesce("following.timestamp_ms", "end_ms"))
        .drop("following")
    )
    return _with_revocation_epoch(rows)


def _of_life(flag: str) -> Column:
    """Whether any record of the member's life has the flag."""
    return F.max(flag).over(Window.partitionBy(*MEMBER_LIFE))


def _recorded(events: DataFrame) -> DataFrame:
    """The records of members, each with what the member's metadata (another record) says."""
    member = so_far(over(*MEMBER, by="state_no"))
    rows = events.where("member_id is not null")
    for name in ("client_id", "instance_id"):
        rows = rows.withColumn(name, F.last(name, True).over(member))
    # a member of a consumer group may change its protocol, and then its metadata is written again
    of_metadata = F.when(F.col("record_type").isin(*MEMBER_TYPES), F.col("speaks_classic"))
    rows = rows.withColumn("speaks_classic", F.last(of_metadata, True).over(member))
    return rows.where("step")


def _without_taken_back(steps: DataFrame) -> DataFrame:
    """Without the tombstones of members that their own batch takes over into a classic group."""
    batch = Window.partitionBy(*MEMBER, "base_offset")
    classic = F.col("record_type") == CLASSIC_METADATA
    rows = steps.withColumn("taken_over", F.max(classic & ~F.col("tombstone")).over(batch))
    return rows.where(~(F.col("tombstone") & F.col("taken_over") & ~classic)).drop("taken_over")


def _protocol() -> Column:
    return F.when(F.col("speaks_classic"), "classic").otherwise(named(GROUP_TYPES, F.col("record_type")))


def _with_revocation_epoch(rows: DataFrame) -> DataFrame:
    life = over(*MEMBER_LIFE, by="state_no")
    nothing = F.array().cast("array<string>")
    keys = F.coalesce(F.transform("owned", lambda p: p["partition_key"]), nothing)
    rows = (
        rows.withColumn("keys", F.when(~F.col("tombstone"), keys))
        .withColumn("row", F.row_number().over(life))
        .withColumn("previous_epoch", F.lag("member_epoch").over(life))
        .withColumn("pending", F.coalesce(_partition_keys(pending=True), nothing))
        .withColumn("again", F.coalesce(_partition_keys(pending=False), nothing))
        .withColumn("again", F.array_intersect(F.coalesce(F.lag("pending").over(life), nothing), "again"))
        .withColumn("left", F.array_except(F.coalesce(F.lag("keys").over(life), nothing), F.col("keys")))
        .withColumn("left", F.array_union("left", "again"))
        .withColumn("rises", F.coalesce(F.col("member_epoch") > F.col("previous_epoch"), F.lit(False)))
    )
    rises = count_if(F.col("rises")).over(so_far(life))
    # what left without a rise (the target took more before the member could move on) counts at the next rise
    due = over(*MEMBER_LIFE, "due", by="state_no")
    any_left = F.max(F.size("left") > 0).over(so_far(due))
    rows = rows.withColumn("due", rises + F.when(F.col("rises"), 0).otherwise(1))
    rows = rows.withColumn("revokes", F.col("rises") & any_left)
    taken_over = (F.col("record_type") != CLASSIC_METADATA) & (
        F.lag("record_type").over(life) == CLASSIC_METADATA
    )
    begun = F.when(taken_over, F.col("member_epoch") - 1)
    rows = rows.withColumn(
        "first_epoch", F.coalesce(F.last(begun, True).over(so_far(life)), F.when(F.col("start_known"), 0))
    )
    left_behind = F.last(F.when(F.col("revokes"), F.col("previous_epoch")).otherwise(begun), True)
    newest = left_behind.over(so_far(life))
    return rows.withColumn("revocation_epoch", F.coalesce(newest, "first_epoch")).drop(
        "rises", "due", "pending", "again"
    )


def _partition_keys(*, pending: bool) -> Column:
    """The keys of the owned partitions that are pending revocation, or of those that are assigned."""
    some = F.filter("owned", lambda p: p["pending_revocation"] == F.lit(pending))
    return F.transform(some, lambda p: p["partition_key"])


def group_members(steps: DataFrame, epochs: DataFrame) -> DataFrame:
    """``silver.group_members``: one row per member, batch that changed it, and change of the group's epochs.

    A static member that is away (member epoch -2) has no row until it is back: it believes nothing meanwhile.
    """
    rows = steps.where("last_in_batch and not tombstone and member_epoch >= 0").select(
        *MEMBER,
        "coordinator_partition",
        "client_id",
        "instance_id",
        "protocol",
        _state().alias("state"),
        "member_epoch",
        "previous_member_epoch",
        "revocation_epoch",
        "from_position",
        "to_position",
        "from_ms",
        "to_ms",
    )
    groups = epochs.select(
        *SPAN,
        "group_epoch",
        "target_assignment_epoch",
        *[F.col(name).alias(f"g_{name}") for name in ("from_position", "to_position", "from_ms", "to_ms")],
    )
    return lake.align(with_times(intersect(rows, groups, SPAN)), lake.MEMBERS)


def intersect(rows: DataFrame, others: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """Each row cut where the rows of ``others`` (positions prefixed ``g_``) of the same keys change."""
    open_end = F.lit(2**63 - 1)
    joined = rows.join(others, on=list(keys), how="inner")
    joined = joined.where(
        (F.col("from_position") < F.coalesce("g_to_position", open_end))
        & (F.col("g_from_position") < F.coalesce("to_position", open_end))
    )
    later = F.col("g_from_position") > F.col("from_position")
    sooner = F.coalesce("g_to_position", open_end) < F.coalesce("to_position", open_end)
    cut = {
        "from_position": F.when(later, F.col("g_from_position")).otherwise(F.col("from_position")),
        "from_ms": F.when(later, F.col("g_from_ms")).otherwise(F.col("from_ms")),
        "to_position": F.when(sooner, F.col("g_to_position")).otherwise(F.col("to_position")),
        "to_ms": F.when(sooner, F.col("g_to_ms")).otherwise(F.col("to_ms")),
    }
    kept = [name for name in joined.columns if name not in cut and not name.startswith("g_")]
    joined = joined.select(*kept, *[column.alias(name) for name, column in cut.items()])
    return joined.where("to_position is null or from_position < to_position")


def _state() -> Column:
    state, streams = F.col("state"), F.col("protocol") == "streams"
    known = F.when(streams, named(_STREAMS_STATES, state)).otherwise(named(_STATES, state))
    return F.coalesce(known, F.lit("UNKNOWN"))
