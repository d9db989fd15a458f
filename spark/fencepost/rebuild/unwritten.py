"""What the coordinator of a classic group knows and has not written yet.

A classic group is written when a generation has its assignment. Before that the coordinator's memory is ahead
of its log: the next generation has begun (COMPLETING_REBALANCE), or a member has left. Both show in the
answers to other requests of the group and, later, in the next record: here they become further states that a
commit may have met, each where it may have been true (org.apache.kafka.coordinator.group.classic).

Answers and commits of one broker are ordered by one clock, and a line is never early: what it tells was so
when it was logged. Only an arrival is reckoned back from there, by the tolerance too late at most.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from fencepost.rebuild.frames import GROUP, SPAN, over
from fencepost.rebuild.lives import CLASSIC_METADATA

JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP = 11, 12, 13, 14
_REBALANCE_IN_PROGRESS = 27
_REQUEST = "groupId string, memberId string, generationId int, members array<struct<memberId:string>>"
_RESPONSE = "errorCode int, generationId int, members array<struct<memberId:string,errorCode:int>>"

_AS_WRITTEN, _NEXT_GENERATION, _STILL_REBALANCING, _GONE = range(4)
_VARIANTS = "array<struct<kind:int,epoch:int,rebalancing:boolean,there:boolean>>"
_RECORD = (*SPAN, "state_no")


def in_memory(
    met: DataFrame, events: DataFrame, requests: DataFrame, leaders: DataFrame, tolerance_ms: int
) -> DataFrame:
    """``met`` (a row per commit and state of the log) with the states that only the memory had.

    Rows of classic groups become one to four, ``candidate`` numbered anew within the request, alike for all
    its partitions. Adds ``rebalancing``; changes ``member_epoch``, ``member_known`` and what goes with them.
    Where a commit may have met either state both are given, also when it was accepted: what the broker
    answered is no evidence of what it met. ``requests`` is ``bronze.requests``; ``leaders``: topics.leaders.
    """
    lines = _lines(requests, tolerance_ms).localCheckpoint()
    classic = (F.col("group_type") == "classic") & F.col("alive") & (F.col("client_epoch") >= 0)
    met = met.withColumn("classic", F.coalesce(classic, F.lit(False)))
    rows = met.where("classic").join(_written(events, leaders), on=list(_RECORD), how="left")
    # times of two brokers are of two clocks
    one_clock = F.coalesce(F.col("next_led_by") == F.col("broker_id"), F.lit(True))
    rows = rows.withColumn("next_ms", F.when(one_clock, F.col("next_at_ms")))
    told = _told(rows.select(*_RECORD, "broker_id", *_OF_RECORD).distinct(), lines)
    rows = rows.join(told, on=[*_RECORD, "broker_id"], how="left")
    rows = rows.join(_signs(lines), on=[*GROUP, "broker_id", "member_id"], how="left")
    others = met.where("not classic").withColumns(
        {"rebalancing": F.lit(False), "variant_kind": F.lit(_AS_WRITTEN)}
    )
    varied = _as_met(_varied(rows, tolerance_ms))
    return _numbered(varied.select(others.columns).unionByName(others)).drop("classic", "variant_kind")


def _lines(requests: DataFrame, tolerance_ms: int) -> DataFrame:
    """What the coordinator told classic members: GROUP, broker_id, api_key, member_id, generation, ``fine``
    (without error), ``start_ms`` and ``end_ms`` (when it was decided, at the earliest and at the latest).
    """
    wanted = requests.where(F.col("api_key").isin(JOIN_GROUP, HEARTBEAT, LEAVE_GROUP, SYNC_GROUP))
    rows = wanted.withColumn("q", F.from_json("request", _REQUEST)).withColumn(
        "a", F.from_json("response", _RESPONSE)
    )
    kind = "array<struct<member_id:string,error:int>>"
    many = F.transform("a.members", lambda m: F.struct(m["memberId"], m["errorCode"])).cast(kind)
    named = F.when(F.col("api_key") == JOIN_GROUP, F.get_json_object("response", "$.memberId"))
    one = F.array(F.struct(F.coalesce(named, "q.memberId"), F.col("a.errorCode"))).cast(kind)
    leaves_many = (F.col("api_key") == LEAVE_GROUP) & (F.size("a.members") > 0)
    rows = rows.withColumn("m", F.explode(F.when(F.coalesce(leaves_many, F.lit(False)), many).otherwise(one)))
    fine = (F.col("a.errorCode") == 0) & (F.col("m.error") == 0)
    # a heartbeat that is told of a rebalance is the heartbeat of a member
    alive = (F.col("api_key") == HEARTBEAT) & (F.col("a.errorCode") == _REBALANCE_IN_PROGRESS)
    joins = F.col("api_key") == JOIN_GROUP
    return rows.where(fine | alive).select(
        "cluster",
        F.col("q.groupId").alias("group_id"),
        "broker_id",
        "api_key",
        F.col("m.member_id").alias("member_id"),
        F.when(joins, F.col("a.generationId")).otherwise(F.col("q.generationId")).alias("generation"),
        fine.alias("fine"),
        (F.floor(F.col("logged_at_ms") - F.col("total_time_ms")) - tolerance_ms).alias("start_ms"),
        F.col("logged_at_ms").alias("end_ms"),
    )


_OF_RECORD = ("generation", "ids", "next_ids")


def _written(events: DataFrame, leaders: DataFrame) -> DataFrame:
    """Each record of a classic group: SPAN, state_no, ``generation``, ``ids`` (its members).

    Of the next one ``next_generation``, ``next_ids``, ``next_at_ms`` and ``next_led_by`` (whose clock that
    is), null when there is none or the group was deleted or converted then; ``followed`` (something was
    written of the group) and ``next_lost`` (a hole in the log may have it).
    """
    ids = F.transform("classic_members", lambda member: member["member_id"])
    rows = events.where(F.col("record_type") == CLASSIC_METADATA).join(
        leaders, on=["cluster", "coordinator_partition", "leader_epoch"], how="left"
    )
    following = F.struct("tombstone", "epoch", ids.alias("ids"), "timestamp_ms", "led_by")
    rows = rows.withColumn("following", F.lead(following).over(over(*SPAN, by="state_no")))
    goes_on = ~F.col("following.tombstone")
    cut = F.col("end_position").isNotNull() & ~F.col("end_position").eqNullSafe(F.col("life_end_position"))
    return rows.where("not tombstone").select(
        *_RECORD,
        F.col("epoch").alias("generation"),
        ids.alias("ids"),
        F.when(goes_on, F.col("following.epoch")).alias("next_generation"),
        F.when(goes_on, F.col("following.ids")).alias("next_ids"),
        F.when(goes_on, F.col("following.timestamp_ms")).alias("next_at_ms"),
        F.when(goes_on, F.col("following.led_by")).alias("next_led_by"),
        F.col("following").isNotNull().alias("followed"),
        (F.col("following").isNull() & cut).alias("next_lost"),
    )


def _told(records: DataFrame, lines: DataFrame) -> DataFrame:
    """What a broker's answers tell of each record's generation and the next: SPAN, state_no, broker_id,
    ``joined`` (member id -> earliest arrival of its JoinGroup for the next generation), ``begun_ms`` (that
    generation had begun by then), ``stable_ms`` (this one had its assignment by then) and ``current_ms`` (it
    was still the current one then).

    Generations of two lives have the same numbers. Members' ids tell them apart, whoever's clock it was.
    """
    said = lines.where(F.col("api_key").isin(JOIN_GROUP, SYNC_GROUP, HEARTBEAT) & F.col("fine"))
    said = said.withColumnRenamed("generation", "of_generation")
    members = F.array_union("ids", F.coalesce("next_ids", F.array().cast("array<string>")))
    both = F.array(F.col("generation"), F.col("generation") + 1)
    rows = records.withColumn("member_id", F.explode(members)).drop("ids", "next_ids")
    rows = rows.withColumn("of_generation", F.explode(both))
    rows = rows.join(said, on=[*GROUP, "broker_id", "member_id", "of_generation"], how="inner")
    joins = (F.col("api_key") == JOIN_GROUP) & (F.col("of_generation") == F.col("generation") + 1)
    settles = (F.col("api_key") != JOIN_GROUP) & (F.col("of_generation") == F.col("generation"))
    key = (*_RECORD, "broker_id")
    each = (
        rows.where(joins | settles)
        .groupBy(*key, "member_id")
        .agg(
            F.min(F.when(joins, F.col("start_ms"))).alias("start_ms"),
            F.min(F.when(joins, F.col("end_ms"))).alias("begun_ms"),
            F.min(F.when(settles, F.col("end_ms"))).alias("stable_ms"),
            F.max(F.when(settles, F.col("start_ms"))).alias("current_ms"),
        )
    )
    arrival = F.when(F.col("start_ms").isNotNull(), F.struct("member_id", "start_ms"))
    return each.groupBy(*key).agg(
        F.map_from_entries(F.collect_list(arrival)).alias("joined"),
        F.min("begun_ms").alias("begun_ms"),
        F.min("stable_ms").alias("stable_ms"),
        F.max("current_ms").alias("current_ms"),
    )


def _signs(lines: DataFrame) -> DataFrame:
    """Per member and broker: ``left_from_ms`` and ``left_by_ms`` (its LeaveGroup), ``seen_ms`` (its last
    other sign of life: member ids are not used again). Commits are no sign: they are what is judged.
    """
    leave = F.col("api_key") == LEAVE_GROUP
    return lines.groupBy(*GROUP, "broker_id", "member_id").agg(
        F.min(F.when(leave, F.col("start_ms"))).alias("left_from_ms"),
        F.min(F.when(leave, F.col("end_ms"))).alias("left_by_ms"),
        F.max(F.when(~leave, F.col("start_ms"))).alias("seen_ms"),
    )


def _varied(rows: DataFrame, tolerance_ms: int) -> DataFrame:
    """One row for each state of the memory that the commit may have met: adds ``variant``."""
    start, end = F.col("requested_ms") - tolerance_ms, F.col("responded_ms")
    next_from, next_by = F.col("next_ms") - tolerance_ms, F.col("next_ms") + tolerance_ms
    accepted = F.coalesce(F.col("accepted"), F.lit(False))
    no, yes, nothing = F.lit(False), F.lit(True), F.lit(None)

    # The next generation begins when its last member has joined, and is told in every member's answer. One
    # without members is written at once.
    empties = F.size("next_ids") == 0
    begun_by = F.least(F.col("begun_ms"), next_by)
    arrivals = F.transform("next_ids", lambda member: F.try_element_at("joined", member))
    complete = F.forall(arrivals, lambda ms: ms.isNotNull())
    last_arrival = F.when(empties, next_from).when(complete, F.array_max(arrivals))
    begun_from = F.greatest(F.when(last_arrival <= begun_by, last_arrival), F.col("current_ms"))
    told_begun = F.col("begun_ms").isNotNull() | F.col("next_lost")
    moves = F.coalesce(F.col("next_generation") > F.col("generation"), told_begun)
    may_have_begun = moves & F.coalesce(begun_from <= end, yes)
    must_have_begun = moves & F.coalesce(begun_by <= start, no)
    one_more = F.coalesce(F.col("next_generation") == F.col("generation") + 1, yes)

    # After the assignment was written the group completes its rebalance only when the record is replicated.
    still = ~accepted & F.coalesce(F.col("stable_ms") >= start, yes)

    # A member is gone when it leaves, after its last sign of life (its session ends, or its LeaveGroup is not
    # in the log); or when that is written: a static member's successor within the generation, or that the
    # group is empty, after its only member.
    stays = F.array_contains("next_ids", F.col("member_id"))
    at_once = (F.col("next_generation") == F.col("generation")) | ((F.size("ids") == 1) & empties)
    gone_from = F.coalesce(F.col("left_from_ms"), F.when(at_once, next_from), F.col("seen_ms"))
    gone_by = F.least(F.col("left_by_ms"), next_by)
    refused_unknown = (F.col("broker_error") == "UNKNOWN_MEMBER_ID") & ~F.col("followed")
    told_gone = F.col("left_by_ms").isNotNull() | refused_unknown | F.col("next_lost")
    leaves = F.when(F.col("next_ids").isNull(), told_gone).otherwise(~stays)
    known = F.coalesce("member_known", yes)
    may_be_gone = known & leaves & F.coalesce(gone_from <= end, yes)
    must_be_gone = known & leaves & F.coalesce(gone_by <= start, no)

    # A static member is asked for by its instance id, which may be another's by now.
    other_instance = F.col("instance_id").isNotNull() & ~F.col("instance_id").eqNullSafe(
        F.col("member_instance_id")
    )
    there = F.when(other_instance, no).otherwise(F.col("member_known"))
    # a commit at the generation that has just begun comes from a member of it, as its answer said
    joined = F.when(F.col("client_epoch") > F.col("generation"), stays).otherwise(there)
    plain = ~must_have_begun & ~must_be_gone

    def variant(kind: int, may: Column, epoch: Column, rebalancing: Column, member: Column) -> Column:
        state = F.struct(F.lit(kind), epoch.cast("int"), rebalancing, member.cast("boolean"))
        return F.when(F.coalesce(may, no), state)

    epoch, next_epoch = F.col("member_epoch"), F.when(one_more, F.col("generation") + 1)
    variants = F.array_compact(
        F.array(
            variant(_AS_WRITTEN, plain, epoch, no, there),
            variant(_NEXT_GENERATION, may_have_begun & ~must_be_gone, next_epoch, yes, joined),
            variant(_STILL_REBALANCING, plain & still, epoch, yes, there),
            variant(_GONE, may_be_gone, nothing, no, no),
        )
    ).cast(_VARIANTS)
    as_written = F.array(F.struct(F.lit(_AS_WRITTEN), epoch, no, there)).cast(_VARIANTS)
    # a record that is not there (before the group's first) leaves nothing to be ahead of
    certain = F.col("generation").isNull() | (F.size(variants) == 0)
    return rows.withColumn("variant", F.explode(F.when(certain, as_written).otherwise(variants)))


def _as_met(rows: DataFrame) -> DataFrame:
    """What follows from the variant. What a member has that waits for its first assignment is not told: its
    partitions of the generation before (cooperative rebalancing), or none.
    """
    gone = F.col("variant.kind") == _GONE
    there = F.col("variant.there")
    ahead = F.col("client_epoch") > F.col("generation")
    unassigned = (F.col("variant.kind") == _NEXT_GENERATION) & ahead & F.coalesce(there, F.lit(True))
    absent = {
        name: F.when(gone, F.lit(-1)).otherwise(F.col(name))
        for name in ("revocation_epoch", "partition_revocation_epoch", "assignment_epoch")
    }
    return rows.withColumns(
        {
            **absent,
            "owned_by_self": F.when(gone, False).otherwise(F.col("owned_by_self")),
            "owned_at_client_epoch": F.when(~unassigned, F.col("owned_at_client_epoch")),
            "uninterrupted": F.when(~unassigned & ~gone, F.col("uninterrupted")).when(gone, False),
            "member_epoch": F.when(~there, F.lit(-1)).otherwise(F.col("variant.epoch")),
            "member_known": there,
            "rebalancing": F.col("variant.rebalancing"),
            "variant_kind": F.col("variant.kind"),
        }
    )


def _numbered(rows: DataFrame) -> DataFrame:
    order = Window.partitionBy("request_id").orderBy("candidate", "variant_kind")
    return rows.withColumn("candidate", (F.dense_rank().over(order) - 1).cast("int"))
