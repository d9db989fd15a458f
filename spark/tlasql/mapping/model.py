"""Where each variable of a specification lives: the content of a mapping that has been checked.

A function or scalar variable has *homes*: tables of history rows that hold it, true on ``[from_position,
to_position)`` of one scope. The first home is complete: a key has a row there exactly while it is in the
DOMAIN. Further homes hold the same value beside others, so that a rule over both is one scan.

``[states] table = "..."`` names a table that already holds one row per state: each variable is a column with
its whole value.

Where scopes are of several kinds, ``[scope.only]`` and ``[scope.never]`` name those that have rows of a
table, by the values of their columns. What is missing in another scope makes no row of the table unknown.

``[reasons]`` gives the reasons for which values of a table, its rows or its columns are not known.

A variable that is a set of records has one table with a row per element, and a *universe*: the table of every
element, also of those whose fields could not be found. Where an element may have been in one of several
states, ``alternatives`` numbers them; exactly one of them is what happened.
"""

from __future__ import annotations

from collections.abc import Mapping as Dict
from dataclasses import dataclass
from typing import Any

from tlasql.lang.types import BOOL, INT, Function, Record, SeqOf, SetOf, Tuple, Type
from tlasql.mapping.file import MappingFile

Schemas = Dict[str, Dict[str, str]]
"""Table name -> column name -> Spark type."""

INTERVAL = ("from_position", "to_position", "from_time", "to_time")
VERDICT = (
    "scope", "witness", *INTERVAL, "verdict", "exercised", "failed_conjunct", "reason", "observed", "evidence"
)  # fmt: skip
"""The columns of a verdict, after the first of the scope."""
DECISION = ("subject", "outcome", "reason")
"""The columns of a decision, after the first of the scope."""


@dataclass(frozen=True)
class TupleOf:
    """The columns of an argument that is a tuple."""

    columns: tuple[str, ...]
    type: Tuple


@dataclass(frozen=True)
class Home:
    """One table that holds a variable: ``key`` columns for its arguments, ``column`` for its value or
    element.
    """

    table: str
    key: tuple[str | TupleOf, ...]
    column: str | None

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Those of tuples one by one."""
        found: list[str] = []
        for each in self.key:
            found += each.columns if isinstance(each, TupleOf) else [each]
        return tuple(found)


@dataclass(frozen=True)
class History:
    """The homes of a scalar, function or set-valued function.

    ``domain``: where the keys themselves live when the first home lacks keys with empty values.
    ``persistent``: a value, once there, never starts again in its scope, so two rows around a gap are one
    behaviour.
    """

    name: str
    type: Type
    homes: tuple[Home, ...]
    domain: Home | None
    persistent: bool

    @property
    def arity(self) -> int:
        """The number of arguments."""
        return len(self.homes[0].key)


@dataclass(frozen=True)
class Whole:
    """A variable whose value is one column: an array for a set or sequence, a map for a function, a struct
    for a record.
    """

    name: str
    type: Type
    table: str
    column: str


@dataclass(frozen=True)
class Universe:
    """Every element of a record set, whether or not its fields are known."""

    table: str
    fields: Dict[str, str]
    count: str | None
    from_time: str | None
    to_time: str | None


@dataclass(frozen=True)
class Records:
    """A set of records: ``identity`` columns name an element, ``alternatives`` numbers the states it may have
    met.

    Rows with equal ``within`` fields and equal alternative belong to one possible state.
    """

    name: str
    type: Record
    table: str
    identity: tuple[str, ...]
    fields: Dict[str, str]
    alternatives: str | None
    within: tuple[str, ...]
    universe: Universe


@dataclass(frozen=True)
class Extent:
    """Only the scopes whose ``column`` is ``value`` have rows of a table; with ``never``, only the others."""

    column: str
    value: str
    never: bool


@dataclass(frozen=True)
class TableReasons:
    """Why values of a table are not known, in one word. ``columns``: column -> the one reason for which it is
    unknown; ``row``: the column with the reason for all other columns of its row; ``otherwise``: the reason
    where the row has none.
    """

    row: str | None
    columns: Dict[str, str]
    otherwise: str | None


@dataclass(frozen=True)
class Kept:
    """Where verdicts are kept, as pages and dbt tests ask for them: the table of those on invariants and
    steps, the column that names a row of it, and the table of decisions. None: nowhere.
    """

    table: str | None = None
    id: str | None = None
    decisions: str | None = None


@dataclass(frozen=True)
class Mapping:
    """The whole sidecar file. ``scope`` columns cut the logs into independent behaviours; the first, by which
    results are told apart too, is the first column of each result.
    """

    source: MappingFile
    module: str
    scope: tuple[str, ...]
    coverage: str
    covered: str
    evidence: Dict[str, Dict[str, str]]  # table -> column -> type: what a finding cites
    variables: Dict[str, History | Records | Whole]
    decisions: str | None  # the set that a decision is about which names none
    outputs: Dict[str, str]
    kept: Kept
    constants: Dict[str, Any]
    extents: Dict[str, tuple[Extent, ...]]
    reasons: Dict[str, TableReasons]

    @property
    def file(self) -> str:
        """Its path."""
        return str(self.source.path)


def spark_type(kind: Type) -> str:
    """The Spark type of a column that holds values of ``kind``.

    >>> from tlasql.lang.types import parse_type
    >>> spark_type(parse_type("MEMBER -> Set({epoch: Int})"))
    'map<string,array<struct<epoch:bigint>>>'
    """
    match kind:
        case SetOf(element=element) | SeqOf(element=element):
            return f"array<{spark_type(element)}>"
        case Function(argument=argument, result=result):
            return f"map<{spark_type(argument)},{spark_type(result)}>"
        case Record(stored=stored):
            return "struct<" + ",".join(f"{name.lower()}:{spark_type(p)}" for name, p in stored) + ">"
        case Tuple(parts=parts):
            return "struct<" + ",".join(f"_{n}:{spark_type(part)}" for n, part in enumerate(parts, 1)) + ">"
        case _:
            return "bigint" if kind == INT else "boolean" if kind == BOOL else "string"
