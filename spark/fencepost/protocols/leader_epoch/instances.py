"""Tells which connections belong to one instance of a client.

A Java client has one counter of correlation ids over all its connections (NetworkClient), so the requests of
one instance, ordered by time, have rising ids. Where that does not tell instances apart, none gets a name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.request_ids import merged
from fencepost.protocols.leader_epoch.client_requests import ClientRequest, each_request
from fencepost.replay.arrow_slices import filtered
from fencepost.replay.correlation_ids import (
    Connection,
    ConnectionIds,
    Pair,
    count,
    goes_on,
    in_order,
    is_java,
    rises,
)
from fencepost.replay.entities import distinct, tuples
from fencepost.replay.keys import digest_of
from fencepost.replay.logs import longs
from fencepost.replay.requests import host_of

_NOBODY: Mapping[Connection, str] = {}

Connections = Mapping[Connection, Sequence[Pair]]
"""What was sent on each connection of a client."""

Software = Mapping[Connection, tuple[str | None, str | None]]
"""The name and version of the client software on each connection."""


def software_of(requests: pa.Table) -> Software:
    """The software on each connection, from rows of ``bronze.requests`` or CLIENT_REQUESTS of one cluster.

    Where lines of one connection name several, the result is one of them, whatever the order of the lines.
    """
    distinct_rows = requests.group_by(
        ["broker_id", "connection", "software_name", "software_version"]
    ).aggregate([])
    by_connection: dict[Connection, tuple[str | None, str | None]] = {}
    for broker_id, connection, *named in tuples(distinct_rows):
        place, (name, version) = (broker_id, connection or ""), named
        known = by_connection.setdefault(place, (name, version))
        if known != (name, version):
            by_connection[place] = max(
                known, (name, version), key=lambda each: tuple(text or "" for text in each)
            )
    return by_connection


class ClientKey(NamedTuple):
    """What a client says of itself; two instances of one application may have the same key."""

    client_id: str
    host: str
    software: str


def by_client(
    requests: pa.Table, api_keys: Collection[int], software: Software
) -> Iterator[tuple[ClientKey, list[ClientRequest]]]:
    """The lines of these APIs by client, from rows of CLIENT_REQUESTS of one cluster. It reads one client id
    after another: the lines of all of them together would take much memory.
    """
    lines = each_request(requests, api_keys, ("client_id",))
    for client_id, of_id in groupby(lines, key=lambda line: line.client_id or ""):
        by_key: dict[ClientKey, list[ClientRequest]] = {}
        for line in of_id:
            key = _client_of(client_id, (line.broker_id, line.connection or ""), software)
            by_key.setdefault(key, []).append(line)
        yield from sorted(by_key.items())


def connections_by_client(requests: pa.Table, software: Software) -> Iterator[tuple[ClientKey, Connections]]:
    """The connections of each client, from rows of CLIENT_REQUESTS of one cluster. It reads one client id
    after another, and makes no ClientRequest: of most clients nothing but the connections is needed.
    """
    rows = filtered(requests, pc.is_valid(requests["connection"]))
    client_id = pc.fill_null(rows["client_id"], "")
    names, number = distinct([client_id, rows["broker_id"], rows["connection"]])
    order = np.argsort(longs(number), kind="stable")
    ids, ms = (longs(rows[name])[order] for name in ("correlation_id", "requested_ms"))
    ends = np.cumsum(np.bincount(longs(number), minlength=len(names))).tolist()
    places = zip(names, pairwise([0, *ends]), strict=True)
    for name, of_id in groupby(places, key=lambda each: each[0][0]):
        by_key: dict[ClientKey, dict[Connection, list[Pair]]] = {}
        for (_, *of), (begin, end) in of_id:
            connection: Connection = (of[0], of[1])
            pairs = zip(ids[begin:end].tolist(), ms[begin:end].tolist(), strict=True)
            by_key.setdefault(_client_of(name, connection, software), {})[connection] = list(pairs)
        yield from sorted(by_key.items())


def _client_of(client_id: str, connection: Connection, software: Software) -> ClientKey:
    return ClientKey(client_id, host_of(connection[1]) or "", software.get(connection, (None, None))[0] or "")


def instances(
    cluster: str,
    connections: Connections,
    software: str | None,
    before: Mapping[Connection, str] = _NOBODY,
) -> dict[Connection, str | None]:
    """The instance of each connection of one client id, host and software: a digest, or None.

    ``before``: the instances that connections are known to belong to, by earlier lines.
    """
    groups: list[tuple[list[Pair], list[Connection], set[int]]] = []
    unsure: set[Connection] = set()
    ordered = sorted(connections.items(), key=lambda each: (min(ms for _, ms in each[1]), each[0]))
    for connection, pairs in ordered:
        ids = {correlation_id for correlation_id, _ in pairs}
        # a thousand runs of one program each count from 0 again: a common id shows that without sorting
        others = [each for each in groups if each[2].isdisjoint(ids)]
        fits = [each for each in others if rises(sorted([*each[0], *pairs]))]
        if len(fits) == 1:
            fits[0][0].extend(pairs)
            fits[0][1].append(connection)
            fits[0][2].update(ids)
        elif not fits:
            groups.append((list(pairs), [connection], ids))
        else:
            unsure.add(connection)
    if unsure or (len(groups) > 1 and not is_java(software)):
        # an unsure connection may belong to any instance, so no instance is known completely
        return dict.fromkeys(connections)
    names_before = [{before[each] for each in of if each in before} for _, of, _ in groups]
    claimed = Counter(name for names in names_before for name in names)
    named: dict[Connection, str | None] = {}
    for (_, of, _), names in zip(groups, names_before, strict=True):
        # an instance is named after its first request, which may be earlier than all these lines
        is_named = len(names) == 1 and claimed[next(iter(names))] == 1
        name = names.pop() if is_named else digest_of(cluster, *of[0], min(connections[of[0]])[0])
        named.update(dict.fromkeys(of, name))
    return named


def sent_by(
    instance_of: Mapping[Connection, str | None],
    software: str | None,
    sent: Mapping[Connection, ConnectionIds],
) -> tuple[dict[str, list[ConnectionIds]], set[str]]:
    """The correlation ids that each instance sent, and the instances that count them as a Java client does.

    ``sent``: all ids from one client id and host. A connection that is not in ``instance_of``, since none of
    its lines was kept or names the software, belongs to an instance if it can belong to no other.
    """
    by_instance: dict[str, list[ConnectionIds]] = {}
    for connection, name in instance_of.items():
        if name is not None:
            by_instance.setdefault(name, []).extend([sent[connection]] if connection in sent else [])
    if not is_java(software):
        return by_instance, set()
    followed = {name for name in by_instance if not _sends_twice(by_instance[name])}
    for other in in_order(sent.values()):
        if other.connection in instance_of or other.software not in (None, software):
            continue
        fits = [each for each in by_instance.values() if goes_on(other, each)]
        if len(fits) == 1:
            fits[0].append(other)
    pairs = {name: [pair for one in each for pair in one.times] for name, each in by_instance.items()}
    return by_instance, followed - set(_at_once(pairs))


def _sends_twice(sent: Sequence[ConnectionIds]) -> bool:
    """Whether some id was sent twice: then two clients were taken for one."""
    return count(merged(each for one in sent for each in one.ranges)) < sum(count(one.ranges) for one in sent)


def _at_once(pairs: Mapping[str, Sequence[Pair]]) -> Iterator[str]:
    """The instances that ran at the same time on one host: each may have sent ids that count as another's."""
    spans = sorted(
        (min(ms for _, ms in each), max(ms for _, ms in each), name) for name, each in pairs.items() if each
    )
    latest: tuple[int, str] | None = None
    for begin, end, name in spans:
        if latest is not None and begin <= latest[0]:
            yield from (name, latest[1])
        latest = max(latest or (end, name), (end, name))
