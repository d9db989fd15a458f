"""The marts built in this process: dbt compiles each model, DuckDB runs it, PyIceberg commits its rows.

As in a build by dbt and Spark, the columns of a model must be those of its contract, each model is tested
when it is built, and a node that depends on a failed one is skipped.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from graphlib import TopologicalSorter
from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog

from fencepost import lake, views
from fencepost.conditions import since_chapters
from fencepost.conditions.sql import in_duckdb, in_spark
from fencepost.ledger import Since
from fencepost.marts.compiled import Node, Project, rows_built
from fencepost.marts.models import Model
from fencepost.marts.plan import Inputs, Plan
from fencepost.marts.result import MartsResult, failure, faults
from fencepost.marts.tables import fit
from fencepost.protocols import functions
from fencepost.reading import rows as as_rows
from fencepost.reading.iceberg import IcebergReader
from fencepost.reading.tables import View
from fencepost.settings import Settings
from fencepost.tables import CHAPTER


def build_in_process(
    settings: Settings, catalog: Catalog, project: Project, inputs: Inputs, plan: Plan
) -> MartsResult:
    """Build and test the models of the plan. Raises MartsError if a model or a test fails, LakeError if only
    Spark can read or run something, and NotImplementedError if PyIceberg cannot make views in this catalog.
    """
    start = time.monotonic()
    nodes = project.chosen(plan.build)
    with (
        tempfile.TemporaryDirectory(prefix="marts-", dir=settings.lake.folder) as scratch,
        IcebergReader(settings.lake, functions(), Path(scratch)) as reader,
    ):
        builder = _Builder(catalog, inputs, reader, plan.since)
        # models that are built may read views that stay as they are
        builder.remember(each for each in project.nodes if not each.is_test)
        for node, upstream in _in_order(nodes):
            builder.build_or_test(node, upstream)
    if builder.failed:
        raise failure(builder.failed, len(nodes))
    return MartsResult(
        models=tuple(builder.built),
        tests=builder.passed,
        warnings=tuple(builder.warnings),
        seconds=round(time.monotonic() - start, 1),
    )


def _in_order(nodes: Sequence[Node]) -> Iterator[tuple[Node, frozenset[str]]]:
    """Each node with the nodes that it depends on, which come first. A model also depends on the tests of the
    models that it reads.
    """
    named = {each.name: each for each in nodes}
    depends_on = {name: each.depends_on & named.keys() for name, each in named.items()}
    tests = {name: models for name, models in depends_on.items() if named[name].is_test}
    for name in named.keys() - tests.keys():
        depends_on[name] |= {test for test, models in tests.items() if models <= depends_on[name]}
    return ((named[each], depends_on[each]) for each in TopologicalSorter(depends_on).static_order())


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

    def build_or_test(self, node: Node, upstream: Set[str]) -> None:
        """Build a model or run a test, unless something that it depends on has failed."""
        chosen = [since for name, since in self._since.items() if rows_built(name) in node.sql]
        reader = self._reader.of_chapters(*chosen) if chosen else self._reader
        node = self._with_conditions(node)
        self.remember([node])
        if not self._broken.isdisjoint(upstream):
            self._broken.add(node.name)
        elif node.is_test:
            self._test(node, reader)
        elif (model := self._inputs.model(node.name)).is_table:
            self._build_table(node, model, reader)
        else:
            self._build_view(node, model)

    def remember(self, nodes: Iterable[Node]) -> None:
        """Remember the translations of nodes."""
        for each in nodes:
            if each.duckdb is not None:
                self._reader.remember(each.sql, each.duckdb)

    def _with_conditions(self, node: Node) -> Node:
        """The node with the conditions of the rows to build in place of the texts that stand for them."""
        sql, duckdb, words = node.sql, node.duckdb, set[str]()
        for name in node.depends_on | {node.name}:
            since = self._since.get(name)
            sql = sql.replace(rows_built(name), in_spark(since_chapters(since)) if since else "true")
            if duckdb is not None:
                text = in_duckdb(since_chapters(since)) if since else "true"
                duckdb = replace(duckdb, sql=duckdb.sql.replace(rows_built(name), text))
            words |= {"cluster", CHAPTER} if since else set()
        if duckdb is not None and duckdb.words is not None:
            duckdb = replace(duckdb, words=duckdb.words | words)
        return replace(node, sql=sql, duckdb=duckdb)

    def _build_table(self, node: Node, model: Model, reader: IcebergReader) -> None:
        columns, rows = reader.pieces(node.sql)
        contract = model.table.arrow_schema
        if {each.name: each.type for each in columns} != {each.name: each.type for each in contract}:
            self._fail(node, f"its contract has {_columns(contract)}, its query gives {_columns(columns)}")
            return
        fit(self._catalog, model)
        since = self._since.get(model.name)
        where = since_chapters(since) if since else None
        lake.replace_by_pieces(self._catalog, model.table, rows, where)
        self._reader.update(model.relation, self._catalog.load_table(model.relation))
        self.built.append(model.name)

    def _build_view(self, node: Node, model: Model) -> None:
        """Build a view, unless it is the same already."""
        schema = self._reader.schema(node.sql)
        view = View(tuple(schema.names), node.sql)
        if self._reader.find(model.relation) != view:
            views.replace(self._catalog, model.relation, schema, view.sql, model.doc)
            self._reader.update(model.relation, view)
        self.built.append(model.name)

    def _test(self, node: Node, reader: IcebergReader) -> None:
        rows = as_rows(reader.query(node.sql))
        if not rows:
            self.passed += 1
            return
        message = faults(rows) if "fault" in rows[0] else f"rows that are not as they should be: {len(rows)}"
        if node.only_warns:
            self.warnings.append(f"{node.name}: {message}")
        else:
            self._fail(node, message)

    def _fail(self, node: Node, why: str) -> None:
        self.failed[node.name] = why
        self._broken.add(node.name)


def _columns(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} {field.type}" for field in schema)
