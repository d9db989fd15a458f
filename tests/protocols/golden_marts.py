"""A lake with golden rows of a protocol's marts: what is said and drawn of them is tested without Spark."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from fencepost import lake
from fencepost.opening import ensure, open_lake
from fencepost.reading import Reader
from fencepost.settings import Broker, Cluster, Lake, Settings
from fencepost.tables import RECORDS
from fencepost.tables.table import ARROW, Table

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "dbt" / "golden"
"""``input``: rows of silver by table's name; ``expected``: rows of marts. All are of cluster prod."""


@contextmanager
def open_golden_marts(
    folder: Path, protocol: str, silver: Sequence[Table] = (), records: pa.Table | None = None
) -> Iterator[Reader]:
    """A lake in ``folder`` with the golden rows of all marts of a protocol, and of these tables of silver;
    ``records``: rows of ``bronze.records``.
    """
    settings = Settings(
        path=folder / "fencepost.toml",
        lake=Lake(str(folder / "warehouse"), f"sqlite:///{folder / 'catalog.db'}"),
        clusters=(Cluster("prod", (Broker(1),)),),
    )
    catalog = ensure(settings.lake)
    catalog.create_namespace_if_not_exists("marts")
    for file in sorted((ROOT / "dbt" / "models" / protocol).glob("fct_*.yml")):
        (model,) = yaml.load(file.read_text(), yaml.CSafeLoader)["models"]
        schema = pa.schema([(each["name"], ARROW[each["data_type"]]) for each in model["columns"]])
        rows = _rows(GOLDEN / "expected" / f"{model['name']}.json", schema)
        catalog.create_table(f"marts.{model['name']}", schema).append(rows)
    for table in silver:
        lake.append(catalog, table, _rows(GOLDEN / "input" / f"{table.name}.json", table.arrow_schema))
    if records is not None:
        lake.append(catalog, RECORDS, records)
    with open_lake(settings) as opened:
        yield opened


def _rows(file: Path, schema: pa.Schema) -> pa.Table:
    rows = json.loads(file.read_text(encoding="utf-8"))
    columns = {field.name: [_value(row[field.name], field.type) for row in rows] for field in schema}
    return pa.table(columns, schema=schema)


def _value(value: Any, kind: pa.DataType) -> Any:
    if value is not None and pa.types.is_timestamp(kind):
        return dt.datetime.fromisoformat(value).replace(tzinfo=dt.UTC)
    return float(value) if value is not None and pa.types.is_floating(kind) else value
