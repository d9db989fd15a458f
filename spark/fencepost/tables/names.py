"""Which names of clients, hosts and principals a column of bronze may hold, and so how pseudonyms replace
them (:mod:`fencepost.pseudonyms`).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Names(StrEnum):
    """What a column holds."""

    NONE = "none"
    """No such name: it stays as it is."""
    CLIENT = "client"
    """A client.id, a group.instance.id, or the name of a thread or client that Kafka Streams makes of one."""
    BEHIND_CLIENT = "behind_client"
    """A name that a client logs behind its client.id, of which it may have got a part."""
    MEMBER = "member"
    """A member id: classic ones are a client.id (or group.instance.id), a dash and a uuid."""
    PRINCIPAL = "principal"
    CONNECTION = "connection"
    """Kafka's text of a connection: ``localHost:port-remoteHost:port-number``."""
    MEMBERS = "members"
    """A collection of member ids, as Scala or Java prints it."""
    ASSIGNMENTS = "assignments"
    """A map of member ids to assignments, as a consumer logs it."""
    REASON = "reason"
    """Why a coordinator or a client did something, in words of Kafka or of an application."""
    MESSAGE = "message"
    """What a producer logged, with an error that may have any words."""
    SETTINGS = "settings"
    """A JSON object with settings of Kafka Streams."""
    PROCESSES = "processes"
    """What a leader of Kafka Streams decided of each process, as it logs that."""
    API = "api"
    """The JSON of a request or of its response."""
    RECORD = "record"
    """The key or the value of a record of Kafka's own topics."""
    DIGEST = "digest"
    """A digest of something with names, by which a guess could be checked."""
    SAMPLE = "sample"
    """Bytes of anything."""
    DETAIL = "detail"
    """What is wrong with a piece of evidence; of a line, it may quote it."""


ByEvent = Mapping[str, Names]
"""By the row's event. Of any other event the text is left out."""

WITHOUT_NAMES = frozenset(
    {
        # labels of the configuration: they are the operator's own
        "cluster", "client", "file", "timezone",
        # made by Kafka at random
        "cluster_id", "directory_id",
        # groups, topics, transactional ids and tasks are no names of clients
        "group_id", "transactional_id", "topic", "topic_id", "task_id", "store", "changelog", "new_active",
        "new_standby", "existing_active", "existing_standby", "listener",
        # words of Kafka and of Fencepost
        "api_name", "software_name", "software_version", "event", "error", "from_state", "to_state", "kind",
        "record_name", "decode_status", "state", "correlation_ids", "run_id",
        # digests of nothing that has names, or of the beginning of a file
        "topics_digest", "topic_digests", "topic_digest", "file_begins", "head_digest",
    }
)  # fmt: skip
"""The columns that hold no names in any table of bronze, unless ``Table.names`` says otherwise."""
