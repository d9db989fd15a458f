"""The states that a partition may have had when a commit or a fetch came: one row for each candidate."""

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
"""By column of a state: the list with its value in each candidate, and the list's type."""


def _with_states(table: Table, **more: str) -> Table:
    lists = dict(_MET.values())
    return Table(f"met_{table.name.split('.')[1]}", table.doc, {**table.columns, **lists, **more}, table.key)


MET_COMMITS = _with_states(COMMITTED_OFFSETS)
MET_FETCHES = _with_states(FETCH_POSITIONS, committed="bigint")
"""The tables of silver, with lists of the states that the partition may have had; ``committed``: the offset
that OffsetFetch gave, where the fetch began or from which it was cut off.
"""

_STATES = {MET_COMMITS.name: COMMITTED_OFFSET_STATES, MET_FETCHES.name: FETCH_POSITION_STATES}
_ROWS = {MET_COMMITS.name: COMMITTED_OFFSETS, MET_FETCHES.name: FETCH_POSITIONS}


def columns_of(possible: Sequence[LivePartition]) -> tuple[tuple[Any, ...], tuple[list[Any], ...]]:
    """The columns from ``live_topic_id`` to ``candidates`` of a row, and its lists."""
    lists = tuple([getattr(each, column.removeprefix("live_")) for each in possible] for column in _MET)
    return (*agreed(possible), len(possible)), lists


def rows_of(with_states: Table, rows: pa.Table) -> pa.Table:
    """The rows of silver in rows of MET_COMMITS or MET_FETCHES, which have lists besides."""
    table = _ROWS[with_states.name]
    return rows.select(list(table.columns)).cast(table.arrow_schema)


def states_of(with_states: Table, rows: pa.Table) -> pa.Table:
    """A row for each candidate in the lists of rows of MET_COMMITS or MET_FETCHES."""
    table = _STATES[with_states.name]
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
