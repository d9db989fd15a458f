"""Creates the tables as they are declared, and adds the columns and partition fields that they lack."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from pyiceberg.catalog import Catalog
from pyiceberg.exceptions import TableAlreadyExistsError
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table as IcebergTable
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DoubleType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from fencepost.iceberg.catalog import open_catalog
from fencepost.lake.whereabouts import require_placed
from fencepost.settings import Lake
from fencepost.tables import CHAPTER, OF_VERDICTS, SCHEMAS, VERDICTS, Table
from fencepost.waiting import told_if_slow

__all__ = ["ROW_GROUP", "ensure"]

ROW_GROUP = 32_768
"""The rows of a row group of evidence. A run reads the newest days of files that may have months, and a row
group is read only if its dates may be among them.
"""

_PROPERTIES = {
    "format-version": "2",
    # with the default of 4, commits of concurrent writers get lost on a SQLite catalog
    "commit.retry.num-retries": "20",
    # there are few tasks and fewer partitions: do not shuffle or sort all rows only to write them
    "write.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "50",
}
_TYPES: dict[str, IcebergType] = {
    "string": StringType(),
    "int": IntegerType(),
    "bigint": LongType(),
    "double": DoubleType(),
    "boolean": BooleanType(),
    "binary": BinaryType(),
    "timestamp": TimestamptzType(),
    # the id of the list's elements must differ from that of any column
    "array<string>": ListType(1000, StringType(), element_required=False),
}


def ensure(lake: Lake, tables: Iterable[Table]) -> Catalog:
    """Open the catalog, and make it have every schema and these tables with the declared columns.

    Rows that are written from now on are partitioned as the table is declared; earlier rows stay as they are.
    Raises MisplacedLakeError: new tables would lie beside none of the old ones.
    """
    if lake.folder is not None:
        lake.folder.mkdir(parents=True, exist_ok=True)
    with told_if_slow(lake):
        catalog = open_catalog(lake)
        require_placed(catalog, lake)
        for schema in SCHEMAS:
            catalog.create_namespace_if_not_exists(schema)
        present = {".".join(each) for schema in SCHEMAS for each in catalog.list_tables(schema)}
        for table in tables:
            if table.name not in present:
                _create(catalog, table)
            else:
                present_table = catalog.load_table(table.name)
                _fit_columns(present_table, table)
                _fit_partitions(present_table, table)
    return catalog


def _create(catalog: Catalog, table: Table) -> None:
    properties = {**_PROPERTIES, "comment": table.doc}
    if table.dated_by is not None:
        properties["write.parquet.row-group-limit"] = str(ROW_GROUP)
    fields = [
        PartitionField(list(table.stored).index(name) + 1, 1000 + number, IdentityTransform(), name)
        for number, name in enumerate(table.stored_by)
    ]
    # another process may have created it meanwhile
    with suppress(TableAlreadyExistsError):
        catalog.create_table(
            table.name, _schema(table), partition_spec=PartitionSpec(*fields), properties=properties
        )


def _schema(table: Table) -> Schema:
    columns = enumerate(table.stored.items(), start=1)
    return Schema(*[NestedField(number, name, _TYPES[kind]) for number, (name, kind) in columns])


def _fit_columns(present: IcebergTable, table: Table) -> None:
    names = set(present.schema().column_names)
    grown = [name for name in table.columns if name in names and _has_grown(present, table, name)]
    retyped = [name for name in table.columns if name in names and _is_retyped(present, table, name)]
    added = [name for name in table.stored if name not in names or name in retyped]
    # a judge of other code makes all verdicts anew: the columns of an earlier release hold nothing
    gone = sorted(names - set(table.stored)) if table in (*VERDICTS, *OF_VERDICTS) else []
    if added or grown or gone:
        with present.update_schema(allow_incompatible_changes=bool(retyped)) as update:
            for name in (*retyped, *gone):
                update.delete_column(name)
            for name in added:
                update.add_column(name, _TYPES[table.stored[name]])
            for name in grown:
                update.update_column(name, _TYPES[table.columns[name]])


def _fit_partitions(present: IcebergTable, table: Table) -> None:
    names = {each.name for each in present.spec().fields}
    gone, new = names - set(table.stored_by), [name for name in table.stored_by if name not in names]
    by_chapter = CHAPTER in table.stored_by
    if (by_chapter and new) or gone:
        with present.update_spec() as update:
            for name in gone:
                update.remove_field(name)
            for name in new if by_chapter else ():
                update.add_identity(name)


def _has_grown(present: IcebergTable, table: Table, name: str) -> bool:
    """Whether an int column is declared as bigint now: the only change of type that Iceberg makes in place
    here.
    """
    return table.columns[name] == "bigint" and isinstance(present.schema().find_type(name), IntegerType)


def _is_retyped(present: IcebergTable, table: Table, name: str) -> bool:
    """Whether a column of a verdicts table is declared with another type now. Every run replaces these
    tables, so nothing is lost when the column starts empty.
    """
    present_type = type(present.schema().find_type(name))
    return table in VERDICTS and present_type is not type(_TYPES[table.columns[name]])
