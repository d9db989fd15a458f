"""The configuration: the lake, the clusters with the places of their evidence, and how they are audited."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from fencepost.pseudonyms import Pseudonyms
from fencepost.settings.mistakes import TABLES, Expected
from fencepost.settings.values import (
    DAY_MS,
    MAX_INT,
    SQLITE,
    Address,
    Fingerprint,
    Globs,
    HttpAddress,
    Invariant,
    Name,
    Text,
    Zone,
    as_day,
    as_release,
    at_least_one,
    each_once,
    from_environment,
    not_blank,
    not_negative,
)

SEVERITIES = ("critical", "warning", "info")
ALERTS_ON = ("new", "worse", "over", "failed", "configuration")

DEFAULT_SPARK = {
    "spark.master": "local[*,4]",
    "spark.driver.memory": "2g",
    "spark.ui.enabled": "false",
}
TOLERANCE_MS = 25
IN_PROCESS_MB = 64
CHAPTER_MS = DAY_MS
UNITED = 8
"""So many chapters with few lines are one at most."""

RunOn = Literal["process", "processes", "spark", "auto"]
"""Where the work of a run is done: in one process, in processes of this machine, on Spark, or by the size."""


def sqlite_file(address: str) -> Path | None:
    """The file of a SQLite database by its address; None for any other address."""
    return Path(address.removeprefix(SQLITE)) if address.startswith(SQLITE) else None


@dataclass(frozen=True)
class Lake:
    """The place of the tables. ``warehouse`` is an absolute path, a URL, or a name that the catalog defines.

    ``catalog`` is the URL of a SQLite database, or the kind of another catalog. ``catalog_properties`` are
    Iceberg's properties of the catalog and of the store of its files.
    """

    warehouse: str
    catalog: str
    catalog_properties: dict[str, str] = field(default_factory=dict)

    @property
    def database(self) -> Path | None:
        """The file of a SQLite catalog; None for any other catalog."""
        return sqlite_file(self.catalog)

    @property
    def is_missing(self) -> bool:
        """Whether its catalog is a file that no audit has made yet; what opens it would make an empty one."""
        return self.database is not None and not self.database.exists()

    @property
    def folder(self) -> Path | None:
        """The folder of a SQLite catalog, for local files beside it; None for any other catalog."""
        return None if self.database is None else self.database.parent

    @property
    def is_local(self) -> bool:
        """Whether the tables' files are on this machine's disk."""
        return self.warehouse.startswith(("/", "file:"))


# In the file the names are the aliases; Python may use the fields' own names.
_CHECKED = ConfigDict(extra="forbid", validate_by_name=True, validate_by_alias=True)


@checked_dataclass(frozen=True, config=_CHECKED)
class Broker:
    """One broker's evidence: absolute globs, and the zone its logs' local times are in (IANA, or +02:00).

    ``release`` (major, minor) overrides the broker's version in the metadata log.
    """

    id: Annotated[
        int, Field(strict=True), Expected("the broker's node.id, a number"), AfterValidator(not_negative)
    ]
    log_dirs: Globs = ()
    request_logs: Globs = ()
    server_logs: Globs = ()
    timezone: Zone = "UTC"
    release: Annotated[
        tuple[int, int] | None,
        Expected("a release such as 4.2.1"),
        BeforeValidator(as_release),
        Field(alias="kafka_version"),
    ] = None

    @property
    def paths(self) -> tuple[str, ...]:
        """All globs; none of a broker whose logs are read elsewhere."""
        return (*self.log_dirs, *self.request_logs, *self.server_logs)


@checked_dataclass(frozen=True, config=_CHECKED)
class Client:
    """One client application's log files, as absolute globs, and the zone their local times are in.

    ``host``: the machine whose files they are, a part of their names in the lake; None: that of the audit.
    """

    name: Annotated[Name, AfterValidator(from_environment)]
    logs: Globs = ()
    timezone: Zone = "UTC"
    host: Annotated[Name | None, Expected("the name of a machine"), AfterValidator(from_environment)] = None


_ADD_BROKER = "a [[clusters.brokers]] with id and log_dirs"


@checked_dataclass(frozen=True, config=_CHECKED)
class Cluster:
    """One Kafka cluster: ``name`` is the value of every table's column ``cluster``.

    ``checksums``: whether the checksums of applications' batches are checked, for which all their bytes are
    read.
    """

    name: Name
    brokers: Annotated[
        tuple[Broker, ...],
        Expected("an array of tables", _ADD_BROKER),
        each_once("id"),
        at_least_one(f"is missing. Add {_ADD_BROKER}."),
    ]
    clients: Annotated[tuple[Client, ...], TABLES, each_once("name")] = ()
    checksums: Annotated[bool, Field(strict=True), Expected("true or false")] = False


@checked_dataclass(frozen=True, config=_CHECKED)
class Waiver:
    """What is known, and shall not close the gate until a day. What is not given matches everything.

    ``incident``: a fingerprint, or how it begins; ``expires``: the last day, UTC.
    """

    reason: Annotated[Text, Expected("a text", "a text that says why it may wait"), AfterValidator(not_blank)]
    expires: Annotated[
        dt.date,
        BeforeValidator(as_day),
        Expected("a date such as 2026-01-31", "a date such as expires = 2026-01-31"),
    ]
    invariant: Annotated[Invariant | None, Expected("the id of an invariant")] = None
    cluster: Annotated[Name | None, Expected("the name of a cluster")] = None
    incident: Annotated[Fingerprint | None, Expected("a fingerprint")] = None
    group_id: Annotated[Text | None, Expected("a text")] = None
    topic: Annotated[Text | None, Expected("a text")] = None
    partition: Annotated[
        Annotated[int, Field(strict=True, ge=0, le=MAX_INT)] | None, Expected("the number of a partition")
    ] = None
    transactional_id: Annotated[Text | None, Expected("a text")] = None
    client_id: Annotated[Text | None, Expected("a text")] = None

    @property
    def matched(self) -> dict[str, str | int]:
        """The columns that it matches, with their values."""
        values = {each.name: getattr(self, each.name) for each in fields(self)}
        return {
            name: value
            for name, value in values.items()
            if value is not None and name not in ("reason", "expires")
        }

    def expired(self, today: dt.date) -> bool:
        """Whether its last day is over."""
        return self.expires < today


@checked_dataclass(frozen=True, config=_CHECKED)
class Recipient:
    """Who is alerted, of what, and how: by exactly one of a service (``url``, in Apprise's form), an
    Alertmanager, a web hook and a command.

    ``on``: of ALERTS_ON; ``severity``: the least one of incidents; ``clusters``: none are all. An address may
    have ``${NAME}``, which stands for a variable of the environment: it is read when something is sent, so
    that no secret is in the settings.
    """

    name: Name
    url: Annotated[Address | None, Expected("an address")] = None
    alertmanager: Annotated[HttpAddress | None, Expected("an address")] = None
    webhook: Annotated[HttpAddress | None, Expected("an address")] = None
    command: Annotated[tuple[Text, ...], Expected("a list: the program and its arguments")] = ()
    on: Annotated[
        tuple[Literal["new", "worse", "over", "failed", "configuration"], ...],
        Expected(f"a list of {', '.join(ALERTS_ON)}"),
        Field(min_length=1),
    ] = ("new", "worse", "over", "failed", "configuration")
    severity: Annotated[
        Literal["critical", "warning", "info"], Expected(f"one of {', '.join(SEVERITIES)}")
    ] = "critical"
    clusters: Annotated[tuple[Text, ...], Expected("a list of names of clusters")] = ()

    @property
    def ways(self) -> list[str]:
        """The keys that say how it is alerted: exactly one, once the file was checked."""
        return [name for name in ("url", "alertmanager", "webhook", "command") if getattr(self, name)]


@dataclass(frozen=True)
class Report:
    """The page that each run writes. ``folder``: an absolute path, None for one beside the lake;
    ``data_docs``: whether Great Expectations writes its own pages, too.
    """

    page: bool = True
    folder: Path | None = None
    data_docs: bool = False


@dataclass(frozen=True)
class Settings:
    """The whole configuration. ``severities`` maps an invariant to the severity this deployment gives it."""

    path: Path
    lake: Lake
    clusters: tuple[Cluster, ...]
    clock_tolerance_ms: int = TOLERANCE_MS
    severities: dict[str, str] = field(default_factory=dict)
    not_judged_passes: bool = False
    """Whether a run may pass although a cluster could not be judged."""
    waivers: tuple[Waiver, ...] = ()
    report: Report = Report()
    report_url: str | None = None
    """Where people open the folder of the page; it ends with a slash."""
    alerts: tuple[Recipient, ...] = ()
    metrics_file: Path | None = None
    """The file that a collector of metrics reads after each run."""
    spark: dict[str, str] = field(default_factory=lambda: dict(DEFAULT_SPARK))
    in_process_mb: int = IN_PROCESS_MB
    """Up to this amount of evidence, in MB, one process does the work if ``run_on`` is ``auto``."""
    run_on: RunOn | None = None
    """None: what the caller has by default, which is ``auto`` for commands and ``spark`` for the DAG."""
    chapter_ms: int | None = CHAPTER_MS
    """The length of the chapters in which a cluster's history is rebuilt; None: one chapter for all of it."""
    longest_chapter_ms: int | None = None
    """The length up to which chapters with few lines are one; None: they are not united."""
    window_ms: int | None = None
    """The length of history, back from a cluster's newest evidence, that is audited; None: all of it."""
    keep_evidence_ms: int | None = None
    """The length of history, back from a cluster's newest evidence, whose evidence maintenance leaves in
    bronze; None: it deletes none.
    """
    pseudonyms: Pseudonyms | None = None
    """What stands in the lake in place of names of clients, hosts and principals; None: the names."""

    @property
    def spark_is_remote(self) -> bool:
        """Whether executors run on other machines."""
        return not self.spark.get("spark.master", "local").startswith("local")

    @property
    def folder(self) -> Path:
        """The folder to which relative paths are relative."""
        return self.path.parent
