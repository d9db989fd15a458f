"""Reads the configuration file ``fencepost.toml``."""

from __future__ import annotations

import os
import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    model_validator,
)

from fencepost.environment import is_variable
from fencepost.pseudonyms import KINDS, NameKind, Pseudonyms
from fencepost.settings.mistakes import TABLES, Expected, SettingsError, in_words, mistake, nearest
from fencepost.settings.model import (
    CHAPTER_MS,
    DEFAULT_SPARK,
    IN_PROCESS_MB,
    SEVERITIES,
    TOLERANCE_MS,
    UNITED,
    Cluster,
    Lake,
    Recipient,
    Report,
    RunOn,
    Settings,
    Waiver,
)
from fencepost.settings.values import (
    SQLITE,
    Reading,
    Text,
    as_chapter,
    as_duration,
    at_least_one,
    each_once,
    flattened,
    from_environment,
    http_url,
    known_invariant,
    not_negative,
    written_out,
)

CONFIG_ENV = "FENCEPOST_CONFIG"
LAKE_ENV = "FENCEPOST_LAKE"
SHORTEST_KEY = 16
"""So many characters a key of pseudonyms has at least."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _LakeTable(_Table):
    warehouse: Annotated[Text | None, Expected("a path or URL"), AfterValidator(written_out)] = None
    catalog: Annotated[Text | None, Expected("a URL"), AfterValidator(written_out)] = None
    catalog_properties: Annotated[dict[str, str], flattened("")] = {}


class _Clock(_Table):
    tolerance_ms: Annotated[
        int, Field(strict=True), Expected("a number of milliseconds"), AfterValidator(not_negative)
    ] = TOLERANCE_MS


class _Engine(_Table):
    in_process_mb: Annotated[
        int, Field(strict=True), Expected("a number of megabytes"), AfterValidator(not_negative)
    ] = IN_PROCESS_MB
    run_on: Annotated[RunOn | None, Expected(f"one of {', '.join(get_args(RunOn))}")] = None


def _of_chapters(window_ms: int | None, info: ValidationInfo) -> int | None:
    if info.data.get("chapter", CHAPTER_MS) is None:
        raise mistake('keeps whole chapters, and chapter = "all" makes only one. Remove one of the two.')
    return window_ms


def _at_least_the_window(keep_ms: int | None, info: ValidationInfo) -> int | None:
    if keep_ms is None or "window" not in info.data:
        return keep_ms
    window_ms = info.data["window"]
    if window_ms is None:
        raise mistake(
            "deletes older evidence, and without a window verdicts rest on evidence of any age. Add "
            "window, of at most this length.",
            lacks="window",
        )
    if keep_ms < window_ms:
        raise mistake("is shorter than the window, whose evidence is needed. Make it at least as long.")
    return keep_ms


class _Audit(_Table):
    chapter: Annotated[
        int | None, Expected("a length of time such as 6h or 1d, or all"), BeforeValidator(as_chapter)
    ] = CHAPTER_MS
    window: Annotated[
        int | None,
        Expected("a length of time such as 36h, 30d or 8w"),
        BeforeValidator(as_duration),
        AfterValidator(_of_chapters),
    ] = None
    keep_evidence: Annotated[
        int | None,
        Expected("a length of time such as 90d or 26w"),
        BeforeValidator(as_duration),
        AfterValidator(_at_least_the_window),
    ] = None

    @property
    def longest_chapter_ms(self) -> int | None:
        """How long a chapter with few lines may be: a window moves on by whole chapters, so they are short
        beside it. None where the length of chapters is given.
        """
        if "chapter" in self.model_fields_set:
            return None
        longest = UNITED * CHAPTER_MS
        return longest if self.window is None else min(longest, self.window // UNITED)


class _Gate(_Table):
    severities: Annotated[
        dict[
            Annotated[str, AfterValidator(known_invariant)],
            Literal["critical", "warning", "info"],
        ],
        Expected(f"one of {', '.join(SEVERITIES)}"),
    ] = {}
    not_judged: Annotated[Literal["fail", "pass"], Expected("fail or pass")] = "fail"


class _Report(_Table):
    page: Annotated[bool, Field(strict=True), Expected("true or false")] = True
    folder: Annotated[Text | None, Expected("a path"), AfterValidator(written_out)] = None
    url: Annotated[
        Text | None, Expected("a URL such as https://audit.example.com/"), AfterValidator(http_url)
    ] = None
    data_docs: Annotated[bool, Field(strict=True), Expected("true or false")] = False


class _Metrics(_Table):
    file: Annotated[Text | None, Expected("a path"), AfterValidator(written_out)] = None


def _only_variable(key: str) -> str:
    if not is_variable(key):
        raise mistake(
            "is a secret, which no file should have. Name a variable of the environment: "
            'key = "${FENCEPOST_PSEUDONYM_KEY}".'
        )
    return key


def _secret(key: str | None) -> str | None:
    value = from_environment(key)
    if value is not None and len(value) < SHORTEST_KEY:
        raise mistake(
            f"has fewer than {SHORTEST_KEY} characters, so it could be guessed. Make another, as by "
            "openssl rand -hex 32."
        )
    return value


class _Pseudonyms(_Table):
    key: Annotated[
        Text,
        Expected("a variable of the environment such as ${FENCEPOST_PSEUDONYM_KEY}"),
        AfterValidator(_only_variable),
        AfterValidator(_secret),
    ]
    of: Annotated[
        tuple[NameKind, ...],
        Expected(f"a list of {', '.join(KINDS)}"),
        Field(min_length=1),
    ] = KINDS


class _File(_Table):
    lake: _LakeTable = _LakeTable()
    clock: _Clock = _Clock()
    engine: _Engine = _Engine()
    audit: _Audit = _Audit()
    gate: _Gate = _Gate()
    spark: Annotated[dict[str, str], flattened("spark.")] = {}
    report: _Report = _Report()
    metrics: _Metrics = _Metrics()
    pseudonyms: _Pseudonyms | None = None
    waivers: Annotated[tuple[Waiver, ...], TABLES] = ()
    alerts: Annotated[tuple[Recipient, ...], TABLES, each_once("name")] = ()
    clusters: Annotated[
        tuple[Cluster, ...],
        TABLES,
        each_once("name"),
        at_least_one("no cluster is configured. Add a [[clusters]] with name and brokers."),
        Field(validate_default=True),
    ] = ()

    @model_validator(mode="after")
    def _waivers_are_of_something(self) -> _File:
        names = [each.name for each in self.clusters]
        for number, waiver in enumerate(self.waivers):
            if not waiver.matched.keys() - {"cluster"}:
                raise mistake(
                    "would waive everything. Say what is waived: add one of invariant, incident, group_id, "
                    "topic, transactional_id, client_id.",
                    f"waivers[{number}]",
                )
            if waiver.partition is not None and waiver.topic is None:
                raise mistake("is of no topic. Add topic.", f"waivers[{number}].partition")
            if waiver.cluster is not None and waiver.cluster not in names:
                raise mistake(
                    f"{waiver.cluster!r} is not the name of a configured cluster."
                    f"{nearest(waiver.cluster, names)}",
                    f"waivers[{number}].cluster",
                )
        return self

    @model_validator(mode="after")
    def _alerts_go_somewhere(self) -> _File:
        names = [each.name for each in self.clusters]
        for number, recipient in enumerate(self.alerts):
            if said := _wrong_way(recipient):
                raise mistake(said, f"alerts[{number}]")
            for name in recipient.clusters:
                if name not in names:
                    raise mistake(
                        f"{name!r} is not the name of a configured cluster.{nearest(name, names)}",
                        f"alerts[{number}].clusters",
                    )
        return self


def _wrong_way(recipient: Recipient) -> str | None:
    """What is wrong with how a recipient is alerted."""
    ways = recipient.ways
    if len(ways) == 1:
        return None
    return (
        f"has {' and '.join(ways) or 'no address'}. Give exactly one of url, alertmanager, webhook, command."
    )


def config_path(path: Path | None = None) -> Path:
    """The path of the configuration: this, else the one that the environment or the default names."""
    return Path(path or os.environ.get(CONFIG_ENV) or "fencepost.toml").absolute()


def readable_alerts(path: Path | None = None) -> list[Recipient]:
    """The ``[[alerts]]`` without mistakes of a file that may have some elsewhere: who is told of these."""
    try:
        listed = _document(config_path(path)).get("alerts")
    except SettingsError:
        return []
    found = []
    for each in listed if isinstance(listed, list) else []:
        try:
            recipient = TypeAdapter(Recipient).validate_python(each, by_alias=True, by_name=False)
        except ValidationError:
            continue
        if _wrong_way(recipient) is None:
            found.append(recipient)
    return found


def load(path: Path | None = None, *, services: bool = True) -> Settings:
    """Read ``path``, else the file named by ``FENCEPOST_CONFIG``, else ``./fencepost.toml``.

    ``FENCEPOST_LAKE`` (a folder) takes the place of the file's ``[lake]``. ``services``: whether Apprise must
    know those of alerts, which who sends none need not ask. Raises SettingsError.
    """
    path = config_path(path)
    document = _document(path)
    try:
        # an alias is the one name that the file may use
        file = _File.model_validate(
            document, context=Reading(path.parent, services), by_alias=True, by_name=False
        )
    except ValidationError as error:
        lines = dict.fromkeys(f"{path}: {line}" for line in in_words(error.errors(), document, _File))
        raise SettingsError("\n".join(lines)) from error
    of = file.pseudonyms
    pseudonyms = None if of is None else Pseudonyms(of.key, of.of)
    return Settings(
        path=path,
        lake=_lake(path, file.lake),
        clusters=file.clusters if pseudonyms is None else _with_hosts(file.clusters, pseudonyms),
        clock_tolerance_ms=file.clock.tolerance_ms,
        severities=dict(file.gate.severities),
        not_judged_passes=file.gate.not_judged == "pass",
        in_process_mb=file.engine.in_process_mb,
        run_on=file.engine.run_on,
        waivers=file.waivers,
        report=_report(path.parent, file.report),
        alerts=file.alerts,
        report_url=None if file.report.url is None else f"{file.report.url.rstrip('/')}/",
        metrics_file=_metrics_file(path.parent, file.metrics),
        chapter_ms=file.audit.chapter,
        longest_chapter_ms=file.audit.longest_chapter_ms,
        window_ms=file.audit.window,
        keep_evidence_ms=file.audit.keep_evidence,
        pseudonyms=pseudonyms,
        spark={**DEFAULT_SPARK, **file.spark},
    )


def _with_hosts(clusters: tuple[Cluster, ...], pseudonyms: Pseudonyms) -> tuple[Cluster, ...]:
    """Clusters with pseudonyms of their clients' machines, which are a part of files' names in the lake."""
    return tuple(
        replace(
            cluster,
            clients=tuple(
                replace(each, host=None if each.host is None else pseudonyms.host(each.host))
                for each in cluster.clients
            ),
        )
        for cluster in clusters
    )


def _metrics_file(base: Path, table: _Metrics) -> Path | None:
    return None if table.file is None else base / Path(table.file).expanduser()


def _report(base: Path, table: _Report) -> Report:
    folder = None if table.folder is None else Path(os.path.normpath(base / Path(table.folder).expanduser()))
    return Report(table.page, folder, table.data_docs)


def _document(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError as error:
        raise SettingsError(
            f"{path}: there is no such file. Give another with --config or {CONFIG_ENV}, or let"
            " fencepost init write a first one."
        ) from error
    except IsADirectoryError as error:
        raise SettingsError(
            f"{path}: is a folder. Name the file in it with --config or {CONFIG_ENV}."
        ) from error
    except OSError as error:
        raise SettingsError(
            f"{path}: cannot be read ({error.strerror}). Check the path and its permissions."
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{path}: is not valid TOML ({error}). Correct it there.") from error
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise SettingsError(f"{path}: is not UTF-8 (at line {line}). Save it as UTF-8.") from error


def _lake(path: Path, table: _LakeTable) -> Lake:
    if folder := os.environ.get(LAKE_ENV):
        base = Path(folder).absolute()
        return Lake(str(base / "warehouse"), _catalog(LAKE_ENV, str(base / "catalog.db")))
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
    # such a catalog defines the form of its warehouses' names
    return Lake(table.warehouse or "", kind, properties)


def _catalog(where: str, database: str) -> str:
    """The name of the SQLite catalog in this file. Drivers take it apart as a URL."""
    if read_otherwise := re.search("[?;]|%[0-9A-Fa-f]{2}", database):
        raise SettingsError(
            f"{where}: the path {database!r} has {read_otherwise[0]!r}, which means something else in the "
            "address of a SQLite catalog. Choose a path without it."
        )
    return SQLITE + database


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
    database = Path(catalog.removeprefix(SQLITE)).expanduser()
    catalog = _catalog(f"{path}: lake.catalog", os.path.normpath(base / database))
    if "://" not in warehouse:
        warehouse = os.path.normpath(base / Path(warehouse).expanduser())
    return Lake(warehouse, catalog, table.catalog_properties)
