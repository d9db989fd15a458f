"""Brokers that shut down in good order, as what beside the metadata log shows.

A broker that leads nothing is fenced at once when it asks to be shut down, by the same record as one that is
silent (BrokerHeartbeatManager). Two things tell them apart: the controller's answer to the heartbeat that
asked, and the file of a clean shutdown (ReplicaManager), which names the broker epoch that it ended.
"""

from __future__ import annotations

from collections.abc import Mapping, Set

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Engine
from fencepost.protocols.leader_epoch.lines import BROKER_HEARTBEAT
from fencepost.replay.entities import tuples
from fencepost.replay.requests import parse_object
from fencepost.tables import LOG_ENDS, REQUESTS

_COLUMNS = ("cluster", "api_key", "request", "response")
_STARTS = pa.schema([("cluster", pa.string()), ("broker_id", pa.int32()), ("broker_epoch", pa.int64())])

Shutdowns = Set[tuple[int, int]]
"""The brokers that were shut down in good order: broker id and broker epoch."""


def shut_down(engine: Engine) -> Mapping[str, Shutdowns]:
    """Shutdowns by cluster."""
    heartbeats = engine.scan(REQUESTS, _COLUMNS, [{"api_key": BROKER_HEARTBEAT}])
    closed = engine.scan(LOG_ENDS, _STARTS.names)
    told = [engine.map(heartbeats, granted, _STARTS), engine.map(closed, _distinct, _STARTS)]
    found: dict[str, set[tuple[int, int]]] = {}
    for cluster, *start in tuples(engine.collect(engine.union(told))):
        found.setdefault(cluster, set()).add((start[0], start[1]))
    return found


def granted(requests: pa.Table) -> pa.Table:
    """The starts of brokers, from rows of ``bronze.requests``, whose heartbeat asked for a shutdown that the
    controller granted.
    """
    asked = pc.and_(
        pc.match_substring_regex(requests["request"], '"wantShutDown": ?true'),
        pc.fill_null(pc.match_substring_regex(requests["response"], '"shouldShutDown": ?true'), False),
    )
    lines = requests.filter(pc.and_(pc.equal(requests["api_key"], BROKER_HEARTBEAT), asked))
    starts = [
        (cluster, sent.get("brokerId"), sent.get("brokerEpoch"))
        for cluster, request in zip(
            *(lines[name].to_pylist() for name in ("cluster", "request")), strict=True
        )
        if (sent := parse_object(request))
    ]
    columns = zip(*starts, strict=True) if starts else ([], [], [])
    return pa.table(
        [pa.array(each, field.type) for each, field in zip(columns, _STARTS, strict=True)], _STARTS
    )


def _distinct(ends: pa.Table) -> pa.Table:
    return ends.select(_STARTS.names).group_by(_STARTS.names).aggregate([]).cast(_STARTS)
