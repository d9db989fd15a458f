"""The commands of ``fencepost``. Each imports what it needs when it runs."""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost import shell
from fencepost.extras import MissingExtraError, require_for_audit
from fencepost.output import WRITERS, write_json
from fencepost.protocols.base import Command, UsageError
from fencepost.settings import Recipient, Settings
from fencepost.words import counted, printable

if TYPE_CHECKING:
    import datetime as dt

    from fencepost.expiry import Expired
    from fencepost.protocols.base import Plot
    from fencepost.reading import Reader
    from fencepost.report import Judged

OK, VIOLATED, NOT_JUDGED = 0, 1, 3
VERDICTS = "marts.fct_invariant_verdicts"
_MOST_VERDICTS = 20
"""The story of an incident shows so many verdicts."""


def init(arguments: argparse.Namespace) -> int:
    """Write a first configuration for the brokers that are found."""
    from fencepost.discovery import configuration, find_brokers, local_zone

    out: Path = arguments.out
    if out.exists():
        raise UsageError(f"{out} is there already. Name another file: fencepost init --out FILE")
    brokers = find_brokers(arguments.paths)
    text = configuration(brokers, local_zone(), cluster=arguments.name, name=str(out))
    try:
        with out.open("x", encoding="utf-8") as file:
            file.write(text)
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}") from error
    for each in brokers:
        folders = counted(len(each.log_dirs), "log directory", "log directories")
        logs = f"{folders}, {counted(len(each.request_logs), 'request log')}"
        print(f"broker {'?' if each.id is None else each.id}: {logs}")
    then = shell.line("fencepost", "doctor", "--config", str(out))
    print(f"Wrote {printable(str(out))}. Read it, and then run: {then}")
    return OK


def doctor(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print what is wrong with the configuration, the logs and this machine."""
    from datetime import UTC, datetime

    from fencepost import doctor

    now = datetime.now(UTC)
    catalog, collected = doctor.catalog_check(settings)
    checks = [
        *doctor.machine_checks(settings),
        *catalog,
        *doctor.log_checks(settings, collected, now),
    ]
    if not any(each.mark is doctor.Mark.WRONG for each in catalog):
        # the machine's checks say what is missing to read an audit
        with suppress(UsageError, MissingExtraError), _reading(settings) as lake:
            checks += doctor.last_audit_checks(lake, settings)
    print(doctor.in_words(checks))
    return VIOLATED if any(each.mark is doctor.Mark.WRONG for each in checks) else OK


def audit(settings: Settings, arguments: argparse.Namespace) -> int:
    """Audit, and print the findings."""
    from fencepost import pipeline, report
    from fencepost.opening import open_lake
    from fencepost.outcomes import headline

    settings = dataclasses.replace(settings, run_on=arguments.run_on or settings.run_on)
    # on a terminal the findings follow, on one screen: the alert's text would be many before it
    is_terminal = sys.stdout.isatty() and sys.stderr.isatty()
    with pipeline.Run(settings) as run:
        result = pipeline.audit(run, alert_to_log=not is_terminal)
    with open_lake(settings) as lake:
        print(report.screen(lake, settings))
    # the end of a long text is what a terminal shows
    print(f"\n{headline(result.clusters)}. {result.pages}".rstrip())
    if result.passed:
        return OK
    return VIOLATED if result.critical else NOT_JUDGED


def collect(settings: Settings, arguments: argparse.Namespace) -> int:
    """Read this machine's logs into the lake, once or for ever."""
    import time

    from fencepost import pipeline
    from fencepost.lake.failures import describe_failure
    from fencepost.waiting import LockError

    while True:
        began = time.monotonic()
        try:
            found = pipeline.collect(settings, arguments.at_most)
        except Exception as error:
            said = str(error) if isinstance(error, LockError) else None
            said = said or describe_failure(error, settings.lake)
            if arguments.every is None or said is None:
                raise
            print(f"{said} Trying again in {arguments.every:g} s.", file=sys.stderr, flush=True)
        else:
            words = ", ".join(f"{name} {value:,}" for name, value in found.items())
            print(f"collected: {words} ({time.monotonic() - began:.1f} s)", flush=True)
        if arguments.every is None:
            return OK
        time.sleep(max(0.0, began + arguments.every - time.monotonic()))


def pseudonym(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print the pseudonyms of names, a line for each."""
    from fencepost.pseudonyms import of_name

    if settings.pseudonyms is None:
        raise UsageError(f"{settings.path}: there is no [pseudonyms], so the lake has the names themselves.")
    print("\n".join(map(printable, of_name(settings.pseudonyms, arguments.kind, arguments.names))))
    return OK


def maintain(settings: Settings, arguments: argparse.Namespace) -> int:
    """Delete files that no table needs any more, notes that later ones have replaced, and evidence by its
    age, and say how much.
    """
    from fencepost import pipeline

    _require_catalog(settings)
    removed = pipeline.maintain(settings)
    print(f"removed {counted(removed.files, 'file')} that no table needs ({removed.bytes / 1e6:,.1f} MB)")
    if removed.notes.rows:
        replaced = counted(removed.notes.rows, "note")
        print(f"deleted {replaced} about files of which there are later ones (bronze.files)")
    for line in expired_lines(removed.evidence, settings.keep_evidence_ms):
        print(line)
    return OK


def expired_lines(expired: Expired, keep_ms: int | None) -> Iterator[str]:
    """What became of old evidence, in words. ``keep_ms``: Settings.keep_evidence_ms."""
    from datetime import UTC, datetime

    from fencepost.words import minute_of

    deleted = {name: each for name, each in expired.tables.items() if each.rows}
    if expired.waits:
        yield (
            "No evidence was deleted: the last audit is not done, or had other code or settings. "
            "Run an audit first."
        )
    elif keep_ms is not None and not deleted:
        yield (
            "No evidence was old enough to be deleted: that of the window, of the newest eight chapters "
            "and of the newest eight days stays."
        )
    for name, each in deleted.items():
        yield f"{name}: deleted {counted(each.rows, 'row')} ({each.bytes / 1e6:,.1f} MB)"
    for cluster, ms in sorted(expired.since_ms.items()):
        since = minute_of(datetime.fromtimestamp(ms / 1000, UTC))
        yield f"evidence of cluster {printable(cluster)} is kept since {since}"


def alerts(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print who is alerted; with ``--test``, what came of a test message."""
    from fencepost.alerts import everybody, try_out

    recipients = everybody(settings)
    if not recipients:
        path = printable(str(settings.path))
        print(f"Nobody is alerted: {path} has no [[alerts]]. Alerts are files and lines of the log.")
    code = OK
    for each, failure in try_out(settings) if arguments.test else ((each, None) for each in recipients):
        said = ("not sent: " + failure if failure else "sent") if arguments.test else _of_recipient(each)
        print(f"{printable(each.name)} ({each.ways[0]}): {said}")
        code = VIOLATED if failure else code
    return code


def _of_recipient(recipient: Recipient) -> str:
    where = f" in {', '.join(map(printable, recipient.clusters))}" if recipient.clusters else ""
    return f"on {', '.join(recipient.on)}; incidents from severity {recipient.severity}{where}"


def report(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print the findings of the last audit."""
    from fencepost import report
    from fencepost.page.addresses import first_page

    with _reading_marts(settings) as lake:
        if arguments.html:
            from fencepost.page.site import write

            print(write(lake, settings, arguments.html))
        elif arguments.format == "json":
            write_json(report.facts(lake, settings), sys.stdout)
        elif arguments.all:
            print(report.whole_report(lake, settings))
            print(report.unknown_by_reason(lake, [cluster.name for cluster in settings.clusters]))
        else:
            print(report.screen(lake, settings))
            _print_page(first_page(settings))
    return OK


def incidents(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print the incidents, or the story of one."""
    from fencepost import report
    from fencepost.incidents import incidents
    from fencepost.page.addresses import incident_page

    names = [cluster.name for cluster in settings.clusters]
    if arguments.cluster and arguments.cluster not in names:
        raise UsageError(f"--cluster {arguments.cluster}: the configuration has {', '.join(names)}")
    with _reading_marts(settings) as lake:
        if arguments.fingerprint:
            found = [report.one_incident(lake, settings, arguments.fingerprint)]
        else:
            found = [
                each
                for each in incidents(lake, names)
                if arguments.cluster in (None, each["cluster"]) and arguments.state in (None, each["state"])
            ]
        if arguments.format == "json":
            write_json([dict(each) for each in found], sys.stdout)
        elif arguments.fingerprint:
            print("\n".join(report.Stories(lake, settings, found, _MOST_VERDICTS).lines(found[0])))
            _print_page(incident_page(settings, found[0]["fingerprint"]))
        else:
            print(
                "\n".join(line for each in found for line in report.incident_lines(each))
                or "\n".join([_none_of(arguments), *_not_judged(report.judged(lake, settings), arguments)])
            )
    return OK


def _none_of(arguments: argparse.Namespace) -> str:
    """That there are none, of those that were asked for."""
    state = f" that is {arguments.state}" if arguments.state else ""
    cluster = f" of cluster {printable(arguments.cluster)}" if arguments.cluster else ""
    return f"No incident{cluster}{state}." if state or cluster else "No incidents."


def _not_judged(found: Judged, arguments: argparse.Namespace) -> Iterator[str]:
    """Why a cluster without incidents may have some."""
    for each in found.clusters:
        if arguments.cluster in (None, each.cluster) and arguments.state in (None, "new", "ongoing"):
            yield from (f"Not judged: cluster {printable(each.cluster)}: {why}" for why in each.not_judged)


def explain(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print the story of one verdict."""
    from fencepost import report
    from fencepost.page.addresses import incident_page

    with _reading(settings) as lake:
        verdict = report.verdict(lake, settings, arguments.verdict_id)
        print(report.explain(lake, verdict))
        for fingerprint in report.incidents_of(lake, verdict["verdict_id"]):
            _print_page(incident_page(settings, fingerprint))
        if arguments.confirm:
            from fencepost.confirm import confirmation

            print(f"\n{confirmation(lake, verdict)}")
    return OK


def _print_page(page: str | None) -> None:
    """Print where a page is, if there is one."""
    if page:
        print(f"  Page: {printable(page)}")


def plot(settings: Settings, arguments: argparse.Namespace) -> int:
    """Write a picture."""
    kind_of_plot, name = next(
        (each, name) for each in plots() if (name := _named(arguments, each)) is not None
    )
    out = arguments.out or Path(f"{_file_name(name)}-epochs.svg")
    kind = out.suffix.removeprefix(".").lower()
    if kind not in ("svg", "png"):
        raise UsageError(f"{out}: a picture's name ends in .svg or .png")
    if not out.parent.is_dir():
        raise UsageError(f"{out.parent}: no such folder")
    if arguments.start and arguments.end and arguments.start >= arguments.end:
        raise UsageError("--from must be before --to")
    content, findings = _picture(settings, arguments, kind_of_plot, name, kind)
    try:
        out.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}") from error
    print(f"{printable(str(out))}: {findings}")
    return OK


def plots() -> list[Plot]:
    """All kinds of pictures that can be drawn."""
    from fencepost.protocols import protocols

    return [plot for protocol in protocols() for plot in protocol.plots]


def _named(arguments: argparse.Namespace, kind_of_plot: Plot) -> str | None:
    """The name that the command line has for this kind of picture; None without one."""
    name: str | None = vars(arguments)[(kind_of_plot.option or "name").removeprefix("--").replace("-", "_")]
    return name


def _picture(
    settings: Settings, arguments: argparse.Namespace, kind_of_plot: Plot, name: str, kind: str
) -> tuple[bytes, str]:
    with _reading(settings) as lake:
        timeline = kind_of_plot.read(lake, name, arguments.cluster, arguments.start, arguments.end)
        if arguments.start is not None:
            _require_evidence(lake, timeline.cluster, arguments.start)
    # Matplotlib takes a second to load, so it is imported only if there is something to draw
    return kind_of_plot.draw(timeline, kind)


def _require_evidence(lake: Reader, cluster: str, start: dt.datetime) -> None:
    """Raise UsageError where a picture would begin after the evidence: nothing happens in it, as if all were
    well.
    """
    from fencepost.report import evidence_until
    from fencepost.words import as_utc, minute_of

    until = evidence_until(lake).get(cluster)
    if until is not None and as_utc(start) > as_utc(until):
        raise UsageError(f"--from: the evidence of cluster {printable(cluster)} ends on {minute_of(until)}")


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:80].strip("._-") or "group"


def sql(settings: Settings, arguments: argparse.Namespace) -> int:
    """Print the rows of a query."""
    with _reading(settings, arguments.engine) as lake:
        WRITERS[arguments.format](lake.query(arguments.query), sys.stdout)
    return OK


def protocol_commands() -> list[Command]:
    """The commands of protocols."""
    from fencepost.protocols import protocols

    return [command for protocol in protocols() for command in protocol.commands]


def run_protocol_command(command: Command, settings: Settings, arguments: argparse.Namespace) -> int:
    """Run a protocol's own command, and print its rows."""
    with _reading_marts(settings) as lake:
        table, is_good, says = command.run(lake, arguments)
    WRITERS[arguments.format](table, sys.stdout)
    if says:
        print(says, file=sys.stdout if arguments.format == "table" else sys.stderr)
    return OK if is_good else VIOLATED


@contextmanager
def _reading(settings: Settings, engine: str | None = None) -> Iterator[Reader]:
    """Open a lake that an audit has filled. Raises UsageError, and creates nothing, if there is none."""
    from fencepost.opening import open_lake
    from fencepost.waiting import told_if_slow

    _require_catalog(settings)
    require_for_audit()
    with open_lake(settings, engine) as lake:
        with told_if_slow(settings.lake):
            is_audited = lake.has(VERDICTS)
        if not is_audited:
            raise _no_audit(settings)
        yield lake


def _require_catalog(settings: Settings) -> None:
    """Raise UsageError where no audit has made the lake."""
    if settings.lake.is_missing:
        raise _no_audit(settings)


def _no_audit(settings: Settings) -> UsageError:
    where = settings.lake.warehouse or settings.lake.catalog
    return UsageError(f"{where}: no audit has ended yet. Run: {_to_audit(settings)}")


def _to_audit(settings: Settings) -> str:
    from fencepost.report.commands import command

    return command(settings, "audit", anywhere=True)


@contextmanager
def _reading_marts(settings: Settings) -> Iterator[Reader]:
    """As ``_reading``, for queries of this code. Raises LakeError where another release made the marts."""
    from fencepost.reading import LakeError, QueryError

    with _reading(settings) as lake:
        try:
            yield lake
        except QueryError as error:
            raise LakeError(
                "Another release audited this lake, and its marts lack what this command asks for. "
                f"Run: {_to_audit(settings)}"
            ) from error
