"""The directories of an instance's tasks, as its log shows them: who has their locks, and who deleted them.

Taking a lock is not logged below TRACE: a thread has it from when its task is initialised, or where it says
that it locked a directory for its report. A release is logged at DEBUG; that a task was closed at INFO.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from fencepost.protocols.lag_report.instance_logs import InstanceLog
from fencepost.protocols.lag_report.log_files import Line
from fencepost.protocols.lag_report.stores import Stores
from fencepost.protocols.lag_report.tasks import listed, subtopology_of

TASK, REPORT, NONE = "task", "report", ""
DELETED_BY = {
    "deleted_by_cleaner": "cleaner",
    "deleted_by_user": "user",
    "deleted_at_startup": "startup",
    "wiped": "wipe",
}
_SHOW_DIRECTORIES = {"process_id", *(set(DELETED_BY) - {"wiped"})}
_CLEANER = "-CleanupThread"


@dataclass(slots=True)
class Directory:
    """What is known of a task's directory: None is not known.

    ``letting_go_ms``: when its thread began to let go of it; its modification time may be set from then on.
    ``joined_by``: threads that may have locked it for a report they have made. ``offered``: a thread was
    assigned the task, and has not said yet that it took it up.
    """

    exists: bool | None = None
    locked: bool | None = None
    holder: str | None = None
    held_for: str | None = None
    deleted_by: str | None = None
    released_ms: int | None = None
    released_by: str | None = None
    letting_go_ms: int | None = None
    modified_ms: int | None = None
    offered: bool = False
    joined_by: frozenset[str] = field(default_factory=frozenset)

    def held(self, thread: str | None, why: str) -> None:
        """A thread has the lock."""
        self.locked, self.holder, self.held_for = True, thread, why

    def free(self) -> None:
        """Nobody has the lock."""
        self.locked, self.holder, self.held_for = False, NONE, NONE

    def unknown_holder(self) -> None:
        """Somebody may have the lock."""
        self.locked = self.holder = self.held_for = None


@dataclass(frozen=True, slots=True)
class Change:
    """What a directory was ``before`` a line, and is ``after`` it. ``line`` is None for a hole."""

    task_id: str
    position: int
    line: Line | None
    before: Directory
    after: Directory


def changes(log: InstanceLog, stores: Stores) -> Iterator[Change]:
    """Every change of every directory, in the order of the log."""
    shown = any(line is not None and line["event"] in _SHOW_DIRECTORIES for line in log.lines)
    releases = any(line is not None and line["event"] == "released" for line in log.lines)
    found = _Directories(stores, shown, releases)
    for position, line in enumerate(log.lines):
        own = None if line is None or line["event"] in _OF_ALL else {line["task_id"] or ""}
        before = {task: replace(each) for task, each in found.all.items() if own is None or task in own}
        found.read(line)
        for task in sorted(found.all if own is None else found.all.keys() & own):
            was, after = before.get(task, Directory()), found.all[task]
            told = own is not None and line is not None and line["event"] in _TELLS
            if task not in before or after != was or told:
                yield Change(task, position, line, was, replace(after))


_OF_ALL = {"version", "joining", "thread_state", "assignment"}
_TELLS = {"initialized", *DELETED_BY}


class _Directories:
    def __init__(self, stores: Stores, shown: bool, releases: bool) -> None:
        self.all: dict[str, Directory] = {}
        self._stores, self._shown, self._releases = stores, shown, releases

    def read(self, line: Line | None) -> None:
        """What a line (None for a hole) says of the directories."""
        if line is None:
            self.all = {task: Directory() for task in self.all}
            return
        event, task, thread = line["event"], line["task_id"], line["thread"]
        if event == "version":
            self._started()
        elif event == "joining":
            self._reports(thread)
        elif event == "thread_state" and line["to_state"] == "PARTITIONS_ASSIGNED":
            self._has_assignment(thread)
        elif event == "assignment":
            self._assigned(line)
        elif subtopology_of(task) is not None:
            self._told(event, self.all.setdefault(task, Directory()), line)

    def _started(self) -> None:
        """A process starts: locks are in its memory; when the one before let go of them is not known."""
        for each in self.all.values():
            if each.locked is not False:
                each.released_ms = each.released_by = each.letting_go_ms = None
            each.free()
            each.offered, each.joined_by = False, frozenset()

    def _reports(self, thread: str | None) -> None:
        for task, each in self.all.items():
            free = each.locked is not True and each.exists is not False
            if thread is not None and free and self._stores.has_state(task) is not False:
                each.unknown_holder()
                each.joined_by |= {thread}

    def _has_assignment(self, thread: str | None) -> None:
        """A thread gives up what it locked only for its report; where releases are logged, they tell when."""
        for each in self.all.values():
            reported = each.held_for == REPORT and each.holder == thread
            waited = each.held_for is None and thread in each.joined_by
            each.joined_by = frozenset(each.joined_by - {thread or ""})
            if each.offered or each.joined_by:
                continue
            if waited or (reported and not self._releases):
                each.free()

    def _assigned(self, line: Line) -> None:
        new = listed(line["new_active"]) | listed(line["new_standby"])
        for task in new - listed(line["existing_active"]) - listed(line["existing_standby"]):
            each = self.all.setdefault(task, Directory())
            each.offered = True
            if each.locked is not True:
                each.unknown_holder()

    def _told(self, event: str, each: Directory, line: Line) -> None:
        thread = line["thread"]
        if event in {"initialized", "lock"}:
            self._taken_up(each, line)
        elif event == "report_lock":
            each.held(thread, REPORT)
            if self._shown:
                each.exists, each.deleted_by = True, NONE
        elif event == "suspended":
            each.letting_go_ms = line["logged_at_ms"]
        elif event == "released" and not (thread or "").endswith(_CLEANER):
            self._released(each, line)
        elif event == "closed":
            # where releases are not logged: it had just given up the lock
            self._closed(each, line)
        elif event == "deletion_failed":
            each.exists = each.deleted_by = None
        elif event in DELETED_BY:
            self._deleted(each, line)

    def _closed(self, each: Directory, line: Line) -> None:
        if each.held_for == TASK and each.holder == line["thread"]:
            self._released(each, line)

    def _deleted(self, each: Directory, line: Line) -> None:
        each.exists, each.deleted_by = False, DELETED_BY[line["event"]]
        if line["event"] != "wiped":
            each.free()
        if line["logged_at_ms"] is not None and line["elapsed_ms"] is not None:
            each.modified_ms = line["logged_at_ms"] - line["elapsed_ms"]

    def _taken_up(self, each: Directory, line: Line) -> None:
        has_state = self._stores.has_state(line["task_id"])
        if has_state:
            each.held(line["thread"], TASK)
        elif has_state is False:
            each.free()
        else:
            each.unknown_holder()
        each.offered = False
        if self._shown:
            each.exists, each.deleted_by = True, NONE
        each.released_ms = each.released_by = each.letting_go_ms = None

    def _released(self, each: Directory, line: Line) -> None:
        if each.held_for == TASK and each.holder == line["thread"]:
            each.released_ms, each.released_by = line["logged_at_ms"], line["thread"]
            each.modified_ms = None
        elif each.held_for is None and (each.offered or not each.joined_by):
            # whether it had the task, or had only reported it, is not known
            each.released_ms = each.released_by = each.letting_go_ms = None
        each.free()
        each.joined_by = frozenset(each.joined_by - {line["thread"]})


_CLOCK_OF_FILES_MS = 20
"""A file system takes its times from a clock that ticks every few milliseconds."""


def since_release(was: Directory, deletion: Mapping[str, int | None]) -> int | None:
    """How long ago the thread that had the task let go of its directory, in milliseconds; None if not known.

    Letting go takes time, and sets the modification time. Where the cleaner says that the directory was
    modified in that time, it is its time that counts.
    """
    ms, elapsed, delay = deletion["logged_at_ms"], deletion["elapsed_ms"], deletion["delay_ms"]
    if was.released_ms is None or ms is None or ms < was.released_ms:
        return None
    since = ms - was.released_ms
    if delay is None or since >= delay:
        return since
    if elapsed is None or was.letting_go_ms is None:
        return None
    modified = ms - elapsed
    return elapsed if modified >= was.letting_go_ms - _CLOCK_OF_FILES_MS else since
