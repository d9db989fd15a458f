"""The command ``fencepost``: its arguments and its exit codes."""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import logging
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.metadata import version
from io import TextIOWrapper
from pathlib import Path
from typing import get_args

from fencepost import commands, extras
from fencepost.completion import SHELLS, completion
from fencepost.incidents import STATES
from fencepost.output import WRITERS
from fencepost.pseudonyms import NAMED
from fencepost.settings import RunOn, Settings, load
from fencepost.words import printable
from tlasql.arguments import Parser
from tlasql.commands.interrupts import INTERRUPTED, noted_interrupts

BAD_USAGE, FAILED = 2, 70
OUTPUT_CLOSED = 128 + 13
"""What a shell gives for a program that SIGPIPE ended."""
EXIT_CODES = (
    "Exit codes: 0 nothing critical is violated; 1 something critical is, or a protocol's command found "
    "something wrong; 2 the command, the configuration or the disk of the lake has to be corrected; 3 a "
    "cluster could not be judged, because its evidence is missing or wrong (gate.not_judged); 70 the command "
    "itself failed, which says nothing about the cluster; 130 Ctrl-C ended it."
)


_NAMED_IN_CONFIGURATION = (
    "The logs that it reads are named in the configuration: let fencepost init PATH ... write one."
)

_LONG = (commands.audit, commands.collect)
"""The commands that make garbage."""
_ALERTING = (commands.audit, commands.alerts, commands.doctor)
"""The commands that send alerts, or say what would become of them."""

# Looked up by name when an error is raised, since only the commands that need these modules import them.
_BAD_INPUT = (
    ("fencepost.discovery", "NothingFoundError"),
    ("fencepost.iceberg.catalog", "CatalogError"),
    ("fencepost.jars", "SessionError"),
    ("fencepost.environment", "MissingVariableError"),
    ("fencepost.extras", "MissingExtraError"),
    ("fencepost.lake.whereabouts", "MisplacedLakeError"),
    ("fencepost.places", "PlaceError"),
    ("fencepost.plots.reading", "PlotError"),
    ("fencepost.protocols.base", "UsageError"),
    ("fencepost.reading", "LakeError"),
    ("fencepost.report", "UnknownIncidentError"),
    ("fencepost.report", "UnknownVerdictError"),
    ("fencepost.settings", "SettingsError"),
    ("fencepost.waiting", "LockError"),
    ("tlasql.lang.errors", "TlaSqlError"),
    ("tlasql.java.tlc", "TlcError"),
)

_SAID_WHY = (("fencepost.engines.errors", "TaskError"),)
"""Errors that are not of the input, and whose message says what has happened and what to do."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    arguments = _parser().parse_args(argv)
    if isinstance(sys.stdout, TextIOWrapper):
        # a terminal of another encoding gets \u2026 for what it cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.WARNING)
    logging.getLogger("fencepost").setLevel(logging.INFO)
    # dbt logs into a file: on a full disk that fails, too, and what matters is the sentence at the end
    logging.raiseExceptions = False
    # Spark hands out local times; every time in the lake is UTC.
    os.environ["TZ"] = "UTC"
    time.tzset()
    sys.unraisablehook = _interrupt_again
    settings = None
    with noted_interrupts() as interrupts:
        try:
            if arguments.without_settings:
                return int(arguments.run(arguments))
            settings = load(arguments.config, services=arguments.run in _ALERTING)
            with _without_garbage_collection(arguments.run not in _LONG):
                code = int(arguments.run(settings, arguments))
                sys.stdout.flush()
                return code
        except (Exception, KeyboardInterrupt) as raised:
            error = KeyboardInterrupt() if interrupts else raised
        code = _say_why(error, settings)
        if arguments.run is commands.audit and code in (BAD_USAGE, FAILED):
            _alert(error, settings, arguments.config)
        return code


def _alert(error: BaseException, settings: Settings | None, config: Path | None) -> None:
    """Alert that an audit failed, or that its configuration cannot be read."""
    from fencepost import alerts

    if settings is None:
        alerts.configuration_failed(config, error)
    else:
        alerts.audit_failed(settings, "audit", error)


def _say_why(error: BaseException, settings: Settings | None) -> int:
    """Say why a command has ended, and return its exit code."""
    if isinstance(error, BrokenPipeError):
        # Whoever read the output needs no more of it, as `head` does. Python writes the rest when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return OUTPUT_CLOSED
    if isinstance(error, KeyboardInterrupt):
        words = "interrupted. What an audit has finished is kept; the next one goes on from there."
        code = INTERRUPTED
    elif isinstance(error, _classes(_BAD_INPUT)):
        words, code = str(error), BAD_USAGE
    elif isinstance(error, ModuleNotFoundError) and (extra := extras.missing(error.name, "This command")):
        words, code = extra, BAD_USAGE
    elif settings is not None and (failure := _failure_of_lake(error, settings)) is not None:
        words, code = failure, BAD_USAGE
    elif isinstance(error, _classes(_SAID_WHY)):
        words, code = str(error), FAILED
    else:
        traceback.print_exc()
        why = "".join(traceback.format_exception_only(error)).strip()
        words = f"the command itself failed, which says nothing about the cluster: {why}"
        code = FAILED
    print("fencepost: " + "\n".join(map(printable, words.split("\n"))), file=sys.stderr)
    return code


def _interrupt_again(ignored: sys.UnraisableHookArgs) -> None:
    """Interrupt once more where Python could not raise Ctrl-C, as in a destructor or a callback of C, and
    would lose it.
    """
    if issubclass(ignored.exc_type, KeyboardInterrupt):
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
    else:
        sys.__unraisablehook__(ignored)


@contextmanager
def _without_garbage_collection(short: bool) -> Iterator[None]:
    """Switch off garbage collection for a short command, which only reads: it would take a seventh of its
    time.
    """
    if short:
        gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _failure_of_lake(error: BaseException, settings: Settings) -> str | None:
    from fencepost.lake.failures import describe_failure

    return describe_failure(error, settings.lake)


def _classes(names: Sequence[tuple[str, str]]) -> tuple[type[Exception], ...]:
    """Errors by their module and name. A module that was never loaded has raised none."""
    loaded = [(sys.modules[module], name) for module, name in names if module in sys.modules]
    return tuple(getattr(module, name) for module, name in loaded)


def _seconds(text: str) -> float:
    if not text.isascii() or not text.replace(".", "", 1).isdigit() or not 1 <= float(text) <= 86_400:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds between 1 and 86400")
    return float(text)


def _megabytes(text: str) -> int:
    """In bytes."""
    if not text.isascii() or not text.isdigit() or not 1 <= int(text) <= 1_000_000:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of megabytes between 1 and 1000000")
    return int(text) * 1_000_000


def _parser() -> Parser:
    parser = Parser(
        prog="fencepost",
        description="Audits Kafka's epochs and fencing from its own logs.",
        epilog=EXIT_CODES,
    )
    parser.add_argument("--version", action="version", version=f"fencepost {version('fencepost')}")
    _add_config(parser, None)
    parsers = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[[Settings, argparse.Namespace], int], words: str) -> Parser:
        added = parsers.add_parser(name, help=words, description=words)
        # what stands before the command stays
        _add_config(added, argparse.SUPPRESS)
        added.set_defaults(run=run, without_settings=False)
        if run in (commands.doctor, commands.audit, commands.collect):
            added.takes_no_words = _NAMED_IN_CONFIGURATION
        return added

    _add_init(parsers)
    command(
        "doctor",
        commands.doctor,
        "say what is wrong with the configuration, the logs and this machine, and what to do about it; "
        "exit 1 if something is",
    )
    audit = command(
        "audit",
        commands.audit,
        "read what is new in the logs and judge it; exit 1 when something critical is violated, 3 when a "
        "cluster could not be judged",
    )
    audit.add_argument(
        "--run-on",
        choices=get_args(RunOn),
        help="one process, processes on all cores of this machine, or Spark (default: engine.run_on of the "
        "configuration, else by the size of the evidence)",
    )
    collect = command(
        "collect",
        commands.collect,
        "read what is new in the logs of this machine, a broker or a client, into a lake that several "
        "machines share; the audit, elsewhere, then needs no path of it",
    )
    collect.add_argument(
        "--every", type=_seconds, metavar="SECONDS", help="go on for ever, once in so many seconds"
    )
    collect.add_argument(
        "--at-most",
        type=_megabytes,
        metavar="MB",
        help="read at most so many MB at once, the oldest files first; others wait for the next time",
    )
    command(
        "maintain",
        commands.maintain,
        "delete files of the lake that no table needs any more and that are older than three days, and "
        "evidence that is older than audit.keep_evidence",
    )
    pseudonym = command(
        "pseudonym",
        commands.pseudonym,
        "print the pseudonym of a name, by which the lake has it, if the configuration has [pseudonyms]",
    )
    pseudonym.add_argument("kind", choices=NAMED, help="what it is the name of")
    pseudonym.add_argument("names", metavar="NAME", nargs="+", help="as logs have it")
    alerts = command(
        "alerts", commands.alerts, "list who is alerted, and of what; exit 1 if a test message was not sent"
    )
    alerts.add_argument("--test", action="store_true", help="send a test message to each")
    report = command("report", commands.report, "print what the last audit found, in one screen")
    report.add_argument(
        "--all", action="store_true", help="all of it, also what is unknown, and why; many screens"
    )
    report.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    report.add_argument(
        "--html",
        type=Path,
        metavar="DIR",
        help="write it as static pages into this folder, which is new, empty, or has such pages",
    )
    incidents = command(
        "incidents", commands.incidents, "list what is wrong, each once, the most important first"
    )
    incidents.add_argument(
        "fingerprint",
        metavar="FINGERPRINT",
        nargs="?",
        help="tell what happened in this one; how its fingerprint begins is enough",
    )
    incidents.add_argument("--cluster", metavar="NAME", help="only those of this cluster")
    incidents.add_argument("--state", choices=STATES, help="only those in this state")
    incidents.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    explain = command(
        "explain", commands.explain, "tell what happened in one verdict, and where its evidence is"
    )
    explain.add_argument(
        "verdict_id", metavar="VERDICT_ID", help="as a report or an alert has it; how it begins is enough"
    )
    explain.add_argument(
        "--confirm", action="store_true", help="have TLC check the states that the verdict is about, in Java"
    )
    plot = command(
        "plot", commands.plot, "draw the history of a group, a producer, a topic or an application"
    )
    _add_plot(plot)
    sql = command(
        "sql", commands.sql, "query the lake in Spark's SQL (schemas bronze, silver, verdicts, marts)"
    )
    sql.add_argument("query", metavar="QUERY", help="one query; tables are named schema.table")
    sql.add_argument(
        "--engine",
        choices=("duckdb", "spark"),
        help="what runs it: DuckDB, after translation (the default where it can read the lake), or Spark",
    )
    _add_format(sql)
    for protocol_command in commands.protocol_commands():
        added = command(
            protocol_command.name,
            partial(commands.run_protocol_command, protocol_command),
            protocol_command.words,
        )
        protocol_command.options(added)
        _add_format(added)
    _add_completion(parsers, parser)
    return parser


def _add_plot(plot: argparse.ArgumentParser) -> None:
    """What a picture is of, and which one."""
    entity = plot.add_mutually_exclusive_group(required=True)
    for plot_of_protocol in commands.plots():
        if plot_of_protocol.option is None:
            entity.add_argument(
                "name", metavar=plot_of_protocol.metavar, nargs="?", help=plot_of_protocol.words
            )
        else:
            entity.add_argument(
                plot_of_protocol.option, metavar=plot_of_protocol.metavar, help=plot_of_protocol.words
            )
    plot.add_argument("--cluster", metavar="NAME", help="where several clusters have this name")
    for option, name, verb in (("--from", "start", "begins"), ("--to", "end", "ends")):
        words = f"when the picture {verb}: ISO 8601, in UTC unless it has an offset"
        plot.add_argument(option, dest=name, type=_moment, metavar="TIME", help=words)
    plot.add_argument(
        "--out", type=Path, metavar="FILE", help="the picture, .svg or .png (default: <name>-epochs.svg)"
    )


def _add_config(parser: argparse.ArgumentParser, default: str | None) -> None:
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        default=default,
        help="the configuration (default: $FENCEPOST_CONFIG, else ./fencepost.toml)",
    )


def _add_init(parsers: argparse._SubParsersAction[Parser]) -> None:
    words = (
        "write a first configuration, by looking at a broker's directories and its server.properties; it has "
        "comments on what is missing"
    )
    init = parsers.add_parser("init", help=words, description=words)
    init.add_argument(
        "paths",
        nargs="*",
        type=Path,
        metavar="PATH",
        help="server.properties, and folders with Kafka's data and logs (default: where packages put them)",
    )
    init.add_argument("--name", help="how reports call the cluster (default: its cluster.id)")
    init.add_argument(
        "--out",
        type=Path,
        default=Path("fencepost.toml"),
        metavar="FILE",
        help="the file to write (default: ./fencepost.toml); one that is there is never replaced",
    )
    init.set_defaults(run=commands.init, config=None, without_settings=True)


def _add_completion(parsers: argparse._SubParsersAction[Parser], parser: argparse.ArgumentParser) -> None:
    words = "print the script with which a shell completes this command line"
    added = parsers.add_parser("completion", help=words, description=words)
    added.add_argument("shell", choices=SHELLS)

    def run(arguments: argparse.Namespace) -> int:
        print(completion(parser, arguments.shell))
        return commands.OK

    added.set_defaults(run=run, config=None, without_settings=True)


def _add_format(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--format", choices=WRITERS, default="table", help="how rows are printed (default: table)"
    )


def _moment(text: str) -> dt.datetime:
    """A moment as the lake has it: UTC, without zone."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no time like 2026-01-31T23:59:59") from error
    return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment


if __name__ == "__main__":
    sys.exit(main())
