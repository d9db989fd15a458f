"""``tlasql explain``: judges data on this machine by SQL and tells each violation."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tlasql.commands.contradictions import check_rows
from tlasql.commands.data import Data
from tlasql.commands.progress import progress
from tlasql.commands.story import explanation
from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.java.tlc import TlcError, UnreadableError
from tlasql.lang.errors import Diagnostic, Location, TlaSqlError, fail
from tlasql.lang.words import meant
from tlasql.replay.confirm import confirm, exported
from tlasql.replay.trace import TooLargeError
from tlasql.replay.window import window
from tlasql.sql.duckdb import DUCKDB

Row = Mapping[str, Any]
NOTHING, FOUND, UNJUDGED = 0, 1, 2


def explain_violations(compiled: CompiledModule, options: argparse.Namespace) -> int:
    """Judge the data, tell the first violations of each definition; 1 when there is any, or else 2 when
    something is unknown, nothing is exercised, or the data of a definition cannot be judged.
    """
    data = Data(options.data, compiled.schemas)
    check_rows(data, compiled.mapping)
    found, unjudged, exercised = NOTHING, False, False
    lacking: dict[tuple[str, str], Diagnostic] = {}
    chosen = _chosen(compiled, options.only)
    for place, each in enumerate(chosen, start=1):
        progress(f"judging {each.mark.id}, {place} of {len(chosen)}")
        try:
            rows = data.rows(each.sql, each.definition.location)
        except TlaSqlError as error:
            progress("")
            for one in error.diagnostics:
                first = lacking.setdefault((one.message, one.remedy), one)
                lacking[one.message, one.remedy] = replace(first, marks=(*first.marks, each.mark.id))
            unjudged = True
            continue
        progress("")
        violated = sorted((row for row in rows if row["verdict"] is False), key=_order)
        print(f"{each.mark.id}: {_counted(rows)}")
        found = FOUND if violated else found
        unjudged = unjudged or any(row["verdict"] is None for row in rows)
        exercised = exercised or any(row["exercised"] for row in rows)
        for number, row in enumerate(violated[: options.limit], start=1):
            around = window(compiled, each, row, data.rows, DUCKDB)
            print(f"\n{explanation(compiled, each, row, around)}")
            if options.confirm:
                print(_confirmed(compiled, each, around.states))
            if options.export is not None:
                print(_exported(compiled, each, around.states, options.export / f"{each.mark.id}_{number}"))
            print()
    if lacking:
        print(TlaSqlError(lacking.values()), file=sys.stderr)
    if not (unjudged or exercised):
        print("nothing was judged: no row is what these definitions speak of", file=sys.stderr)
    return UNJUDGED if found == NOTHING and (unjudged or not exercised) else found


def _chosen(compiled: CompiledModule, only: Sequence[str]) -> list[Compiled]:
    judged = [each for each in compiled.definitions if each.mark.kind != "decision"]
    if not judged:
        remedy = "mark one, or remove what [skip] in the mapping says of it"
        raise fail(Location(str(compiled.file), 1, 1), "there is no invariant or step to judge", remedy)
    known = [each.mark.id for each in judged]
    for other in (each for each in only if each not in known):
        remedy = meant(other, known, f"known are {', '.join(known)}")
        raise fail(Location(str(compiled.file), 1, 1), f"no invariant or step {other}", remedy)
    return [each for each in judged if not only or each.mark.id in only]


def _counted(rows: Sequence[Row]) -> str:
    """Never "holds" where nothing was exercised or something is unknown."""
    violated = sum(row["verdict"] is False for row in rows)
    unknown = sum(row["verdict"] is None for row in rows)
    exercised = sum(bool(row["exercised"]) for row in rows)
    status = "violated" if violated else "unknown" if unknown else "holds" if exercised else "not exercised"
    why = ", ".join(sorted({str(row["reason"]) for row in rows if row["verdict"] is None}))
    counted = f"{len(rows)} checked, {exercised} exercised, {violated} violated, {unknown} unknown"
    return f"{status} ({counted}{f': {why}' if why else ''})"


def _order(row: Row) -> tuple[str, int, str]:
    return str(row["scope"]), row["from_position"] or 0, str(row["witness"])


def _confirmed(compiled: CompiledModule, each: Compiled, states: Sequence[Row]) -> str:
    try:
        outcome = confirm(compiled, each, states)
    except TooLargeError as error:
        return f"TLC cannot judge it: {error}, and the definition computes with them."
    except UnreadableError as error:
        return f"TLC cannot judge it, since it cannot read the module made for it:\n{error}"
    except TlcError as error:
        return f"TLC DISAGREES, it cannot evaluate it:\n{error}"
    return "TLC confirms it." if outcome.confirmed else f"TLC DISAGREES:\n{outcome.module}\n{outcome.output}"


def _exported(compiled: CompiledModule, each: Compiled, states: Sequence[Row], folder: Path) -> str:
    try:
        files = exported(compiled, each, states)
    except TooLargeError as error:
        return f"It cannot be written for TLC: {error}, and the definition computes with them."
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_text(content, encoding="utf-8")
    return f"{len(states)} states in {folder}; there: java -cp tla2tools.jar tlc2.TLC Replay"
