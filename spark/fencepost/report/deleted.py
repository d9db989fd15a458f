"""Says since when the lake has evidence of a cluster of which older evidence was deleted by its age, and how
much of that age came when it was deleted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

from fencepost.reading import Reader, rows
from fencepost.words import minute_of, printable

_BORDERS = "bronze.borders"
_FILES = "bronze.files"
_TOO_LATE = {"request_log": "lines of request logs", "segment": "batches"}


def deleted_sentences(reader: Reader) -> Mapping[str, str]:
    """By cluster, what was deleted and what came too late; only of clusters of which some was deleted."""
    # a lake that an older release has written
    if not reader.has(_BORDERS):
        return {}
    since = {
        row["cluster"]: minute_of(datetime.fromtimestamp(row["since_ms"] / 1000, UTC))
        for row in rows(reader.scan(_BORDERS, ("cluster", "topic", "since_ms")))
        if row["topic"] is None
    }
    late = _too_late(reader) if since else {}
    return {
        name: f"Evidence of cluster {printable(name)} is kept since {minute}: older lines of request logs "
        f"and batches were deleted (audit.keep_evidence).{_in_words(late.get(name, Counter()))}"
        for name, minute in since.items()
    }


def _too_late(reader: Reader) -> Mapping[str, Counter[str]]:
    """By cluster: kind of file -> how much of it came too late."""
    found: dict[str, Counter[str]] = {}
    columns = ("cluster", "kind", "too_late")
    for row in rows(reader.scan(_FILES, columns, {"kind": list(_TOO_LATE)})):
        found.setdefault(row["cluster"], Counter())[row["kind"]] += row["too_late"] or 0
    return found


def _in_words(late: Counter[str]) -> str:
    came = " and ".join(f"{late[kind]:,} {name}" for kind, name in _TOO_LATE.items() if late[kind])
    return f" What came only after that is left out, and in no verdict: {came} of that time." if came else ""
