"""Plain values by type: at random, as TLA+, and as rows that DuckDB and Spark take.

A value is an integer, boolean or string, a ``ModelValue``, a list for a set or sequence, a dict for a
function, record (by field) or tuple (``_1``, ``_2``). A list for a set may repeat itself, as an array in a
table may.
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import duckdb
import pyarrow as pa
from pyspark.sql import SparkSession
from tlasql_judge import ModelValue
from tlasql_spark import queries

from tlasql import Compiled, CompiledModule
from tlasql.commands.data import duckdb_type, quoted
from tlasql.lang.types import BOOL, INT, Function, Record, SeqOf, SetOf, Tuple, Type
from tlasql.mapping.model import spark_type

State = Mapping[str, Any]
_FIRST = {
    "cluster": "string",
    "trace": "string",
    "from_position": "bigint",
    "to_position": "bigint",
    "from_time": "timestamp",
    "to_time": "timestamp",
}


class Key(dict[str, Any]):
    """A record or tuple that is the argument of a function."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(repr(self))


def _key(value: Any) -> Any:
    return Key(value) if isinstance(value, dict) else value


@dataclass(frozen=True)
class Domain:
    """``types`` of variables; ``integers`` and ``texts`` (by sort) their values come from."""

    types: Mapping[str, Type]
    integers: Sequence[int]
    texts: Mapping[str, Sequence[Any]]
    columns: Mapping[str, str] = field(default_factory=dict)
    """variable -> its column, where that is called otherwise"""

    def column(self, name: str) -> str:
        return self.columns.get(name, name)

    def state(self, chance: random.Random) -> State:
        return {name: self.value(kind, chance) for name, kind in self.types.items()}

    def value(self, kind: Type, chance: random.Random) -> Any:  # noqa: PLR0911 (one for each kind)
        match kind:
            case SetOf(element=element):
                found = [self.value(element, chance) for _ in range(chance.choice((0, 1, 1, 2, 2, 3)))]
                return found + [each for each in found if chance.random() < 0.2]
            case SeqOf(element=element):
                return [self.value(element, chance) for _ in range(chance.choice((0, 1, 2, 2, 3)))]
            case Function(argument=argument, result=result):
                keys = [self.value(argument, chance) for _ in range(chance.choice((0, 1, 2, 3, 3)))]
                return {_key(key): self.value(result, chance) for key in keys}
            case Record(fields=fields, optional=optional):
                found = {name: self.value(part, chance) for name, part in fields}
                lists = {name: [found[name]][: chance.choice((0, 1))] for name in sorted(optional)}
                return {**found, **lists}
            case Tuple(parts=parts):
                return {f"_{n}": self.value(part, chance) for n, part in enumerate(parts, start=1)}
        if kind == BOOL:
            return chance.random() < 0.5
        return chance.choice(self.integers if kind == INT else self.texts[str(kind)])

    def schemas(self) -> dict[str, dict[str, str]]:
        values = {self.column(name): spark_type(kind) for name, kind in self.types.items()}
        coverage = {**_FIRST, "covered": "boolean"}
        return {"shapes.states": {**_FIRST, **values}, "shapes.coverage": coverage}


def written(value: Any, kind: Type, models: Mapping[str, str]) -> str:  # noqa: PLR0911 (one for each kind)
    """A value as TLA+."""
    match kind:
        case SetOf(element=element):
            return "{" + ", ".join(written(each, element, models) for each in value) + "}"
        case SeqOf(element=element):
            return "<<" + ", ".join(written(each, element, models) for each in value) + ">>"
        case Function(argument=argument, result=result) if value:
            pairs = (
                f"{written(k, argument, models)} :> {written(v, result, models)}" for k, v in value.items()
            )
            return "(" + " @@ ".join(pairs) + ")"
        case Function():
            return "[judge_none \\in {} |-> judge_none]"
        case Record():
            held = ((n, part, each) for n, part in kind.fields for each in _held(value, n, kind))
            return "[" + ", ".join(f"{n} |-> {written(each, part, models)}" for n, part, each in held) + "]"
        case Tuple(parts=parts):
            inside = (written(value[f"_{n}"], part, models) for n, part in enumerate(parts, start=1))
            return "<<" + ", ".join(inside) + ">>"
    if isinstance(value, bool):
        return str(value).upper()
    if isinstance(value, ModelValue):
        return models[value.text]
    return str(value) if isinstance(value, int) else json.dumps(value)


def _held(value: Any, name: str, kind: Record) -> list[Any]:
    """What a field holds: nothing where the record lacks it."""
    return value[name] if name in kind.optional else [value[name]]


def stored(value: Any, kind: Type) -> Any:
    """A value as a table has it: a model value as its text."""
    match kind:
        case SetOf(element=element) | SeqOf(element=element):
            return [stored(each, element) for each in value]
        case Function(argument=argument, result=result):
            return {_key(stored(k, argument)): stored(v, result) for k, v in value.items()}
        case Record(fields=fields):
            names = zip(kind.stored, fields, strict=True)
            return {column.lower(): stored(value[name], part) for (column, part), (name, _) in names}
        case Tuple(parts=parts):
            return {f"_{n}": stored(value[f"_{n}"], part) for n, part in enumerate(parts, start=1)}
    return value.text if isinstance(value, ModelValue) else value


def rows(domain: Domain, states: Sequence[State]) -> list[tuple[Any, ...]]:
    """The states table: one behaviour, position n for the n-th state."""
    found = []
    for n, state in enumerate(states):
        moments = (datetime.fromtimestamp(n, UTC), datetime.fromtimestamp(n + 1, UTC))
        values = (stored(state[name], kind) for name, kind in domain.types.items())
        found.append(("c", "t", n, n + 1, *moments, *values))
    return found


def duck(domain: Domain, states: Sequence[State], path: str = ":memory:") -> duckdb.DuckDBPyConnection:
    """A database with the states, all of them covered."""
    connection = duckdb.connect(path)
    connection.execute("CREATE SCHEMA shapes")
    for table, columns in domain.schemas().items():
        shown = ", ".join(f"{quoted(name)} {duckdb_type(kind)}" for name, kind in columns.items())
        connection.execute(f"CREATE TABLE {table} ({shown})")
    kinds = list(domain.types.values())
    columns = list(zip(*rows(domain, states), strict=True))
    values = (
        pa.array([_entries(each, kind) for each in column], _arrow(kind))
        for column, kind in zip(columns[6:], kinds, strict=True)
    )
    given = pa.table([*map(pa.array, columns[:6]), *values], [str(n) for n in range(len(columns))])
    connection.register("given", given)
    connection.execute("INSERT INTO shapes.states SELECT * FROM given")
    connection.unregister("given")
    return connection


def _entries(value: Any, kind: Type) -> Any:
    """A stored value as Arrow takes it: a function as pairs, which any key can be in."""
    match kind:
        case Function(argument=argument, result=result):
            return [(_entries(k, argument), _entries(v, result)) for k, v in value.items()]
        case SetOf(element=element) | SeqOf(element=element):
            return [_entries(each, element) for each in value]
        case Record():
            return {c.lower(): _entries(value[c.lower()], part) for c, part in kind.stored}
        case Tuple(parts=parts):
            return {f"_{n}": _entries(value[f"_{n}"], part) for n, part in enumerate(parts, start=1)}
    return value


def _arrow(kind: Type) -> pa.DataType:
    match kind:
        case Function(argument=argument, result=result):
            return pa.map_(_arrow(argument), _arrow(result))
        case SetOf(element=element) | SeqOf(element=element):
            return pa.list_(_arrow(element))
        case Record():
            return pa.struct([(column.lower(), _arrow(part)) for column, part in kind.stored])
        case Tuple(parts=parts):
            return pa.struct([(f"_{n}", _arrow(part)) for n, part in enumerate(parts, start=1)])
    return pa.bool_() if kind == BOOL else pa.int64() if kind == INT else pa.string()


Said = dict[tuple[str, int], bool | None]


def on_duckdb(connection: duckdb.DuckDBPyConnection, definitions: Iterable[Compiled], count: int) -> Said:
    """What the SQL says of each definition in each state, or step into it."""
    found: dict[tuple[str, int], list[bool | None]] = defaultdict(list)
    every = list(definitions)
    for each in every:
        for position, verdict in connection.execute(
            f"SELECT from_position, verdict FROM ({each.sql})"
        ).fetchall():
            found[each.mark.id, position].append(verdict)
    return _together(every, found, count)


def on_spark(spark: SparkSession, domain: Domain, states: Sequence[State], module: CompiledModule) -> Said:
    """The same on Spark."""
    for table, columns in domain.schemas().items():
        ddl = ", ".join(f"`{name}` {kind}" for name, kind in columns.items())
        content = rows(domain, states) if table.endswith("states") else []
        spark.createDataFrame(content, ddl).localCheckpoint().createOrReplaceTempView(table.replace(".", "_"))
    found: dict[tuple[str, int], list[bool | None]] = defaultdict(list)
    for sql in queries(module):
        shown = sql.replace("shapes.states", "shapes_states").replace("shapes.coverage", "shapes_coverage")
        for row in spark.sql(shown).select("definition", "from_position", "verdict").collect():
            found[row["definition"], row["from_position"]].append(row["verdict"])
    return _together(module.definitions, found, len(states))


def _together(
    every: Iterable[Compiled], found: Mapping[tuple[str, int], list[bool | None]], count: int
) -> Said:
    """False where any row is, else unknown where any is, else true: also where there is no row at all."""
    said: Said = {}
    for each in every:
        for n in range(1 if each.mark.kind == "step" else 0, count):
            rows_of = found.get((each.mark.id, n), [])
            said[each.mark.id, n] = False if False in rows_of else None if None in rows_of else True
    return said
