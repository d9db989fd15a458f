"""The explanations of verdicts about deletions, assigned tasks and reports, in a sentence or two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from fencepost.protocols.base import Explanation, Verdict
from fencepost.protocols.lag_report.tables import ASSIGNED_TASKS, DIRECTORY_DELETIONS, LAG_REPORTS
from fencepost.protocols.witnesses import explained
from fencepost.reading import Reader, rows
from fencepost.words import printable, time_of

Row = Mapping[str, Any]

_MODULE = "LagReportProps"


def explain(reader: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """Explanations by verdict id, for verdicts whose witness is a deletion, an assigned task or a report."""
    return explained(verdicts, _MODULE, partial(_explanations, reader))


def _explanations(reader: Reader, ids: Sequence[str]) -> dict[str, Explanation]:
    if not reader.has(DIRECTORY_DELETIONS.name):
        return {}
    sources: tuple[tuple[str, str, Callable[[Row], str]], ...] = (
        (DIRECTORY_DELETIONS.name, "deletion_id", _deletion),
        (ASSIGNED_TASKS.name, "assigned_task_id", _assigned),
        (LAG_REPORTS.name, "lag_report_id", _report),
    )
    return {
        row[column]: Explanation(sentence(row), row["file"], row["position"])
        for table, column, sentence in sources
        for row in rows(reader.scan(table, where={column: ids}))
        if row["file"] is not None and row["position"] is not None
    }


def _deletion(row: Row) -> str:
    since = row["since_release_ms"]
    after = "" if since is None else f", {since} ms after {_name(row['released_by'])} had released it"
    waited = (
        f" The lag report of {_name(row['reported_by'])} of {time_of(row['reported_at'])} was waiting for "
        "its assignment."
        if row["lag_reported"] and row["reported_at"] is not None
        else ""
    )
    return (
        f"{time_of(row['deleted_at'])}  the state cleaner of {_name(row['instance'])} deleted the directory "
        f"of task {printable(row['task_id'])}{after}; its delay is "
        f"{_or_unknown(row['cleanup_delay_ms'])} ms.{waited}"
    )


def _assigned(row: Row) -> str:
    return (
        f"{time_of(row['assigned_at'])}  {_name(row['thread'])} was assigned {printable(row['task_id'])} as "
        f"{row['kind']} task. Its instance had reported the offset sum {_or_unknown(row['offset_sum'])} "
        "for it, but has no directory of it."
    )


def _report(row: Row) -> str:
    return (
        f"{time_of(row['reported_at'])}  {_name(row['instance'])} reported the offset sum "
        f"{_or_unknown(row['offset_sum'])} for task {printable(row['task_id'] or '?')}; its log "
        f"shows {_or_unknown(row['logged_offset_sum'])}."
    )


def _name(name: str | None) -> str:
    return "an instance that is not known" if name is None else repr(printable(name))


def _or_unknown(value: int | None) -> str:
    return "(unknown)" if value is None else str(value)
