"""Says since when the lake has evidence of a cluster of which older evidence was deleted by its age."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

from fencepost.reading import Reader, rows
from fencepost.words import minute_of, printable

_BORDERS = "bronze.borders"


def deleted_sentences(reader: Reader) -> Mapping[str, str]:
    """By cluster, a sentence about evidence that was deleted; only of clusters of which some was."""
    # a lake that an older release has written
    if not reader.has(_BORDERS):
        return {}
    return {
        row["cluster"]: f"Evidence of cluster {printable(row['cluster'])} is kept since "
        f"{minute_of(datetime.fromtimestamp(row['since_ms'] / 1000, UTC))}: older lines of request logs and "
        "batches were deleted (audit.keep_evidence)."
        for row in rows(reader.scan(_BORDERS, ("cluster", "topic", "since_ms")))
        if row["topic"] is None
    }
