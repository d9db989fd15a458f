"""Silver tables of leader epochs and incarnations of topics, as partitions, brokers and clients had them.

The scope is one log, ``log``: Kafka's text of a TopicIdPartition, ``<topic id>:<topic>-<partition>``
(without the id where it is not known). Most tables are histories over the metadata log, METADATA_LOG; their
positions are its offsets. ``topic``, ``topic_id``, ``partition`` and ``partition_key`` name the partition
that a row is about.

``partition_epoch`` is KIP-232's: it identifies one partition of one incarnation, and orders incarnations. A
counter of the cluster, ``max_partition_epoch``, grows by one for each partition created and each topic
deleted, in the order of the metadata log. Where the captured log lacks its beginning, or has a hole, the
order of epochs is still the cluster's, but the numbers are not (silver.partition_epochs says where). A
partition that was created in a hole that no snapshot closes has no partition epoch. KRaft's own field
PartitionEpoch is called ``kraft_partition_epoch``.
"""

from __future__ import annotations

from fencepost.replay.keys import METADATA_TOPIC
from fencepost.tables import BATCHES
from fencepost.tables.table import INTERVAL, Table

METADATA_TOPIC_ID = "A" * 21 + "Q"
"""Uuid.METADATA_TOPIC_ID."""

METADATA_LOG = f"{METADATA_TOPIC_ID}:{METADATA_TOPIC}-0"
"""The scope of rows from the metadata log."""

_SCOPE = {"cluster": "string", "log": "string"}

_PARTITION = {
    "topic": "string",
    "topic_id": "string",  # null where no evidence has it
    "partition": "int",
    "partition_key": "string",  # '<topic id>:<partition>': one partition of one incarnation
}

_NAMED = {"topic": "string", "partition": "int"}

_LIVE = {
    # of the incarnation that lived then: '' and -1 if none did, null if it is not known which
    "live_topic_id": "string",
    "live_partition_epoch": "int",
    "live_leader_epoch": "int",
}

_CANDIDATES = {
    **_LIVE,
    "live_unknown": "string",  # why it is not known, a word of fencepost.reasons; null for topic_unknown
    "candidates": "int",  # how many states the partition may have had: rows of *_states
}

_ORIGIN = {
    # of the incarnation that an offset belongs to: '' and -1 if to none (offset 0 of an empty log), null if
    # that is not known
    "origin_topic_id": "string",
    "origin_partition_epoch": "int",
}

_CLIENT = {
    "client": "string",  # digest that identifies one instance of a client; null if it may be two instances
    "client_id": "string",
    "client_host": "string",
    "software_name": "string",
    "software_version": "string",
    "connection": "string",
}

_LINE = {
    "request_id": "string",  # digest of broker and request line
    "broker_id": "int",
    "api_name": "string",
    "api_version": "int",
    "correlation_id": "int",
    "requested_at": "timestamp",
    "responded_at": "timestamp",
    "file": "string",
    "position": "bigint",
}

NO_LINE = (None,) * len({**_CLIENT, **_LINE})
"""The values of these columns in rows without a request line."""

METADATA_COVERAGE = Table(
    "silver.metadata_coverage",
    "Each log of the audit of leader epochs (the metadata log, and the log of every partition), cut into "
    "pieces that are completely known and pieces that are not. A snapshot of the metadata log closes a hole: "
    "from its offset on the state is known again.",
    {
        **_SCOPE,
        **_PARTITION,
        "why_uncovered": "string",  # a word of fencepost/reasons.py; null: it was not captured
        "covered": "boolean",
        **INTERVAL,
        "last_position": "bigint",  # the first offset behind the known part of the piece
        "last_time": "timestamp",  # the newest in it by a broker's clock; null if clients set all its times
    },
    ("cluster", "log", "from_position"),
    handed_down_columns=(),
)

PARTITION_EPOCHS = Table(
    "silver.partition_epochs",
    "History of KIP-232's counter over the metadata log: one row per commit of records that increased it.",
    {
        **_SCOPE,
        "max_partition_epoch": "int",
        "from_beginning": "boolean",  # counted from the log's beginning without a hole: the number is exact
        **INTERVAL,
    },
    ("cluster", "log", "from_position"),
)

PARTITIONS = Table(
    "silver.partitions",
    "History of each partition of each incarnation over the metadata log, one row per change "
    "(PartitionRegistration), from its creation to the topic's deletion. State columns are null behind a "
    "hole that may hide a change.",
    {
        **_SCOPE,
        **_PARTITION,
        "partition_epoch": "int",
        "max_partition_epoch": "int",  # the cluster's counter when this row began
        "leader": "int",  # -1 for none
        "leader_epoch": "int",
        "kraft_partition_epoch": "int",  # grows by one with each change of this partition
        "isr": "array<string>",  # broker ids as text, in the order of numbers; so are the next two
        "replicas": "array<string>",
        "eligible_leader_replicas": "array<string>",  # ELR of KIP-966; empty where there is none
        "recovering": "boolean",  # LeaderRecoveryState: elected unclean, not yet recovered
        **INTERVAL,
    },
    ("cluster", "partition_key", "from_position"),
)

TOPIC_INCARNATIONS = Table(
    "silver.topic_incarnations",
    "History of each topic name over the metadata log, one row per topic id. The interval goes from the "
    "topic's creation, or from where it is first seen, to the creation of the next topic of that name.",
    {
        **_SCOPE,
        "topic": "string",  # null where no record names the id
        "topic_id": "string",
        "incarnation": "int",  # 1 for the first of its name; null where a hole may hide an earlier one
        "created_position": "bigint",  # null where the record of the creation is missing
        "created_at": "timestamp",
        "removed_position": "bigint",  # null while it lives, and where a hole hides it
        "removed_at": "timestamp",
        "live": "boolean",  # exists at the end of the known log; null where a hole may hide its deletion
        "partitions": "int",  # at the end; null where a hole may hide some
        # never; enabled (remote.storage.enable, now or once); deletes_when_disabled (as well
        # remote.log.delete.on.disable: then its log begins where the local one does); null where a hole may
        # hide it
        "tiered_storage": "string",
        "first_partition_epoch": "int",  # of its first partition
        "max_partition_epoch": "int",  # the cluster's counter right after its creation
        "removed_partition_epoch": "int",  # the cluster's counter right after its deletion
        "previous_topic_id": "string",  # of the previous incarnation of the name
        "created_request_id": "string",  # of the request line that created it, if it was found
        "created_by": "string",  # its principal
        "created_by_client_id": "string",
        "removed_request_id": "string",
        "removed_by": "string",
        "removed_by_client_id": "string",
        **INTERVAL,
    },
    ("cluster", "topic_id"),
)

LEADER_EPOCHS = Table(
    "silver.leader_epochs",
    "One row per leader epoch of each partition: which leader was elected, and where the epoch begins and "
    "ends in the partition's log.",
    {
        **_SCOPE,  # the partition's own log
        **_PARTITION,
        "leader_epoch": "int",
        "leader": "int",  # -1 for none; null where the metadata log does not tell
        "previous_leader": "int",  # -1 for none
        "elected_position": "bigint",  # in the metadata log
        "elected_at": "timestamp",
        # created, clean (from the ISR or the ELR), preferred (clean, and the first replica), unclean, same
        # (the leader stays: ISR or replicas changed), none (no leader); null where a hole hides the state
        # before
        "how": "string",
        "start_offset": "bigint",  # of its first batch; null if it has none, or none any more
        "end_offset": "bigint",  # behind its last batch that survived
        "batches": "bigint",
        "records": "bigint",  # offsets that its surviving batches span
        # how many offsets of earlier epochs, from lost_from to lost_to, this epoch overwrote, since its
        # leader did not have them. 0 for none; null where evidence of them may be missing. After an unclean
        # election 0 if the leader had been the last one, and has all that it acknowledged to producers
        "records_lost": "bigint",
        "lost_from": "bigint",
        "lost_to": "bigint",  # exclusive
        "lost_leader_epoch": "int",  # the newest epoch of these offsets
        "lost_brokers": "array<string>",  # the brokers whose captured logs had them
        # whether all entries of this epoch in silver.leader_epoch_entries agree; null if that is not known
        "checkpoint_agrees": "boolean",
        "leaders_moved": "int",  # partitions that changed their leader in the same commit of records
        # the id of the log directory in which the leader before had the partition, if it was not online any
        # more when the leader moved (KIP-858); where nobody led meanwhile, that of the leader itself when it
        # led last, if it came back without it; null if it was online, and where no record tells it
        "failed_log_dir": "string",
        # the request that caused it: ELECT_LEADERS; for a partition's first epoch CREATE_TOPICS or
        # CREATE_PARTITIONS. Null if there was none, or the controller's line of it was not found
        "elected_request_id": "string",
        "elected_by": "string",  # its principal
        "elected_by_client_id": "string",
        "appended": "boolean",  # whether batches carry it
        "given": "boolean",  # whether the metadata log gave the partition this epoch; null if not known
        **INTERVAL,  # in the partition's log, from start_offset on; without batches, where it would begin
    },
    ("cluster", "partition_key", "leader_epoch"),
    handed_down_columns=(
        "elected_request_id",
        "elected_by",
        "elected_by_client_id",
        "records_lost",
        "lost_from",
        "lost_to",
        "lost_leader_epoch",
        "lost_brokers",
    ),
)

LEADER_EPOCH_ENTRIES = Table(
    "silver.leader_epoch_entries",
    "One row per entry of each replica's leader-epoch-checkpoint, as it was when it was read last. The scope "
    "is the partition's log; the interval is that of the entry's epoch.",
    {
        **_SCOPE,
        **_PARTITION,
        "entry_id": "string",  # digest of replica, content and entry
        "broker_id": "int",
        "log_state": "string",  # live, delete, stray
        "leader_epoch": "int",
        "start_offset": "bigint",
        "batches_start_offset": "bigint",  # of the first batch of that epoch; null if there is none
        "agrees": "boolean",  # null where batches are missing
        "captured_at": "timestamp",
        "file": "string",
        **INTERVAL,
    },
    ("cluster", "entry_id"),
    handed_down_columns=(),
)

PARTITION_BATCHES = Table(
    "silver.partition_batches",
    "History of the leader epoch over a partition's own log, by its batches: one row per run of batches of "
    "one epoch. Batches that a later leader overwrote are not included.",
    {
        **_SCOPE,
        **_PARTITION,
        "leader_epoch": "int",
        "batches": "bigint",
        "last_offset": "bigint",
        "given": "boolean",  # whether the metadata log gave the partition this epoch; null if not known
        "given_unknown": "string",  # why given is null; a word of fencepost.reasons
        "broker_id": "int",  # where the run's first batch was read; so the next two
        "file": "string",
        "byte_position": "bigint",
        **INTERVAL,
    },
    ("cluster", "partition_key", "from_position"),
    handed_down_columns=(),
)

PARTITION_EXTENTS = Table(
    "silver.partition_extents",
    "One row per partition's log: where it begins and ends, as far as it was captured.",
    {
        **_SCOPE,
        **_PARTITION,
        "log_start_offset": "bigint",  # null if there are neither batches nor a checkpoint
        "log_end_offset": "bigint",  # null if batches at the end cannot be read
        "live": "boolean",  # whether it belongs to the incarnation that its topic's name has now
        **INTERVAL,  # from log_start_offset on, without times
    },
    ("cluster", "partition_key"),
    handed_down_columns=(),
)

COMMITTED_OFFSETS = Table(
    "silver.committed_offsets",
    "One row per offset that was committed (a record of __consumer_offsets), or whose commit was refused "
    "with UNKNOWN_TOPIC_ID. The scope is the metadata log; the interval has the offsets at which that log "
    "may have ended when the offset was committed, or up to which the coordinator had applied it, if a later "
    "record deletes the topic (unheard_deletions.py).",
    {
        **_SCOPE,
        **_NAMED,
        "commit_id": "string",  # digest of the record's place, or of request line and partition
        "group_id": "string",
        "committed_offset": "bigint",
        "committed_leader_epoch": "int",  # -1 for none
        "by_id": "boolean",  # whether the record, or the refused request, has a topic id
        "committed_topic_id": "string",  # that id; '' for none
        **_CANDIDATES,
        **_ORIGIN,
        # how the origin is known. fetched: its client fetched up to there; committed: its client got the
        # offset from OffsetFetch, and commits it again; only: the name never had another topic; null if the
        # origin is not known
        "origin": "string",
        "error": "string",  # NONE for a stored offset
        "commit_partition": "int",  # of __consumer_offsets
        "record_offset": "bigint",
        "is_transactional": "boolean",
        **_CLIENT,
        **_LINE,  # of the request line, if it was found; file and position: of the record, else of the line
        "committed_at": "timestamp",
        **INTERVAL,
    },
    ("cluster", "commit_id"),
    end_columns=("to_time",),
)

STORED_OFFSETS = Table(
    "silver.stored_offsets",
    "One row per offset of silver.committed_offsets that is stored now: the group's newest for the topic and "
    "partition, without a tombstone. The interval begins at its record in __consumer_offsets.",
    {
        "cluster": "string",
        **_NAMED,
        "commit_id": "string",
        "group_id": "string",
        "is_newest": "boolean",  # true; null where a hole may hide a later one
        **INTERVAL,
    },
    ("cluster", "commit_id"),
    handed_down_columns=(),
)

OFFSET_REMOVALS = Table(
    "silver.offset_removals",
    "One row per offset of silver.committed_offsets that was removed: the next record of its key is a "
    "tombstone in __consumer_offsets.",
    {
        "cluster": "string",
        **_NAMED,
        "commit_id": "string",
        "group_id": "string",
        "committed_offset": "bigint",
        "committed_at": "timestamp",
        "commit_partition": "int",  # of __consumer_offsets
        "removed_position": "bigint",  # of the tombstone
        "removed_at": "timestamp",  # by the coordinator's clock
    },
    ("cluster", "commit_id"),
    end_columns=("removed_at",),
)

REMOVAL_REQUESTS = Table(
    "silver.removal_requests",
    "One row per request of an administrator and what it removed: a group's offset of a partition "
    "(OFFSET_DELETE), a group (DELETE_GROUPS), or a partition's records below an offset (DELETE_RECORDS).",
    {
        "cluster": "string",
        "request_id": "string",  # digest of broker and request line
        "broker_id": "int",
        "api_name": "string",
        "group_id": "string",  # null of DELETE_RECORDS
        **_NAMED,  # null of DELETE_GROUPS
        "low_watermark": "bigint",  # the log's first offset afterwards; null of the others
        "client_id": "string",
        "client_host": "string",
        "principal": "string",
        "requested_at": "timestamp",
        "responded_at": "timestamp",
        "file": "string",
        "position": "bigint",
    },
    ("cluster", "request_id", "group_id", "topic", "partition"),
    end_columns=("responded_at",),
)

COMMITTED_OFFSET_STATES = Table(
    "silver.committed_offset_states",
    "The states that the partition may have had when an offset was committed: one row for each state in the "
    "interval of the metadata log. The columns are the fields of the specification's record.",
    {
        **_SCOPE,
        "commit_id": "string",
        "candidate": "int",  # from 0, in the order of the metadata log
        "committed_offset": "bigint",
        "committed_leader_epoch": "int",
        "by_id": "boolean",
        "committed_topic_id": "string",
        **_LIVE,
        "origin_partition_epoch": "int",
        "error": "string",
        **INTERVAL,
    },
    ("cluster", "commit_id", "candidate"),
    end_columns=("to_time",),
)

METADATA_ANSWERS = Table(
    "silver.metadata_answers",
    "One row per answer of a broker about topics, to METADATA or DESCRIBE_TOPIC_PARTITIONS.",
    {
        **_SCOPE,
        **_CLIENT,
        **_LINE,
        "topics": "int",  # in the answer
        "partitions": "int",  # in the answer
        "changed": "int",  # partitions about which the answer differs from the cache; null if not known
        # the counter of partition epochs in the broker's image, as far as the answer shows it; null if it may
        # be several
        "max_partition_epoch": "int",
        # the highest in the client's earlier answers; -1 before the first, null if one may be missing
        "cached_max_partition_epoch": "int",
        # how far, at least, the broker's image was behind the metadata log when it answered, in milliseconds
        "behind_ms": "bigint",
        **INTERVAL,
    },
    ("cluster", "request_id"),
    end_columns=("to_time",),
)

METADATA_ANSWER_PARTITIONS = Table(
    "silver.metadata_answer_partitions",
    "One row per answer and partition about which it differs from the client's cache. For topics of which it "
    "is not known what the cache had, and about which the answer may be older, one row per answer without a "
    "partition. The scope is the metadata log; the interval has the offsets up to which the broker's image "
    "may have had it.",
    {
        **_SCOPE,
        **_NAMED,
        "answer_partition_id": "string",  # digest of request line, topic (null for several) and partition
        **_CLIENT,
        **_LINE,
        "has_topic_ids": "boolean",  # Metadata v10 and later
        "has_leader_epochs": "boolean",  # reliable ones: Metadata v9 and later
        "cached": "boolean",  # whether the client ever had the partition in its cache
        "cached_gone": "boolean",  # whether the answer before this one said that it does not exist
        "cached_topic_id": "string",  # '' for none
        "cached_partition_epoch": "int",  # -1 for none, as in the next two
        "cached_leader_epoch": "int",  # kept after the topic vanished (Metadata.lastSeenLeaderEpochs)
        "cached_max_partition_epoch": "int",
        "told": "boolean",  # whether the answer has the partition; if not, the columns below are -1 or ''
        "same_topic_id": "boolean",  # whether the answer has the id that the cache has, or no id
        "told_topic_id": "string",  # '' for none
        "told_partition_epoch": "int",
        "told_leader_epoch": "int",  # -1 for none
        "told_max_partition_epoch": "int",  # of the broker's image; null if it may be several
        "told_leader": "int",
        "error": "string",  # of the partition, else of the topic
        # whether the client took it into its cache (Metadata.updateLatestMetadata); null if it may not have
        # got the answer, or may not keep it
        "accepted": "boolean",
        **INTERVAL,
    },
    ("cluster", "answer_partition_id"),
    end_columns=("to_time",),
)

FETCH_POSITIONS = Table(
    "silver.fetch_positions",
    "One row per position at which a consumer began to fetch a partition, or was refused: a Fetch that does "
    "not go on from the one before, or the first one known. The scope is the metadata log, as in "
    "silver.committed_offsets.",
    {
        **_SCOPE,
        **_NAMED,
        "fetch_position_id": "string",  # digest of request line, topic and partition
        **_CLIENT,
        **_LINE,
        "by_id": "boolean",  # whether the request has a topic id (Fetch v13 and later)
        "asked_topic_id": "string",  # that id; '' for none
        "asked_partition_epoch": "int",  # of that id; -1 for none
        # as sent, by this request or by an earlier one of its fetch session; null if that one is not known
        "fetch_offset": "bigint",
        "current_leader_epoch": "int",  # so is this; -1 for none
        "last_fetched_epoch": "int",  # and this; -1 for none
        **_CANDIDATES,  # in the image from which the broker answered, which may be behind
        "error": "string",
        "diverging_epoch": "int",  # -1 for none, as in the next one
        "diverging_end_offset": "bigint",
        # where the offset comes from: committed (OffsetFetch), reset (ListOffsets), truncated
        # (OffsetForLeaderEpoch: the log ends before the offset that it had), read (the fetch before),
        # elsewhere (no request gave it to the client: a seek); null if that is not known
        "origin": "string",
        **_ORIGIN,
        "origin_leader_epoch": "int",  # -1 for none
        "origin_request_id": "string",
        "origin_commit_id": "string",  # of silver.committed_offsets: the offset that the OffsetFetch gave
        "group_id": "string",  # of the OffsetFetch
        # of a reset: the group whose offset the client had asked for before, and that had none
        "reset_group_id": "string",
        "next_fetch_position_id": "string",  # the same client's next row for this topic name and partition
        "log_start_offset": "bigint",  # as answered; null where the answer had none
        "high_watermark": "bigint",
        **INTERVAL,
    },
    ("cluster", "fetch_position_id"),
    end_columns=("to_time",),
)

FETCH_POSITION_STATES = Table(
    "silver.fetch_position_states",
    "The states of the partition from which the broker, which may be behind, may have answered a fetch: one "
    "row for each. The columns are the fields of the specification's record.",
    {
        **_SCOPE,
        "fetch_position_id": "string",
        "candidate": "int",  # from 0, in the order of the metadata log
        "by_id": "boolean",
        "asked_topic_id": "string",
        "asked_partition_epoch": "int",
        "fetch_offset": "bigint",
        "current_leader_epoch": "int",
        "last_fetched_epoch": "int",
        **_LIVE,
        "origin_partition_epoch": "int",
        "error": "string",
        "diverging_epoch": "int",
        **INTERVAL,
    },
    ("cluster", "fetch_position_id", "candidate"),
    end_columns=("to_time",),
)

BROKER_STATES = Table(
    "silver.broker_states",
    "History of each broker's registration over the metadata log (ClusterControlManager), from "
    "RegisterBroker to UnregisterBroker.",
    {
        **_SCOPE,
        "broker_id": "int",
        "broker_epoch": "bigint",  # the offset of its registration
        "incarnation_id": "string",  # of the process
        "fenced": "boolean",
        "in_controlled_shutdown": "boolean",
        "metadata_version": "int",  # the highest that it supports, which shows its release
        "record_name": "string",  # of the record that brought this state
        **INTERVAL,
    },
    ("cluster", "broker_id", "from_position"),
)

CONTROLLERS = Table(
    "silver.controllers",
    "History of the active controller: leader epochs of the metadata log, from its LeaderChangeMessage "
    "records, or else from its batches.",
    {
        **_SCOPE,
        "controller_epoch": "int",
        "controller_id": "int",  # null if only batches show the epoch
        # milliseconds from the last batch of the controller before to the first of this one, by two clocks;
        # null for the first one, and where batches between them may be missing
        "unled_ms": "bigint",
        **INTERVAL,
    },
    ("cluster", "log", "from_position"),
)

LEADER_EPOCH_FENCINGS = Table(
    "silver.leader_epoch_fencings",
    "One row per request, topic and partition that was refused because of a leader epoch, a broker epoch, a "
    "topic id or another active controller; one per broker that a controller fenced; and one per controller "
    "that was followed by another.",
    {
        "cluster": "string",
        "fencing_id": "string",  # digest of request line and partition, or of node and position
        # leader_epoch, topic_id, broker_epoch, broker, controller (one that was followed, or a candidate),
        # not_controller (a request to a controller whose epoch was over)
        "kind": "string",
        "victim": "string",  # the client, as client_id@host, or 'broker <id>', 'controller <id>'
        "victim_broker_id": "int",  # the node's id; null if the victim is a client
        "error": "string",  # Kafka's name; null if no request was refused
        "topic": "string",
        "topic_id": "string",  # as in the request
        "partition": "int",
        "victim_epoch": "bigint",  # as presented
        "current_epoch": "bigint",  # at that moment, by the metadata log; null if it may be several
        # leader_change, partition_change (of its replicas in sync, say: the leader is the same),
        # topic_recreated, topic_deleted, stale_metadata (the broker or client is behind), restart,
        # session_timeout, controlled_shutdown, unregistered, controller_change; null if not known
        "cause": "string",
        # of the record of the metadata log that moved the epoch; null if it may have been written afterwards
        "caused_position": "bigint",
        "caused_at": "timestamp",  # also null if the controller's clock was later than occurred_at
        "occurred_at": "timestamp",
        # from the record to the answer; null if another node's clock dated the record, and for nodes
        "after_cause_ms": "bigint",
        # when the broker was unfenced, or the controller active again; null while that has not happened, and
        # for refused requests
        "ended_at": "timestamp",
        # how many partitions lost this broker as their leader; 1 for a controller, for the metadata log; null
        # for clients
        "leaders_moved": "int",
        "isr_shrunk": "int",  # how many partitions lost this broker from their ISR
        **_CLIENT,
        **_LINE,
    },
    ("cluster", "fencing_id"),
    # the fencing of a node ends when it is back, that of a request with its line
    end_columns=("ended_at", "responded_at"),
)

TABLES = (
    METADATA_COVERAGE, PARTITION_EPOCHS, PARTITIONS, TOPIC_INCARNATIONS, LEADER_EPOCHS, LEADER_EPOCH_ENTRIES,
    PARTITION_BATCHES, PARTITION_EXTENTS, COMMITTED_OFFSETS, STORED_OFFSETS, OFFSET_REMOVALS,
    REMOVAL_REQUESTS, COMMITTED_OFFSET_STATES, METADATA_ANSWERS,
    METADATA_ANSWER_PARTITIONS, FETCH_POSITIONS, FETCH_POSITION_STATES, BROKER_STATES, CONTROLLERS,
    LEADER_EPOCH_FENCINGS,
)  # fmt: skip

_READ = (
    "cluster", "topic", "topic_id", "partition", "base_offset", "last_offset", "leader_epoch", "attributes",
    "max_timestamp_ms", "broker_id", "file", "position",
)  # fmt: skip
KNOWN_BATCHES = Table(
    "states.known_batches",
    "Batches of partitions' logs; one row may stand for several of one leader epoch that follow one another. "
    "Its time is then the newest that a broker set, if any did, its place that of the first.",
    {
        **{name: BATCHES.columns[name] for name in _READ},
        "record_count": "bigint",
        "size": "bigint",
        "batches": "bigint",  # for how many it stands; null where that is not known
    },
    ("cluster", "topic", "topic_id", "partition", "base_offset", "leader_epoch"),
)

TRUNCATED = Table(
    "states.truncated",
    "One row per Fetch of a replica that was answered with a diverging epoch.",
    {
        "cluster": "string", "topic": "string", "topic_id": "string", "partition": "int", "replica": "int",
        "begins": "bigint", "ends": "bigint", "leader_epoch": "int", "by_leader_epoch": "int",
    },
    ("cluster", "topic", "topic_id", "partition", "replica", "ends"),
)  # fmt: skip

INSTANCES = Table(
    "states.instances",
    "The instance of a client at the other end of each connection.",
    {
        "cluster": "string", "client_id": "string", "broker_id": "int", "connection": "string",
        "client": "string",
    },
    ("cluster", "broker_id", "connection", "client_id"),
)  # fmt: skip

STATES = (KNOWN_BATCHES, TRUNCATED, INSTANCES)
"""What is known from before the evidence of a rebuild."""
