"""Places in sources, and the one error that every stage raises."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Location:
    """A range of a source file: 1-based lines and columns, both ends included."""

    file: str
    line: int
    column: int
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def within(self, other: Location) -> bool:
        """Whether it begins inside of another."""
        begin, end = (other.line, other.column), (other.end_line, other.end_column)
        return self.file == other.file and begin <= (self.line, self.column) <= end


@dataclass(frozen=True, order=True)
class Diagnostic:
    """One thing that is wrong, where, and what to write instead."""

    location: Location
    message: str
    remedy: str = ""
    marks: tuple[str, ...] = ()
    """the ids of the marked definitions that it keeps from being compiled, where it stands outside of them"""

    def __str__(self) -> str:
        text = f"{self.location}: error: {self.message}"
        named = f"needed by {', '.join(self.marks)}" if self.marks else ""
        return "\n    ".join(each for each in (text, self.remedy, named) if each)


class TlaSqlError(Exception):
    """A specification or mapping that cannot be compiled; carries every diagnostic found."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(sorted(set(diagnostics)))
        super().__init__("\n".join(str(each) for each in self.diagnostics))


def fail(location: Location, message: str, remedy: str = "") -> TlaSqlError:
    """The error of a single diagnostic, to be raised by the caller."""
    return TlaSqlError([Diagnostic(location, message, remedy)])
