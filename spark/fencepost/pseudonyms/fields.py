"""What each text of Kafka's records and requests holds, by the name of its field. The same names stand in the
JSON of a request log, in camelCase.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto


class Holds(Enum):
    """What a text, or bytes, of Kafka's own structures hold."""

    NO_NAMES = auto()
    CLIENT = auto()
    MEMBER = auto()
    HOST = auto()
    PRINCIPAL = auto()
    CONFIG = auto()
    """The value of a configuration: it stays if it is a number or words in lower case."""
    SUBSCRIPTION = auto()
    """A ConsumerProtocolSubscription, or what a worker of Kafka Connect says of itself."""
    ASSIGNMENT = auto()
    """A ConsumerProtocolAssignment."""
    REASON = auto()
    ANYTHING = auto()
    """It is left out: an application may have written it, or it is about users and is not read."""


FIELDS: Mapping[str, Holds] = {
    **dict.fromkeys(
        (
            "group", "group_id", "groups_names", "topic", "topics", "topic_name", "subscribed_topic_names",
            "subscribed_topic_regex", "regular_expression", "source_topics", "source_topic_regex",
            "repartition_sink_topics", "subtopology_id", "transactional_id", "transactional_ids",
            "v3_and_below_transactional_id", "named_topology", "process_id", "protocol", "protocol_type",
            "protocol_name", "server_assignor", "assignor", "rack", "rack_id", "racks", "name",
            "resource_name", "key", "entity_type", "feature",
            # ids that brokers draw
            "cluster_id", "topic_id", "incarnation_id", "log_dirs", "candidate_directory_id",
            "replica_directory_id", "voter_directory_id", "directory_id", "id",
            # in place of the topics of an answer
            "topics_digest",
        ),
        Holds.NO_NAMES,
    ),
    **dict.fromkeys(("client_id", "group_instance_id", "instance_id"), Holds.CLIENT),
    **dict.fromkeys(("member_id", "leader"), Holds.MEMBER),
    **dict.fromkeys(("client_host", "host"), Holds.HOST),
    "principal": Holds.PRINCIPAL,
    "subscription": Holds.SUBSCRIPTION,
    "assignment": Holds.ASSIGNMENT,
    "value": Holds.CONFIG,
    "reason": Holds.REASON,
    **dict.fromkeys(
        (
            "metadata", "user_data", "user_end_point", "entity_name", "owner", "requester", "renewers",
            "token_id", "salt", "server_key", "stored_key",
        ),
        Holds.ANYTHING,
    ),
}  # fmt: skip

OF_RECORDS: Mapping[tuple[str, str], Holds] = {
    ("ConsumerGroupMemberMetadata", "metadata"): Holds.SUBSCRIPTION,
    ("RemoveUserScramCredentialRecord", "name"): Holds.ANYTHING,
    # tags that an operator gives clients
    ("SubscriptionInfoData", "key"): Holds.ANYTHING,
    ("SubscriptionInfoData", "value"): Holds.ANYTHING,
    ("StreamsGroupMemberMetadata", "key"): Holds.ANYTHING,
    ("StreamsGroupMemberMetadata", "value"): Holds.ANYTHING,
    ("ClientQuotaRecord", "key"): Holds.NO_NAMES,
}
"""By record type and field, where it is not as in FIELDS."""

OF_REQUESTS: Mapping[tuple[str, str], Holds] = {
    ("JOIN_GROUP", "metadata"): Holds.SUBSCRIPTION,
}
"""By API and field, where it is not as in FIELDS."""

LEFT_OUT = frozenset({("STREAMS_GROUP_HEARTBEAT", "client_tags")})
"""Lists of an API that are left out: their fields have the names of others that hold no names."""

ABOUT_USERS = frozenset(
    {
        "ALTER_CLIENT_QUOTAS", "ALTER_USER_SCRAM_CREDENTIALS", "CREATE_ACLS", "CREATE_DELEGATION_TOKEN",
        "DELETE_ACLS", "EXPIRE_DELEGATION_TOKEN", "RENEW_DELEGATION_TOKEN",
    }
)  # fmt: skip
"""APIs whose texts may all be names of users. Only numbers in them are read."""


def of_record(record_name: str, field: str) -> Holds:
    """What a field of a record holds."""
    return OF_RECORDS.get((record_name, field), FIELDS.get(field, Holds.ANYTHING))


def of_request(api: str | None, field: str) -> Holds:
    """What a field of a request or response holds; one that nobody has looked at may hold anything."""
    if api is None or api in ABOUT_USERS:
        return Holds.ANYTHING
    return OF_REQUESTS.get((api, field), FIELDS.get(field, Holds.ANYTHING))
