"""Traces of states as the tables a mapping describes: what a rebuild of a log with these states would hold.

A trace is a list of states; a state is ``{"position": n, "<variable>": value, ...}`` with functions as JSON
objects and sets as lists. Each trace becomes one scope (group) of its own, named by the trace.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from tlasql.commands.data import duckdb_type
from tlasql.mapping.model import History, Home, Records, Schemas
from tlasql.mapping.model import Mapping as Sidecar

State = dict[str, Any]
Row = dict[str, Any]
Key = tuple[tuple[str, Any], ...]


@dataclass
class Tables:
    """Rows of every table of a mapping; ``fill`` adds traces to them."""

    mapping: Sidecar
    schemas: Schemas
    rows: dict[str, list[Row]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        records = [each for each in self.mapping.variables.values() if isinstance(each, Records)]
        others = [table for each in records for table in (each.table, each.universe.table)]
        for table in (*self.history_tables(), *others, self.mapping.coverage):
            self.rows.setdefault(table, [])

    def fill(self, name: str, states: list[State]) -> None:
        """Add one trace as the scope ``name``, all of it covered."""
        for table in self.history_tables():
            self.rows.setdefault(table, []).extend(_history_rows(self.mapping, table, name, states))
        for variable in self.mapping.variables.values():
            if isinstance(variable, Records):
                self._fill_records(variable, name, states)
        begin, end = states[0]["position"], None
        piece = _scoped(self.mapping, name) | _interval(begin, end) | {self.mapping.covered: True}
        self.rows.setdefault(self.mapping.coverage, []).append(piece)

    def history_tables(self) -> list[str]:
        """The tables of all homes."""
        histories = [each for each in self.mapping.variables.values() if isinstance(each, History)]
        return list(dict.fromkeys(home.table for each in histories for home in each.homes))

    def state_columns(self, table: str) -> list[str]:
        """The columns of a table that hold values of variables, not keys: those that may be unknown."""
        found: list[str] = []
        for each in self.mapping.variables.values():
            if isinstance(each, History):
                value = not _is_set(each)
                found += [h.column for h in each.homes if h.table == table and h.column is not None and value]
            elif each.table == table:
                known = {each.fields[name] for name in each.within}
                found += [column for column in each.fields.values() if column not in known]
        return list(dict.fromkeys(found))

    def tuples(self, table: str) -> list[tuple[Any, ...]]:
        """The rows of a table in the order of its columns, nulls where nothing was filled in."""
        columns = self.schemas[table]
        return [tuple(row.get(column) for column in columns) for row in self.rows.get(table, [])]

    def write(self, folder: Path) -> None:
        """Each table as ``<schema>.<table>.parquet``, as ``tlasql --data`` reads it."""
        with duckdb.connect() as connection:
            for table, rows in self.rows.items():
                kinds = self.schemas[table]
                given = pa.table({name: [row.get(name) for row in rows] for name in kinds})
                connection.register("given", given)
                columns = ", ".join(
                    f'CAST("{name}" AS {duckdb_type(kind)}) AS "{name}"' for name, kind in kinds.items()
                )
                place = f"'{folder / table}.parquet' (FORMAT parquet)"
                connection.execute(f"COPY (SELECT {columns} FROM given) TO {place}")

    def _fill_records(self, variable: Records, name: str, states: list[State]) -> None:
        universe = variable.universe
        for index, state in enumerate(states):
            for number, element in enumerate(state[variable.name]):
                identity = dict.fromkeys(variable.identity, f"{name}/{index}/{number}")
                fields = dict(element)
                for shared in variable.within:  # equal only within one state of one trace
                    fields[shared] = f"{name}/{index}/{element[shared]}"
                row = _scoped(self.mapping, name) | identity | _interval_of(states, index)
                row |= {column: fields[each] for each, column in variable.fields.items()}
                if variable.alternatives is not None:
                    row[variable.alternatives] = 0
                self.rows.setdefault(variable.table, []).append(row)
                known = _scoped(self.mapping, name) | identity
                known |= {column: fields[each] for each, column in universe.fields.items()}
                if universe.count is not None:
                    known[universe.count] = 1
                self.rows.setdefault(universe.table, []).append(known)


def stored_traces(folder: Path) -> dict[str, list[State]]:
    """``<id>/<holds or violated>`` -> states, for every trace below ``folder``."""
    return {
        f"{path.stem}/{kind}": trace["states"]
        for path in sorted(folder.glob("*.json"))
        for kind, trace in json.loads(path.read_text(encoding="utf-8")).items()
    }


def moment(position: int) -> datetime:
    """The time of a position: one second for each."""
    return datetime.fromtimestamp(1_700_000_000 + position, UTC)


def _history_rows(mapping: Sidecar, table: str, name: str, states: list[State]) -> list[Row]:
    """Maximal intervals in which a key's row stays the same."""
    rows: list[Row] = []
    current: dict[Key, Row] = {}
    for state in states:
        found = _rows_at(mapping, table, state)
        position = state["position"]
        for key in [key for key in current if current[key]["_values"] != found.get(key)]:
            rows.append(_closed(current.pop(key), position))
        for key, values in found.items():
            if key not in current:
                current[key] = {
                    "_values": values,
                    **_scoped(mapping, name),
                    **values,
                    **_interval(position, None),
                }
    rows += current.values()
    return [{column: value for column, value in row.items() if column != "_values"} for row in rows]


def _closed(row: Row, position: int) -> Row:
    return {**row, "to_position": position, "to_time": moment(position)}


def _rows_at(mapping: Sidecar, table: str, state: State) -> dict[Key, Row]:
    rows: dict[Key, Row] = {}
    histories = [each for each in mapping.variables.values() if isinstance(each, History)]
    for each in histories:
        if each.homes[0].table == table:
            for key in _keys(each, state[each.name]):
                rows.setdefault(tuple(sorted(key.items())), dict(key))
    for each in histories:
        for home in each.homes:
            if home.table == table and home.column is not None and not _is_set(each):
                for row in rows.values():
                    row[home.column] = _look_up(state[each.name], home, row)
    return rows


def _keys(history: History, value: Any) -> Iterable[Row]:
    home = history.homes[0]
    pending: list[tuple[Row, Any]] = [({}, value)]
    for column in home.key:
        pending = [({**row, column: key}, inner) for row, found in pending for key, inner in found.items()]
    for row, inner in pending:
        if _is_set(history):
            yield from ({**row, str(home.column): element} for element in inner)
        else:
            yield row


def _look_up(value: Any, home: Home, row: Mapping[str, Any]) -> Any:
    for column in home.key:
        value = value.get(row[column]) if value is not None else None
    return value


def _is_set(history: History) -> bool:
    return "Set(" in str(history.type)


def _scoped(mapping: Sidecar, name: str) -> Row:
    values = ("test", name, 1)
    return dict(zip(mapping.scope, values, strict=True))


def _interval_of(states: list[State], index: int) -> Row:
    later = states[index + 1]["position"] if index + 1 < len(states) else None
    return _interval(states[index]["position"], later)


def _interval(begin: int, end: int | None) -> Row:
    return {
        "from_position": begin,
        "to_position": end,
        "from_time": moment(begin),
        "to_time": moment(end) if end is not None else None,
    }
