"""The replay of clients, one instance after another: the metadata answers that each got, where it fetched,
and what it committed.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Iterable, Mapping, Set

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.client import Client, Place
from fencepost.protocols.leader_epoch.client_lines import ClientLines
from fencepost.protocols.leader_epoch.client_requests import ClientRequest
from fencepost.protocols.leader_epoch.clocks import Moments
from fencepost.protocols.leader_epoch.cluster_evidence import ClusterEvidence
from fencepost.protocols.leader_epoch.commit_lines import (
    COMMIT_LINES,
    ClientNames,
    ReadPositions,
    commit_lines,
)
from fencepost.protocols.leader_epoch.fetch_positions import FetchPositions, note_answered_offset
from fencepost.protocols.leader_epoch.instances import (
    ClientKey,
    by_client,
    connections_by_client,
    instances,
    sent_by,
    software_of,
)
from fencepost.protocols.leader_epoch.lines import (
    CLIENT_APIS,
    COMMIT_APIS,
    DESCRIBE_TOPIC_PARTITIONS,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    OFFSET_FETCH,
    OFFSET_FOR_LEADER_EPOCH,
    PartitionLine,
)
from fencepost.protocols.leader_epoch.metadata_answers import MetadataAnswers
from fencepost.protocols.leader_epoch.states import MET_FETCHES
from fencepost.protocols.leader_epoch.tables import INSTANCES, METADATA_ANSWER_PARTITIONS, METADATA_ANSWERS
from fencepost.replay.columns import Columns
from fencepost.replay.correlation_ids import (
    Connection,
    ConnectionIds,
    CorrelationIds,
    sent_of,
)
from fencepost.replay.entities import tuples
from fencepost.replay.garbage_collection import collection_paused
from fencepost.replay.logs import by_log
from fencepost.tables import Table

_OF_LEADERS = (FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH)
"""The APIs that a client sends only to the leaders that its metadata names."""
PRODUCERS = Table(
    "producers",
    "The connections on which somebody produced.",
    {"cluster": "string", "client_id": "string", "broker_id": "int", "connection": "string"},
    ("cluster", "broker_id", "connection"),
)
_CONNECTION = ["broker_id", "connection"]
TABLES = (METADATA_ANSWERS, METADATA_ANSWER_PARTITIONS, MET_FETCHES, COMMIT_LINES, INSTANCES)


def producers_of(requests: pa.Table) -> pa.Table:
    """Rows of PRODUCERS, from rows of ``bronze.requests`` of Produce requests."""
    return requests.group_by(list(PRODUCERS.columns)).aggregate([])


@collection_paused()
def replay_clients(
    requests: pa.Table,
    ids: pa.Table,
    producers: pa.Table,
    known: Mapping[str, ClusterEvidence],
    before: pa.Table,
) -> dict[str, pa.Table]:
    """The rows of TABLES, from all the rows of CLIENT_REQUESTS of some client ids.

    ``ids``: rows of ``bronze.request_ids`` of the same client ids. ``producers``: rows of PRODUCERS.
    ``before``: rows of INSTANCES of earlier lines.
    """
    numbers = by_log(ids, "cluster")
    produced = {
        name: set(tuples(rows.select(_CONNECTION))) for (name,), rows in by_log(producers, "cluster").items()
    }
    named_before = _instances_before(before)
    rows = _Rows()
    for (name,), lines in sorted(by_log(requests, "cluster").items(), key=str):
        cluster = str(name)
        if cluster not in known:
            continue
        software = software_of(lines)
        sent = sent_of(numbers[name,]) if (name,) in numbers else {}
        named = {
            key: instances(cluster, each, key.software, named_before.get((cluster, key.client_id), {}))
            for key, each in (connections_by_client(lines, software) if known[cluster].complete else ())
        }
        names = {
            (key.client_id, *connection): name
            for key, each in named.items()
            for connection, name in each.items()
            if name is not None
        }
        for key, own in by_client(_of_readers(lines), CLIENT_APIS, software):
            instance_of = named.get(key, {})
            clients = _clients(instance_of, key, sent, produced.get(name, set()))
            client_lines = ClientLines(cluster, known[cluster], software)
            _note_metadata_requests(own, clients)
            for instance in _by_instance(own, instance_of):
                _replay(_in_order(instance, known[cluster].moments), clients, client_lines, rows)
        rows.add(ClientLines(cluster, known[cluster], software), lines, names)
    return rows.to_arrow()


def _of_readers(requests: pa.Table) -> pa.Table:
    """The requests of the client ids that sent other requests than commits. If only commits of a client id
    are logged, no line shows what its clients fetched.
    """
    commits = pc.is_in(requests["api_key"], pa.array(COMMIT_APIS, pa.int32()))
    readers = pc.unique(requests.filter(pc.invert(commits))["client_id"])
    return requests.filter(pc.is_in(requests["client_id"], readers))


class _Rows:
    """Collects the rows of TABLES."""

    def __init__(self) -> None:
        self.answers, self.positions, self.read_before = MetadataAnswers(), FetchPositions(), ReadPositions()
        self._instances = Columns(INSTANCES)
        self._commits = [COMMIT_LINES.arrow_schema.empty_table()]

    def add(self, lines: ClientLines, requests: pa.Table, names: ClientNames) -> None:
        """Add the commits and the instances of one cluster."""
        self._commits.append(commit_lines(lines, requests, names, self.read_before))
        for (client_id, *connection), name in names.items():
            self._instances.add(lines.cluster, client_id or None, *connection, name)

    def to_arrow(self) -> dict[str, pa.Table]:
        return {
            **self.answers.to_arrow(),
            MET_FETCHES.name: self.positions.to_arrow(),
            COMMIT_LINES.name: pa.concat_tables(self._commits),
            INSTANCES.name: self._instances.to_arrow(),
        }


def _instances_before(before: pa.Table) -> dict[tuple[str, str], dict[Connection, str]]:
    """By cluster and client id, the instance of each connection, from rows of INSTANCES."""
    by_client_id: dict[tuple[str, str], dict[Connection, str]] = {}
    for cluster, client_id, broker_id, connection, name in tuples(before):
        by_client_id.setdefault((cluster, client_id or ""), {})[broker_id, connection] = name
    return by_client_id


def _clients(
    instance_of: Mapping[Connection, str | None],
    key: ClientKey,
    sent: Mapping[tuple[str, str], Mapping[Connection, ConnectionIds]],
    produced: Set[Connection],
) -> dict[Connection, Client]:
    """The client of each connection whose instance is known; ``produced``: the connections on which
    somebody produced.
    """
    sent_by_instance, followed = sent_by(instance_of, key.software, sent.get((key.client_id, key.host), {}))
    clients = {}
    for name, each in sent_by_instance.items():
        is_producer = not produced.isdisjoint(one.connection for one in each)
        clients[name] = Client(name, CorrelationIds(each), name in followed, is_producer)
    return {connection: clients[name] for connection, name in instance_of.items() if name is not None}


def _note_metadata_requests(lines: Iterable[ClientRequest], clients: Mapping[Connection, Client]) -> None:
    """Note the correlation ids of each client's requests for metadata."""
    for line in lines:
        client = clients.get((line.broker_id, line.connection or ""))
        if client is not None and line.api_key == METADATA:
            insort(client.metadata_requests, line.correlation_id)


def _by_instance(
    lines: Iterable[ClientRequest], instance_of: Mapping[Connection, str | None]
) -> Iterable[list[ClientRequest]]:
    """The lines of each instance, and those that belong to no known instance."""
    by_instance: dict[str | None, list[ClientRequest]] = {}
    for line in lines:
        by_instance.setdefault(instance_of.get((line.broker_id, line.connection or "")), []).append(line)
    return by_instance.values()


def _in_order(lines: Iterable[ClientRequest], moments: Moments) -> list[ClientRequest]:
    """Lines in the order of their answers: in that of the requests, except for answers that certainly came
    late.
    """
    ordered = sorted(lines, key=lambda each: (each.correlation_id, each.requested_ms, each.request_id))
    for at in reversed(range(len(ordered))):
        line, here = ordered[at], at
        answered = (line.broker_id, line.responded_ms)
        while here + 1 < len(ordered):
            after = ordered[here + 1]
            if not moments.is_later(answered, (after.broker_id, after.responded_ms)):
                break
            ordered[here], ordered[here + 1] = after, line
            here += 1
    return ordered


def _replay(
    lines: Iterable[ClientRequest],
    clients: Mapping[Connection, Client],
    client_lines: ClientLines,
    rows: _Rows,
) -> None:
    """Replay the lines of one instance, or of connections whose instances are not known."""
    unnamed: dict[Connection, Client] = {}
    for line in lines:
        connection = (line.broker_id, line.connection or "")
        client = clients.get(connection)
        if client is not None:
            client.follow(line)
        if line.api_key in (METADATA, DESCRIBE_TOPIC_PARTITIONS):
            rows.answers.add(client_lines, line, client)
        elif line.api_key not in COMMIT_APIS:
            if client is None and line.connection is not None:
                client = unnamed.setdefault(connection, Client(None, CorrelationIds()))
            _replay_partitions(line, client, client_lines, rows)
        elif client is not None:
            rows.read_before.add(client_lines, line, client)


def _replay_partitions(
    line: ClientRequest, client: Client | None, client_lines: ClientLines, rows: _Rows
) -> None:
    """Replay what a request and its answer say of partitions: where a client fetches, and which offsets it
    got.
    """
    for each in line.partitions:
        topic = each.requested.topic or client_lines.topic_of(each.requested.topic_id)
        if topic is None:
            continue
        if client is not None:
            _update_cache(line, each, (topic, each.requested.partition), client)
        if line.api_key == FETCH:
            rows.positions.add(client_lines, line, each, topic, client)
        elif client is not None:
            note_answered_offset(client_lines, line, each, (topic, each.requested.partition), client)


def _update_cache(line: ClientRequest, each: PartitionLine, place: Place, client: Client) -> None:
    """Take into the client's cache what the request shows that the client knows, and the leader epochs that
    it got in other answers than Metadata.
    """
    if line.api_key in _OF_LEADERS:
        client.cache.use(place[0], each.requested.topic_id)
    if line.api_key == FETCH:
        client.cache.keep(place[0], each.requested.topic_id)
    if each.answered_epoch >= 0 and line.api_key in (OFFSET_FETCH, LIST_OFFSETS):
        client.cache.see(*place, each.answered_epoch)
    if each.leader_told is not None:
        client.cache.see(*place, each.leader_told)
