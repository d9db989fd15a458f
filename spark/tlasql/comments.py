r"""Comments of a TLA+ source, by line: SANY's XML does not carry them.

A *block* is a run of ``\*`` comments on lines of their own, or one ``(* *)`` comment, or several of either
without a blank line or code between them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\\\*[^\n]*|\(\*|\*\)')
_BOX = re.compile(r"^[\s*]*$")


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
    for number, column, text, alone in _comment_lines(source):
        if run and (not alone or run[-1].number + 1 != number):
            found.append(Block(tuple(run), trailing=False))
            run = []
        line = Line(number, column, text)
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
