"""What partitions, brokers and clients believed (silver): leader epochs and incarnations of topics.

The scope is one log, ``log``: Kafka's text of a TopicIdPartition, ``<topic id>:<topic>-<partition>``
(without the id where none is known). Most tables are histories over the metadata log, METADATA_LOG; their
positions are its offsets. ``topic``, ``topic_id``, ``partition`` and ``partition_key`` say which partition a
row is about.

``partition_epoch`` is KIP-232's: it names one partition of one incarnation and orders incarnations. A counter
of the cluster grows by one for each partition created and by one for each topic deleted, in the order of the
metadata log; ``max_partition_epoch`` is the counter. Where the log does not go back to its beginning, or has
a hole, the order of epochs is still the cluster's, the numbers are not (silver.partition_epochs says which).
What was created in a hole that no snapshot closes has none. KRaft's own field PartitionEpoch is called
``kraft_partition_epoch``.
"""

from __future__ import annotations

from fencepost.replay.keys import METADATA_TOPIC
from fencepost.tables.table import INTERVAL, Table

METADATA_TOPIC_ID = "A" * 21 + "Q"
"""Uuid.METADATA_TOPIC_ID."""

METADATA_LOG = f"{METADATA_TOPIC_ID}:{METADATA_TOPIC}-0"
"""The scope of what the metadata log tells."""

_SCOPE = {"cluster": "string", "log": "string"}

_PARTITION = {
    "topic": "string",
    "topic_id": "string",  # null where no evidence has it
    "partition": "int",
    "partition_key": "string",  # '<topic id>:<partition>': one partition of one incarnation
}

_NAMED = {"topic": "string", "partition": "int"}

_LIVE = {
    # of the incarnation that lived then: '' and -1 where none did, null when it is not known which
    "live_topic_id": "string",
    "live_partition_epoch": "int",
    "live_leader_epoch": "int",
}

_CANDIDATES = {**_LIVE, "candidates": "int"}  # the rows of its states: how many partitions it may have met

_ORIGIN = {
    # of the incarnation that an offset is of: '' and -1 where it is of none (the first of an empty log),
    # null when nothing tells
    "origin_topic_id": "string",
    "origin_partition_epoch": "int",
}

_CLIENT = {
    "client": "string",  # digest: one instance of a client; null where two cannot be told apart
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
"""Values of these columns where no request line tells."""

METADATA_COVERAGE = Table(
    "silver.metadata_coverage",
    "Each log of the audit of leader epochs (the metadata log, and that of every partition) cut into pieces "
    "that are wholly known and not. A snapshot of the metadata log closes a hole: from its offset on the "
    "state is known again.",
    {
        **_SCOPE,
        **_PARTITION,
        "covered": "boolean",
        **INTERVAL,
        "last_position": "bigint",  # the first offset behind what is known of the piece
        "last_time": "timestamp",  # the newest in it by a broker's clock; null where clients set all of them
    },
    ("cluster", "log", "from_position"),
    handed_down_columns=(),
)

PARTITION_EPOCHS = Table(
    "silver.partition_epochs",
    "History of KIP-232's counter over the metadata log: one row per commit of records that moved it.",
    {
        **_SCOPE,
        "max_partition_epoch": "int",
        "from_beginning": "boolean",  # counted from the log's beginning without a hole: the cluster's own
        **INTERVAL,
    },
    ("cluster", "log", "from_position"),
)

PARTITIONS = Table(
    "silver.partitions",
    "History of each partition of each incarnation over the metadata log, one row per change "
    "(PartitionRegistration), from its creation to the topic's deletion. State columns are null where a hole "
    "hides what was before.",
    {
        **_SCOPE,
        **_PARTITION,
        "partition_epoch": "int",
        "max_partition_epoch": "int",  # the cluster's when this row began
        "leader": "int",  # -1 for none
        "leader_epoch": "int",
        "kraft_partition_epoch": "int",  # grows by one with each change of this partition
        "isr": "array<string>",  # broker ids as texts, sorted as numbers, as the next two
        "replicas": "array<string>",
        "eligible_leader_replicas": "array<string>",  # ELR of KIP-966; empty where there is none
        "recovering": "boolean",  # LeaderRecoveryState: elected unclean, not yet recovered
        **INTERVAL,
    },
    ("cluster", "partition_key", "from_position"),
)

TOPIC_INCARNATIONS = Table(
    "silver.topic_incarnations",
    "History of each topic's name over the metadata log, one row per topic id: the interval goes from its "
    "creation, or where it is first seen, to the creation of the next topic of that name.",
    {
        **_SCOPE,
        "topic": "string",  # null where no record names the id
        "topic_id": "string",
        "incarnation": "int",  # 1 for the first of its name; null where an earlier one may be hidden
        "created_position": "bigint",  # null where no record of the creation is left
        "created_at": "timestamp",
        "removed_position": "bigint",  # null while it lives, and where a hole hides it
        "removed_at": "timestamp",
        "live": "boolean",  # at the end of what is known; null where a hole may hide its deletion
        "partitions": "int",  # in the end; null where a hole may hide some
        "first_partition_epoch": "int",  # of its first partition
        "max_partition_epoch": "int",  # the cluster's right after its creation
        "removed_partition_epoch": "int",  # the cluster's right after its deletion
        "previous_topic_id": "string",  # of the incarnation of that name before
        "created_request_id": "string",  # the request line, if it was found
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
    "One row per leader epoch of each partition: who was elected, and where it begins and ends in the "
    "partition's log.",
    {
        **_SCOPE,  # the partition's own log
        **_PARTITION,
        "leader_epoch": "int",
        "leader": "int",  # -1 for none; null where the metadata log does not tell
        "previous_leader": "int",  # -1 for none
        "elected_position": "bigint",  # in the metadata log
        "elected_at": "timestamp",
        # created, clean (from the ISR or the ELR), preferred (clean, and the first replica), unclean, same
        # (the leader stays: its ISR or replicas changed), none (no leader); null where a hole hides what was
        # before
        "how": "string",
        "start_offset": "bigint",  # of its first batch; null when it has none, or none is left
        "end_offset": "bigint",  # behind its last batch that survived
        "batches": "bigint",
        "records": "bigint",  # offsets that its surviving batches span
        # offsets of earlier epochs, from lost_from to lost_to, that no later leader had: this epoch wrote
        # over them. 0 for none; null where evidence of them may be missing
        "records_lost": "bigint",
        "lost_from": "bigint",
        "lost_to": "bigint",  # exclusive
        "lost_leader_epoch": "int",  # the newest epoch of those
        "lost_brokers": "array<string>",  # whose log had them in the evidence
        # of all entries of this epoch in silver.leader_epoch_entries; null where none is known to
        "checkpoint_agrees": "boolean",
        "leaders_moved": "int",  # partitions that changed their leader in the same commit of records
        # who asked: ELECT_LEADERS; of a partition's first epoch CREATE_TOPICS or CREATE_PARTITIONS. Null
        # where nobody did, or the controller's line of it was not found
        "elected_request_id": "string",
        "elected_by": "string",  # its principal
        "elected_by_client_id": "string",
        "appended": "boolean",  # batches carry it
        "given": "boolean",  # the metadata log gave the partition this epoch; null where it cannot tell
        **INTERVAL,  # in the partition's log, from start_offset on; without batches, where it would begin
    },
    ("cluster", "partition_key", "leader_epoch"),
    handed_down_columns=("elected_request_id", "elected_by", "elected_by_client_id"),
)

LEADER_EPOCH_ENTRIES = Table(
    "silver.leader_epoch_entries",
    "One row per replica, content of its leader-epoch-checkpoint, and entry in it. The scope is the "
    "partition's log, the interval the entry's.",
    {
        **_SCOPE,
        **_PARTITION,
        "entry_id": "string",  # digest of replica, content and entry
        "broker_id": "int",
        "log_state": "string",  # live, delete, stray
        "leader_epoch": "int",
        "start_offset": "bigint",
        "batches_start_offset": "bigint",  # of the first batch of that epoch; null when there is none
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
    "History of the leader epoch of the newest batch over a partition's own log: one row per run of batches "
    "of one epoch. Batches that an election wrote over are not in it.",
    {
        **_SCOPE,
        **_PARTITION,
        "leader_epoch": "int",
        "batches": "bigint",
        "last_offset": "bigint",
        "given": "boolean",  # the metadata log gave the partition this epoch; null where it cannot tell
        "broker_id": "int",  # where the run's first batch was read, as the next two
        "file": "string",
        "byte_position": "bigint",
        **INTERVAL,
    },
    ("cluster", "partition_key", "from_position"),
    handed_down_columns=(),
)

PARTITION_EXTENTS = Table(
    "silver.partition_extents",
    "One row per partition's log: from where to where it goes at the end of what is known.",
    {
        **_SCOPE,
        **_PARTITION,
        "log_start_offset": "bigint",  # null where nothing of it is left, nor a checkpoint
        "log_end_offset": "bigint",  # null where batches behind what is known cannot be read
        "live": "boolean",  # it is of the incarnation that its topic's name has now
        **INTERVAL,  # from log_start_offset on, without times
    },
    ("cluster", "partition_key"),
    handed_down_columns=(),
)

COMMITTED_OFFSETS = Table(
    "silver.committed_offsets",
    "One row per offset that was committed (a record of __consumer_offsets), or whose commit was refused "
    "with UNKNOWN_TOPIC_ID. The scope is the metadata log: from the lowest offset the commit may have met to "
    "behind the highest.",
    {
        **_SCOPE,
        **_NAMED,
        "commit_id": "string",  # digest of the record's place, or of request line and partition
        "group_id": "string",
        "committed_offset": "bigint",
        "committed_leader_epoch": "int",  # -1 for none
        "by_id": "boolean",  # a topic id is stored (or was asked)
        "committed_topic_id": "string",  # that id; '' for none
        **_CANDIDATES,
        **_ORIGIN,
        # fetched: where its client read; committed: what its client was told by OffsetFetch, and commits
        # again; null where nothing tells
        "origin": "string",
        "error": "string",  # NONE for a stored one
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
    "One row per offset of silver.committed_offsets that its group has now: its newest for the topic and "
    "partition, without a tombstone. The interval goes from its record in __consumer_offsets on.",
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

COMMITTED_OFFSET_STATES = Table(
    "silver.committed_offset_states",
    "The partitions that a commit may have met: what lived somewhere between the lowest and the highest "
    "offset of the metadata log, one row for each. These columns are the fields of the specification's "
    "record.",
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
    "One row per answer of a broker about topics: METADATA, DESCRIBE_TOPIC_PARTITIONS.",
    {
        **_SCOPE,
        **_CLIENT,
        **_LINE,
        "topics": "int",  # told
        "partitions": "int",  # told
        "changed": "int",  # partitions of which it tells another thing than the cache; null if not known
        # the counter of partition epochs in the broker's image, as far as the answer gives it away; null when
        # not one
        "max_partition_epoch": "int",
        # the highest of the answers before; -1 for the first, null where one may be missing
        "cached_max_partition_epoch": "int",
        # how far the broker's image was behind the metadata log when it answered, at least, in milliseconds
        "behind_ms": "bigint",
        **INTERVAL,
    },
    ("cluster", "request_id"),
    end_columns=("to_time",),
)

METADATA_ANSWER_PARTITIONS = Table(
    "silver.metadata_answer_partitions",
    "One row per answer and partition of which it tells something other than the client's cache had; and "
    "one per answer, without partition, for the topics of which it is not known what the cache had, and "
    "which may be told older. The scope is the metadata log: from the lowest offset the broker's image may "
    "have had to behind the highest.",
    {
        **_SCOPE,
        **_NAMED,
        "answer_partition_id": "string",  # digest of request line, topic (null for several) and partition
        **_CLIENT,
        **_LINE,
        "has_topic_ids": "boolean",  # Metadata v10 and later
        "has_leader_epochs": "boolean",  # reliable ones: Metadata v9 and later
        "cached": "boolean",  # the client ever had the partition in its cache
        "cached_gone": "boolean",  # the last word on it was that it does not exist
        "cached_topic_id": "string",  # '' for none
        "cached_partition_epoch": "int",  # -1 for none, as the next two
        "cached_leader_epoch": "int",  # stays when the topic vanished (Metadata.lastSeenLeaderEpochs)
        "cached_max_partition_epoch": "int",
        "told": "boolean",  # the answer has the partition; what follows is -1 or '' where it has not
        "same_topic_id": "boolean",  # told and cached an id, and the same
        "told_topic_id": "string",  # '' for none
        "told_partition_epoch": "int",
        "told_leader_epoch": "int",  # -1 for none
        "told_max_partition_epoch": "int",  # of the broker's image; null when not one
        "told_leader": "int",
        "error": "string",  # of the partition, else of the topic
        # what the client made of it: Metadata.updateLatestMetadata, on which the cache after it is built;
        # null where it may not have had the answer, or may keep nothing of it
        "accepted": "boolean",
        **INTERVAL,
    },
    ("cluster", "answer_partition_id"),
    end_columns=("to_time",),
)

FETCH_POSITIONS = Table(
    "silver.fetch_positions",
    "One row per place at which a consumer began to read a partition, or was refused: a Fetch that lists it "
    "after another offset than it read to before, or the first that is known. The scope is the metadata log, "
    "as in silver.committed_offsets.",
    {
        **_SCOPE,
        **_NAMED,
        "fetch_position_id": "string",  # digest of request line, topic and partition
        **_CLIENT,
        **_LINE,
        "by_id": "boolean",  # the topic id was sent (Fetch v13 and later)
        "asked_topic_id": "string",  # that id; '' for none
        "asked_partition_epoch": "int",  # of that id; -1 for none
        "fetch_offset": "bigint",  # as sent; null where a request before listed it (a fetch session)
        "current_leader_epoch": "int",  # as sent; -1 for none
        "last_fetched_epoch": "int",  # as sent; -1 for none
        **_CANDIDATES,  # what the broker answered from, which may be behind
        "error": "string",
        "diverging_epoch": "int",  # -1 for none, as the next
        "diverging_end_offset": "bigint",
        # where the offset comes from: committed (OffsetFetch), reset (ListOffsets), read (the fetch before),
        # elsewhere (the client asked nobody: a seek); null when that cannot be told
        "origin": "string",
        **_ORIGIN,
        "origin_leader_epoch": "int",  # -1 for none
        "origin_request_id": "string",
        "origin_commit_id": "string",  # of silver.committed_offsets: what the OffsetFetch gave
        "group_id": "string",  # of the OffsetFetch
        "next_fetch_position_id": "string",  # the same client's next place in this partition name
        "log_start_offset": "bigint",  # as answered; null where the answer had none
        "high_watermark": "bigint",
        **INTERVAL,
    },
    ("cluster", "fetch_position_id"),
    end_columns=("to_time",),
)

FETCH_POSITION_STATES = Table(
    "silver.fetch_position_states",
    "The partitions that a fetch may have met: what the broker, which may be behind, may have answered from, "
    "one row for each. These columns are the fields of the specification's record.",
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
        "metadata_version": "int",  # the highest it supports: tells the release
        "record_name": "string",  # of the record that made it so
        **INTERVAL,
    },
    ("cluster", "broker_id", "from_position"),
)

CONTROLLERS = Table(
    "silver.controllers",
    "History of the active controller: leader epochs of the metadata log, from LeaderChangeMessage, else "
    "from its batches.",
    {
        **_SCOPE,
        "controller_epoch": "int",
        "controller_id": "int",  # null where only batches tell of the epoch
        # from the newest batch of the controller before to the first of this one, by two clocks; null for the
        # first one, and where the log may lack batches between them
        "unled_ms": "bigint",
        **INTERVAL,
    },
    ("cluster", "log", "from_position"),
)

LEADER_EPOCH_FENCINGS = Table(
    "silver.leader_epoch_fencings",
    "One row per request, topic and partition that was refused because of a leader epoch, a broker epoch, a "
    "topic id or another active controller, one per broker that a controller fenced, and one per controller "
    "that another followed.",
    {
        "cluster": "string",
        "fencing_id": "string",  # digest of request line and partition, or of node and position
        # leader_epoch, topic_id, broker_epoch, broker, controller (one that was followed, or a candidate),
        # not_controller (a request that met a controller whose epoch was over)
        "kind": "string",
        "victim": "string",  # the client, as client_id@host, or 'broker <id>', 'controller <id>'
        "victim_broker_id": "int",  # the node's id; null when the victim is none
        "error": "string",  # Kafka's name; null for a broker or controller that is told nothing
        "topic": "string",
        "topic_id": "string",  # as asked
        "partition": "int",
        "victim_epoch": "bigint",  # as presented
        "current_epoch": "bigint",  # at that moment, by the metadata log; null when not one
        # leader_change, topic_recreated, topic_deleted, stale_metadata (the broker or client is behind),
        # restart, session_timeout, controlled_shutdown, unregistered, controller_change; null when nothing
        # tells
        "cause": "string",
        "caused_position": "bigint",  # of the record of the metadata log that moved the epoch
        "caused_at": "timestamp",
        "occurred_at": "timestamp",
        # of a broker: unfenced, of a controller: active again; null while it is not, and for a request, whose
        # refusal is one moment
        "ended_at": "timestamp",
        # partitions whose leadership it took from the broker, of a controller the metadata log; null for
        # clients
        "leaders_moved": "int",
        "isr_shrunk": "int",  # partitions whose ISR it left
        **_CLIENT,
        **_LINE,
    },
    ("cluster", "fencing_id"),
    # a node's is over when it is back; a request's with its line
    end_columns=("ended_at", "responded_at"),
)

TABLES = (
    METADATA_COVERAGE, PARTITION_EPOCHS, PARTITIONS, TOPIC_INCARNATIONS, LEADER_EPOCHS, LEADER_EPOCH_ENTRIES,
    PARTITION_BATCHES, PARTITION_EXTENTS, COMMITTED_OFFSETS, STORED_OFFSETS, COMMITTED_OFFSET_STATES,
    METADATA_ANSWERS,
    METADATA_ANSWER_PARTITIONS, FETCH_POSITIONS, FETCH_POSITION_STATES, BROKER_STATES, CONTROLLERS,
    LEADER_EPOCH_FENCINGS,
)  # fmt: skip
