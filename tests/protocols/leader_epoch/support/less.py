"""Evidence that lacks something, or was dated by clocks that differ."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.request_ids import read_ranges, text_of
from fencepost.protocols.leader_epoch.tables import METADATA_TOPIC_ID

Bronze = Mapping[str, pa.Table]
Silver = dict[str, list[dict[str, Any]]]
METADATA = "__cluster_metadata"
Line = tuple[int, str, int]
"""Of a request log: broker id, connection and correlation id."""
_LINE = ("broker_id", "connection", "correlation_id")
_IDS = "bronze.request_ids"


def of(rows: pa.Table, **values: Any) -> pa.ChunkedArray:
    chosen = pa.chunked_array([pa.array([True] * rows.num_rows)])
    for name, value in values.items():
        chosen = pc.and_(chosen, pc.equal(rows[name], value))
    return chosen


def without(bronze: Bronze, **lost: Callable[[pa.Table], Any]) -> Bronze:
    """Bronze without the rows that a function tells, by the table's name without its schema. A line that is
    missing takes its correlation id along.
    """
    left = dict(bronze)
    for name, which in lost.items():
        rows = left[f"bronze.{name}"]
        gone = pc.fill_null(which(rows), False)
        left[f"bronze.{name}"] = rows.filter(pc.invert(gone))
        if name == "requests":
            lines = set(zip(*(rows.filter(gone)[key].to_pylist() for key in _LINE), strict=True))
            left[_IDS] = _fewer(left[_IDS], lambda line, lines=lines: line in lines)
    return left


def without_lines(bronze: Bronze, gone: Callable[[Line], bool]) -> Bronze:
    """Bronze without the lines of request logs that a function tells, those of no other use among them."""
    rows = bronze["bronze.requests"]
    lines = zip(*(rows[key].to_pylist() for key in _LINE), strict=True)
    kept = pa.array([not gone(line) for line in lines], pa.bool_())
    return {**bronze, "bronze.requests": rows.filter(kept), _IDS: _fewer(bronze[_IDS], gone)}


def _fewer(rows: pa.Table, gone: Callable[[Line], bool]) -> pa.Table:
    found = []
    for row in rows.to_pylist():
        each = (id_ for first, last in read_ranges(row["correlation_ids"]) for id_ in range(first, last + 1))
        ids = [id_ for id_ in each if not gone((row["broker_id"], row["connection"], id_))]
        if ids:
            found.append({**row, "correlation_ids": text_of(ids)})
    return pa.Table.from_pylist(found, rows.schema)


def some(chance: random.Random, share: float) -> Callable[[pa.Table], pa.Array]:
    return lambda rows: pa.array([chance.random() < share for _ in range(rows.num_rows)], pa.bool_())


def some_contents(chance: random.Random, share: float) -> Callable[[pa.Table], pa.Array]:
    """Of files that are read as a whole: all rows of a content go together."""

    def which(rows: pa.Table) -> pa.Array:
        contents = list(zip(rows["file"].to_pylist(), rows["content_digest"].to_pylist(), strict=True))
        gone = {content: chance.random() < share for content in sorted(set(contents))}
        return pa.array([gone[content] for content in contents], pa.bool_())

    return which


def by_broker(broker: int, **values: Any) -> Callable[[pa.Table], Any]:
    return lambda rows: of(rows, broker_id=broker, **values)


def metadata(first: int, end: int) -> Callable[[pa.Table], Any]:
    def which(rows: pa.Table) -> Any:
        inside = pc.and_(pc.greater_equal(rows["base_offset"], first), pc.less(rows["base_offset"], end))
        return pc.and_(of(rows, topic=METADATA), inside)

    return which


def shifted(bronze: Bronze, whole: Silver, broker: int, ms: int) -> Bronze:
    """As if a node's clock were ``ms`` ahead: its request log, and what it wrote as coordinator and as
    controller.
    """
    led = {(r["topic_id"], r["partition"], r["leader_epoch"]) for r in whole["leader_epochs"]
           if r["leader"] == broker and r["topic"].startswith("__")}  # fmt: skip
    led |= {(METADATA_TOPIC_ID, 0, r["controller_epoch"]) for r in whole["controllers"]
            if r["controller_id"] == broker}  # fmt: skip
    left = dict(bronze)
    requests = left["bronze.requests"]
    left["bronze.requests"] = later(requests, "logged_at_ms", of(requests, broker_id=broker), ms)
    ids = left[_IDS]
    for column in ("first_logged_at_ms", "last_logged_at_ms"):
        ids = later(ids, column, of(ids, broker_id=broker), ms)
    left[_IDS] = ids
    for name, columns in (("batches", ("max_timestamp_ms",)), ("records", ("timestamp_ms",))):
        rows = left[f"bronze.{name}"]
        keys = (rows[key].to_pylist() for key in ("topic_id", "partition", "leader_epoch"))
        here = pa.array([key in led for key in zip(*keys, strict=True)], pa.bool_())
        for column in columns:
            rows = later(rows, column, here, ms)
        left[f"bronze.{name}"] = rows
    return left


def later(rows: pa.Table, column: str, here: Any, ms: int) -> pa.Table:
    changed = pc.if_else(here, pc.add(rows[column], ms), rows[column])
    return rows.set_column(rows.schema.get_field_index(column), column, changed)
