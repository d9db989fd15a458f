"""Tasks as logs name them (org.apache.kafka.streams.processor.TaskId)."""

from __future__ import annotations

import re
from typing import Any

_TASK = re.compile(r"(?:(?P<topology>.+)__)?(?P<subtopology>\d{1,9})_(?P<partition>\d{1,9})", re.DOTALL)


def listed(tasks: str | None) -> set[str]:
    """The tasks of a list in brackets."""
    inside = (tasks or "").strip().removeprefix("[").removesuffix("]")
    return {task for task in (each.strip() for each in inside.split(",")) if _TASK.fullmatch(task)}


def subtopology_of(task_id: str | None) -> str | None:
    """The name of a task's subtopology; None if the text is no task."""
    return None if task_id is None or not _TASK.fullmatch(task_id) else task_id.rpartition("_")[0]


def task_columns(task_id: str) -> dict[str, Any]:
    """A task's columns; null if the text is no task."""
    match = _TASK.fullmatch(task_id)
    return {
        "task_id": task_id,
        "topology": None if match is None else match["topology"],
        "subtopology": None if match is None else int(match["subtopology"]),
        "partition": None if match is None else int(match["partition"]),
    }
