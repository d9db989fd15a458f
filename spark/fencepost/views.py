"""Views of the lake, in Spark's SQL: any engine that knows Iceberg's views reads them."""

from __future__ import annotations

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.view.metadata import ViewVersion

from fencepost.iceberg.catalog import NAME


def replace(catalog: Catalog, name: str, columns: pa.Schema, sql: str, doc: str) -> None:
    """Make a query the view ``schema.name``, in place of what has this name.

    Raises NotImplementedError where PyIceberg has no views in a catalog of this kind.
    """
    schema = name.partition(".")[0]
    version = ViewVersion.model_validate(
        {
            "schema-id": 0,
            "representations": [{"type": "sql", "sql": sql, "dialect": "spark"}],
            "default-catalog": NAME,
            "default-namespace": (schema,),
        }
    )
    catalog.create_namespace_if_not_exists(schema)
    if catalog.view_exists(name):
        catalog.drop_view(name)
    elif catalog.table_exists(name):
        catalog.drop_table(name)
    # without the names Spark takes the view for one of its own that was made by an earlier version
    properties = {"comment": doc, "spark.query-column-names": ",".join(columns.names)}
    catalog.create_view(name, columns, version, properties=properties)
