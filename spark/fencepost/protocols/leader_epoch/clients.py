"""What clients were told of topics, where they read, and what they committed: one instance after another."""

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
from fencepost.protocols.leader_epoch.correlation_ids import (
    Connection,
    ConnectionIds,
    CorrelationIds,
    sent_of,
)
from fencepost.protocols.leader_epoch.fetch_positions import FetchPositions, hear_offset
from fencepost.protocols.leader_epoch.handed_down_tables import HANDED_CLIENTS
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
from fencepost.protocols.leader_epoch.tables import METADATA_ANSWER_PARTITIONS, METADATA_ANSWERS
from fencepost.replay.columns import Columns
from fencepost.replay.entities import tuples
from fencepost.replay.garbage_collection import collection_paused
from fencepost.replay.logs import by_log
from fencepost.tables import Table

_OF_LEADERS = (FETCH, LIST_OFFSETS, OFFSET_FOR_LEADER_EPOCH)
"""What a client can ask only whom its metadata name."""
PRODUCERS = Table(
    "producers",
    "The connections on which somebody produced.",
    {"cluster": "string", "client_id": "string", "broker_id": "int", "connection": "string"},
    ("cluster", "broker_id", "connection"),
)
_CONNECTION = ["broker_id", "connection"]
TABLES = (METADATA_ANSWERS, METADATA_ANSWER_PARTITIONS, MET_FETCHES, COMMIT_LINES, HANDED_CLIENTS)


def producers_of(requests: pa.Table) -> pa.Table:
    """Rows of PRODUCERS, from rows of ``bronze.requests`` of Produce requests."""
    return requests.group_by(list(PRODUCERS.columns)).aggregate([])


@collection_paused()
def replay_clients(
    requests: pa.Table,
    ids: pa.Table,
    producers: pa.Table,
    known: Mapping[str, ClusterEvidence],
    before: pa.Table | None = None,
) -> dict[str, pa.Table]:
    """The rows of TABLES from rows of CLIENT_REQUESTS, all that there are of each client id.

    ``ids``: rows of ``bronze.request_ids`` of the same. ``producers``: rows of PRODUCERS. ``before``: rows of
    HANDED_CLIENTS that the chapter before handed down.
    """
    numbers = by_log(ids, "cluster")
    produced = {
        name: set(tuples(rows.select(_CONNECTION))) for (name,), rows in by_log(producers, "cluster").items()
    }
    named_before = _named(before)
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
            of = named.get(key, {})
            clients = _clients(of, key, sent, produced.get(name, set()))
            meaning = ClientLines(cluster, known[cluster], software)
            _note_asked(own, clients)
            for instance in _by_instance(own, of):
                _replay(_in_order(instance, known[cluster].moments), clients, meaning, rows)
        rows.add(ClientLines(cluster, known[cluster], software), lines, names)
    return rows.to_arrow()


def _of_readers(requests: pa.Table) -> pa.Table:
    """The requests of client ids that did more than to commit: what others had read is not known."""
    commits = pc.is_in(requests["api_key"], pa.array(COMMIT_APIS, pa.int32()))
    readers = pc.unique(requests.filter(pc.invert(commits))["client_id"])
    return requests.filter(pc.is_in(requests["client_id"], readers))


class _Rows:
    """The rows of TABLES while they are made."""

    def __init__(self) -> None:
        self.answers, self.positions, self.read_before = MetadataAnswers(), FetchPositions(), ReadPositions()
        self._clients = Columns(HANDED_CLIENTS)
        self._commits = [COMMIT_LINES.arrow_schema.empty_table()]

    def add(self, lines: ClientLines, requests: pa.Table, names: ClientNames) -> None:
        """The commits and the instances of one cluster."""
        self._commits.append(commit_lines(lines, requests, names, self.read_before))
        for (client_id, *connection), name in names.items():
            self._clients.add(lines.cluster, client_id or None, *connection, name)

    def to_arrow(self) -> dict[str, pa.Table]:
        return {
            **self.answers.to_arrow(),
            MET_FETCHES.name: self.positions.to_arrow(),
            COMMIT_LINES.name: pa.concat_tables(self._commits),
            HANDED_CLIENTS.name: self._clients.to_arrow(),
        }


def _named(before: pa.Table | None) -> dict[tuple[str, str], dict[Connection, str]]:
    """By cluster and client id the instances of connections, from rows of HANDED_CLIENTS."""
    found: dict[tuple[str, str], dict[Connection, str]] = {}
    for cluster, client_id, broker_id, connection, name in tuples(before) if before is not None else ():
        found.setdefault((cluster, client_id or ""), {})[broker_id, connection] = name
    return found


def _clients(
    of: Mapping[Connection, str | None],
    key: ClientKey,
    sent: Mapping[tuple[str, str], Mapping[Connection, ConnectionIds]],
    produced: Set[Connection],
) -> dict[Connection, Client]:
    """The instance of each connection, where one is told apart; ``produced``: on which somebody produced."""
    found, followed = sent_by(of, key.software, sent.get((key.client_id, key.host), {}))
    clients = {}
    for name, each in found.items():
        is_producer = not produced.isdisjoint(one.connection for one in each)
        clients[name] = Client(name, CorrelationIds(each), name in followed, is_producer)
    return {connection: clients[name] for connection, name in of.items() if name is not None}


def _note_asked(lines: Iterable[ClientRequest], clients: Mapping[Connection, Client]) -> None:
    """Each client's requests for metadata."""
    for line in lines:
        client = clients.get((line.broker_id, line.connection or ""))
        if client is not None and line.api_key == METADATA:
            insort(client.asked, line.correlation_id)


def _by_instance(
    lines: Iterable[ClientRequest], of: Mapping[Connection, str | None]
) -> Iterable[list[ClientRequest]]:
    """The lines of each instance, and of those that are nobody's."""
    found: dict[str | None, list[ClientRequest]] = {}
    for line in lines:
        found.setdefault(of.get((line.broker_id, line.connection or "")), []).append(line)
    return found.values()


def _in_order(lines: Iterable[ClientRequest], moments: Moments) -> list[ClientRequest]:
    """Lines in the order of their answers: that of the requests, but for what certainly was late."""
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
    lines: Iterable[ClientRequest], clients: Mapping[Connection, Client], meaning: ClientLines, rows: _Rows
) -> None:
    """The lines of one instance."""
    for line in lines:
        client = clients.get((line.broker_id, line.connection or ""))
        if client is not None:
            client.hear(line)
        if line.api_key in (METADATA, DESCRIBE_TOPIC_PARTITIONS):
            rows.answers.add(meaning, line, client)
        elif line.api_key not in COMMIT_APIS:
            _replay_partitions(line, client, meaning, rows)
        elif client is not None:
            rows.read_before.add(meaning, line, client)


def _replay_partitions(line: ClientRequest, client: Client | None, meaning: ClientLines, rows: _Rows) -> None:
    """What a client reads, and what it is told of offsets."""
    for each in line.partitions:
        topic = each.asked.topic or meaning.topic_of(each.asked.topic_id)
        if topic is None:
            continue
        if client is not None:
            _see_epochs(line, each, (topic, each.asked.partition), client)
        if line.api_key == FETCH:
            rows.positions.add(meaning, line, each, topic, client)
        elif client is not None:
            hear_offset(meaning, line, each, (topic, each.asked.partition), client)


def _see_epochs(line: ClientRequest, each: PartitionLine, place: Place, client: Client) -> None:
    """What a client shows that it knows, and the leader epochs that it is told beside its metadata."""
    if line.api_key in _OF_LEADERS:
        client.cache.use(place[0], each.asked.topic_id)
    if line.api_key == FETCH:
        client.cache.keep(place[0], each.asked.topic_id)
    if each.answered_epoch >= 0 and line.api_key in (OFFSET_FETCH, LIST_OFFSETS):
        client.cache.see(*place, each.answered_epoch)
    if each.leader_told is not None:
        client.cache.see(*place, each.leader_told)
