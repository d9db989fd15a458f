"""Random behaviours by type, as rows of one states table, and what the engines say of them."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import duckdb
from pyspark.sql import SparkSession
from tlasql_oracles import Verdicts
from tlasql_spark import queries

from tlasql import Compiled, CompiledModule, compile_module
from tlasql.commands.data import duckdb_type
from tlasql.lang.types import BOOL, INT, Function, Record, SeqOf, SetOf, Tuple, Type, parse_type
from tlasql.mapping.model import spark_type

FOLDER = Path(__file__).resolve().parents[1] / "corpus"
KEYS = ("a", "b", "nobody")
INTEGERS = (0, 1, 2)
STATES, COVERAGE = "corpus.states", "corpus.coverage"
_GONE = object()
_SCOPE = {"cluster": "string", "trace": "string"}
_INTERVAL = {
    "from_position": "bigint",
    "to_position": "bigint",
    "from_time": "timestamp",
    "to_time": "timestamp",
}

State = dict[str, Any]


@dataclass(frozen=True)
class Perhaps(SeqOf):
    """A field that some records lack: a list of its value, or of none."""


Part = tuple[tuple[Any, ...], Type, bool]
"""Where a part of a state stands, its type, and whether it is an element of a set."""


def types() -> dict[str, Type]:
    """The types of the corpus' variables, as its annotations give them."""
    found, lines = {}, (FOLDER / "Corpus.tla").read_text(encoding="utf-8").splitlines()
    for note, declaration in pairwise(lines):
        if note.startswith("\\* @type: ") and declaration.startswith("VARIABLE "):
            found[declaration.removeprefix("VARIABLE ")] = parse_type(
                note.removeprefix("\\* @type: ").rstrip(";")
            )
    return found


def schemas() -> dict[str, dict[str, str]]:
    """The tables the corpus is mapped to."""
    values = {name: spark_type(kind) for name, kind in types().items()}
    return {
        STATES: {**_SCOPE, **_INTERVAL, **values},
        COVERAGE: {**_SCOPE, **_INTERVAL, "covered": "boolean"},
    }


@cache
def compiled(dialect: str) -> CompiledModule:
    """The corpus for one engine."""
    return compile_module(FOLDER / "Corpus.tla", FOLDER / "mapping.toml", schemas(), dialect=dialect)


def behaviour(chance: random.Random, length: int, integers: Sequence[int] = INTEGERS) -> list[State]:
    """Successive states; in some behaviours everything changes in a step, in others one variable at most."""
    kinds = types()
    sparse = chance.random() < 0.4
    states = [{name: value(kind, chance, integers) for name, kind in kinds.items()}]
    while len(states) < length:
        changed = [chance.choice(sorted(kinds))] if sparse else sorted(kinds)
        states.append({**states[-1], **{name: value(kinds[name], chance, integers) for name in changed}})
    return states


def value(  # noqa: PLR0911 (one for each kind)
    kind: Type, chance: random.Random, integers: Sequence[int] = INTEGERS
) -> Any:
    """A value from a domain so small that values meet."""
    match kind:
        case Perhaps(element=element):
            return [value(element, chance, integers) for _ in range(chance.choice((0, 1)))]
        case SetOf(element=element):
            return _distinct(
                value(element, chance, integers) for _ in range(chance.choice((0, 1, 1, 2, 2, 3)))
            )
        case SeqOf(element=element):
            return [value(element, chance, integers) for _ in range(chance.choice((0, 1, 2, 2, 3)))]
        case Function(argument=argument, result=result):
            keys = _distinct(value(argument, chance, integers) for _ in range(chance.choice((0, 1, 1, 2, 3))))
            images = [value(result, chance, integers) for _ in range(chance.choice((1, 3)))]
            return {key: chance.choice(images) for key in keys}
        case Record():
            return {name: value(part, chance, integers) for name, part in _fields(kind)}
        case Tuple(parts=parts):
            return {f"_{n}": value(part, chance, integers) for n, part in enumerate(parts, start=1)}
    if kind == BOOL:
        return chance.random() < 0.5
    return chance.choice(integers if kind == INT else KEYS)


def _fields(kind: Record) -> list[tuple[str, Type]]:
    return [(name, Perhaps(part) if name in kind.optional else part) for name, part in kind.fields]


def _distinct(values: Iterable[Any]) -> list[Any]:
    found: list[Any] = []
    for each in values:
        if each not in found:
            found.append(each)
    return found


def with_holes(state: State, chance: random.Random, count: int) -> tuple[State, Iterator[State]]:
    """The state with ``count`` scalars unknown, and all its completions one after the other.

    Integers also take values that no state has; an unknown element of a set may not be there at all.
    """
    kinds = types()
    paths = [path for name in sorted(kinds) for path in _scalars(state[name], kinds[name], (name,))]
    chosen = chance.sample(paths, min(count, len(paths)))
    domains = [(*_values(kind), *((_GONE,) if optional else ())) for _, kind, optional in chosen]
    holed = state
    for path, _, _ in chosen:
        holed = _put(holed, path, None)
    return holed, (
        _merged(_filled(state, [path for path, _, _ in chosen], filling), kinds)
        for filling in product(*domains)
    )


def without_part(state: State, chance: random.Random, count: int) -> tuple[State, Iterator[State]]:
    """The state with a whole variable unknown, or a part of its value that may have parts itself, and
    ``count`` of its completions.
    """
    kinds = types()
    name = chance.choice(sorted(kinds))
    path, kind, optional = chance.choice(list(_parts(state[name], kinds[name], (name,))))

    def found() -> Any:
        return _GONE if optional and chance.random() < 0.2 else value(kind, chance)

    completions = (_merged(_put(state, path, found()), kinds) for _ in range(count))
    return _put(state, path, None), completions


def nearby(state: State, chance: random.Random, integers: Sequence[int] = INTEGERS) -> State:
    """The state with a part of one variable changed, if at all: a step that nearly stutters leads to it."""
    kinds = types()
    name = chance.choice(sorted(kinds))
    path, kind, _ = chance.choice(list(_parts(state[name], kinds[name], (name,))))
    return _merged(_put(state, path, value(kind, chance, integers)), kinds)


def repeating(state: State, chance: random.Random) -> State:
    """The state with some elements of its sets twice in their arrays."""
    return {name: _repeated(state[name], kind, chance) for name, kind in types().items()}


def _repeated(found: Any, kind: Type, chance: random.Random) -> Any:
    match kind:
        case SetOf(element=element):
            inside = [_repeated(each, element, chance) for each in found]
            return inside + [each for each in inside if chance.random() < 0.4]
        case Function(result=result):
            return {key: _repeated(each, result, chance) for key, each in found.items()}
    return found


def _filled(state: State, paths: Iterable[tuple[Any, ...]], filling: Iterable[Any]) -> State:
    for path, each in zip(paths, filling, strict=True):
        state = _put(state, path, each)
    return state


def _values(kind: Type) -> tuple[Any, ...]:
    return (False, True) if kind == BOOL else (-9, *INTEGERS, 9) if kind == INT else KEYS


def _parts(found: Any, kind: Type, path: tuple[Any, ...], optional: bool = False) -> Iterator[Part]:
    """The value itself and all inside it; ``optional``: an element of a set."""
    yield path, kind, optional
    match kind:
        case SetOf(element=element) | SeqOf(element=element):
            for n, inner in enumerate(found):
                yield from _parts(inner, element, (*path, n), isinstance(kind, SetOf))
        case Function(result=result):
            for key in found:
                yield from _parts(found[key], result, (*path, key))
        case Record():
            for name, part in _fields(kind):
                yield from _parts(found[name], part, (*path, name))
        case Tuple(parts=parts):
            for n, part in enumerate(parts, start=1):
                yield from _parts(found[f"_{n}"], part, (*path, f"_{n}"))


def _scalars(found: Any, kind: Type, path: tuple[Any, ...]) -> Iterator[Part]:
    inside = (SetOf, SeqOf, Function, Record, Tuple)
    return (part for part in _parts(found, kind, path) if not isinstance(part[1], inside))


def _put(whole: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    copy = dict(whole) if isinstance(whole, dict) else list(whole)
    copy[path[0]] = _put(copy[path[0]], path[1:], new)
    return copy


def _merged(found: Any, kinds: Mapping[str, Type]) -> State:
    """Sets again without duplicates: two elements may have been completed alike."""
    return {name: _set_like(found[name], kind) for name, kind in kinds.items()}


def _set_like(found: Any, kind: Type) -> Any:
    match kind:
        case SetOf(element=element):
            return _distinct(_set_like(each, element) for each in found if each is not _GONE)
        case SeqOf(element=element):
            return [_set_like(each, element) for each in found]
        case Function(result=result):
            return {key: _set_like(each, result) for key, each in found.items()}
    return found


def rows(traces: Mapping[str, list[State]]) -> list[tuple[Any, ...]]:
    """The states table: position n for the n-th state of each trace."""
    kinds = types()
    found = []
    for trace, states in traces.items():
        for n, state in enumerate(states):
            moments = (datetime.fromtimestamp(n, UTC), datetime.fromtimestamp(n + 1, UTC))
            values = (_plain(state[name], kind) for name, kind in kinds.items())
            found.append(("test", trace, n, n + 1, *moments, *values))
    return found


def _plain(found: Any, kind: Type) -> Any:
    """As the engines take it: a tuple for a record where Spark wants one."""
    match kind:
        case _ if found is None:
            return None
        case SetOf(element=element) | SeqOf(element=element):
            return [_plain(each, element) for each in found]
        case Function(result=result):
            return {key: _plain(each, result) for key, each in found.items()}
        case Record():
            return {name: _plain(found[name], part) for name, part in _fields(kind)}
    return found


def duck(traces: Mapping[str, list[State]]) -> duckdb.DuckDBPyConnection:
    """A database with the states of the traces, all of them covered."""
    from pyarrow import Table

    connection = duckdb.connect()
    connection.execute("CREATE SCHEMA corpus")
    table = schemas()[STATES]
    columns = list(zip(*rows(traces), strict=True))
    texts = {name: _texts(column, name) for name, column in zip(table, columns, strict=True)}
    connection.register("given", Table.from_pydict(texts))
    shown = ", ".join(_parsed(name, kind) for name, kind in table.items())
    connection.execute(f"CREATE TABLE {STATES} AS SELECT {shown} FROM given")
    columns_of = schemas()[COVERAGE].items()
    empty = ", ".join(f'CAST(NULL AS {duckdb_type(kind)}) AS "{name}"' for name, kind in columns_of)
    connection.execute(f"CREATE TABLE {COVERAGE} AS SELECT {empty} WHERE FALSE")
    return connection


def said_of(
    connection: duckdb.DuckDBPyConnection, each: Compiled, sql: str, traces: Mapping[str, list[State]]
) -> Verdicts:
    """The verdicts that ``sql`` gives for one definition."""
    found: dict[tuple[str, str, int], list[bool | None]] = defaultdict(list)
    cursor = connection.execute(f"SELECT scope, from_position, verdict FROM ({sql})")
    for scope, position, verdict in cursor.fetchall():
        found[each.mark.id, json.loads(scope)["trace"], position].append(verdict)
    return _kleene([each], traces, found)


def on_duckdb(module: CompiledModule, traces: Mapping[str, list[State]]) -> Verdicts:
    """The verdict of every definition in every state (or step into it)."""
    connection = duck(traces)
    found: Verdicts = {}
    for each in module.definitions:
        found |= said_of(connection, each, each.sql, traces)
    return found


def _texts(column: Iterable[Any], name: str) -> list[Any]:
    if name in (*_SCOPE, *_INTERVAL):
        return list(column)
    kind = types()[name]
    if spark_type(kind) == "string":
        return list(column)
    return [json.dumps(_pairs(each, kind)) for each in column]


def _pairs(found: Any, kind: Type) -> Any:
    """JSON as DuckDB casts it: a map as a list of its entries."""
    match kind:
        case Function(result=result) if found is not None:
            return [{"key": key, "value": _pairs(each, result)} for key, each in found.items()]
        case SetOf(element=element) | SeqOf(element=element) if found is not None:
            return [_pairs(each, element) for each in found]
    return found


def _parsed(name: str, kind: str) -> str:
    if name in (*_SCOPE, *_INTERVAL) or kind == "string":
        return f'CAST("{name}" AS {duckdb_type(kind)}) AS "{name}"'
    if kind.startswith("map<string,"):
        entry = duckdb_type(f"array<struct<key:string,value:{kind[len('map<string,') : -1]}>>")
        return f'map_from_entries(CAST(CAST("{name}" AS JSON) AS {entry})) AS "{name}"'
    return f'CAST(CAST("{name}" AS JSON) AS {duckdb_type(kind)}) AS "{name}"'


def on_spark(spark: SparkSession, module: CompiledModule, traces: Mapping[str, list[State]]) -> Verdicts:
    """The same on Spark."""
    for table, content in ((STATES, rows(traces)), (COVERAGE, [])):
        ddl = ", ".join(f"`{name}` {kind}" for name, kind in schemas()[table].items())
        spark.createDataFrame(content, ddl).localCheckpoint().createOrReplaceTempView(table.replace(".", "_"))
    found: dict[tuple[str, str, int], list[bool | None]] = defaultdict(list)
    for sql in queries(module):
        shown = sql.replace(STATES, "corpus_states").replace(COVERAGE, "corpus_coverage")
        for row in spark.sql(shown).select("definition", "scope", "from_position", "verdict").collect():
            place = (row["definition"], json.loads(row["scope"])["trace"], row["from_position"])
            found[place].append(row["verdict"])
    return _kleene(module.definitions, traces, found)


def _kleene(
    definitions: Iterable[Compiled],
    traces: Mapping[str, list[State]],
    found: Mapping[tuple[str, str, int], list[bool | None]],
) -> Verdicts:
    """False where any row is, else unknown where any is, else true: also where there is no row at all."""
    verdicts: Verdicts = {}
    for each in definitions:
        for trace, states in traces.items():
            for position in range(1 if each.mark.kind == "step" else 0, len(states)):
                said = found.get((each.mark.id, trace, position), [])
                verdicts[each.mark.id, trace, position] = (
                    False if False in said else None if None in said else True
                )
    return verdicts
