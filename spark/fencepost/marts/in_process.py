"""The marts built in this process: dbt says what each model is, DuckDB runs it, PyIceberg commits its rows.

What dbt and Spark do to each model is done here, too: its columns are those of its contract, it is tested
when it is there, and what rests on something that failed is left out.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Set
from graphlib import TopologicalSorter
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake, views
from fencepost.changed import Since
from fencepost.lake import AtLeast, Where
from fencepost.marts.project import compiled, log_folder
from fencepost.marts.result import MartsResult, failure, faults
from fencepost.reading import rows as as_rows
from fencepost.reading.iceberg import IcebergReader
from fencepost.reading.tables import View
from fencepost.settings import Settings
from fencepost.stale import Inputs, Model, Plan
from fencepost.tables import CHAPTER


def build_in_process(
    settings: Settings, catalog: Catalog, project: Any, inputs: Inputs, plan: Plan
) -> MartsResult:
    """Build and test what the plan names. Raises MartsError where a model or a test fails, QueryError where
    DuckDB cannot run it, and NotImplementedError where the catalog has no views.
    """
    begun = time.monotonic()
    nodes = {each.unique_id: each for each in compiled(settings, project, plan.build, plan.since)}
    with IcebergReader(settings.lake) as reader:
        builder = _Builder(catalog, inputs, reader, plan.since)
        for node, upstream in _in_order(nodes, project):
            builder.do(node, upstream)
    if builder.failed:
        raise failure(builder.failed, len(nodes), log_folder(settings))
    return MartsResult(
        models=tuple(builder.built),
        tests=builder.passed,
        warnings=tuple(builder.warnings),
        seconds=round(time.monotonic() - begun, 1),
    )


def _in_order(nodes: Mapping[str, Any], project: Any) -> Iterator[tuple[Any, set[str]]]:
    """Each node with those that it rests on, which come first; a model also rests on its models' tests."""
    rests_on = {name: set(_rests_on(node, nodes, project)) for name, node in nodes.items()}
    tests = {name: rests_on[name] for name, node in nodes.items() if node.resource_type == "test"}
    for name in nodes.keys() - tests.keys():
        rests_on[name] |= {test for test, models in tests.items() if models <= rests_on[name]}
    return ((nodes[each], rests_on[each]) for each in TopologicalSorter(rests_on).static_order())


def _rests_on(node: Any, nodes: Mapping[str, Any], project: Any) -> Iterator[str]:
    for name in node.depends_on.nodes:
        if name in nodes:
            yield name
        elif name in project.nodes:
            # it is a part of the query, or stays as it is
            yield from _rests_on(project.nodes[name], nodes, project)


class _Builder:
    """Builds and tests one node after the other."""

    def __init__(
        self, catalog: Catalog, inputs: Inputs, reader: IcebergReader, since: Mapping[str, Since]
    ) -> None:
        self.built: list[str] = []
        self.passed = 0
        self.warnings: list[str] = []
        self.failed: dict[str, str] = {}
        self._catalog = catalog
        self._inputs = inputs
        self._reader = reader
        self._since = since
        self._broken: set[str] = set()

    def do(self, node: Any, upstream: Set[str]) -> None:
        """Build a model, or test some; nothing where what it rests on has failed."""
        if not self._broken.isdisjoint(upstream):
            self._broken.add(node.unique_id)
        elif node.resource_type == "test":
            self._test(node)
        elif (model := self._inputs.model(node.name)).is_table:
            self._build_table(node, model)
        else:
            self._build_view(node, model)

    def _build_table(self, node: Any, model: Model) -> None:
        rows = self._reader.query(node.compiled_code)
        wanted = model.table.arrow_schema
        found = {field.name: field.type for field in rows.schema}
        if found != {field.name: field.type for field in wanted}:
            self._fail(node, f"its contract has {_columns(wanted)}, its query gives {_columns(rows.schema)}")
            return
        self._inputs.fit(model)
        lake.replace(self._catalog, model.table, rows, _where(self._since.get(model.name)))
        self._reader.learn(model.relation, self._catalog.load_table(model.relation))
        self.built.append(model.name)

    def _build_view(self, node: Any, model: Model) -> None:
        """A view that says the same already stays."""
        found = self._reader.query(f"select * from (\n{node.compiled_code}\n) limit 0")
        view = View(tuple(found.column_names), node.compiled_code)
        if self._reader.find(model.relation) != view:
            views.replace(self._catalog, model.relation, found.schema, view.sql, model.doc)
            self._reader.learn(model.relation, view)
        self.built.append(model.name)

    def _test(self, node: Any) -> None:
        rows = as_rows(self._reader.query(node.compiled_code))
        if not rows:
            self.passed += 1
            return
        message = faults(rows) if "fault" in rows[0] else f"{len(rows)} rows are not as they should be"
        if node.config.severity.lower() == "warn":
            self.warnings.append(f"{node.name}: {message}")
        else:
            self._fail(node, message)

    def _fail(self, node: Any, why: str) -> None:
        self.failed[node.name] = why
        self._broken.add(node.unique_id)


def _where(since: Since | None) -> Where | None:
    """The rows of the chapters from which on a model is built; None: all."""
    if not since:
        return None
    of = ({} if cluster is None else {"cluster": cluster} for cluster in since)
    return [{**cluster, CHAPTER: AtLeast(begin)} for cluster, begin in zip(of, since.values(), strict=True)]


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
