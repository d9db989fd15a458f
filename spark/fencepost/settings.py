"""The configuration file ``fencepost.toml``, read once and checked as a whole.

Relative paths and globs are relative to the folder of the file. Every mistake is a line of one
:class:`SettingsError`, which names the file, the key and the remedy.
"""

from __future__ import annotations

import difflib
import glob
import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
)
from pydantic.dataclasses import dataclass as checked_dataclass
from pydantic_core import ErrorDetails, PydanticCustomError

CONFIG_ENV = "FENCEPOST_CONFIG"
LAKE_ENV = "FENCEPOST_LAKE"
SEVERITIES = ("critical", "warning", "info")
SQLITE = "sqlite:///"

_UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 604_800_000}

DEFAULT_SPARK = {
    "spark.master": "local[2]",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
}


class SettingsError(Exception):
    """The configuration cannot be used; the message says where and what to do."""


@dataclass(frozen=True)
class _Told:
    """What an error says of a key: what it ``must_be``, and what to ``add`` where it is missing."""

    must_be: str
    add: str | None = None


def _mistake(said: str, below: str = "") -> PydanticCustomError:
    """A mistake in a value; ``below`` is the rest of its key where a validator sees several at once."""
    return PydanticCustomError("said", "{said}", {"said": said, "below": below})


def _absolute(paths: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    if info.context is None:
        return paths
    base = Path(glob.escape(str(info.context)))
    return tuple(os.path.normpath(base / Path(path).expanduser()) for path in paths)


def _known_zone(zone: str) -> str:
    try:
        ZoneInfo(zone)
    except (ValueError, OSError, KeyError) as error:
        raise _mistake(f"{zone!r} is not an IANA time zone such as Europe/Paris.") from error
    return zone


def _release(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    found = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)*(-.*)?", text)
    if not found:
        raise _mistake(f"{text!r} is not a release such as 4.2.1.")
    return (int(found[1]), int(found[2]))


def _not_blank(name: str) -> str:
    if not name.strip():
        raise _mistake("must not be empty.")
    return name


def _duration(text: Any) -> Any:
    """A length of time such as 36h or 30d, in milliseconds."""
    found = re.fullmatch(r"([1-9]\d{0,5})([smhdw])", text) if isinstance(text, str) else None
    if not found:
        raise _mistake(f"{text!r} is not a length of time such as 36h, 30d or 8w.")
    return int(found[1]) * _UNITS_MS[found[2]]


def _chapter(text: Any) -> Any:
    """A length of time, or None for ``all``."""
    return None if text == "all" else _duration(text)


def _not_negative(number: int) -> int:
    if number < 0:
        raise _mistake(f"must not be negative, it is {number}.")
    return number


def _flattened(prefix: str) -> BeforeValidator:
    """Options by their full names: ``driver.memory`` and ``"spark.driver.memory"`` are the same one."""

    def visit(flat: dict[str, str], above: str, values: Mapping[str, Any]) -> dict[str, str]:
        for key, value in values.items():
            name = f"{above}.{key}" if above else key
            if isinstance(value, dict):
                visit(flat, name, value)
            elif isinstance(value, str | int | float):
                full = name if name.startswith(prefix) else f"{prefix}{name}"
                flat[full] = str(value).lower() if isinstance(value, bool) else str(value)
            else:
                raise _mistake(f"must be text, a number or true/false, not {value!r}.", name)
        return flat

    return BeforeValidator(lambda values: visit({}, "", values) if isinstance(values, dict) else values)


_Text = Annotated[str, Field(strict=True)]
_Globs = Annotated[
    tuple[Annotated[str, Field(strict=True, min_length=1)], ...],
    _Told("a list of paths or globs (text)"),
    AfterValidator(_absolute),
]
_Zone = Annotated[_Text, _Told("an IANA time zone such as Europe/Paris"), AfterValidator(_known_zone)]
_Name = Annotated[_Text, _Told("a name"), AfterValidator(_not_blank)]
_Tables = _Told("an array of tables")

# In the file the names are the aliases; Python may use the fields' own names.
_CHECKED = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)


def _each_once(key: str) -> AfterValidator:
    def check(found: tuple[Any, ...]) -> tuple[Any, ...]:
        seen: set[object] = set()
        for name in (getattr(each, key) for each in found):
            if name in seen:
                raise _mistake(f"{name!r} is there twice. Give each its own name or id.")
            seen.add(name)
        return found

    return AfterValidator(check)


def _at_least_one(said: str) -> AfterValidator:
    def check(found: tuple[Any, ...]) -> tuple[Any, ...]:
        if not found:
            raise _mistake(said)
        return found

    return AfterValidator(check)


@dataclass(frozen=True)
class Lake:
    """Where the tables live: ``warehouse`` is an absolute path, a URL or what a catalog calls it.

    ``catalog`` is the URL of a SQLite database, or the kind of another catalog. ``catalog_properties`` are
    Iceberg's own properties of the catalog and of the store that its files are in.
    """

    warehouse: str
    catalog: str
    catalog_properties: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path | None:
        """The folder of a SQLite catalog, where local files may be kept beside it; None for any other."""
        return Path(self.catalog.removeprefix(SQLITE)).parent if self.catalog.startswith(SQLITE) else None

    @property
    def is_local(self) -> bool:
        """Whether the tables' files are on this machine's disk."""
        return self.warehouse.startswith(("/", "file:"))


@checked_dataclass(frozen=True, config=_CHECKED)
class Broker:
    """One broker's evidence: absolute globs, and the IANA zone its logs' local times are in.

    ``release`` (major, minor) overrides what the metadata log says of the broker's version.
    """

    id: Annotated[int, Field(strict=True), _Told("the broker's node.id, a number")]
    log_dirs: _Globs = ()
    request_logs: _Globs = ()
    server_logs: _Globs = ()
    timezone: _Zone = "UTC"
    release: Annotated[
        tuple[int, int] | None,
        _Told("a release such as 4.2.1"),
        BeforeValidator(_release),
        Field(alias="kafka_version"),
    ] = None


@checked_dataclass(frozen=True, config=_CHECKED)
class Client:
    """One client application's log files, as absolute globs, and the IANA zone their local times are in."""

    name: _Name
    logs: _Globs = ()
    timezone: _Zone = "UTC"


_ADD_BROKER = "a [[clusters.brokers]] with id and log_dirs"


@checked_dataclass(frozen=True, config=_CHECKED)
class Cluster:
    """One Kafka cluster: ``name`` is the value of every table's column ``cluster``."""

    name: _Name
    brokers: Annotated[
        tuple[Broker, ...],
        _Told("an array of tables", _ADD_BROKER),
        _each_once("id"),
        _at_least_one(f"is missing. Add {_ADD_BROKER}."),
    ]
    clients: Annotated[tuple[Client, ...], _Tables, _each_once("name")] = ()


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
    chapter_ms: int | None = _UNITS_MS["d"]
    """How long the chapters are in which a cluster's history is rebuilt; None: it is one."""
    window_ms: int | None = None
    """How far back from a cluster's newest evidence it is audited; None: as far as there is any."""

    @property
    def spark_is_remote(self) -> bool:
        """Whether executors run elsewhere: then everything is Spark's to do, however small."""
        return not self.spark.get("spark.master", "local").startswith("local")

    @property
    def folder(self) -> Path:
        """The folder that relative paths start from."""
        return self.path.parent


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _LakeTable(_Table):
    warehouse: Annotated[_Text | None, _Told("a path or URL")] = None
    catalog: Annotated[_Text | None, _Told("a URL")] = None
    catalog_properties: Annotated[dict[str, str], _flattened("")] = {}


class _Clock(_Table):
    tolerance_ms: Annotated[
        int, Field(strict=True), _Told("a number of milliseconds"), AfterValidator(_not_negative)
    ] = 25


class _Engine(_Table):
    in_process_mb: Annotated[
        int, Field(strict=True), _Told("a number of megabytes"), AfterValidator(_not_negative)
    ] = 256


class _Audit(_Table):
    chapter: Annotated[
        int | None, _Told("a length of time such as 6h or 1d, or all"), BeforeValidator(_chapter)
    ] = _UNITS_MS["d"]
    window: Annotated[
        int | None, _Told("a length of time such as 36h, 30d or 8w"), BeforeValidator(_duration)
    ] = None


class _Gate(_Table):
    severities: Annotated[
        dict[str, Literal["critical", "warning", "info"]], _Told(f"one of {', '.join(SEVERITIES)}")
    ] = {}


class _File(_Table):
    lake: _LakeTable = _LakeTable()
    clock: _Clock = _Clock()
    engine: _Engine = _Engine()
    audit: _Audit = _Audit()
    gate: _Gate = _Gate()
    spark: Annotated[dict[str, str], _flattened("spark.")] = {}
    clusters: Annotated[
        tuple[Cluster, ...],
        _Tables,
        _each_once("name"),
        _at_least_one("no cluster is configured. Add a [[clusters]] with name and brokers."),
        Field(validate_default=True),
    ] = ()


def load(path: Path | None = None) -> Settings:
    """Read ``path``, else the file named by ``FENCEPOST_CONFIG``, else ``./fencepost.toml``.

    ``FENCEPOST_LAKE`` (a folder) takes the place of the file's ``[lake]``. Raises SettingsError.
    """
    path = Path(path or os.environ.get(CONFIG_ENV) or "fencepost.toml").absolute()
    document = _document(path)
    try:
        # an alias is the one name that the file may use
        file = _File.model_validate(document, context=path.parent, by_alias=True, by_name=False)
    except ValidationError as error:
        lines = dict.fromkeys(f"{path}: {_in_words(each, document)}" for each in error.errors())
        raise SettingsError("\n".join(lines)) from error
    return Settings(
        path=path,
        lake=_lake(path, file.lake),
        clusters=file.clusters,
        clock_tolerance_ms=file.clock.tolerance_ms,
        severities=dict(file.gate.severities),
        in_process_mb=file.engine.in_process_mb,
        chapter_ms=file.audit.chapter,
        window_ms=file.audit.window,
        spark={**DEFAULT_SPARK, **file.spark},
    )


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(
            f"{path}: there is no such file. Give another with --config or {CONFIG_ENV}."
        ) from error
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read ({error.strerror}). Check its permissions.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: is not valid TOML ({error}). Correct it there.") from error


def _lake(path: Path, table: _LakeTable) -> Lake:
    if folder := os.environ.get(LAKE_ENV):
        base = Path(folder).absolute()
        return Lake(str(base / "warehouse"), f"{SQLITE}{base / 'catalog.db'}")
    properties = table.catalog_properties
    if "warehouse" in properties:
        raise SettingsError(f"{path}: lake.catalog_properties.warehouse: write it as lake.warehouse.")
    kind = properties.get("type") or properties.get("catalog-impl")
    if kind is None:
        return _sqlite_lake(path, table)
    if table.catalog is not None:
        raise SettingsError(
            f"{path}: lake.catalog: {table.catalog!r} is a catalog, and so is {kind!r} in "
            "lake.catalog_properties. Remove one of them."
        )
    # what a warehouse is called is such a catalog's own affair
    return Lake(table.warehouse or "", kind, properties)


def _sqlite_lake(path: Path, table: _LakeTable) -> Lake:
    base = path.parent
    catalog = f"{SQLITE}.fencepost/catalog.db" if table.catalog is None else table.catalog
    warehouse = ".fencepost/warehouse" if table.warehouse is None else table.warehouse
    if not catalog.startswith(SQLITE) or catalog == SQLITE or "?" in catalog:
        raise SettingsError(
            f"{path}: lake.catalog: {catalog!r} is not supported. Use {SQLITE}path (relative) or "
            f"{SQLITE}/path (absolute), or describe another, with its type, in lake.catalog_properties."
        )
    if "uri" in table.catalog_properties:
        raise SettingsError(
            f"{path}: lake.catalog_properties.uri: is for another catalog than SQLite. Add its type "
            "(rest, hive, glue, jdbc), or remove it."
        )
    catalog = SQLITE + os.path.normpath(base / catalog.removeprefix(SQLITE))
    if "://" not in warehouse:
        warehouse = os.path.normpath(base / warehouse)
    return Lake(warehouse, catalog, table.catalog_properties)


def _in_words(error: ErrorDetails, document: Mapping[str, Any]) -> str:
    """One mistake: the key, what is wrong with it, and what to write."""
    loc = error["loc"]
    below = error.get("ctx", {}).get("below")
    if loc and isinstance(loc[-1], int):
        # an element is named by its list
        loc = loc[:-1]
    where = _dotted((*loc, below) if below else loc)
    value = reduce(_inside, loc, document)
    told, keys = _declared(loc)
    match error["type"]:
        case "said":
            return f"{where}: {error['msg']}"
        case "missing":
            return f"{where}: is missing. Add {(told.add or told.must_be) if told else 'it'}."
        case "extra_forbidden" | "unexpected_keyword_argument":
            near = difflib.get_close_matches(str(loc[-1]), keys, n=1)
            nearest = f" The nearest is {near[0]}." if near else ""
            return f"{where}: is not known here. Use one of {', '.join(sorted(keys))}, or remove it.{nearest}"
        case "dict_type" | "model_type" | "dataclass_type" if loc == error["loc"]:
            return f"{where}: must be a table, not {value!r}."
        case _:
            return f"{where}: must be {told.must_be if told else 'something else'}, not {value!r}."


def _dotted(loc: Iterable[int | str]) -> str:
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in loc).removeprefix(".")


def _inside(value: Any, key: int | str) -> Any:
    try:
        return value[key]
    except (KeyError, IndexError, TypeError):
        return None


def _declared(loc: Sequence[int | str]) -> tuple[_Told | None, list[str]]:
    """What is told of the key at ``loc``, and the keys that there may be beside it."""
    model: Any = _File
    told, keys = None, []
    for key in loc:
        fields = getattr(model, "model_fields", None) or getattr(model, "__pydantic_fields__", None)
        if isinstance(key, int) or fields is None:
            continue
        by_key = {each.alias or name: each for name, each in fields.items()}
        keys = list(by_key)
        found = by_key.get(key)
        told = next((each for each in found.metadata if isinstance(each, _Told)), None) if found else None
        model = _model(found.annotation) if found else None
    return told, keys


def _model(kind: Any) -> Any:
    """The model of a field, or of the elements of its list; None where there is neither."""
    found = next((each for each in get_args(kind) if each is not Ellipsis), kind)
    return found if hasattr(found, "__pydantic_fields__") else None
