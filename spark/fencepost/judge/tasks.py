"""Evaluates queries in tasks: each takes some queries of a module, and a range of scopes of large tables."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from fencepost import lake
from fencepost.conditions import Where
from fencepost.definitions import Query
from fencepost.engines.parts import pieces_of
from fencepost.engines.tasks import Add, TaskEngine
from fencepost.judge.cuts import cuts
from fencepost.judge.engine import Cut, Engine, reading
from fencepost.judge.evaluation import Given, evaluate_here, give, replaced_decisions
from fencepost.protocols import tables
from fencepost.quoting import quoted
from fencepost.replay.garbage_collection import give_all_back
from fencepost.tables import DECISIONS, PIECES, Table

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

_TASKS_PER_CORE = 3


@dataclass(frozen=True)
class _Item:
    """The queries of a task, and the rows that they see (None: all); those of ``by_chapter`` are evaluated
    over the chapters to judge.
    """

    over_all_history: tuple[Query, ...]
    by_chapter: tuple[Query, ...]
    cut: Cut | None


@dataclass(frozen=True)
class TaskEvaluation:
    """Evaluates queries in tasks; ``sizes``: the rows of each table of silver."""

    tasks: TaskEngine
    catalog: Catalog
    sizes: Mapping[str, int]

    def evaluate(
        self, engine: Engine, over_all_history: Sequence[Query], by_chapter: Sequence[Query], given: Given
    ) -> None:
        """As ``evaluate_here``, but in tasks."""
        silver = {table.name: table for table in tables() if table.name.startswith("silver.")}
        frozen = lake.frozen(self.catalog, list(silver))
        whole = {id(each) for each in over_all_history}
        most = _TASKS_PER_CORE * self.tasks.cores
        items = [
            _Item(
                tuple(each for each in some if id(each) in whole),
                tuple(each for each in some if id(each) not in whole),
                cut,
            )
            for some in _parts([*over_all_history, *by_chapter], self.sizes, most)
            for cut in cuts(engine, some, self.sizes, silver)
        ]
        kept = {"pieces": PIECES.arrow_schema}
        found = self.tasks.in_tasks("judge", items, partial(_evaluate, frozen, given), [DECISIONS], kept)
        self.tasks.replace(DECISIONS, found[DECISIONS.name], replaced_decisions(given.history))
        for piece in pieces_of(found["pieces"]):
            engine.give("evaluated", piece)
            engine.add("pieces", "SELECT * FROM evaluated")


def _evaluate(frozen: Catalog, given: Given, item: _Item, add: Add) -> None:
    def write(table: Table, rows: Iterable[pa.RecordBatch], _: Where | None) -> None:
        for batch in rows:
            add(table.name, pa.Table.from_batches([batch]))

    # what the tasks of other steps have used in this process
    give_all_back()
    compiled = [*item.over_all_history, *item.by_chapter]
    with tempfile.TemporaryDirectory(prefix="judge-") as scratch:
        scratched = Path(scratch)
        with Engine(reading(frozen), write, scratched, compiled, in_task=True, cut=item.cut) as engine:
            give(engine, given)
            evaluate_here(engine, item.over_all_history, item.by_chapter, given)
            for batch in engine.batches(f"SELECT {', '.join(map(quoted, PIECES.columns))} FROM pieces"):
                add("pieces", pa.Table.from_batches([batch]).cast(PIECES.arrow_schema))


def _parts(compiled: Sequence[Query], sizes: Mapping[str, int], most: int) -> list[list[Query]]:
    """Queries in about ``most`` parts of like weight, the heaviest first. A part is of one module, and
    queries of the same tables come one after the other.
    """
    weights = {
        id(each): 1 + len(each.definitions) * sum(sizes.get(name, 0) for name in each.tables)
        for each in compiled
    }
    limit = sum(weights.values()) / max(1, most)
    parts: list[list[Query]] = []
    ordered = sorted(compiled, key=lambda each: (each.definitions[0].module, sorted(each.tables)))
    for _, of_module in groupby(ordered, key=lambda each: each.definitions[0].module):
        parts.append([])
        weight = 0
        for each in of_module:
            if parts[-1] and weight + weights[id(each)] > limit:
                parts.append([])
                weight = 0
            parts[-1].append(each)
            weight += weights[id(each)]
    return sorted(parts, key=lambda part: -sum(weights[id(each)] for each in part))
