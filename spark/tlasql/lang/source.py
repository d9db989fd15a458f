r"""The text of a specification: what stands at a place, and its comments, which SANY's XML does not carry.

A *block* of comments is a run of ``\*`` comments on lines of their own, or one ``(* *)`` comment, or several
of either without a blank line or code between them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tlasql.lang.errors import Location, fail
from tlasql.lang.ir import Expr, text

_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\\\*[^\n]*|\(\*|\*\)')
_BOX = re.compile(r"^[\s*]*$")


def content(path: Path) -> str:
    """The whole source of a module. Raises TlaSqlError where it cannot be read, or is not UTF-8: SANY would
    read other text.
    """
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        remedy = "tlasql reads the module and what it extends: check its permissions"
        raise fail(Location(str(path), 1, 1), f"cannot read the module: {error.strerror}", remedy) from error
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


@dataclass(frozen=True)
class Line:
    """The text of a comment on one source line, and the column where that text begins."""

    number: int
    column: int
    text: str


@dataclass(frozen=True)
class Block:
    """Adjacent comment lines with no code on them; ``trailing`` blocks share their line with code before
    them.
    """

    lines: tuple[Line, ...]
    trailing: bool

    @property
    def end(self) -> int:
        """The last line of the comment."""
        return self.lines[-1].number

    @property
    def paragraphs(self) -> tuple[str, ...]:
        """The prose, one string per paragraph, line breaks as blanks."""
        text = "\n".join("" if _BOX.match(line.text) else line.text.strip() for line in self.lines)
        return tuple(" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip())


def blocks(source: str) -> list[Block]:
    """Every comment block of a module, in the order of the source."""
    found: list[Block] = []
    run: list[Line] = []
    for number, column, words, alone in _comment_lines(source):
        if run and (not alone or run[-1].number + 1 != number):
            found.append(Block(tuple(run), trailing=False))
            run = []
        line = Line(number, column, words)
        if alone:
            run.append(line)
        else:
            found.append(Block((line,), trailing=True))
    if run:
        found.append(Block(tuple(run), trailing=False))
    return found


def code(source: str) -> list[str]:
    """The lines of a module, their comments blanked."""
    return _split(source)[1]


def _comment_lines(source: str) -> list[tuple[int, int, str, bool]]:
    """(line, column, text, alone) of each line with a comment; ``alone``: no code stands on it."""
    inside, codes = _split(source)
    result = []
    for number, (comment, rest) in enumerate(zip(inside, codes, strict=True), start=1):
        if comment is not None:
            column, text = comment
            result.append((number, column, text, not rest.strip()))
    return result


def _split(source: str) -> tuple[list[tuple[int, str] | None], list[str]]:
    """Per line: the comment's column and text (None without one), and the line with its comments blanked."""
    comments: list[tuple[int, str] | None] = []
    codes: list[str] = []
    depth = 0
    for raw in source.split("\n"):
        chars = list(raw)
        mask = [depth > 0] * len(chars)
        position = 0
        while match := _TOKEN.search(raw, position):
            token, start = match.group(), match.start()
            position = match.end()
            if token == "(*":
                depth += 1
                _fill(mask, start, len(raw), True)
            elif token == "*)" and depth:
                depth -= 1
                _fill(mask, position, len(raw), depth > 0)
            elif depth:
                position = start + 1  # strings and \* mean nothing inside (* *)
            elif token.startswith("\\*"):
                _fill(mask, start, len(raw), True)
        commented = "".join(c if m else " " for c, m in zip(chars, mask, strict=True))
        started = any(mask) or depth > 0
        text = _strip_signs(commented)
        column = len(commented) - len(commented.lstrip()) + 1
        comments.append((column, text) if started else None)
        codes.append("".join(" " if m else c for c, m in zip(chars, mask, strict=True)))
    return comments, codes


def _strip_signs(commented: str) -> str:
    """Blank the comment signs so that columns stay what they are in the source."""
    text = re.sub(r"\\\*|\(\*+|\*+\)", lambda sign: " " * len(sign.group()), commented)
    return text.rstrip()


def _fill(mask: list[bool], start: int, end: int, value: bool) -> None:
    mask[start:end] = [value] * (end - start)
