"""What classic groups, their members and their assignors believed (silver): generations, claims, assignments.

The scope is one life of a group, as in the audit of commits: (cluster, group_id, life), over offsets of
``__consumer_offsets``. A generation's rows are true from the record that its leader's assignment was written
with (GroupMetadata) until the next record of the group.

A *claim* is a partition that a member said it has, when it joined: in ``ownedPartitions`` of its subscription
(version 1 and later), or in the user data of Kafka's StickyAssignor. The generation of a claim is the
subscription's ``generationId`` (version 2 and later), else that of the sticky assignors' user data; -1 where
the member gave none. Only what protocol type ``consumer`` sends can be read: ``unread_reason`` says of a
member why its subscription could not be.

Claims and assignments are true from when to when. Members of a group at rest claim in each generation what
the one before assigned to them: a row goes on while each generation that it names is as far from the record's
own as before, or is the same negative number. Its numbers are those of its first record; in a later one they
are greater by as much as the generation is, and who compares them finds the same.
"""

from __future__ import annotations

from fencepost.tables.table import INTERVAL, Table

NO_CLAIM = -2
"""In place of the generation of a claim: there is no claim."""

NO_GENERATION = -1
"""JoinGroupRequest.UNKNOWN_GENERATION_ID, and AbstractStickyAssignor.DEFAULT_GENERATION."""

_GROUP = {"cluster": "string", "group_id": "string", "life": "bigint", "coordinator_partition": "int"}

_PARTITION = {
    "topic": "string",
    "topic_id": "string",  # that the name had then; null where no evidence has it
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
    "Each life of a group that was ever a classic one, cut into pieces that are wholly known (no offset "
    "missing, beginning seen) and not.",
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
        "previous_generation": "int",  # of the record before; -1 for the life's first; null after a hole
        # how many generations began between the two and never had an assignment, where answers to JoinGroup
        # or the coordinator's log show each of them; null where they do not
        "abandoned": "int",
        "protocol_type": "string",  # consumer, connect, ...; '' for none
        "protocol": "string",  # the assignor's name; null in an empty group
        # the members kept what they had while they joined: some member's ownedPartitions are not empty, or
        # the assignor is Kafka's cooperative one; null where neither tells
        "is_cooperative": "boolean",
        "leader_member_id": "string",
        "leader_client_id": "string",
        "members": "int",
        "static_members": "int",
        "unread_members": "int",  # whose subscription or assignment could not be read
        "unread_reason": "string",  # of one of them
        "members_joined": "array<string>",  # that the record before did not have, sorted, as the next two
        "members_left": "array<string>",
        "members_without_partitions": "array<string>",
        "partitions": "int",  # assigned
        "assignment_changed": "boolean",  # somebody has another assignment than in the record before
        "claims_digest": "string",  # of who claims what, without generations; null where not all is known
        "record_offset": "bigint",
        # by the coordinator's clock; null where no line tells. Preparing begins with the first JoinGroup or
        # with the coordinator's log line; the members have joined when the generation begins.
        "prepared_at": "timestamp",
        "joined_at": "timestamp",
        "stabilized_at": "timestamp",  # when the record was written
        "rebalance_ms": "bigint",  # from prepared_at to stabilized_at
        "waited_for": "string",  # member whose JoinGroup came last
        "waited_ms": "bigint",  # between the last but one JoinGroup and the last
        "reason": "string",
        "reason_source": "string",  # server_log, join_group (the member's own words); null without a reason
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
    "One row per member of a classic group, partition that it claimed when it joined, and run of records, "
    "one after the other, for which it said the same. A member whose subscription could not be read has one "
    "row without a partition, where it may have claimed anything.",
    {
        **_GROUP,
        "claim_id": "string",  # digest of cluster, group, first record, member and partition
        "generation": "int",
        "member_id": "string",
        "client_id": "string",
        "instance_id": "string",
        "subscription_version": "int",
        **_PARTITION,
        "claimed_generation": "int",  # NO_GENERATION for none; null where it could not be read
        "claim_source": "string",  # where the generation is from: generation_id, user_data, none
        # the claim stands in ownedPartitions: the member had not given the partition up when it joined. Else
        # it is a memory of an eager member (StickyAssignor's user data)
        "is_held": "boolean",
        "is_subscribed": "boolean",  # the member's subscription names the topic
        # the claims of the same partition by other members of the generation: the greatest generation of
        # theirs (NO_CLAIM without one) and how many have it; null where some member could not be read
        "greatest_claim_of_others": "int",
        "others_at_greatest_claim": "int",
        "contradicted_by": "string",  # a member with that claim
        "greatest_claimed_generation": "int",  # of any partition by any member: an older claim is stale
        "previous_generation": "int",  # as in silver.group_generations
        # whether the newest record up to the claimed generation assigned the partition to the member; null
        # where that record is not known, or the claim has no generation
        "was_assigned": "boolean",
        "assigned_to_self": "boolean",  # in this generation; null where its assignment could not be read
        "assigned_to_another": "boolean",
        "assigned_to": "string",  # whom the assignor gave it: this member, else another; null for nobody
        "unread_reason": "string",  # why the subscription could not be read
        "record_offset": "bigint",
        **_LAST,
        **INTERVAL,
    },
    ("cluster", "claim_id"),
)

CLASSIC_ASSIGNMENTS = Table(
    "silver.classic_assignments",
    "One row per member of a classic group, partition that it was assigned, and run of records, one after "
    "the other, of which the same is true. A member whose assignment could not be read has one row without a "
    "partition.",
    {
        **_GROUP,
        "assignment_id": "string",  # digest of cluster, group, first record, member and partition
        "generation": "int",
        "member_id": "string",
        "client_id": "string",
        "instance_id": "string",
        **_PARTITION,
        "claimed_by_self": "boolean",  # the member kept it while it joined (is_held); null where not known
        "own_claim": "int",  # the generation of that claim; NO_CLAIM without one
        # held claims of other members, as in silver.ownership_claims
        "greatest_claim_of_others": "int",
        "others_at_greatest_claim": "int",
        "claimed_by_another": "string",  # a member with that claim
        # owner in the record before, of the same life and stretch; null for nobody, or not known
        "previous_owner": "string",
        # another member had it in the record before and is a member still (a static one by its instance id);
        # null when not known, as the next
        "previous_owner_stays": "boolean",
        # that member joined for this generation: its subscription is another, or its JoinGroup is in a log. A
        # static member that does not is kept all the same, with the subscription that it sent before
        "previous_owner_joined": "boolean",
        "is_added": "boolean",  # the member did not have it in the record before; null when not known
        "owners": "int",  # how many members this record assigns it to; null where some could not be read
        "record_offset": "bigint",
        **_LAST,
        **INTERVAL,
    },
    ("cluster", "assignment_id"),
)

GROUP_JOINS = Table(
    "silver.group_joins",
    "One row per JoinGroup request.",
    {
        **_GROUP,
        "request_id": "string",  # digest of broker and request line
        "broker_id": "int",
        "member_id": "string",  # as sent; '' for none
        "answered_member_id": "string",  # null when refused without one
        "instance_id": "string",
        "client_id": "string",
        "api_version": "int",
        "reason": "string",  # the member's own words (version 8 and later)
        "protocol_type": "string",
        "protocols": "array<string>",  # assignors that it supports, as sent
        "presented_generation": "int",  # of the first protocol's subscription, as in claimed_generation
        "claim_source": "string",
        "claims": "int",  # partitions that it claims; null where they could not be read
        "claims_held": "int",
        "unread_reason": "string",
        "error": "string",  # the broker's, by Kafka's name; null when the line has no answer
        "response_generation": "int",  # -1 when refused
        "is_leader": "boolean",
        "requested_at": "timestamp",
        "responded_at": "timestamp",
        "connection": "string",
        "candidates": "int",  # states that it may have met
        "unknown_reason": "string",  # why no state could be found; null when one was
        "file": "string",
        "position": "bigint",
        **INTERVAL,
    },
    ("cluster", "request_id"),
    end_columns=("responded_at",),
)

GROUP_JOIN_STATES = Table(
    "silver.group_join_states",
    "The states a JoinGroup may have met. These columns are the fields of the specification's join record.",
    {
        **_GROUP,
        "request_id": "string",
        "candidate": "int",
        "member_id": "string",
        "presented_generation": "int",
        "error": "string",
        "api_version": "int",
        "current_generation": "int",  # the coordinator's when it decided; null where not known
        "has_member_id": "boolean",  # sent one
        "is_static": "boolean",  # sent a group instance id
        # the coordinator has the member: as one of the generation, or because it has given it the id and the
        # member has not joined yet (a pending member)
        "member_known": "boolean",
        "instance_known": "boolean",  # a member has the instance id
        "instance_fenced": "boolean",  # and it is another than the member id that was sent
        "elsewhere": "boolean",  # the broker was not the coordinator, or was loading: it looked at nothing
        "protocols_supported": "boolean",  # some assignor that all members of the generation support
        **INTERVAL,
    },
    ("cluster", "request_id", "candidate"),
    ends_with=(GROUP_JOINS, "request_id"),
)

TABLES = (
    CLASSIC_COVERAGE, GROUP_GENERATIONS, OWNERSHIP_CLAIMS, CLASSIC_ASSIGNMENTS, GROUP_JOINS,
    GROUP_JOIN_STATES,
)  # fmt: skip
