"""The offsets that brokers acknowledged to producers, in partitions whose last leader leads again after an
unclean election.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.engines import Engine, Rows
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.elections import last_leader_again
from fencepost.protocols.leader_epoch.lines import PRODUCE
from fencepost.replay.json_objects import objects_of
from fencepost.replay.logs import Longs, by_log, longs
from fencepost.tables import REQUESTS

_PARTITION = pa.struct([("index", pa.int32()), ("errorCode", pa.int32()), ("baseOffset", pa.int64())])
_TOPIC = pa.struct(
    [("name", pa.string()), ("topicId", pa.string()), ("partitionResponses", pa.list_(_PARTITION))]
)
_RESPONSE = pa.struct([("responses", pa.list_(_TOPIC))])
_SCHEMA = pa.schema(
    [
        ("cluster", pa.string()),
        ("topic", pa.string()),  # its name or its id, as the request has it
        ("partition", pa.int32()),
        ("broker_id", pa.int32()),
        ("offset", pa.int64()),
    ]
)
Wanted = Mapping[str, Sequence[str]]
"""By cluster, the names and ids of topics."""


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The base offset in each answer to a Produce of one partition, and the broker that gave it."""

    offset: Longs
    broker: Longs


Answers = Mapping[tuple[str, str, int], Acknowledged]
"""By cluster, name or id of the topic, and partition."""


def acknowledged(engine: Engine, histories: Mapping[str, ClusterHistory]) -> Answers:
    """The answers about partitions that a broker led again after an unclean election, if it was the last one
    that had led them. There are none in most clusters, and then no line is read.
    """
    wanted = {cluster: _topics(history) for cluster, history in histories.items()}
    if not any(wanted.values()):
        return {}
    produced = engine.scan(REQUESTS, ("cluster", "broker_id", "response"), [{"api_key": PRODUCE}])
    rows: Rows = engine.map(produced, partial(_answered, wanted=wanted), _SCHEMA)
    return {
        (str(cluster), str(topic), int(str(partition))): Acknowledged(
            longs(of["offset"]), longs(of["broker_id"])
        )
        for (cluster, topic, partition), of in by_log(
            engine.collect(rows), "cluster", "topic", "partition"
        ).items()
    }


def _topics(history: ClusterHistory) -> list[str]:
    lives = {
        life.topic_id: life.topic
        for life, partition in history.partitions()
        if any(last_leader_again(partition.elections, each) for each in partition.elections)
    }
    return sorted({name for pair in lives.items() for name in pair if name is not None})


def _answered(requests: pa.Table, wanted: Wanted) -> pa.Table:
    """Rows of _SCHEMA, from rows of ``bronze.requests`` of Produce requests."""
    parts = [_SCHEMA.empty_table()]
    for (cluster,), lines in by_log(requests, "cluster").items():
        topics = wanted.get(str(cluster), ())
        if not topics:
            continue
        answers = objects_of(lines["response"].combine_chunks(), _RESPONSE)
        lists = pc.struct_field(answers, "responses")
        line, of_topic = pc.list_parent_indices(lists), pc.list_flatten(lists)
        partitions = pc.struct_field(of_topic, "partitionResponses")
        topic, each = pc.list_parent_indices(partitions), pc.list_flatten(partitions)
        # an answer has either a name or an id, and the other one is empty or null
        names = (pc.struct_field(of_topic, name) for name in ("name", "topicId"))
        named = [pc.if_else(pc.is_in(name, pa.array(topics)), name, None) for name in names]
        columns = {
            "cluster": pa.repeat(str(cluster), len(each)),
            "topic": pc.coalesce(*named).take(topic),
            "partition": pc.struct_field(each, "index"),
            "broker_id": lines["broker_id"].take(line.take(topic)),
            "offset": pc.struct_field(each, "baseOffset"),
        }
        rows = pa.table([columns[name] for name in _SCHEMA.names], schema=_SCHEMA)
        is_written = pc.and_(
            pc.equal(pc.struct_field(each, "errorCode"), 0), pc.greater_equal(rows["offset"], 0)
        )
        parts.append(rows.filter(pc.and_(is_written, pc.is_valid(rows["topic"]))))
    return pa.concat_tables(parts)
