"""The result of a build of the marts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fencepost.words import counted


class MartsError(Exception):
    """The marts could not be built; the message lists each failing node and why."""


@dataclass(frozen=True)
class MartsResult:
    """``models``: tables and views built; ``tests``: data tests passed; ``warnings``: ``node: message``;
    ``empty``: marts created without rows; ``kept``: models that are unchanged, and so were not built.
    """

    models: tuple[str, ...]
    tests: int
    warnings: tuple[str, ...]
    seconds: float
    empty: int = 0
    kept: int = 0

    @property
    def summary(self) -> dict[str, Any]:
        """As plain values."""
        return {
            "models": len(self.models),
            "without_rows": self.empty,
            "unchanged": self.kept,
            "tests": self.tests,
            "warnings": list(self.warnings),
        }


def failure(failed: dict[str, str], nodes: int, log: str = "") -> MartsError:
    """The error of a build; ``failed``: by model or test, why it failed; ``nodes``: the number of all of
    them.
    """
    lines = "\n".join(f"  {name}: {why}" for name, why in failed.items())
    return MartsError(f"{len(failed)} of {nodes} models and tests failed{log and f' (log: {log})'}.\n{lines}")


def faults(rows: list[dict[str, Any]]) -> str:
    """The faults that a test ``sound`` found, in words."""
    return "; ".join(f"{row['fault']} ({counted(row['faulty_rows'], 'row')})" for row in rows)
