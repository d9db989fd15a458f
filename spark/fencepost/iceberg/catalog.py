"""The Iceberg catalog that the configuration names, for PyIceberg and for Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, quote, urlencode

from fencepost.environment import with_values
from fencepost.settings import SQLITE, Lake

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog

NAME = "lake"
"""The catalog's name in Spark, and in the rows of a catalog that is a database."""

_TABLE = "lake.catalog_properties"
_OF_STORE = ("s3.", "client.")
"""How the names of properties begin by which PyIceberg reaches a store."""
OF_S3 = ("s3://", "s3a://")
"""How places begin in a store that speaks S3's protocol."""
STORE_FAILED = "AWS Error"
"""What PyArrow says before the reason for which such a store refused, or could not be reached."""
_SPARK_PREFIX = f"spark.sql.catalog.{NAME}"
# by Spark's name of a kind of catalog, PyIceberg's name; these are the kinds that both know
_BOTH = {"rest": "rest", "glue": "glue", "hive": "hive", "jdbc": "sql"}

_REST = "fencepost.iceberg.rest_catalog.PatientRestCatalog"
RETRY = "s3.retry-strategy-impl"
"""PyIceberg's name of the property that says how often a store is asked again."""
_PATIENT = "fencepost.iceberg.patience.PatientStrategy"
_OF_BOTH_DRIVERS = frozenset({"sslmode", "sslrootcert", "sslcert", "sslkey"})
"""The options of a connection to PostgreSQL that JDBC's driver and Python's call the same."""


class CatalogError(Exception):
    """PyIceberg cannot open this kind of catalog; Spark may. The message says why."""


class MissingPackageError(CatalogError):
    """PyIceberg needs a Python package for this catalog (a driver, a cloud's SDK) that is not installed."""


def open_catalog(lake: Lake) -> Catalog:
    """Open the catalog with PyIceberg.

    Raises CatalogError if PyIceberg has no catalog of this kind, and MissingPackageError if it lacks a
    package for it.
    """
    from pyiceberg.catalog import load_catalog
    from pyiceberg.exceptions import NotInstalledError

    properties = catalog_properties(lake)
    if properties["type"] == "rest":
        del properties["type"]
        properties["py-catalog-impl"] = _REST
    try:
        catalog = load_catalog(NAME, **properties)
    except (ImportError, NotInstalledError) as error:
        raise MissingPackageError(_missing_package(lake, error)) from error
    if properties.get("type") != "sql":
        return catalog
    from fencepost.iceberg.sql_catalog import CachingSqlCatalog

    # load_catalog has added the rest of PyIceberg's configuration, and would say which package is missing
    return CachingSqlCatalog(NAME, **catalog.properties)


def catalog_properties(lake: Lake) -> dict[str, str]:
    """The catalog's properties for PyIceberg. Raises CatalogError if PyIceberg has no catalog of
    this kind, and MissingVariableError.
    """
    given = with_values(lake.catalog_properties, _TABLE)
    is_file = lake.database is not None
    kind = {"type": "sql", "uri": lake.catalog} if is_file else _pyiceberg_kind(given)
    patience = {} if lake.is_local else {RETRY: _PATIENT}
    return {**patience, **given, **kind, **_warehouse(lake)}


def store_properties(lake: Lake) -> dict[str, str]:
    """The properties by which object stores are reached. Raises MissingVariableError."""
    of_store = {name: text for name, text in lake.catalog_properties.items() if name.startswith(_OF_STORE)}
    return with_values(of_store, _TABLE)


def spark_catalog_conf(lake: Lake) -> dict[str, str]:
    """The catalog's settings for Spark: ``spark.sql.catalog.lake`` and those below it. Raises
    MissingVariableError.
    """
    given = with_values(lake.catalog_properties, _TABLE)
    properties = {
        # other processes write to the same tables; a cached table would hide their commits
        "cache-enabled": "false",
        # version 1 of the tables of a catalog in a database has views, which dbt needs
        "jdbc.schema-version": "V1",
        **_warehouse(lake),
        **(_s3(given) if is_on_s3(lake) else {}),
        **given,
    }
    if lake.database is not None:
        properties["type"] = "jdbc"
        properties["uri"] = f"jdbc:sqlite:{lake.database}?journal_mode=WAL&busy_timeout=60000"
    return {
        _SPARK_PREFIX: "org.apache.iceberg.spark.SparkCatalog",
        **{f"{_SPARK_PREFIX}.{name}": value for name, value in properties.items()},
    }


def is_on_s3(lake: Lake) -> bool:
    """Whether the tables' files are in a store that speaks S3's protocol. The properties say it where the
    warehouse is a name that the catalog defines.
    """
    if lake.warehouse.startswith(OF_S3):
        return True
    is_name = not lake.is_local and "://" not in lake.warehouse
    return any(
        (name == "io-impl" and text.endswith(".S3FileIO")) or (is_name and name.startswith("s3."))
        for name, text in lake.catalog_properties.items()
    )


def _s3(properties: dict[str, str]) -> dict[str, str]:
    """What Spark needs beside PyIceberg's properties of a store. A store with an address of its own has its
    buckets below that address.
    """
    region = properties.get("s3.region")
    return {
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        **({"client.region": region} if region else {}),
        **({"s3.path-style-access": "true"} if "s3.endpoint" in properties else {}),
    }


def _missing_package(lake: Lake, error: Exception) -> str:
    if catalog_properties(lake)["type"] != "sql":
        return f"PyIceberg cannot open the catalog {lake.catalog}: {error}."
    # PyIceberg's message names its own extras, whichever package is missing
    return (
        f"The catalog {lake.catalog} is a PostgreSQL database, and its Python driver cannot be loaded: "
        f"pip install 'fencepost[collect]' ({error.__cause__ or error})."
    )


def _warehouse(lake: Lake) -> dict[str, str]:
    return {"warehouse": lake.warehouse} if lake.warehouse else {}


def _pyiceberg_kind(properties: dict[str, str]) -> dict[str, str]:
    kind = _BOTH.get(properties.get("type", ""))
    if kind is None:
        given_kind = properties.get("type") or properties.get("catalog-impl")
        raise CatalogError(f"PyIceberg knows no catalog of the kind {given_kind!r}")
    return {"type": kind, **({"uri": _database(properties)} if kind == "sql" else {})}


def _database(properties: dict[str, str]) -> str:
    """SQLAlchemy's URL for a JDBC URL, ``jdbc:postgresql://host/name`` or ``jdbc:sqlite:/path``."""
    kind, _, rest = properties.get("uri", "").removeprefix("jdbc:").partition(":")
    if kind == "sqlite":
        return SQLITE + rest.partition("?")[0]
    if kind != "postgresql" or not rest.startswith("//"):
        raise CatalogError(f"PyIceberg opens no database {properties.get('uri')!r}")
    user, password = (quote(properties.get(f"jdbc.{each}", ""), safe="") for each in ("user", "password"))
    login = f"{user}:{password}@" if password else f"{user}@" if user else ""
    address, _, options = rest.removeprefix("//").partition("?")
    # how the connection is encrypted must not be lost on the way
    given = {"sslmode": "verify-full"} if "ssl=true" in options.split("&") else {}
    given |= {name: value for name, value in parse_qsl(options) if name in _OF_BOTH_DRIVERS}
    return f"postgresql+psycopg://{login}{address}{'?' if given else ''}{urlencode(given)}"
