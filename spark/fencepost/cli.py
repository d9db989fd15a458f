"""The command ``fencepost``: ``audit``, ``report``, ``explain``, ``plot`` and ``sql``.

Exit codes: 0 nothing critical is violated, 1 something critical is, 2 bad usage or configuration,
70 the audit itself failed and says nothing about the cluster.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import json
import logging
import os
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame, Row, SparkSession

from fencepost import pipeline, report
from fencepost.confirm import confirmation
from fencepost.places import PlaceError
from fencepost.plots import producer_reading, reading
from fencepost.session import SessionError
from fencepost.settings import Settings, SettingsError, load
from tlasql import TlaSqlError
from tlasql.tlc import TlcError

OK, VIOLATED, BAD_USAGE, FAILED = 0, 1, 2, 70


class UsageError(Exception):
    """The command cannot be carried out as asked; the message says what to change."""


BAD_INPUT = (
    SettingsError,
    SessionError,
    UsageError,
    PlaceError,
    TlaSqlError,
    TlcError,
    report.UnknownVerdictError,
    reading.PlotError,
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
        return int(arguments.run(load(arguments.config), arguments))
    except BAD_INPUT as error:
        print(f"fencepost: {error}", file=sys.stderr)
        return BAD_USAGE
    except Exception as error:
        traceback.print_exc()
        print(
            f"fencepost: the audit itself failed ({type(error).__name__}): no word about the cluster.",
            file=sys.stderr,
        )
        return FAILED


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
    plot = command("plot", _plot, "draw the epochs of one group or transactional id over time")
    whose = plot.add_mutually_exclusive_group(required=True)
    whose.add_argument("group", metavar="GROUP", nargs="?", help="a consumer group, with its commits")
    whose.add_argument("--transactional-id", metavar="ID", help="a transactional id, with its transactions")
    plot.add_argument("--cluster", metavar="NAME", help="needed when several clusters have it")
    for option, name in (("--from", "start"), ("--to", "end")):
        words = "ISO 8601; UTC unless it says otherwise"
        plot.add_argument(option, dest=name, type=_moment, metavar="TIME", help=words)
    plot.add_argument("--out", type=Path, metavar="FILE", help="a .svg or .png (default: <name>-epochs.svg)")
    sql = command("sql", _sql, "query the lake (schemas bronze, silver, verdicts, marts)")
    sql.add_argument("query", metavar="SELECT")
    sql.add_argument("--format", choices=("table", "json", "csv"), default="table")
    return parser


def _audit(settings: Settings, _: argparse.Namespace) -> int:
    with pipeline.session(settings) as spark:
        result = pipeline.audit(spark, settings)
        print(report.screenful(spark, [cluster.name for cluster in settings.clusters]))
    if result.passed:
        print("\nPassed: nothing critical is violated.")
        return OK
    names = ", ".join(sorted({str(found) for found in result.critical}))
    print(f"\nFAILED: {names}. Data Docs: {result.data_docs}")
    return VIOLATED


def _report(settings: Settings, _: argparse.Namespace) -> int:
    with _reading(settings) as spark:
        print(report.screenful(spark, [cluster.name for cluster in settings.clusters]))
    return OK


def _explain(settings: Settings, arguments: argparse.Namespace) -> int:
    with _reading(settings) as spark:
        print(report.explain(spark, arguments.verdict_id))
        if arguments.confirm:
            print(f"\n{confirmation(spark, report.verdict(spark, arguments.verdict_id))}")
    return OK


def _plot(settings: Settings, arguments: argparse.Namespace) -> int:
    name = arguments.group if arguments.transactional_id is None else arguments.transactional_id
    out = arguments.out or Path(f"{_file_name(name)}-epochs.svg")
    kind = out.suffix.removeprefix(".").lower()
    if kind not in ("svg", "png"):
        raise UsageError(f"{out}: a picture's name ends in .svg or .png")
    if not out.parent.is_dir():
        raise UsageError(f"{out.parent}: no such folder")
    if arguments.start and arguments.end and arguments.start >= arguments.end:
        raise UsageError("--from must be before --to")
    content, found = _picture(settings, arguments, kind)
    try:
        out.write_bytes(content)
    except OSError as error:
        raise UsageError(f"{out}: {error.strerror}") from error
    print(f"{out}: {found}")
    return OK


def _picture(settings: Settings, arguments: argparse.Namespace, kind: str) -> tuple[bytes, str]:
    # Matplotlib takes a second to load, and is not needed where there is nothing to draw
    limits = (arguments.cluster, arguments.start, arguments.end)
    if arguments.transactional_id is None:
        with _reading(settings) as spark:
            group = reading.read(spark, arguments.group, *limits)
        from fencepost.plots import drawing

        return drawing.picture(group, kind)
    with _reading(settings) as spark:
        producer = producer_reading.read(spark, arguments.transactional_id, *limits)
    from fencepost.plots import producer_drawing

    return producer_drawing.picture(producer, kind)


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
    with _reading(settings) as spark:
        try:
            frame = spark.sql(arguments.query)
        except (AnalysisException, ParseException) as error:
            raise UsageError(str(error).split("\n\nJVM stacktrace", maxsplit=1)[0]) from error
        WRITERS[arguments.format](frame, sys.stdout)
    return OK


@contextmanager
def _reading(settings: Settings) -> Iterator[SparkSession]:
    """A session on a lake that an audit has filled; nothing is created where there is none."""
    none = UsageError(
        f"{settings.lake.warehouse}: no audit yet. Run: fencepost audit --config {settings.path}"
    )
    folder = settings.lake.folder
    if folder is not None and not folder.exists():
        raise none
    with pipeline.session(settings) as spark:
        if not spark.catalog.tableExists(report.VERDICTS):
            raise none
        yield spark


def _write_table(frame: DataFrame, out: TextIO) -> None:
    from tabulate import tabulate

    rows = [[_cell(value) for value in row] for row in frame.collect()]
    print(tabulate(rows, headers=frame.columns, disable_numparse=True), file=out)
    print(f"({len(rows)} row{'' if len(rows) == 1 else 's'})", file=out)


def _write_json(frame: DataFrame, out: TextIO) -> None:
    rows = [row.asDict(recursive=True) for row in frame.collect()]
    json.dump(rows, out, default=_plain, ensure_ascii=False, indent=2)
    print(file=out)


def _write_csv(frame: DataFrame, out: TextIO) -> None:
    writer = csv.writer(out)
    writer.writerow(frame.columns)
    writer.writerows([_cell(value) for value in row] for row in frame.collect())


def _cell(value: Any) -> str:
    """A value as one cell of text: null is empty, nested values are JSON."""
    if value is None:
        return ""
    if isinstance(value, Row):
        value = value.asDict(recursive=True)
    if isinstance(value, (dict, list)):
        return json.dumps(value, default=_plain, ensure_ascii=False)
    return str(value) if isinstance(value, (str, int, float, Decimal)) else str(_plain(value))


def _plain(value: Any) -> str:
    """What JSON has no word for: times as ISO 8601 in UTC, bytes as hexadecimal digits."""
    if isinstance(value, dt.datetime):
        return value.isoformat(timespec="milliseconds") + ("Z" if value.tzinfo is None else "")
    if isinstance(value, (bytes, bytearray)):
        return value.hex()
    return str(value)


WRITERS: dict[str, Callable[[DataFrame, TextIO], None]] = {
    "table": _write_table,
    "json": _write_json,
    "csv": _write_csv,
}


if __name__ == "__main__":
    sys.exit(main())
