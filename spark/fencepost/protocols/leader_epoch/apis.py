"""APIs of controllers, by their keys, by Kafka's names (ApiKeys)."""

from __future__ import annotations

VOTE = 52
QUORUM_APIS = {VOTE: "VOTE", 53: "BEGIN_QUORUM_EPOCH", 54: "END_QUORUM_EPOCH"}
"""The APIs by which the voters of the metadata log agree on a leader."""

CONTROLLER_APIS = {
    30: "CREATE_ACLS", 31: "DELETE_ACLS", 33: "ALTER_CONFIGS", 38: "CREATE_DELEGATION_TOKEN",
    39: "RENEW_DELEGATION_TOKEN", 40: "EXPIRE_DELEGATION_TOKEN", 44: "INCREMENTAL_ALTER_CONFIGS",
    45: "ALTER_PARTITION_REASSIGNMENTS", 46: "LIST_PARTITION_REASSIGNMENTS", 49: "ALTER_CLIENT_QUOTAS",
    51: "ALTER_USER_SCRAM_CREDENTIALS", 57: "UPDATE_FEATURES", 64: "UNREGISTER_BROKER",
    67: "ALLOCATE_PRODUCER_IDS", 70: "CONTROLLER_REGISTRATION", 73: "ASSIGN_REPLICAS_TO_DIRS",
    94: "UNREGISTER_CONTROLLER",
}  # fmt: skip
"""APIs that only an active controller answers. Of their lines only the error NOT_CONTROLLER is read."""
