"""Why a verdict, a decision or a fact is unknown: one word from this list, the same in silver, verdicts and
marts.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple


@dataclass(frozen=True)
class Reason:
    """``means``: what is missing, in one sentence; ``settles``: which evidence or which key of the
    configuration would tell it, in one sentence. ``is_beyond_logs``: in such a cluster no log can tell it,
    so there is nothing to add, and the cluster may pass without it.
    """

    means: str
    settles: str
    is_beyond_logs: bool = False


class Unknown(NamedTuple):
    """Why something of a row of silver is unknown: columns ``unknown_reason`` and ``unknown_detail``, both
    null where nothing is. ``detail``: the same in words, with the names of this case.
    """

    reason: str | None
    detail: str | None


ALL_KNOWN = Unknown(None, None)

NO_ANSWER = "no_answer"
NO_COORDINATOR = "no_coordinator"
SEVERAL_STATES = "several_states"
NOT_TOLD_APART = "not_told_apart"
OTHER_CLOCK = "other_clock"
OTHER_LOG = "other_log"
CLEANED_AWAY = "cleaned_away"
NOT_CAPTURED = "not_captured"
UNREAD = "unread"
EVIDENCE_ENDS = "evidence_ends"
NOT_LOGGED = "not_logged"
LOST_IN_ELECTION = "lost_in_election"
RECORDS_LOST = "records_lost"
RELEASE_UNKNOWN = "release_unknown"
TOPIC_UNKNOWN = "topic_unknown"
CLIENT_UNKNOWN = "client_unknown"
CONFIGURATION_UNKNOWN = "configuration_unknown"
IN_ZOOKEEPER = "in_zookeeper"
TOPIC_REMOVED = "topic_removed"
NOT_SAID = "not_said"
NO_VALUE = "no_value"

REASONS = {
    NO_ANSWER: Reason(
        "The request log has the request without the broker's answer.",
        "Nothing, if the broker died or the line was cut short; else the rest of the request log.",
    ),
    NO_COORDINATOR: Reason(
        "The broker that was asked was not the coordinator, or was still loading: no state decided it.",
        "Nothing: the client asks again elsewhere, and that request has a row of its own.",
    ),
    SEVERAL_STATES: Reason(
        "It met one of several states, which lead to different answers.",
        "More lines of the same connection, or a smaller clock.tolerance_ms: both leave fewer states.",
    ),
    NOT_TOLD_APART: Reason(
        "Several records have its content, and nothing tells which of them is its own.",
        "The request logs of all brokers for that time; a larger clock.tolerance_ms if lines come late.",
    ),
    OTHER_CLOCK: Reason(
        "The times of the broker's request log cannot be compared with those of the records.",
        "The broker's timezone in the configuration, if its log has local times of another zone.",
    ),
    OTHER_LOG: Reason(
        "The broker's request log does not belong to the records: it is another's, or names or numbers in it "
        "were replaced.",
        "The request log of this broker, with names and numbers as the broker wrote them.",
    ),
    CLEANED_AWAY: Reason(
        "The log cleaner, retention or DeleteRecords had removed what would tell it before it was captured.",
        # segments are deleted whole, and a copy without the oldest ones looks the same
        "The oldest segments, if the copy lacks them; else audits that come before these "
        "(min.compaction.lag.ms, retention.ms), or answers in request logs.",
    ),
    NOT_CAPTURED: Reason(
        "The records, lines or files that would tell it are not among the evidence that was read.",
        "The missing segments and request logs: check log_dirs and request_logs of every broker, and what "
        "marts.fct_quarantine lists. Nothing, where compaction was first.",
    ),
    UNREAD: Reason(
        "The evidence that would tell it is there, and could not be read.",
        "A whole copy of what marts.fct_quarantine lists, or subscriptions of a type that is read.",
    ),
    EVIDENCE_ENDS: Reason(
        "The evidence ends before it, or too soon after it to tell what followed.",
        "The next run, if the log goes on. Of copies, one in which files keep their times; newest segments "
        "that marts.fct_quarantine lists as missing.",
    ),
    NOT_LOGGED: Reason(
        "Kafka writes no record that tells it, and no line at the level of its log.",
        "A more verbose logger, where docs/operating.md names one; else nothing.",
    ),
    LOST_IN_ELECTION: Reason(
        "An election may have taken the records that would tell it.",
        "The segments of the replica that led before, if it still has them.",
    ),
    RECORDS_LOST: Reason(
        "What the broker had accepted then has no record, and its log goes on without a hole: it came back "
        "with an older disk, or lost what it had not flushed.",
        "The log as it was before that, if anybody still has it.",
    ),
    RELEASE_UNKNOWN: Reason(
        "The broker's release, and so its rule, is not known.",
        "kafka_version of the broker in the configuration, or the metadata log with its registration.",
    ),
    TOPIC_UNKNOWN: Reason(
        "Which topic of that name it was, or which state its partition had, is not known.",
        "The metadata log (__cluster_metadata) or its snapshots, from the topic's creation on; nothing, "
        "where records name a topic that was created again.",
    ),
    CLIENT_UNKNOWN: Reason(
        "What the client had or did before, or which client it was, is not known.",
        "The request logs of all brokers from the client's start on.",
    ),
    CONFIGURATION_UNKNOWN: Reason(
        "It depends on a setting of the broker that no log shows.",
        "The broker's server.log from its start on (server_logs), with its settings at level INFO; or a "
        "dynamic setting (kafka-configs.sh --alter), which the metadata log has.",
    ),
    IN_ZOOKEEPER: Reason(
        "The cluster had its metadata in ZooKeeper then, so no metadata log tells it.",
        "Nothing: the metadata log begins with the migration to KRaft.",
        is_beyond_logs=True,
    ),
    TOPIC_REMOVED: Reason(
        "The topic was deleted, and neither its name nor brokers' clocks, which may differ by a minute, tell "
        "what was before that.",
        "Nothing: what was in the topic is gone, and holds nobody up.",
        is_beyond_logs=True,
    ),
    NOT_SAID: Reason(
        "The client does not say it: the version of the protocol that it speaks has no field for it.",
        "Nothing; a newer version of the client says it.",
    ),
    NO_VALUE: Reason(
        "The definition has no value there: the specification has no such state, TLC would stop, or a number "
        "has more than 64 bits.",
        "Nothing: the specification does not speak of such a state.",
    ),
}
"""Every reason, by its word."""


def behind_end(log: str, newest_ms: int) -> Unknown:
    """EVIDENCE_ENDS for a request that came after the newest record of ``log`` that was read."""
    at = f"{datetime.fromtimestamp(newest_ms / 1000, UTC):%Y-%m-%d %H:%M:%S} UTC"
    return Unknown(
        EVIDENCE_ENDS, f"evidence ends: this came after the newest record of {log} that was read, of {at}"
    )


def other_log(broker_id: int, log: str) -> Unknown:
    """OTHER_LOG for a request in the lines of a broker, of which ``log`` has the records."""
    return Unknown(
        OTHER_LOG, f"another log: {log} has no record of what the request log of broker {broker_id} names"
    )
