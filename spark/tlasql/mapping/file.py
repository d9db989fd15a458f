"""A mapping as a file: its keys and values, their lines, and which keys a mapping may have."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from collections.abc import Mapping as Dict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tlasql.lang.errors import Diagnostic, Location, TlaSqlError, fail
from tlasql.lang.words import meant

Keys = tuple[str, ...]
_TEXT, _TRUTH, _ANY, _COLUMN = "text", "true or false", "anything", "column or list of columns"
_TEXTS, _KEY_OF = [_TEXT], [_COLUMN]
_NAME = "*"
"""Stands for any key: the names of variables, tables, columns."""
_HOME = {"table": _TEXT, "key": _KEY_OF, "value": _TEXT, "element": _TEXT}
_COLUMNS = {_NAME: _TEXT}
_UNIVERSE = {"table": _TEXT, "fields": _COLUMNS, "count": _TEXT, "from_time": _TEXT, "to_time": _TEXT}
HISTORY = {"homes": [_HOME], "domain": _HOME, "persistent": _TRUTH}
RECORDS = {
    "table": _TEXT,
    "identity": _TEXTS,
    "fields": _COLUMNS,
    "alternatives": _TEXT,
    "within": _TEXTS,
    "universe": _UNIVERSE,
}
_EXTENT = {_NAME: _COLUMNS}
_MAPPING = {
    "module": _TEXT,
    "decisions": _TEXT,
    "outputs": {_NAME: _TEXT},
    "verdicts": {"table": _TEXT, "id": _TEXT, "decisions": _TEXT},
    "scope": {"columns": _TEXTS, "coverage": _TEXT, "covered": _TEXT, "only": _EXTENT, "never": _EXTENT},
    "evidence": {_NAME: _TEXTS},
    "reasons": {_NAME: {"row": _TEXT, "columns": _COLUMNS, "otherwise": _TEXT}},
    "states": {"table": _TEXT, "columns": _COLUMNS},
    "types": {_NAME: _TEXT},
    "constants": {_NAME: _ANY},
    "skip": {_NAME: _TEXT},
    "variables": {_NAME: {**HISTORY, **RECORDS}},
}
_KEY = re.compile(r"""\s*((?:[\w-]+|"[^"]*"|'[^']*')(?:\s*\.\s*(?:[\w-]+|"[^"]*"|'[^']*'))*)\s*=""")
_TOML = (
    'write [table] and, below it, key = "text", 3, true, ["list", "of texts"] or { key = "text" }, each once'
)
_OTHERS = {
    ".cfg": "TLC's configuration, whose constants go to [constants], and whose SYMMETRY TLC alone needs",
    ".tla": "a module",
}
_NAMED = "--mapping names the TOML file that says where the variables live"
_LINE = re.compile(r" \(at line (\d+), column (\d+)\)$")


@dataclass(frozen=True)
class MappingFile:
    """``content``: the file as TOML reads it, with the keys that a mapping may have."""

    path: Path
    content: dict[str, Any]
    lines: dict[Keys, int]
    text: str

    def place(self, *keys: str, word: str = "") -> Location:
        """The place of an entry; of the line in it that has the text ``word``, if given."""
        while keys and keys not in self.lines:
            keys = keys[:-1]
        line = self.lines.get(keys, 1)
        if word:
            every = self.text.splitlines()
            others = (n for found, n in self.lines.items() if n > line and found[: len(keys)] != keys)
            inside = range(line, min(others, default=len(every) + 1))
            line = next((n for n in inside if f'"{word}"' in every[n - 1]), line)
        return Location(str(self.path), line, 1)


@dataclass(frozen=True)
class Sidecar:
    """``types``: variable or constant -> its type as text, for modules without @type. ``constants``: constant
    -> its value as TOML. ``skip``: id of a marked definition that is not to be compiled -> the reason.
    """

    file: MappingFile
    types: Dict[str, str]
    constants: Dict[str, Any]
    skip: Dict[str, str]


def read_mapping(path: Path) -> MappingFile:
    """A mapping that has been read. Raises TlaSqlError where it is no TOML, or has keys or values that no
    mapping has."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        raise fail(Location(str(path), 1, 1), f"cannot read the mapping: {error.strerror}", _NAMED) from error
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise fail(Location(str(path), line, 1), "this is not UTF-8", "save the mapping as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        if path.suffix in _OTHERS:
            message, remedy = f"this is {_OTHERS[path.suffix]}, and no mapping", _NAMED
            raise fail(Location(str(path), 1, 1), message, remedy) from error
        words, at = str(error), _LINE.search(str(error))
        line, column = (int(at[1]), int(at[2])) if at else (len(text.splitlines()) or 1, 1)
        where = Location(str(path), line, column)
        raise fail(where, f"no TOML: {_LINE.sub('', words)}", _TOML) from error
    found = MappingFile(path, content, _lines(text), text)
    problems = list(_misshapen(found, content, _MAPPING, ()))
    if problems:
        raise TlaSqlError(problems)
    return found


def sidecar(path: Path) -> Sidecar:
    """The parts of a mapping that are needed before types are known. Raises TlaSqlError."""
    file = read_mapping(path)
    types, constants, skip = (dict(file.content.get(key, {})) for key in ("types", "constants", "skip"))
    return Sidecar(file, types, constants, skip)


def strange_keys(
    file: MappingFile, keys: Keys, entry: dict[str, Any], known: dict[str, Any]
) -> Iterator[Diagnostic]:
    """A diagnostic for each key of an entry that such an entry does not have."""
    for key in entry:
        if key not in known:
            remedy = meant(key, known, f"known are {', '.join(known)}")
            where = f"[{'.'.join(keys)}] has no {key}" if keys else f"a mapping has no {key}"
            yield Diagnostic(file.place(*keys, key), where, remedy)


def _misshapen(file: MappingFile, given: object, shape: Any, keys: Keys) -> Iterator[Diagnostic]:
    match shape:
        case dict() if isinstance(given, dict):
            if _NAME not in shape:
                yield from strange_keys(file, keys, given, shape)
            for key, inner in given.items():
                if _NAME in shape or key in shape:
                    yield from _misshapen(file, inner, shape.get(key, shape.get(_NAME)), (*keys, key))
        case [inner] if isinstance(given, list):
            for each in given:
                yield from _misshapen(file, each, inner, keys)
        case _ if not _fits(given, shape):
            wanted = f"[{'.'.join(keys[:-1])}] {keys[-1]}" if len(keys) > 1 else keys[0]
            message = f"{wanted} is {given!r}, which is no {_kind(shape)}"
            yield Diagnostic(file.place(*keys), message, f"write {_example(keys, shape)}")


def _fits(given: object, shape: Any) -> bool:
    if shape == _COLUMN and isinstance(given, list):
        return all(isinstance(each, str) for each in given)
    return shape == _ANY or isinstance(
        given, str if shape in (_TEXT, _COLUMN) else bool if shape == _TRUTH else ()
    )


def _kind(shape: Any) -> str:
    if isinstance(shape, dict):
        return "table"
    if shape in (_TEXTS, _KEY_OF):
        return "list of texts"
    return "list of tables" if isinstance(shape, list) else str(shape)


def _example(keys: Keys, shape: Any) -> str:
    key = keys[-1]
    if isinstance(shape, dict):
        return f"[{'.'.join(keys)}] and its keys below, or {key} = {{ ... }}"
    if isinstance(shape, list):
        return f'{key} = ["...", "..."]' if shape in (_TEXTS, _KEY_OF) else f"{key} = [{{ ... }}]"
    if shape == _COLUMN:
        return f'{key} = ["<column>", ["<of a tuple>", "<of a tuple>"]]'
    return f'{key} = "..."' if shape == _TEXT else f"{key} = true"


def _lines(text: str) -> dict[Keys, int]:
    """The line of every table, and of every key that begins a line."""
    found: dict[Keys, int] = {}
    table: Keys = ()
    for number, line in enumerate(text.splitlines(), start=1):
        key = _KEY.match(line)
        header = key is None and line.strip().startswith("[")
        path = _path(f"{key[1]} = 0" if key is not None else line) if key is not None or header else ()
        if header and path:
            table = path
        for depth in range(1, len(path) + 1):
            whole = path[:depth] if header else (*table, *path[:depth])
            found.setdefault(whole, number)
    return found


def _path(line: str) -> Keys:
    """The keys that one line of TOML names, outermost first; none if it is the part of a longer value."""
    try:
        inner: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    keys = []
    while isinstance(inner, dict | list) and inner:
        if isinstance(inner, list):
            inner = inner[0]
        else:
            ((key, inner),) = inner.items()
            keys.append(key)
    return tuple(keys)
