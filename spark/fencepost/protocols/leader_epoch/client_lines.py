"""What the lines of a client mean in its cluster, and the columns that rows of all of them have."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from fencepost.protocols.leader_epoch.client import Client
from fencepost.protocols.leader_epoch.client_requests import ClientRequest
from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster_evidence import ClusterEvidence
from fencepost.protocols.leader_epoch.correlation_ids import Connection
from fencepost.protocols.leader_epoch.instances import Software
from fencepost.protocols.leader_epoch.lines import APIS, FETCH, PartitionLine
from fencepost.protocols.leader_epoch.live_partitions import (
    NOT_KNOWN,
    LivePartition,
    candidates,
    live_partition,
)
from fencepost.replay.requests import NONE, error_name, host_of


def _fits(api_key: int, error: str | None, asked: str | None, topic_id: str) -> bool:
    """Whether a broker that has this incarnation, '' for none, can answer so.

    Who answers without an error has one, and if a topic id is asked, that one. A fetch session keeps the name
    of an id: ReplicaManager then looks for the name, and compares the id with that of the partition it finds.
    """
    if error == NONE:
        return topic_id != "" and asked in (None, topic_id)
    if api_key == FETCH and error == "UNKNOWN_TOPIC_OR_PARTITION":
        return topic_id == ""
    if api_key == FETCH and error == "INCONSISTENT_TOPIC_ID":
        return topic_id not in ("", asked)
    return True


@dataclass(frozen=True)
class ClientLines:
    """``software``: what is at the other end of each connection. ``told``: the highest offset of the metadata
    log that answers so far on a connection gave away.
    """

    cluster: str
    known: ClusterEvidence
    software: Software
    told: dict[Connection, int] = field(default_factory=dict)

    def hear(self, line: ClientRequest, since: int) -> None:
        """An answer gives away that its broker had the metadata log up to there."""
        connection = (line.broker_id, line.connection or "")
        self.told[connection] = max(since, self.told.get(connection, 0))

    def topic_of(self, topic_id: str | None) -> str | None:
        """The name of an incarnation."""
        life = self.known.history.topics.get(topic_id) if topic_id is not None else None
        return None if life is None else life.topic

    def window(self, line: ClientRequest) -> Window:
        """Where the metadata log was while a request was handled."""
        return self.known.moments.window(line.broker_id, line.requested_ms, line.responded_ms)

    def image(self, line: ClientRequest) -> Window:
        """What its broker may have had of the metadata log: it may be behind."""
        # a broker takes the next request of a connection when it has answered the one before
        told = self.told.get((line.broker_id, line.connection or ""), 0)
        return self.known.moments.answered_from(line.broker_id, line.requested_ms, line.responded_ms, told)

    def live(self, line: ClientRequest, topic: str, partition: int) -> LivePartition:
        """What lived then."""
        return live_partition(self.known.history, self.window(line), topic, partition)

    def answered_from(self, line: ClientRequest, each: PartitionLine, topic: str) -> list[LivePartition]:
        """What a broker, which may be behind, may have answered from, as far as its answer fits to it."""
        place, asked = (topic, each.asked.partition), each.asked.topic_id
        error = error_name(each.error)
        met = candidates(self.known.history, self.image(line), *place, asked if error == NONE else None)
        fits = partial(_fits, line.api_key, error, asked)
        return [one for one in met if one.topic_id is None or fits(one.topic_id)] or [NOT_KNOWN]

    def partition_epoch(self, topic_id: str | None, partition: int) -> int | None:
        """The partition epoch of an incarnation; -1 for none (''), None where it is not known."""
        if topic_id is None:
            return None
        if topic_id == "":
            return -1
        life = self.known.history.partition(topic_id, partition)
        return None if life is None else life.partition_epoch

    def client_columns(self, line: ClientRequest, client: Client | None) -> tuple[object, ...]:
        """From client to connection."""
        software = self.software.get((line.broker_id, line.connection or ""), (None, None))
        name = None if client is None else client.name
        return (name, line.client_id, host_of(line.connection), *software, line.connection)


def line_columns(line: ClientRequest) -> tuple[object, ...]:
    """From request_id to position."""
    return (
        line.request_id, line.broker_id, APIS[line.api_key], line.api_version, line.correlation_id,
        line.requested_ms, line.responded_ms, line.file, line.position,
    )  # fmt: skip


def span_columns(window: Window, line: ClientRequest) -> tuple[object, ...]:
    """The interval in the metadata log, from the lowest offset to behind the highest, and the line's time."""
    return (window.lowest, window.highest + 1, line.requested_ms, line.responded_ms)
