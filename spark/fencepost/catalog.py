"""The Iceberg catalog that the configuration names, for PyIceberg and for Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fencepost.settings import SQLITE, Lake

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

NAME = "lake"


def open_catalog(lake: Lake) -> Catalog:
    """The catalog, opened by PyIceberg."""
    from pyiceberg.catalog import load_catalog

    return load_catalog(NAME, **catalog_properties(lake))


def catalog_properties(lake: Lake) -> dict[str, str]:
    """What PyIceberg asks for."""
    return {"type": "sql", "uri": lake.catalog, "warehouse": lake.warehouse}


def spark_catalog_conf(lake: Lake) -> dict[str, str]:
    """What Spark asks for."""
    prefix = f"spark.sql.catalog.{NAME}"
    database = lake.catalog.removeprefix(SQLITE)
    return {
        prefix: "org.apache.iceberg.spark.SparkCatalog",
        f"{prefix}.type": "jdbc",
        f"{prefix}.uri": f"jdbc:sqlite:{database}?journal_mode=WAL&busy_timeout=60000",
        f"{prefix}.warehouse": lake.warehouse,
        f"{prefix}.jdbc.schema-version": "V1",
        f"{prefix}.cache-enabled": "false",
    }
