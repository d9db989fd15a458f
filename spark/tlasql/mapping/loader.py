"""Reads a mapping and checks it against the types of the variables and the columns of the tables."""

from __future__ import annotations

import re
from collections.abc import Mapping as Dict
from pathlib import Path
from typing import Any

from tlasql.lang.errors import Diagnostic, TlaSqlError
from tlasql.lang.types import INT, STR, Function, Record, SetOf, Tuple, Type
from tlasql.lang.words import counted, meant
from tlasql.mapping.file import HISTORY, RECORDS, Keys, read_mapping, strange_keys
from tlasql.mapping.model import (
    DECISION,
    INTERVAL,
    VERDICT,
    Extent,
    History,
    Home,
    Kept,
    Mapping,
    Records,
    Schemas,
    TableReasons,
    TupleOf,
    Universe,
    Whole,
    spark_type,
)

_PLAIN = "string|boolean|tinyint|smallint|int|integer|bigint|long|short|byte"
_CITED = re.compile(rf"timestamp|{_PLAIN}|array<({_PLAIN})>")
_PLACED = "add it: a row says from which position to which it is true, and from when to when"
_INTEGER_WORD = re.compile(r"\b(tinyint|smallint|int|integer|long|short|byte)\b(?!:)")


def load_mapping(path: Path, types: Dict[str, Type], schemas: Schemas) -> Mapping:
    """Read and check a mapping file. Raises TlaSqlError with every problem found."""
    return _Loader(path, types, schemas).load()


class _Loader:
    def __init__(self, path: Path, types: Dict[str, Type], schemas: Schemas) -> None:
        self._types, self._schemas = types, schemas
        self._problems: list[Diagnostic] = []
        self._file = read_mapping(path)
        self._toml = self._file.content

    def load(self) -> Mapping:
        scope = self._toml.get("scope", {})
        coverage = str(scope.get("coverage", ""))
        columns = self._names(scope.get("columns"), ("scope",), "columns")
        if columns[0] in (*VERDICT, *DECISION):
            message = f"the first column of the scope is {columns[0]}, as another column of the results is"
            self._wrong(("scope", "columns"), message, "show it under another name in a view of the tables")
        if len({each.lower() for each in columns}) < len(columns):
            self._wrong(("scope", "columns"), "[scope] columns has a column twice", "name each once")
        if coverage:
            self._columns(coverage, (*columns, *INTERVAL), ("scope",))
            covered = str(scope.get("covered", "covered"))
            self._columns(coverage, (covered,), ("scope",))
            kind = self._schemas.get(coverage, {}).get(covered, "boolean")
            if kind.lower() != "boolean":
                message = f"{coverage}.{covered} is {kind}, and has to be boolean"
                self._wrong(("scope", "covered"), message, "covered is true where history is known whole")
        else:
            remedy = 'add coverage = "<table of what is known whole>" below [scope]'
            self._wrong(("scope",), "[scope] does not say coverage", remedy)
        variables: dict[str, History | Records | Whole] = {}
        for name, entry in self._toml.get("variables", {}).items():
            mapped = self._variable(name, entry, columns)
            if mapped is not None:
                variables[name] = mapped
        variables |= self._whole(variables)
        decisions = self._toml.get("decisions")
        if decisions is not None and not isinstance(variables.get(decisions), Records):
            self._wrong(("decisions",), f"decisions = {decisions!r} names no mapped set of records")
        mapping = Mapping(
            self._file,
            str(self._toml.get("module", "")),
            columns,
            coverage,
            str(scope.get("covered", "covered")),
            self._evidence(),
            variables,
            decisions,
            {key: str(value) for key, value in self._toml.get("outputs", {}).items()},
            Kept(**self._toml.get("verdicts", {})),
            dict(self._toml.get("constants", {})),
            self._extents(scope, columns),
            self._reasons(),
        )
        if self._problems:
            raise TlaSqlError(self._problems)
        return mapping

    def _variable(self, name: str, entry: dict[str, Any], scope: tuple[str, ...]) -> History | Records | None:
        where = ("variables", name)
        before = len(self._problems)
        if name not in self._types:
            self._wrong(where, f"the module declares no typed variable {name}", "remove it, or add its @type")
            return None
        kind = self._types[name]
        mapped: History | Records
        many = isinstance(kind, SetOf) and isinstance(kind.element, Record)
        self._problems += strange_keys(self._file, where, entry, RECORDS if many else HISTORY)
        if isinstance(kind, SetOf) and isinstance(kind.element, Record):
            mapped = self._records(name, kind.element, entry, scope, where)
        else:
            mapped = self._history(name, kind, entry, scope, where)
        return mapped if len(self._problems) == before else None

    def _whole(self, others: Dict[str, object]) -> dict[str, Whole]:
        """A column of the states table for each variable that is mapped nowhere else."""
        if "states" not in self._toml:
            return {}
        table = str(self._toml["states"].get("table", ""))
        columns = self._names(self._toml.get("scope", {}).get("columns"), ("scope",), "columns")
        self._columns(table, (*columns, *INTERVAL), ("states",))
        renamed = self._toml["states"].get("columns", {})
        for name in renamed.keys() - self._types.keys():
            message = f"the module declares no typed variable {name}"
            self._wrong(("states", "columns", name), message, "remove it, or add its @type")
        for name in renamed.keys() & others.keys():
            message = f"{name} has a column of its own, and is mapped by [variables.{name}]"
            self._wrong(("states", "columns", name), message, "remove one of the two")
        found: dict[str, Whole] = {}
        for name, kind in self._types.items():
            if name not in others:
                column = str(renamed.get(name, name))
                self._column(table, column, kind, ("states",))
                for other in found.values():
                    if other.column.lower() == column.lower():
                        remedy = f'call one otherwise: columns = {{ {name} = "{column}_2" }}'
                        message = (
                            f"{other.name} and {name} are one column: no engine looks at the case of names"
                        )
                        self._wrong(("states",), message, remedy)
                found[name] = Whole(name, kind, table, column)
        return found

    def _history(
        self, name: str, kind: Type, entry: dict[str, Any], scope: tuple[str, ...], where: Keys
    ) -> History:
        arguments, value = _curried(kind)
        homes = [self._home(each, arguments, value, scope, where) for each in entry.get("homes", [])]
        if not homes:
            self._wrong(where, f"{name} has no home", 'add homes = [{ table = "...", value = "..." }]')
            homes = [Home("", (), None)]
        domain = entry.get("domain")
        outer = self._home(domain, arguments[:1], None, scope, where) if domain else None
        return History(name, kind, tuple(homes), outer, bool(entry.get("persistent", False)))

    def _home(
        self,
        entry: dict[str, Any],
        arguments: list[Type],
        value: Type | None,
        scope: tuple[str, ...],
        where: Keys,
    ) -> Home:
        table, given = str(entry.get("table", "")), list(entry.get("key", ()))
        self._columns(table, (*scope, *INTERVAL), where)
        if len(given) != len(arguments):
            message = (
                f"{table}: {counted(len(given), 'key column')} for {counted(len(arguments), 'argument')}"
            )
            remedy = "name one column for each argument of the function, in order"
            pairs = [each for each in arguments if isinstance(each, Tuple)]
            if pairs:
                listed = ", ".join(f'"<column {n}>"' for n in range(1, len(pairs[0].parts) + 1))
                remedy = (
                    f"a tuple is one argument: [{listed}] in the list, or a column of {spark_type(pairs[0])}"
                )
            self._wrong(where, message, remedy, table)
            return Home(table, (), None)
        key = tuple(self._key(table, *each, where) for each in zip(given, arguments, strict=True))
        if value is None:
            return Home(table, key, None)
        named = "element" if isinstance(value, SetOf) else "value"
        column = str(entry.get(named, ""))
        self._column(table, column, value.element if isinstance(value, SetOf) else value, where, named)
        return Home(table, key, column)

    def _key(self, table: str, given: str | list[str], kind: Type, where: Keys) -> str | TupleOf:
        """The column of an argument, or the columns of one that is a tuple."""
        if isinstance(given, str):
            self._column(table, given, kind, where)
            return given
        if not isinstance(kind, Tuple) or len(given) != len(kind.parts):
            message = f"{table}: the columns {', '.join(given)} for one argument of type {kind}"
            remedy = "name one column"
            if isinstance(kind, Tuple):
                remedy = f"name {counted(len(kind.parts), 'column')}, one for each part of the tuple"
            self._wrong(where, message, remedy, table)
            return "?"
        for column, part in zip(given, kind.parts, strict=True):
            self._column(table, column, part, where)
        return TupleOf(tuple(given), kind)

    def _records(
        self, name: str, kind: Record, entry: dict[str, Any], scope: tuple[str, ...], where: Keys
    ) -> Records:
        table = str(entry.get("table", ""))
        if kind.optional:
            message = f"the records of {name} have several shapes, and one table has rows of one shape"
            self._wrong(
                where, message, f"give {name} a column of the table of [states]: one array in each state"
            )
        fields = {str(field): str(column) for field, column in entry.get("fields", {}).items()}
        identity = self._names(entry.get("identity"), where, "identity")
        alternatives = entry.get("alternatives")
        self._columns(table, (*scope, *INTERVAL, *identity), where)
        if alternatives is not None:
            self._columns(table, (str(alternatives),), where)
        for field, column in fields.items():
            declared = kind.field(field)
            if declared is None:
                self._wrong((*where, "fields", field), f"{name} has no field {field}", f"its type is {kind}")
            else:
                self._column(table, column, declared, where)
        for field, _ in kind.fields:
            if field not in fields:
                self._wrong(where, f"the field {field} has no column", f'add {field} = "<column of {table}>"')
        within = tuple(entry.get("within", ()))
        if alternatives is not None and not within:
            remedy = 'add within = ["<field>"]: the field whose equal values share a state'
            self._wrong(where, "alternatives without within", remedy)
        universe = self._universe(entry.get("universe", {}), kind, (scope[:1] + identity), where)
        for field in within:
            if field not in universe.fields:
                self._wrong(where, f"the universe has no field {field}", "add it to the universe's fields")
        return Records(name, kind, table, identity, fields, alternatives, within, universe)

    def _universe(
        self, entry: dict[str, Any], kind: Record, columns: tuple[str, ...], where: Keys
    ) -> Universe:
        table = str(entry.get("table", ""))
        fields = {str(field): str(column) for field, column in entry.get("fields", {}).items()}
        if not table:
            message = f"[{'.'.join(where)}] does not say which table has all its records"
            self._wrong(
                where, message, 'add universe = { table = "..." }: the same table, if it has them all'
            )
            return Universe("", fields, None, None, None)
        self._columns(table, columns, where)
        for field, column in fields.items():
            declared = kind.field(field)
            if declared is None:
                place = (*where, "universe", "fields", field)
                self._wrong(place, f"universe: no field {field}", f"the type is {kind}")
            else:
                self._column(table, column, declared, where)
        count, begin, end = (entry.get(word) for word in ("count", "from_time", "to_time"))
        if count is not None:
            self._column(table, count, INT, where)
        self._columns(table, tuple(each for each in (begin, end) if each is not None), where)
        return Universe(table, fields, count, begin, end)

    def _evidence(self) -> dict[str, Dict[str, str]]:
        found: dict[str, Dict[str, str]] = {}
        for table, entry in self._toml.get("evidence", {}).items():
            self._columns(table, tuple(entry), ("evidence", table))
            found[table] = {column: self._schemas.get(table, {}).get(column, "").lower() for column in entry}
            for column, kind in found[table].items():
                if kind and not _CITED.fullmatch(kind):
                    message = f"{table}.{column} is {kind}, which engines write differently as text"
                    remedy = "cite columns of text, integers, truth values or timestamps"
                    self._wrong(("evidence", table), message, remedy, column)
        return found

    def _extents(self, scope: Dict[str, Any], columns: tuple[str, ...]) -> dict[str, tuple[Extent, ...]]:
        found: dict[str, tuple[Extent, ...]] = {}
        for word in ("only", "never"):
            for table, values in scope.get(word, {}).items():
                self._columns(table, tuple(values), ("scope", word))
                for column, value in values.items():
                    if column not in columns or not isinstance(value, str):
                        message = f"{table}: {column} = {value!r} is no text in a column of the scope"
                        self._wrong(("scope", word), message, f"the scope has {', '.join(columns)}")
                    found[table] = (*found.get(table, ()), Extent(column, str(value), word == "never"))
        return found

    def _reasons(self) -> dict[str, TableReasons]:
        found: dict[str, TableReasons] = {}
        for table, entry in self._toml.get("reasons", {}).items():
            where = ("reasons", table)
            row, columns = entry.get("row"), entry.get("columns", {})
            self._columns(table, tuple(columns), (*where, "columns") if columns else where)
            if row is not None:
                self._column(table, row, STR, where)
                if table in self._without_row():
                    message = f"what is unknown in {table}, no row of it says"
                    remedy = "name the column of the universe, or say otherwise"
                    self._wrong(where, message, remedy, row)
            found[table] = TableReasons(row, columns, entry.get("otherwise"))
        return found

    def _without_row(self) -> set[str]:
        """The tables whose rows are joined to others before they have a verdict."""
        records = self._toml.get("variables", {}).values()
        found = {
            str(each["table"])
            for each in records
            if "table" in each and each["table"] != each.get("universe", {}).get("table")
        }
        return found | {str(self._toml.get("states", {}).get("table", ""))}

    def _names(self, value: object, where: Keys, key: str) -> tuple[str, ...]:
        if isinstance(value, list) and value and all(isinstance(each, str) for each in value):
            return tuple(value)
        table = f"[{'.'.join(where)}]"
        self._wrong(where, f"{table} does not say {key}", f'add {key} = ["<column>", ...] below {table}')
        return ("?",)

    def _columns(self, table: str, columns: tuple[str, ...], where: Keys) -> None:
        if table not in self._schemas:
            known = ", ".join(sorted(self._schemas)) or "none"
            message = f"there is no table {table}" if table else f"[{'.'.join(where)}] names no table"
            self._wrong(where, message, meant(table, self._schemas, f"the schemas know: {known}"), table)
            return
        for column in columns:
            if column not in self._schemas[table] and column != "?":
                known = ", ".join(self._schemas[table])
                others = [each for each in self._schemas[table] if each not in INTERVAL]
                remedy = _PLACED if column in INTERVAL else meant(column, others, f"it has: {known}")
                self._wrong(where, f"{table} has no column {column}", remedy, column)
            elif column in INTERVAL:
                self._interval(table, column, where)

    def _interval(self, table: str, column: str, where: Keys) -> None:
        kind = self._schemas[table][column].lower()
        wanted = "bigint" if column.endswith("position") else "timestamp"
        if wanted not in _INTEGER_WORD.sub("bigint", kind):
            message = f"{table}.{column} is {kind}, and has to be {wanted}"
            self._wrong(where, message, "positions are integers, times are timestamps", table)

    def _column(self, table: str, column: str, kind: Type, where: Keys, key: str = "column") -> None:
        if not column:
            self._wrong(where, f"a home in {table} names no {key}", f'add {key} = "<column>"', table)
            return
        self._columns(table, (column,), where)
        physical = self._schemas.get(table, {}).get(column)
        if physical is not None and not _fits(kind, physical.lower()):
            message = f"{table}.{column} is {physical}, the specification says {kind}"
            remedy = f"map a column of type {spark_type(kind)}, or correct the @type"
            self._wrong(where, message, remedy, column)

    def _wrong(self, where: Keys, message: str, remedy: str = "", word: str = "") -> None:
        """``word``: the text in the mapping that is wrong."""
        self._problems.append(Diagnostic(self._file.place(*where, word=word), message, remedy))


def _curried(kind: Type) -> tuple[list[Type], Type]:
    arguments = []
    while isinstance(kind, Function):
        arguments.append(kind.argument)
        kind = kind.result
    return arguments, kind


def _fits(kind: Type, physical: str) -> bool:
    return spark_type(kind) == _INTEGER_WORD.sub("bigint", physical.replace(" ", ""))
