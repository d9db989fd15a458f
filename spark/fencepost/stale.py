"""Finds the stale models of dbt: those whose code or inputs have changed since they were built.

Iceberg's snapshots show whether a table has changed and, for tables with chapters, from which chapter on. A
model with the column CHAPTER, whose rows depend only on rows of their own chapter, is built from that
chapter on. A mart whose inputs have no rows is empty: it is created from its contract, without planning a
query. The inputs of each model are noted last, when dbt has built and tested all stale models.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import NoSuchTableError, NoSuchViewError
from pyiceberg.schema import Schema
from pyiceberg.table import Table as IcebergTable

from fencepost import lake
from fencepost.changed import Since, changed_since, earliest
from fencepost.definitions import modules
from fencepost.tables import CHAPTER, DECISIONS, EPISODES, FILES, Table

_PROPERTY = "fencepost.marts"
_OF_MODULES = {table.name: table for table in (DECISIONS, EPISODES)}
"""Tables that all protocols share; each row names its module of the specification."""


@dataclass(frozen=True)
class Model:
    """A model of dbt. ``folder``: its protocol's folder, or the shared one. ``columns``: those of its
    contract. ``sources``: the tables of the lake that it reads, directly or through other models.
    ``stored_by``: the columns by which it is partitioned.
    """

    name: str
    relation: str
    folder: str
    is_table: bool
    doc: str
    columns: Mapping[str, str]
    properties: Mapping[str, str]
    sources: frozenset[str]
    stored_by: tuple[str, ...] = ()

    @property
    def in_chapters(self) -> bool:
        """Whether each row depends only on rows of its own chapter."""
        return CHAPTER in self.columns

    @property
    def table(self) -> Table:
        """The table of the mart by its contract."""
        return Table(self.relation, self.doc, dict(self.columns), key=())


@dataclass(frozen=True)
class Plan:
    """``build``: the models that dbt builds. ``since``: model -> the chapters from which on it is built, for
    some of them. ``empty``: the marts that are created without rows. ``kept``: how many models stay as they
    are.
    """

    build: tuple[str, ...]
    empty: tuple[Model, ...]
    kept: int
    since: Mapping[str, Since] = field(default_factory=dict)


class Inputs:
    """The present state of the models' inputs. ``code``: a digest of the code that computes the models."""

    def __init__(self, catalog: Catalog, models: Collection[Model], code: str) -> None:
        self._catalog = catalog
        self._models = models
        self._code = code
        self._now: dict[str, tuple[str | None, int]] = {}

    @property
    def rows(self) -> int:
        """How many rows all tables that models read have together."""
        return sum(
            self._source(each)[1] for each in {each for model in self._models for each in model.sources}
        )

    def plan(self) -> Plan:
        """Find the models that have to be built."""
        notes = self._notes()
        stale = [each for each in self._models if notes.get(each.name) != self._state_of(each)]
        empty = [each for each in stale if self._is_new(each) and not any(self._inputs(each).values())]
        since_of = {each.name: self._since(each, notes.get(each.name)) for each in stale}
        build = [each.name for each in stale if each not in empty and since_of[each.name] != {}]
        since = {name: first for name in build if (first := since_of[name])}
        return Plan(tuple(build), tuple(empty), len(self._models) - len(build) - len(empty), since)

    def model(self, name: str) -> Model:
        """The model of this name."""
        return next(each for each in self._models if each.name == name)

    def create(self, model: Model) -> None:
        """Create a mart without rows, by its contract."""
        self._catalog.create_namespace_if_not_exists(model.relation.partition(".")[0])
        new = self._catalog.create_table_transaction(
            model.relation, model.table.arrow_schema, properties=_properties(model)
        )
        with new, new.update_spec() as spec:
            for name in model.stored_by:
                spec.add_identity(name)

    def fit(self, model: Model) -> None:
        """Make the mart's table fit its contract. A table with other columns is dropped, with its rows."""
        table = self._table(model.relation)
        if table is not None and not _fits(table, model):
            self._catalog.drop_table(model.relation)
            table = None
        if table is None:
            # it may have been a view before
            with suppress(NoSuchViewError, NotImplementedError):
                self._catalog.drop_view(model.relation)
            self.create(model)
        elif not _properties(model).items() <= table.properties.items():
            with table.transaction() as change:
                change.set_properties(_properties(model))

    def note(self) -> None:
        """Note that all models have been built from the present inputs."""
        states = {each.name: self._state_of(each) for each in self._models}
        with self._catalog.load_table(FILES.name).transaction() as change:
            change.set_properties({_PROPERTY: json.dumps({"code": self._code, "models": states})})

    def _notes(self) -> dict[str, Any]:
        notes = json.loads(self._catalog.load_table(FILES.name).properties.get(_PROPERTY, "{}"))
        return dict(notes["models"]) if notes.get("code") == self._code else {}

    def _since(self, model: Model, note: Any) -> Since | None:
        """The chapters from which on a model is stale; None: all of it must be built."""
        if not model.in_chapters or note is None or note[1] != self._mart_state(model):
            return None
        before, now = note[0], self._inputs(model)
        if before.keys() != now.keys():
            return None
        changes = [self._changed(source, before[source]) for source in now if before[source] != now[source]]
        return earliest(each for each in changes if each is not None) if None not in changes else None

    def _changed(self, source: str, before: str | None) -> Since | None:
        """The chapters from which on a table has changed since an earlier state; None: all of it may have."""
        table = self._table(source)
        if table is None:
            return None
        uuid, snapshot = before.split() if before else (str(table.metadata.table_uuid), "")
        if uuid != str(table.metadata.table_uuid):
            return None
        return changed_since(table, int(snapshot) if snapshot else None)

    def _state_of(self, model: Model) -> list[Any]:
        """The states of a model's inputs, and of the model itself."""
        return [self._inputs(model), self._mart_state(model)]

    def _inputs(self, model: Model) -> dict[str, str | None]:
        """Source -> its present state (table and snapshot), None if it has no row for the model."""
        states: dict[str, str | None] = {}
        module = modules().get(model.folder)
        for source in sorted(model.sources):
            other = source in _OF_MODULES and module is not None and module not in self._modules_of[source]
            states[source] = None if other else self._source(source)[0]
        return states

    def _source(self, source: str) -> tuple[str | None, int]:
        """The state of a table (None if it has no rows), and its number of rows."""
        if source not in self._now:
            table = self._table(source)
            rows = _rows(table) if table else 0
            self._now[source] = (_state(table) if table and rows else None, rows)
        return self._now[source]

    def _mart_state(self, model: Model) -> str | None:
        """The state of a mart's table; None for a view, which has none."""
        if not model.is_table:
            return None
        table = self._table(model.relation)
        return _state(table) if table else None

    def _is_new(self, model: Model) -> bool:
        return model.is_table and self._table(model.relation) is None

    def _table(self, name: str) -> IcebergTable | None:
        try:
            return self._catalog.load_table(name)
        except NoSuchTableError:
            return None

    @cached_property
    def _modules_of(self) -> dict[str, frozenset[str]]:
        """Shared table -> the protocols' modules of which it has rows."""
        return {
            name: lake.present(self._catalog, table, "module", modules().values())
            for name, table in _OF_MODULES.items()
        }


def models(manifest: Any) -> list[Model]:
    """Every model of a project that dbt has parsed, except ephemeral ones, which are part of
    other queries.
    """
    nodes = {**manifest.nodes, **manifest.sources}
    nodes_of_models = [node for node in manifest.nodes.values() if node.resource_type == "model"]
    return [_model(nodes, node) for node in nodes_of_models if node.config.materialized != "ephemeral"]


def _model(nodes: Mapping[str, Any], node: Any) -> Model:
    return Model(
        name=node.name,
        relation=f"{node.schema}.{node.alias}",
        folder=Path(node.path).parts[0],
        is_table=node.config.materialized != "view",
        doc=node.description,
        columns={each.name: each.data_type for each in node.columns.values()},
        properties=node.config.get("tblproperties") or {},
        sources=frozenset(_sources(nodes, node)),
        stored_by=tuple(node.config.get("partition_by") or ()),
    )


def _sources(nodes: Mapping[str, Any], node: Any) -> Iterator[str]:
    for each in node.depends_on.nodes:
        upstream = nodes[each]
        if upstream.resource_type == "source":
            yield f"{upstream.schema}.{upstream.identifier}"
        else:
            yield from _sources(nodes, upstream)


def _properties(model: Model) -> dict[str, str]:
    return {**model.properties, "comment": model.doc}


def _fits(table: IcebergTable, model: Model) -> bool:
    """Whether a table has the columns and the partitioning of a mart."""
    stored_by = tuple(each.name for each in table.spec().fields)
    schema = Catalog._convert_schema_if_needed(model.table.arrow_schema)
    return stored_by == model.stored_by and _columns(table.schema()) == _columns(schema)


def _columns(schema: Schema) -> list[tuple[str, str]]:
    return [(field.name, str(field.field_type)) for field in schema.fields]


def _rows(table: IcebergTable) -> int:
    snapshot = table.current_snapshot()
    if snapshot is None:
        return 0
    count = snapshot.summary and snapshot.summary["total-records"]
    # a snapshot without a count may have a row
    return int(count or 1)


def _state(table: IcebergTable) -> str:
    return f"{table.metadata.table_uuid} {table.metadata.current_snapshot_id}"
