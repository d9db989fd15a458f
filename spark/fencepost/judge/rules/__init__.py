"""The queries that make episodes and counts of results; DuckDB and Spark run the same text."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fencepost.judge.engine import Engine


def rule(name: str) -> str:
    """The text of a rule: a query over names that its first lines list, in words that both engines know."""
    return Path(__file__).with_name(f"{name}.sql").read_text(encoding="utf-8")


def keep_intervals(engine: Engine, *, judged: str, scopes: str, unmet: str) -> None:
    """Keep of each definition and scope how often it was judged (``scopes``), the stretches in which it does
    not hold (``stretches``), and the episodes in which it holds (``met``).

    The queries give results of one row each, or what became of them in each chapter: ``judged`` those that
    hold, ``unmet`` those that do not, ``scopes`` the counts of both.
    """
    engine.view("judged", judged)
    engine.keep("scopes", scopes)
    engine.view("unmet", unmet)
    engine.keep("stretches", rule("stretches"))
    engine.keep("met", rule("met"))
