"""The text of a specification at a location."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from tlasql.comments import code
from tlasql.errors import Location, fail
from tlasql.ir import Expr, text


def content(path: Path) -> str:
    """The whole source of a module. Raises TlaSqlError where it is not UTF-8: SANY would read other text."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise fail(Location(str(path), line, 1), "this is not UTF-8", "save the module as UTF-8") from error


@lru_cache(maxsize=64)
def _lines(file: str, changed_ns: int) -> tuple[str, ...]:
    return tuple(Path(file).read_text(encoding="utf-8").split("\n"))


def lines(location: Location) -> list[str]:
    """The source lines of a location, cut to its columns, indentation kept."""
    path = Path(location.file)
    if not path.is_file():  # a module that SANY found elsewhere
        return []
    every = _lines(location.file, path.stat().st_mtime_ns)
    found = list(every[location.line - 1 : location.end_line])
    if found:
        found[-1] = found[-1][: location.end_column]
        found[0] = " " * (location.column - 1) + found[0][location.column - 1 :]
    return found


def excerpt(location: Location) -> str:
    """The source text on one line, without its comments."""
    return " ".join(" ".join(code("\n".join(lines(location)))).split())


def cited(expr: Expr) -> str:
    """An expression as verdicts cite it: its text alone, which stays the same when lines above it move."""
    return excerpt(expr.location) or text(expr)


def block(location: Location) -> str:
    """The source text as written, without common indentation."""
    found = lines(location)
    margin = min((len(each) - len(each.lstrip()) for each in found if each.strip()), default=0)
    return "\n".join(each[margin:].rstrip() for each in found)
