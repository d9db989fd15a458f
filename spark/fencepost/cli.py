"""The command ``fencepost``: ``audit``, ``report``, ``explain``, ``plot``, ``sql``, and the protocols' own.

Exit codes: 0 nothing critical is violated, 1 something critical is (of a protocol's command: something is
not as it should be), 2 bad usage or configuration, 70 the audit itself failed and says
nothing about the cluster.
"""

from __future__ import annotations

import argparse
import datetime as dt
import gc
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost.output import WRITERS
from fencepost.protocols.base import Command, UsageError
from fencepost.settings import SQLITE, Settings, load

if TYPE_CHECKING:
    from fencepost.protocols.base import Plot
    from fencepost.reading import Reader

OK, VIOLATED, BAD_USAGE, FAILED = 0, 1, 2, 70
VERDICTS = "marts.fct_invariant_verdicts"


# Looked up when one is raised: what raises them is imported by the commands that need it.
_BAD_INPUT = (
    ("fencepost.iceberg.catalog", "CatalogError"),
    ("fencepost.places", "PlaceError"),
    ("fencepost.plots.reading", "PlotError"),
    ("fencepost.reading", "LakeError"),
    ("fencepost.report", "UnknownVerdictError"),
    ("fencepost.session", "SessionError"),
    ("fencepost.settings", "SettingsError"),
    ("tlasql", "TlaSqlError"),
    ("tlasql.tlc", "TlcError"),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; gives back its exit code."""
    arguments = _parser().parse_args(argv)
    logging.basicConfig(format="%(asctime)s %(message)s", datefmt="%H:%M:%S", level=logging.WARNING)
    logging.getLogger("fencepost").setLevel(logging.INFO)
    # Spark hands out local times; every time in the lake is UTC.
    os.environ["TZ"] = "UTC"
    time.tzset()
    try:
        with _uncollected(arguments.run is not _audit):
            return int(arguments.run(load(arguments.config), arguments))
    except _bad_input() as error:
        print(f"fencepost: {error}", file=sys.stderr)
        return BAD_USAGE
    except Exception as error:
        traceback.print_exc()
        print(
            f"fencepost: the audit itself failed ({type(error).__name__}): no word about the cluster.",
            file=sys.stderr,
        )
        return FAILED


@contextmanager
def _uncollected(short: bool) -> Iterator[None]:
    """A command that only reads is over soon: looking for garbage costs it a seventh of its time."""
    if short:
        gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _bad_input() -> tuple[type[Exception], ...]:
    """The errors that say what to change; those of a module that was never loaded were never raised."""
    loaded = [(sys.modules[module], name) for module, name in _BAD_INPUT if module in sys.modules]
    return (UsageError, *(getattr(module, name) for module, name in loaded))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="fencepost", description="Audits Kafka's epochs and fencing from its own logs."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(
        name: str, run: Callable[[Settings, argparse.Namespace], int], words: str
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=words, description=words)
        added.add_argument(
            "--config", type=Path, help="fencepost.toml (default: $FENCEPOST_CONFIG, else ./fencepost.toml)"
        )
        added.set_defaults(run=run)
        return added

    command(
        "audit",
        _audit,
        "capture, rebuild, judge, publish the marts and gate; exit 1 when something critical is violated",
    )
    command("report", _report, "print again what the last audit found")
    explain = command("explain", _explain, "tell the story of one verdict")
    explain.add_argument("verdict_id", metavar="VERDICT_ID")
    explain.add_argument("--confirm", action="store_true", help="have TLC judge the states it is about")
    plot = command("plot", _plot, "draw the epochs of one of these (see below) over time")
    whose = plot.add_mutually_exclusive_group(required=True)
    for drawn in _plots():
        if drawn.option is None:
            whose.add_argument("name", metavar=drawn.metavar, nargs="?", help=drawn.words)
        else:
            whose.add_argument(drawn.option, metavar=drawn.metavar, help=drawn.words)
    plot.add_argument("--cluster", metavar="NAME", help="needed when several clusters have it")
    for option, name in (("--from", "start"), ("--to", "end")):
        words = "ISO 8601; UTC unless it says otherwise"
        plot.add_argument(option, dest=name, type=_moment, metavar="TIME", help=words)
    plot.add_argument("--out", type=Path, metavar="FILE", help="a .svg or .png (default: <name>-epochs.svg)")
    sql = command("sql", _sql, "query the lake in Spark's SQL (schemas bronze, silver, verdicts, marts)")
    sql.add_argument("query", metavar="SELECT")
    sql.add_argument(
        "--engine",
        choices=("duckdb", "spark"),
        help="what runs it: DuckDB, after translation (the default where it can read the lake), or Spark",
    )
    sql.add_argument("--format", choices=WRITERS, default="table")
    for own in _commands():
        added = command(own.name, partial(_own, own), own.words)
        own.options(added)
        added.add_argument("--format", choices=WRITERS, default="table")
    return parser


def _audit(settings: Settings, _: argparse.Namespace) -> int:
    from fencepost import pipeline, report
    from fencepost.reading import open_lake

    with pipeline.Run(settings) as run:
        result = pipeline.audit(run)
    with open_lake(settings) as lake:
        print(report.screenful(lake, [cluster.name for cluster in settings.clusters]))
    if result.passed:
        print("\nPassed: nothing critical is violated.")
        return OK
    names = ", ".join(sorted({str(found) for found in result.critical}))
    print(f"\nFAILED: {names}. Data Docs: {result.data_docs}")
    return VIOLATED


def _report(settings: Settings, _: argparse.Namespace) -> int:
    from fencepost import report

    with _reading(settings) as lake:
        print(report.screenful(lake, [cluster.name for cluster in settings.clusters]))
    return OK


def _explain(settings: Settings, arguments: argparse.Namespace) -> int:
    from fencepost import report

    with _reading(settings) as lake:
        print(report.explain(lake, arguments.verdict_id))
        if arguments.confirm:
            from fencepost.confirm import confirmation

            print(f"\n{confirmation(lake, report.verdict(lake, arguments.verdict_id))}")
    return OK


def _plot(settings: Settings, arguments: argparse.Namespace) -> int:
    drawn, name = next((each, name) for each in _plots() if (name := _named(arguments, each)) is not None)
    out = arguments.out or Path(f"{_file_name(name)}-epochs.svg")
    kind = out.suffix.removeprefix(".").lower()
    if kind not in ("svg", "png"):
        raise UsageError(f"{out}: a picture's name ends in .svg or .png")
    if not out.parent.is_dir():
        raise UsageError(f"{out.parent}: no such folder")
    if arguments.start and arguments.end and arguments.start >= arguments.end:
        raise UsageError("--from must be before --to")
    content, found = _picture(settings, arguments, drawn, name, kind)
    try:
        out.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}") from error
    print(f"{out}: {found}")
    return OK


def _plots() -> list[Plot]:
    """What can be drawn."""
    from fencepost.protocols import protocols

    return [plot for protocol in protocols() for plot in protocol.plots]


def _named(arguments: argparse.Namespace, drawn: Plot) -> str | None:
    """The name that was given to be drawn so; None when another kind of picture was asked for."""
    name: str | None = vars(arguments)[(drawn.option or "name").removeprefix("--").replace("-", "_")]
    return name


def _picture(
    settings: Settings, arguments: argparse.Namespace, drawn: Plot, name: str, kind: str
) -> tuple[bytes, str]:
    with _reading(settings) as lake:
        found = drawn.read(lake, name, arguments.cluster, arguments.start, arguments.end)
    # Matplotlib takes a second to load, and is not needed where there is nothing to draw
    return drawn.draw(found, kind)


def _moment(text: str) -> dt.datetime:
    """A moment as the lake has it: UTC, without zone."""
    try:
        moment = dt.datetime.fromisoformat(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no time like 2026-01-31T23:59:59") from error
    return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment


def _file_name(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:80].strip("._-") or "group"


def _sql(settings: Settings, arguments: argparse.Namespace) -> int:
    with _reading(settings, arguments.engine) as lake:
        WRITERS[arguments.format](lake.query(arguments.query), sys.stdout)
    return OK


def _commands() -> list[Command]:
    """The commands that protocols bring."""
    from fencepost.protocols import protocols

    return [command for protocol in protocols() for command in protocol.commands]


def _own(command: Command, settings: Settings, arguments: argparse.Namespace) -> int:
    with _reading(settings) as lake:
        found, good = command.run(lake, arguments)
    WRITERS[arguments.format](found, sys.stdout)
    return OK if good else VIOLATED


@contextmanager
def _reading(settings: Settings, engine: str | None = None) -> Iterator[Reader]:
    """A lake that an audit has filled; nothing is created where there is none."""
    from fencepost.reading import open_lake

    none = UsageError(
        f"{settings.lake.warehouse or settings.lake.catalog}: no audit yet. "
        f"Run: fencepost audit --config {settings.path}"
    )
    if settings.lake.folder is not None and not Path(settings.lake.catalog.removeprefix(SQLITE)).exists():
        raise none
    with open_lake(settings, engine) as lake:
        if not lake.has(VERDICTS):
            raise none
        yield lake


if __name__ == "__main__":
    sys.exit(main())
