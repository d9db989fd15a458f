"""Pages of invariants: what each means, what TLC says of it, its SQL, and what the audits found."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from fencepost.definitions import Definition
from fencepost.outcomes import STATUS_WORDS
from fencepost.places import PlaceError, project_folder
from fencepost.protocol_folders import protocol_folders
from fencepost.reading import Reader, rows
from fencepost.report import VERDICTS
from fencepost.spec.manifest import Run, runs

MOST_DAYS = 30
"""Days with violations that a history shows, the newest."""

_HISTORY = f"""
SELECT cluster, invariant, cast(from_time AS date) AS day, count(*) AS violated
FROM {VERDICTS} WHERE verdict = 'violated' GROUP BY cluster, invariant, cast(from_time AS date)
"""

STATUSES = {"violated": "violated"} | {name: words.partition(":")[0] for name, words in STATUS_WORDS.items()}
"""The status of a definition in a few words."""


def histories(reader: Reader) -> dict[str, list[dict[str, Any]]]:
    """By invariant: how often it was violated on which days, the newest first."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    newest_first = sorted(rows(reader.query(_HISTORY)), key=lambda each: str(each["day"]), reverse=True)
    for each in newest_first:
        if len(found[each["invariant"]]) < MOST_DAYS:
            found[each["invariant"]].append(each)
    return found


@cache
def compiled_sql() -> dict[str, str]:
    """By invariant: its SQL, as Spark runs it."""
    found = {}
    for folder in protocol_folders().values():
        manifest = folder / "compiled" / "manifest.json"
        if manifest.is_file():
            for each in json.loads(manifest.read_text(encoding="utf-8"))["definitions"]:
                found[each["id"]] = (manifest.parent / each["sql"]).read_text(encoding="utf-8")
    return found


def tlc_runs(each: Definition) -> Sequence[Run]:
    """The runs of TLC that are about a definition: those that check it, and those that must violate it. None
    where the specifications are not installed.
    """
    return [run for run in _runs(Path(each.file).parent.name) if each.name in _about(run)]


@cache
def _runs(protocol: str) -> Sequence[Run]:
    try:
        folder = project_folder("spec") / protocol
    except PlaceError:
        return ()
    return runs(folder) if (folder / "manifest.json").is_file() else ()


def _about(run: Run) -> set[str | None]:
    """The names of the definitions that a run checks, or must violate."""
    checked = (re.sub("Prop$", "", name) for name in (*run.invariants, *run.properties))
    return {run.definition} if run.violates else set(checked)
