"""Positions in sources and the one error every stage raises."""

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

    @property
    def short(self) -> str:
        """``Module:line``, as verdicts cite it."""
        name = self.file.replace("\\", "/").rsplit("/", 1)[-1]
        return f"{name.removesuffix('.tla')}:{self.line}"


@dataclass(frozen=True, order=True)
class Diagnostic:
    """One thing that is wrong, where, and what to write instead."""

    location: Location
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        text = f"{self.location}: error: {self.message}"
        return f"{text}\n    {self.remedy}" if self.remedy else text


class TlaSqlError(Exception):
    """A specification or mapping that cannot be compiled; carries every diagnostic found."""

    def __init__(self, diagnostics: Iterable[Diagnostic]) -> None:
        self.diagnostics = tuple(sorted(set(diagnostics)))
        super().__init__("\n".join(str(each) for each in self.diagnostics))


def fail(location: Location, message: str, remedy: str = "") -> TlaSqlError:
    """The error of a single diagnostic, to be raised by the caller."""
    return TlaSqlError([Diagnostic(location, message, remedy)])
