"""The request lines of clients of one cluster: what their brokers may have answered from, and the columns
that rows about any of these lines have.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from fencepost.protocols.leader_epoch.client import Client
from fencepost.protocols.leader_epoch.client_requests import ClientRequest
from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster_evidence import ClusterEvidence
from fencepost.protocols.leader_epoch.instances import Software
from fencepost.protocols.leader_epoch.lines import APIS, FETCH, PartitionLine
from fencepost.protocols.leader_epoch.live_partitions import (
    NOT_KNOWN,
    LivePartition,
    candidates,
    live_partition,
)
from fencepost.replay.correlation_ids import Connection
from fencepost.replay.requests import NONE, error_name, host_of


def _fits(api_key: int, error: str | None, requested_id: str | None, topic_id: str) -> bool:
    """Whether a broker whose image has this incarnation ('' for none) can answer with this error.

    A broker that answers without an error has an incarnation; if the request has a topic id, that one. A
    fetch session keeps the name of an id: ReplicaManager then looks for the name, and compares the id with
    that of the partition it finds.
    """
    if error == NONE:
        return topic_id != "" and requested_id in (None, topic_id)
    if api_key == FETCH and error == "UNKNOWN_TOPIC_OR_PARTITION":
        return topic_id == ""
    if api_key == FETCH and error == "INCONSISTENT_TOPIC_ID":
        return topic_id not in ("", requested_id)
    return True


@dataclass(frozen=True)
class ClientLines:
    """Reads request lines of one cluster in the light of its metadata log.

    ``software``: the client software on each connection. ``shown_positions``: by connection, the highest
    offset up to which the broker had certainly applied the metadata log, as its answers so far show.
    """

    cluster: str
    known: ClusterEvidence
    software: Software
    shown_positions: dict[Connection, int] = field(default_factory=dict)

    def note_answer(self, line: ClientRequest, since: int) -> None:
        """Note that an answer shows that its broker had applied the metadata log up to the offset
        ``since``.
        """
        connection = (line.broker_id, line.connection or "")
        self.shown_positions[connection] = max(since, self.shown_positions.get(connection, 0))

    def topic_of(self, topic_id: str | None) -> str | None:
        """The topic's name of a topic id; None where it is not known."""
        life = self.known.history.topics.get(topic_id) if topic_id is not None else None
        return None if life is None else life.topic

    def window(self, line: ClientRequest) -> Window:
        """The offsets at which the metadata log may have ended while the request was handled."""
        return self.known.moments.window(line.broker_id, line.requested_ms, line.responded_ms)

    def image(self, line: ClientRequest) -> Window:
        """The offsets up to which its broker may have applied the metadata log: a broker may be behind."""
        # a broker takes the next request of a connection only when it has answered the one before
        shown_positions = self.shown_positions.get((line.broker_id, line.connection or ""), 0)
        return self.known.moments.answered_from(
            line.broker_id, line.requested_ms, line.responded_ms, shown_positions
        )

    def live_partition_at(self, line: ClientRequest, topic: str, partition: int) -> LivePartition:
        """The partition that lived while the request was handled."""
        return live_partition(self.known.history, self.window(line), topic, partition)

    def answered_from(self, line: ClientRequest, each: PartitionLine, topic: str) -> list[LivePartition]:
        """The partitions that the broker's image may have had when it answered, as far as they fit the
        answer.

        The broker may have been behind the metadata log.
        """
        place, requested_id = (topic, each.requested.partition), each.requested.topic_id
        error = error_name(each.error)
        possible = candidates(
            self.known.history, self.image(line), *place, requested_id if error == NONE else None
        )
        fits = partial(_fits, line.api_key, error, requested_id)
        return [one for one in possible if one.topic_id is None or fits(one.topic_id)] or [NOT_KNOWN]

    def partition_epoch(self, topic_id: str | None, partition: int) -> int | None:
        """The partition epoch of an incarnation; -1 for none (''), None where it is not known."""
        if topic_id is None:
            return None
        if topic_id == "":
            return -1
        life = self.known.history.partition(topic_id, partition)
        return None if life is None else life.partition_epoch

    def client_columns(self, line: ClientRequest, client: Client | None) -> tuple[object, ...]:
        """The columns from ``client`` to ``connection``."""
        software = self.software.get((line.broker_id, line.connection or ""), (None, None))
        name = None if client is None else client.name
        return (name, line.client_id, host_of(line.connection), *software, line.connection)


def line_columns(line: ClientRequest) -> tuple[object, ...]:
    """The columns from ``request_id`` to ``position``."""
    return (
        line.request_id, line.broker_id, APIS[line.api_key], line.api_version, line.correlation_id,
        line.requested_ms, line.responded_ms, line.file, line.position,
    )  # fmt: skip


def span_columns(window: Window, line: ClientRequest) -> tuple[object, ...]:
    """The columns ``from_position`` to ``to_time``: offsets of the metadata log (the end is exclusive), and
    the times of request and answer.
    """
    return (window.lowest, window.highest + 1, line.requested_ms, line.responded_ms)
