"""The configuration file ``fencepost.toml``, read once and checked as a whole.

Relative paths and globs are relative to the folder of the file. Every mistake is a :class:`SettingsError`
that names the file, the key and the remedy.
"""

from __future__ import annotations

import glob
import os
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

_T = TypeVar("_T")

CONFIG_ENV = "FENCEPOST_CONFIG"
LAKE_ENV = "FENCEPOST_LAKE"
SEVERITIES = ("critical", "warning", "info")
SQLITE = "sqlite:///"

DEFAULT_SPARK = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
}


class SettingsError(Exception):
    """The configuration cannot be used; the message says where and what to do."""


@dataclass(frozen=True)
class Lake:
    """Where the tables live: ``warehouse`` is an absolute path or a URL, ``catalog`` a URL."""

    warehouse: str
    catalog: str

    @property
    def folder(self) -> Path | None:
        """The folder of a SQLite catalog, where local files may be kept beside it; None for any other."""
        return Path(self.catalog.removeprefix(SQLITE)).parent if self.catalog.startswith(SQLITE) else None


@dataclass(frozen=True)
class Broker:
    """One broker's evidence: absolute globs, and the IANA zone its logs' local times are in.

    ``release`` (major, minor) overrides what the metadata log says of the broker's version.
    """

    id: int
    log_dirs: tuple[str, ...] = ()
    request_logs: tuple[str, ...] = ()
    server_logs: tuple[str, ...] = ()
    timezone: str = "UTC"
    release: tuple[int, int] | None = None


@dataclass(frozen=True)
class Client:
    """One client application's log files, as absolute globs, and the IANA zone their local times are in."""

    name: str
    logs: tuple[str, ...] = ()
    timezone: str = "UTC"


@dataclass(frozen=True)
class Cluster:
    """One Kafka cluster: ``name`` is the value of every table's column ``cluster``."""

    name: str
    brokers: tuple[Broker, ...]
    clients: tuple[Client, ...] = ()


@dataclass(frozen=True)
class Settings:
    """The whole configuration. ``severities`` maps an invariant to the severity this deployment gives it."""

    path: Path
    lake: Lake
    clusters: tuple[Cluster, ...]
    clock_tolerance_ms: int = 25
    severities: dict[str, str] = field(default_factory=dict)
    spark: dict[str, str] = field(default_factory=lambda: dict(DEFAULT_SPARK))
    in_process_mb: int = 256
    """Up to so much evidence, work is done in the process itself, without Spark."""

    @property
    def spark_is_remote(self) -> bool:
        """Whether executors run elsewhere: then everything is Spark's to do, however small."""
        return not self.spark.get("spark.master", "local").startswith("local")

    @property
    def folder(self) -> Path:
        """The folder that relative paths start from."""
        return self.path.parent


def load(path: Path | None = None) -> Settings:
    """Read ``path``, else the file named by ``FENCEPOST_CONFIG``, else ``./fencepost.toml``.

    ``FENCEPOST_LAKE`` (a folder) takes the place of the file's ``[lake]``. Raises SettingsError.
    """
    path = Path(path or os.environ.get(CONFIG_ENV) or "fencepost.toml").absolute()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(
            f"{path}: there is no such file. Give another with --config or {CONFIG_ENV}."
        ) from error
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror}). Check its permissions.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: is not valid TOML ({error}). Correct it there.") from error
    return _settings(_Section(path, "", document))


@dataclass
class _Section:
    """One table of the file: hands out checked values and, at the end, refuses keys that nobody asked for."""

    path: Path
    name: str
    values: dict[str, Any]
    asked: set[str] = field(default_factory=set)

    def error(self, key: str, text: str) -> SettingsError:
        where = f"{self.name}.{key}" if self.name and key else self.name or key
        return SettingsError(f"{self.path}: {where}: {text}")

    def take(self, key: str, kind: type[_T], what: str, default: _T | None = None) -> _T:
        self.asked.add(key)
        value = self.values.get(key, default)
        if value is None:
            raise self.error(key, f"is missing. Add {what}.")
        # bool is an int to Python, not to anyone who writes a configuration
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise self.error(key, f"must be {what}, not {value!r}.")
        return value

    def table(self, key: str) -> _Section:
        values = self.take(key, dict, "a table", {})
        return _Section(self.path, f"{self.name}.{key}" if self.name else key, values)

    def tables(self, key: str) -> list[_Section]:
        values = self.take(key, list, "an array of tables", [])
        prefix = f"{self.name}.{key}" if self.name else key
        if not all(isinstance(value, dict) for value in values):
            raise self.error(key, "must be an array of tables.")
        return [_Section(self.path, f"{prefix}[{index}]", value) for index, value in enumerate(values)]

    def globs(self, key: str) -> tuple[str, ...]:
        values = self.take(key, list, "a list of paths or globs", [])
        if not all(isinstance(value, str) and value for value in values):
            raise self.error(key, f"must be a list of paths or globs (text), not {values!r}.")
        base = Path(glob.escape(str(self.path.parent)))
        return tuple(os.path.normpath(base / Path(value).expanduser()) for value in values)

    def close(self) -> None:
        for key in self.values.keys() - self.asked:
            raise self.error(
                key, f"is not known here. Use one of {', '.join(sorted(self.asked))}, or remove it."
            )


def _settings(top: _Section) -> Settings:
    lake, clock, gate = top.table("lake"), top.table("clock"), top.table("gate")
    sections = top.tables("clusters")
    if not sections:
        raise top.error("clusters", "no cluster is configured. Add a [[clusters]] with name and brokers.")
    clusters = tuple(_cluster(section) for section in sections)
    _refuse_twice(top, "clusters", (cluster.name for cluster in clusters))
    tolerance = clock.take("tolerance_ms", int, "a number of milliseconds", 25)
    if tolerance < 0:
        raise clock.error("tolerance_ms", f"must not be negative, it is {tolerance}.")
    settings = Settings(
        path=top.path,
        lake=_lake(lake),
        clusters=clusters,
        clock_tolerance_ms=tolerance,
        severities=_severities(gate.table("severities")),
        spark={**DEFAULT_SPARK, **_flatten(top.table("spark"))},
    )
    for section in (lake, clock, gate, top):
        section.close()
    return settings


def _lake(section: _Section) -> Lake:
    base = section.path.parent
    warehouse = section.take("warehouse", str, "a path or URL", ".fencepost/warehouse")
    catalog = section.take("catalog", str, "a URL", f"{SQLITE}.fencepost/catalog.db")
    if folder := os.environ.get(LAKE_ENV):
        base, warehouse, catalog = Path(folder).absolute(), "warehouse", f"{SQLITE}catalog.db"
    if not catalog.startswith(SQLITE) or catalog == SQLITE or "?" in catalog:
        raise section.error(
            "catalog",
            f"{catalog!r} is not supported. Use {SQLITE}path (relative) or {SQLITE}/path (absolute).",
        )
    catalog = SQLITE + os.path.normpath(base / catalog.removeprefix(SQLITE))
    if "://" not in warehouse:
        warehouse = os.path.normpath(base / warehouse)
    return Lake(warehouse, catalog)


def _cluster(section: _Section) -> Cluster:
    brokers = tuple(_broker(each) for each in section.tables("brokers"))
    clients = tuple(_client(each) for each in section.tables("clients"))
    if not brokers:
        raise section.error("brokers", "is missing. Add a [[clusters.brokers]] with id and log_dirs.")
    _refuse_twice(section, "brokers", (broker.id for broker in brokers))
    _refuse_twice(section, "clients", (client.name for client in clients))
    cluster = Cluster(_name(section), brokers, clients)
    section.close()
    return cluster


def _broker(section: _Section) -> Broker:
    broker = Broker(
        id=section.take("id", int, "the broker's node.id, a number"),
        log_dirs=section.globs("log_dirs"),
        request_logs=section.globs("request_logs"),
        server_logs=section.globs("server_logs"),
        timezone=_timezone(section),
        release=_release(section),
    )
    section.close()
    return broker


def _timezone(section: _Section) -> str:
    zone = section.take("timezone", str, "an IANA time zone such as Europe/Paris", "UTC")
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError) as error:
        raise section.error("timezone", f"{zone!r} is not an IANA time zone such as Europe/Paris.") from error
    return zone


def _release(section: _Section) -> tuple[int, int] | None:
    text = section.take("kafka_version", str, "a release such as 4.2.1", "")
    found = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)*(-.*)?", text)
    if text and not found:
        raise section.error("kafka_version", f"{text!r} is not a release such as 4.2.1.")
    return (int(found[1]), int(found[2])) if found else None


def _client(section: _Section) -> Client:
    client = Client(_name(section), section.globs("logs"), _timezone(section))
    section.close()
    return client


def _name(section: _Section) -> str:
    name = section.take("name", str, "a name")
    if not name.strip():
        raise section.error("name", "must not be empty.")
    return name


def _severities(section: _Section) -> dict[str, str]:
    for name in section.values:
        section.take(name, str, "a severity")
        if section.values[name] not in SEVERITIES:
            raise section.error(
                name, f"must be one of {', '.join(SEVERITIES)}, not {section.values[name]!r}."
            )
    return dict(section.values)


def _flatten(section: _Section) -> dict[str, str]:
    """Spark options; under ``[spark]``, ``driver.memory`` and ``"spark.driver.memory"`` are the same one."""
    flat: dict[str, str] = {}

    def visit(prefix: str, values: dict[str, Any]) -> None:
        for key, value in values.items():
            name = f"{prefix}.{key}" if prefix else key
            if isinstance(value, dict):
                visit(name, value)
            elif isinstance(value, str | int | float):
                full = name if name.startswith("spark.") else f"spark.{name}"
                flat[full] = str(value).lower() if isinstance(value, bool) else str(value)
            else:
                raise section.error(name, f"must be text, a number or true/false, not {value!r}.")

    visit("", section.values)
    return flat


def _refuse_twice(section: _Section, key: str, names: Iterable[object]) -> None:
    seen: set[object] = set()
    for name in names:
        if name in seen:
            raise section.error(key, f"{name!r} is there twice. Give each its own name or id.")
        seen.add(name)
