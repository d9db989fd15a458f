"""The engine in this process: Arrow tables, PyIceberg, and DuckDB for what is SQL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.engines import Change, Replay, T, Work
from fencepost.lake import Where
from fencepost.tables import Table

_NUMBER = "__number"


class ProcessEngine:
    """See :class:`fencepost.engines.Engine`; rows are Arrow tables."""

    name = "process"
    parallelism = 1

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    def spread(self, tasks: Sequence[T], work: Work[T], tables: Sequence[Table]) -> Mapping[str, pa.Table]:
        """The rows that all tasks give, by the table's name."""
        return _gathered((each for task in tasks for each in work(task)), tables)

    def scan(self, table: Table, columns: Sequence[str] = (), where: Where | None = None) -> pa.Table:
        """Rows of a table."""
        return lake.scan(self._catalog, table, columns, where)

    def map(self, rows: pa.Table, change: Change, schema: pa.Schema) -> pa.Table:
        """What ``change`` makes of the rows."""
        return change(rows).cast(schema)

    def replay(
        self, evidence: Mapping[str, Sequence[pa.Table]], replay: Replay, tables: Sequence[Table]
    ) -> Mapping[str, pa.Table]:
        """The rows that ``replay`` gives for each entity, by the table's name."""
        entities = by_entity(evidence)
        return _gathered(
            (
                (table, rows)
                for entity in sorted(entities)
                for table, rows in replay(entity, entities[entity])
            ),
            tables,
        )

    def keep(self, rows: pa.Table) -> pa.Table:
        """The rows."""
        return rows

    def union(self, parts: Sequence[pa.Table]) -> pa.Table:
        """The rows of all parts."""
        return pa.concat_tables(parts)

    def append_new(self, table: Table, rows: pa.Table, within: Where, *, distinct: bool = False) -> int:
        """Append the rows whose key the table does not hold yet, once each."""
        present = lake.scan(self._catalog, table, table.key, within)
        return lake.append(self._catalog, table, _new(table, rows, present))

    def replace(self, table: Table, rows: pa.Table, where: Where | None = None) -> int:
        """Make ``rows`` the content of the table, or of what ``where`` chooses of it."""
        lake.replace(self._catalog, table, rows, where)
        return lake.count(self._catalog, table)

    def collect(self, rows: pa.Table) -> pa.Table:
        """The rows."""
        return rows


def _gathered(
    found: Iterator[tuple[Table, pa.RecordBatch | pa.Table]], tables: Sequence[Table]
) -> dict[str, pa.Table]:
    parts: dict[str, list[pa.Table]] = {table.name: [] for table in tables}
    for table, rows in found:
        parts[table.name].append(pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows)
    return {
        table.name: pa.concat_tables([table.arrow_schema.empty_table(), *parts[table.name]])
        for table in tables
    }


def by_entity(evidence: Mapping[str, Sequence[pa.Table]]) -> dict[str, dict[str, pa.Table]]:
    """Each entity's rows of each name, without the column ``entity``; every name is there for each."""
    found: dict[str, dict[str, pa.Table]] = {}
    empty: dict[str, pa.Table] = {}
    for name, parts in evidence.items():
        rows = pa.concat_tables(parts)
        empty[name] = rows.slice(0, 0).drop_columns("entity")
        if rows["entity"].null_count:
            rows = rows.filter(pc.is_valid(rows["entity"]))
        if pc.count_distinct(rows["entity"]).as_py() == 1:
            # as it is: the rows of a whole cluster are not copied only to be sorted by nothing
            found.setdefault(rows["entity"][0].as_py(), {})[name] = rows.drop_columns("entity")
            continue
        order = pc.sort_indices(rows, sort_keys=[("entity", "ascending")])
        rows = rows.take(order)
        runs = pc.run_end_encode(rows["entity"].combine_chunks()) if rows.num_rows else None
        begun = 0
        for entity, end in zip(*_runs(runs), strict=True):
            found.setdefault(entity, {})[name] = rows.slice(begun, end - begun).drop_columns("entity")
            begun = end
    return {entity: {**empty, **rows} for entity, rows in found.items()}


def _runs(runs: pa.RunEndEncodedArray | None) -> tuple[list[str], list[int]]:
    if runs is None:
        return [], []
    chunks = runs.chunks if isinstance(runs, pa.ChunkedArray) else [runs]
    (run,) = chunks
    return run.values.to_pylist(), run.run_ends.to_pylist()


def _new(table: Table, rows: pa.Table, present: pa.Table) -> pa.Table:
    """The rows whose key is not present, the first of each key."""
    same = " AND ".join(f'r."{name}" IS NOT DISTINCT FROM p."{name}"' for name in table.key)
    keys = ", ".join(f'r."{name}"' for name in table.key)
    numbered = rows.select(list(table.key)).append_column(_NUMBER, pa.array(range(rows.num_rows), pa.int64()))
    with duckdb.connect() as connection:
        connection.register("r", numbered)
        connection.register("p", present)
        found = connection.sql(
            f"SELECT min({_NUMBER}) AS {_NUMBER} FROM r WHERE NOT EXISTS (SELECT 1 FROM p WHERE {same}) "
            f"GROUP BY {keys} ORDER BY {_NUMBER}"
        ).to_arrow_table()
    return rows.take(found[_NUMBER])
