"""Finds the stale models of dbt: those whose code or inputs have changed since they were built.

The ledger knows the inputs of each model as they were when it was built and tested. A model with the column
CHAPTER, whose rows depend only on rows of their own chapter, is built from the first changed chapter on. A
mart whose inputs have no rows is empty: it is created from its contract, without planning a query.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pyiceberg.catalog import Catalog
from pyiceberg.table import Table as IcebergTable

from fencepost import lake
from fencepost.definitions import modules
from fencepost.ledger import Entry, Ledger, Since
from fencepost.ledger.states import State, States, find, state_of
from fencepost.marts.models import Model
from fencepost.tables import DECISIONS, EPISODES

_OF_MODULES = {table.name: table for table in (DECISIONS, EPISODES)}
"""Tables that all protocols share; each row names its module of the specification."""


@dataclass(frozen=True)
class Plan:
    """``build``: the models that dbt builds. ``since``: model -> the chapters from which on it is built, for
    some of them. ``new``: the marts that have no table yet. ``empty``: those of them that are created without
    rows. ``kept``: how many models stay as they are.
    """

    build: tuple[str, ...]
    empty: tuple[Model, ...]
    kept: int
    since: Mapping[str, Since] = field(default_factory=dict)
    new: tuple[Model, ...] = ()


class Inputs:
    """The present state of the models' inputs, compared with what the ledger says of them."""

    def __init__(self, catalog: Catalog, models: Collection[Model], ledger: Ledger) -> None:
        self._catalog = catalog
        self._models = models
        self._ledger = ledger
        self._now: dict[str, tuple[State, int]] = {}

    @property
    def rows(self) -> int:
        """How many rows all tables that models read have together."""
        return sum(
            self._source(each)[1] for each in {each for model in self._models for each in model.sources}
        )

    def plan(self) -> Plan:
        """Find the models that have to be built."""
        changed = {
            each.name: self._ledger.changed_inputs(
                each.name, self._inputs(each), self._outputs(each), by_chapter=each.in_chapters
            )
            for each in self._models
        }
        stale = [each for each in self._models if changed[each.name] != {}]
        new = [each for each in stale if self._is_new(each)]
        empty = [each for each in new if not any(self._inputs(each).values())]
        build = [each for each in stale if each not in empty]
        since = {each.name: first for each in build if (first := changed[each.name])}
        names = tuple(each.name for each in build)
        kept = len(self._models) - len(build) - len(empty)
        return Plan(names, tuple(empty), kept, since, tuple(new))

    def model(self, name: str) -> Model:
        """The model of this name."""
        return next(each for each in self._models if each.name == name)

    def entries(self) -> Iterator[Entry]:
        """The ledger's entries, once all models have been built from the present inputs."""
        for each in self._models:
            yield Entry(mart=each.name, inputs=self._inputs(each), outputs=self._outputs(each))

    def _inputs(self, model: Model) -> States:
        """Source -> its present state, None if it has no row for the model."""
        found: dict[str, State] = {}
        module = modules().get(model.folder)
        for source in sorted(model.sources):
            other = source in _OF_MODULES and module is not None and module not in self._modules_of[source]
            found[source] = None if other else self._source(source)[0]
        return found

    def _source(self, source: str) -> tuple[State, int]:
        """The state of a table (None if it has no rows), and its number of rows."""
        if source not in self._now:
            table = find(self._catalog, source)
            rows = _rows(table) if table else 0
            self._now[source] = (state_of(table) if table and rows else None, rows)
        return self._now[source]

    def _outputs(self, model: Model) -> States:
        """The state of a mart's table; a view has none."""
        return self._ledger.states([model.relation]) if model.is_table else {}

    def _is_new(self, model: Model) -> bool:
        return model.is_table and find(self._catalog, model.relation) is None

    @cached_property
    def _modules_of(self) -> Mapping[str, frozenset[str]]:
        """Shared table -> the protocols' modules of which it has rows."""
        return {
            name: lake.present(self._catalog, table, "module", modules().values())
            for name, table in _OF_MODULES.items()
        }


def _rows(table: IcebergTable) -> int:
    snapshot = table.current_snapshot()
    if snapshot is None:
        return 0
    count = snapshot.summary and snapshot.summary["total-records"]
    # a snapshot without a count may have a row
    return int(count or 1)
