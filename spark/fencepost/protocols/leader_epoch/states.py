"""The partitions that a commit or a fetch may have met: one row for each candidate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.live_partitions import LivePartition, agreed
from fencepost.protocols.leader_epoch.tables import (
    COMMITTED_OFFSET_STATES,
    COMMITTED_OFFSETS,
    FETCH_POSITION_STATES,
    FETCH_POSITIONS,
)
from fencepost.tables import Table

_MET = {
    "live_topic_id": ("live_topic_ids", "array<string>"),
    "live_partition_epoch": ("live_partition_epochs", "array<int>"),
    "live_leader_epoch": ("live_leader_epochs", "array<int>"),
}
"""A column of a state, and the list of what it has in each of them."""


def _with_states(table: Table) -> Table:
    lists = dict(_MET.values())
    return Table(f"met_{table.name.split('.')[1]}", table.doc, {**table.columns, **lists}, table.key)


MET_COMMITS = _with_states(COMMITTED_OFFSETS)
MET_FETCHES = _with_states(FETCH_POSITIONS)
"""Rows of silver, with lists of what they may have met."""

_STATES = {MET_COMMITS.name: COMMITTED_OFFSET_STATES, MET_FETCHES.name: FETCH_POSITION_STATES}
_ROWS = {MET_COMMITS.name: COMMITTED_OFFSETS, MET_FETCHES.name: FETCH_POSITIONS}


def columns_of(met: Sequence[LivePartition]) -> tuple[tuple[Any, ...], tuple[list[Any], ...]]:
    """The columns live_topic_id to candidates of a row, and its lists."""
    return (*agreed(met), len(met)), tuple(list(values) for values in zip(*met, strict=True))


def rows_of(met: Table, rows: pa.Table) -> pa.Table:
    """The rows of silver among rows of MET_COMMITS or MET_FETCHES."""
    table = _ROWS[met.name]
    return rows.select(list(table.columns)).cast(table.arrow_schema)


def states_of(met: Table, rows: pa.Table) -> pa.Table:
    """The rows of states that rows of MET_COMMITS or MET_FETCHES have."""
    table = _STATES[met.name]
    rows = rows.combine_chunks()
    lists = {name: pc.list_flatten(rows[of]) for name, (of, _) in _MET.items()}
    parents = pc.list_parent_indices(rows["live_topic_ids"]).combine_chunks()
    place = np.asarray(parents)
    first = np.flatnonzero(np.diff(place, prepend=-1)) if len(place) else place
    number = np.arange(len(place)) - np.repeat(first, np.diff([*first, len(place)]))
    met_rows = rows.select([name for name in table.columns if name not in (*_MET, "candidate")]).take(parents)
    columns = {
        "candidate": pa.array(number, pa.int32()),
        **lists,
        **{name: met_rows[name] for name in met_rows.column_names},
    }
    return pa.table([columns[name] for name in table.columns], schema=table.arrow_schema)
