"""Take evidence away from one scope of the tables, as missing records and unknown answers do."""

from __future__ import annotations

import random
from typing import Any

from tlasql_traces import Row, Tables, moment

from tlasql.mapping.model import Records

_NEVER = 10**9


def remove(tables: Tables, scope: str, chance: random.Random) -> None:
    """One or two losses: unknown cells, a hole in the log, states of commits lost or not told apart."""
    losses = (_forget_cells, _cut_hole, _lose_states, _blur_states)
    for loss in chance.sample(losses, chance.randint(1, 2)):
        loss(tables, scope, chance)


def _forget_cells(tables: Tables, scope: str, chance: random.Random) -> None:
    for table in [*tables.history_tables(), *(each.table for each in _records(tables))]:
        columns = tables.state_columns(table)
        for row in _rows(tables, table, scope):
            for column in columns:
                if chance.random() < 0.15:
                    row[column] = None


def _cut_hole(tables: Tables, scope: str, chance: random.Random) -> None:
    """Records are missing: what they ended or began is unknown until its key is written again."""
    own = [row for table in tables.history_tables() for row in _rows(tables, table, scope)]
    positions = sorted({row["from_position"] for row in own})
    begin = chance.choice(positions)
    end = begin + chance.randint(1, 12)
    known_again = end
    for table in tables.history_tables():
        kept = []
        for row in tables.rows[table]:
            if row["group_id"] != scope or not _cut(row, begin, end):
                kept.append(row)
                continue
            until = row["to_position"] if row["to_position"] is not None else _NEVER
            known_again = max(known_again, until)
            if row["from_position"] < begin:
                kept.append({**row, "to_position": begin, "to_time": moment(begin)})
        tables.rows[table] = kept
    _uncover(tables, scope, begin, known_again)


def _cut(row: Row, begin: int, end: int) -> bool:
    until = row["to_position"] if row["to_position"] is not None else _NEVER
    return bool(row["from_position"] < end and until > begin)


def _uncover(tables: Tables, scope: str, begin: int, end: int) -> None:
    coverage = tables.rows[tables.mapping.coverage]
    whole = next(row for row in coverage if row["group_id"] == scope)
    coverage.remove(whole)
    closed = end if end < _NEVER else None
    pieces: list[tuple[int, int | None, bool]] = [
        (whole["from_position"], begin, True),
        (begin, closed, False),
    ]
    if closed is not None:
        pieces.append((closed, None, True))
    for start, stop, covered in pieces:
        if stop is None or start < stop:
            times = {"from_time": moment(start), "to_time": None if stop is None else moment(stop)}
            coverage.append(
                {**whole, "from_position": start, "to_position": stop, "covered": covered, **times}
            )


def _lose_states(tables: Tables, scope: str, chance: random.Random) -> None:
    for each in _records(tables):
        tables.rows[each.table] = [
            row for row in tables.rows[each.table] if row["group_id"] != scope or chance.random() < 0.7
        ]


def _blur_states(tables: Tables, scope: str, chance: random.Random) -> None:
    """A request may have met another state too: every one of its parts gets one more alternative."""
    for each in _records(tables):
        request = each.fields[each.within[0]]
        requests = sorted({row[request] for row in _rows(tables, each.table, scope)})
        blurred = {name for name in requests if chance.random() < 0.6}
        for row in _rows(tables, each.table, scope):
            if row[request] in blurred:
                other = {**row, **_other(tables, each, row, chance), str(each.alternatives): 1}
                tables.rows[each.table].append(other)
        for row in _rows(tables, each.universe.table, scope):
            if row[each.universe.fields[each.within[0]]] in blurred:
                row[str(each.universe.count)] = 2


def _other(tables: Tables, records: Records, row: Row, chance: random.Random) -> dict[str, Any]:
    """Another state the same request may have met: numbers and truths differ, names stay."""
    changed: dict[str, Any] = {}
    for column in tables.state_columns(records.table):
        if isinstance(row[column], bool):
            changed[column] = chance.random() < 0.5
        elif isinstance(row[column], int):
            changed[column] = chance.randint(0, 3)
    return changed


def _records(tables: Tables) -> list[Records]:
    return [each for each in tables.mapping.variables.values() if isinstance(each, Records)]


def _rows(tables: Tables, table: str, scope: str) -> list[Row]:
    return [row for row in tables.rows.get(table, []) if row["group_id"] == scope]
