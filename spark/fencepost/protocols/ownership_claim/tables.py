"""Silver tables of classic groups: generations, claims of members, assignments.

The scope is one life of a group, as in the audit of commits: (cluster, group_id, life), over offsets of
``__consumer_offsets``. A generation's rows are valid from the record with its leader's assignment
(GroupMetadata) until the next record of the group.

A *claim* is a partition that a member claims to own when it joins: in ``ownedPartitions`` of its
subscription (version 1 and later), or in the user data of Kafka's StickyAssignor. The generation of a claim
is the subscription's ``generationId`` (version 2 and later), or else that in the sticky assignors' user
data; -1 if the member sent none. Only subscriptions of the protocol type ``consumer`` can be read:
``unread_reason`` says why a member's subscription could not be.

A row about a claim or an assignment may be valid for several records. Members of a stable group claim in
each generation the partitions of the previous assignment. A row stays valid as long as the distance between
each of its generations and the record's own does not change, or as long as it is the same negative number.
Its numbers are those of its first record; in later records all of them are greater by the same number, so
that comparisons do not change.
"""

from __future__ import annotations

from fencepost.tables.clocks import clock_table
from fencepost.tables.table import INTERVAL, Table

NO_CLAIM = -2
"""Stands for the generation of a claim if there is no claim."""

NO_GENERATION = -1
"""JoinGroupRequest.UNKNOWN_GENERATION_ID, and AbstractStickyAssignor.DEFAULT_GENERATION."""

_GROUP = {"cluster": "string", "group_id": "string", "life": "bigint", "coordinator_partition": "int"}

_PARTITION = {
    "topic": "string",
    "topic_id": "string",  # at that time; null if no evidence has it
    "partition": "int",
    "partition_key": "string",  # as in silver.owned_partitions
}

_LAST = {
    "records": "int",  # of the run; generation and record_offset are of its first one
    "last_generation": "int",
    "last_record_offset": "bigint",
}

CLASSIC_COVERAGE = Table(
    "silver.classic_group_coverage",
    "Each life of a group that was ever a classic one, cut into pieces that are completely known (no offset "
    "is missing, the beginning was seen) and pieces that are not.",
    {**_GROUP, "covered": "boolean", **INTERVAL},
    ("cluster", "group_id", "life", "from_position"),
)

GROUP_GENERATIONS = Table(
    "silver.group_generations",
    "One row per record of a classic group: a generation that has its assignment, or is empty. A static "
    "member that is replaced has its generation written again.",
    {
        **_GROUP,
        "generation": "int",
        "previous_generation": "int",  # of the previous record; -1 for the life's first; null after a hole
        # how many generations began between the two and never had an assignment, if answers to JoinGroup
        # or the coordinator's log show each of them; null otherwise
        "abandoned": "int",
        "protocol_type": "string",  # consumer, connect, ...; '' for none
        "protocol": "string",  # the assignor's name; null in an empty group
        # the members kept their partitions while they joined: some member's ownedPartitions are not empty, or
        # the assignor is Kafka's cooperative one; null if neither shows it
        "is_cooperative": "boolean",
        "leader_member_id": "string",
        "leader_client_id": "string",
        "members": "int",
        "static_members": "int",
        "unread_members": "int",  # whose subscription or assignment could not be read
        "unread_reason": "string",  # of one of them
        # that the previous record did not have; sorted, like the next two columns
        "members_joined": "array<string>",
        "members_left": "array<string>",
        "members_without_partitions": "array<string>",
        "partitions": "int",  # assigned
        "assignment_changed": "boolean",  # a member has another assignment than in the previous record
        "claims_digest": "string",  # of all claims, without generations; null if not all are known
        "record_offset": "bigint",
        # by the coordinator's clock; null if no line shows it. Preparing begins with the first JoinGroup or
        # with the coordinator's log line; the members have joined when the generation begins.
        "prepared_at": "timestamp",
        "joined_at": "timestamp",
        "stabilized_at": "timestamp",  # when the record was written
        "rebalance_ms": "bigint",  # from prepared_at to stabilized_at
        "waited_for": "string",  # member whose JoinGroup came last
        "waited_ms": "bigint",  # between the last but one JoinGroup and the last
        "reason": "string",
        "reason_source": "string",  # server_log, join_group (the member's reason); null without a reason
        "file": "string",  # of the record
        "position": "bigint",
        **INTERVAL,
    },
    ("cluster", "group_id", "life", "from_position"),
    begin_columns=(
        "abandoned", "is_cooperative", "prepared_at", "joined_at", "rebalance_ms", "waited_for", "waited_ms",
        "reason", "reason_source",
    ),
)  # fmt: skip

OWNERSHIP_CLAIMS = Table(
    "silver.ownership_claims",
    "One row per member of a classic group, partition that it claimed when it joined, and run of "
    "consecutive records with the same claim. A member whose subscription could not be read has one row "
    "without a partition, since it may have claimed anything.",
    {
        **_GROUP,
        "claim_id": "string",  # digest of cluster, group, first record, member and partition
        "generation": "int",
        "member_id": "string",
        "client_id": "string",
        "instance_id": "string",
        "subscription_version": "int",
        **_PARTITION,
        "claimed_generation": "int",  # NO_GENERATION for none; null if it could not be read
        "claim_source": "string",  # the source of the generation: generation_id, user_data, none
        # the claim is in ownedPartitions: the member had not revoked the partition when it joined. False: an
        # eager member remembers the partition (StickyAssignor's user data)
        "is_held": "boolean",
        "is_subscribed": "boolean",  # the member's subscription has the topic
        # the claims of the same partition by other members of the generation: their greatest
        # generation (NO_CLAIM without one) and how many have it; null if some member could not be read
        "greatest_claim_of_others": "int",
        "others_at_greatest_claim": "int",
        "contradicted_by": "string",  # a member with that claim
        "greatest_claimed_generation": "int",  # of any partition by any member: an older claim is stale
        "previous_generation": "int",  # as in silver.group_generations
        # whether the newest record up to the claimed generation assigned the partition to the member; null
        # if that record is unknown, or if the claim has no generation
        "was_assigned": "boolean",
        "assigned_to_self": "boolean",  # in this generation; null if its assignment could not be read
        "assigned_to_another": "boolean",
        "assigned_to": "string",  # to this member if it is one of several, else to another; null for nobody
        "unread_reason": "string",  # why the subscription could not be read
        "was_assigned_unknown": "string",  # why was_assigned is null (fencepost/reasons.py)
        "record_offset": "bigint",
        **_LAST,
        **INTERVAL,
    },
    ("cluster", "claim_id"),
)

CLASSIC_ASSIGNMENTS = Table(
    "silver.classic_assignments",
    "One row per member of a classic group, partition that it was assigned, and run of consecutive "
    "records with the same assignment. A member whose assignment could not be read has one row without a "
    "partition.",
    {
        **_GROUP,
        "assignment_id": "string",  # digest of cluster, group, first record, member and partition
        "generation": "int",
        "member_id": "string",
        "client_id": "string",
        "instance_id": "string",
        **_PARTITION,
        "claimed_by_self": "boolean",  # the member kept it while it joined (is_held); null if unknown
        "own_claim": "int",  # the generation of that claim; NO_CLAIM without one
        # held claims of other members, as in silver.ownership_claims
        "greatest_claim_of_others": "int",
        "others_at_greatest_claim": "int",
        "claimed_by_another": "string",  # a member with that claim
        # owner in the previous record of the same life and stretch; null for nobody, or if unknown
        "previous_owner": "string",
        # another member had it in the previous record and is still in the group (a static one by its instance
        # id); null if unknown, like the next column
        "previous_owner_stays": "boolean",
        # that member joined for this generation: its subscription has changed, or its JoinGroup is in a log.
        # A static member that does not join stays in the group with its old subscription
        "previous_owner_joined": "boolean",
        "is_added": "boolean",  # the member did not have it in the previous record; null if unknown
        "owners": "int",  # to how many members this record assigns it; null if some could not be read
        # why previous_owner_stays or previous_owner_joined is null (fencepost/reasons.py)
        "unknown_reason": "string",
        "unknown_detail": "string",  # the same in words
        "record_offset": "bigint",
        **_LAST,
        **INTERVAL,
    },
    ("cluster", "assignment_id"),
    explained_column="previous_owner_joined",
)

GROUP_JOINS = Table(
    "silver.group_joins",
    "One row per JoinGroup request.",
    {
        **_GROUP,
        "request_id": "string",  # digest of broker and request line
        "broker_id": "int",
        "member_id": "string",  # in the request; '' for none
        "answered_member_id": "string",  # null if the answer has none
        "instance_id": "string",
        "client_id": "string",
        "api_version": "int",
        "reason": "string",  # from the member (version 8 and later)
        "protocol_type": "string",
        "protocols": "array<string>",  # assignors that it supports
        # of the first protocol's subscription, as in claimed_generation; NO_GENERATION of other types
        "presented_generation": "int",
        "claim_source": "string",
        "claims": "int",  # partitions that it claims; null if they could not be read
        "claims_held": "int",
        "unread_reason": "string",
        "error": "string",  # the broker's, by Kafka's name; null if the line has no answer
        "response_generation": "int",  # -1 if refused
        "is_leader": "boolean",
        "requested_at": "timestamp",
        "responded_at": "timestamp",
        "connection": "string",
        # of a worker of Kafka Connect: the URL of its REST API, and up to where it has read the config topic
        # (-1: nothing); null of others, and if its subscription cannot be read
        "worker_url": "string",
        "config_offset": "bigint",
        "candidates": "int",  # states in which it may have been handled
        # why no state was found, or not all of one: a word of fencepost.reasons, and in words; null otherwise
        "unknown_reason": "string",
        "unknown_detail": "string",
        "file": "string",
        "position": "bigint",
        **INTERVAL,
    },
    ("cluster", "request_id"),
    end_columns=("responded_at",),
)

GROUP_JOIN_STATES = Table(
    "silver.group_join_states",
    "The states in which a JoinGroup may have been handled. These columns are the fields of the "
    "specification's join record.",
    {
        **_GROUP,
        "request_id": "string",
        "candidate": "int",
        "member_id": "string",
        "presented_generation": "int",
        "error": "string",
        "api_version": "int",
        "current_generation": "int",  # the coordinator's when it handled the request; null if unknown
        "has_member_id": "boolean",  # the request has one
        "is_static": "boolean",  # the request has a group instance id
        # the coordinator has the member: in the generation, or as a pending member, which has got its id but
        # has not joined yet
        "member_known": "boolean",
        "instance_known": "boolean",  # a member has the instance id
        "instance_fenced": "boolean",  # and it has another member id than the request
        "elsewhere": "boolean",  # the broker was not the coordinator, or was loading, and so checked nothing
        "protocols_supported": "boolean",  # all members of the generation support one of its assignors
        **INTERVAL,
    },
    ("cluster", "request_id", "candidate"),
    ends_with=(GROUP_JOINS, "request_id"),
)

SYNC_CLOCKS = clock_table("silver.sync_clocks", "__consumer_offsets")

TABLES = (
    CLASSIC_COVERAGE, GROUP_GENERATIONS, OWNERSHIP_CLAIMS, CLASSIC_ASSIGNMENTS, GROUP_JOINS,
    GROUP_JOIN_STATES, SYNC_CLOCKS,
)  # fmt: skip
