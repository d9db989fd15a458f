"""The directories of an instance's tasks, as its log shows them: which thread has their locks, and who
deleted them.

Taking a lock is logged at TRACE only: here a thread has it from the initialisation of its task on, or from
the line in which it says that it locked a directory for its report. A release is logged at DEBUG, the close
of a task at INFO.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from fencepost.protocols.lag_report.instance_logs import InstanceLog
from fencepost.protocols.lag_report.log_files import Line
from fencepost.protocols.lag_report.stores import Stores
from fencepost.protocols.lag_report.tasks import listed, subtopology_of

TASK, REPORT, NONE = "task", "report", ""
FRESH = "fresh_process_id"
"""The event of a process that found no process id on its disk: its state directory is new."""
_CLEANED = "deleted_by_cleaner"
DELETED_BY = {
    _CLEANED: "cleaner",
    "deleted_by_user": "user",
    "deleted_at_startup": "startup",
    "wiped": "wipe",
}
SHOW_DIRECTORIES = {"process_id", FRESH, *(set(DELETED_BY) - {"wiped"})}
_CLEANER = "-CleanupThread"


@dataclass(slots=True)
class Directory:
    """The state of a task's directory; None where it is not known.

    ``release_began_ms``: when its thread began to release it, from which on its modification time may be set.
    ``may_be_locked_by``: threads that may have locked it for a report. ``is_assigned``: a thread was assigned
    the task, and has not logged yet that it initialised it.
    """

    exists: bool | None = None
    locked: bool | None = None
    holder: str | None = None
    held_for: str | None = None
    deleted_by: str | None = None
    released_ms: int | None = None
    released_by: str | None = None
    release_began_ms: int | None = None
    modified_ms: int | None = None
    is_assigned: bool = False
    may_be_locked_by: frozenset[str] = field(default_factory=frozenset)

    def set_holder(self, thread: str | None, why: str) -> None:
        """Note that a thread has the lock, and for what (TASK or REPORT)."""
        self.locked, self.holder, self.held_for = True, thread, why

    def set_free(self) -> None:
        """Note that nobody has the lock."""
        self.locked, self.holder, self.held_for = False, NONE, NONE

    def set_unknown_holder(self) -> None:
        """Note that it is not known whether anybody has the lock."""
        self.locked = self.holder = self.held_for = None


@dataclass(frozen=True, slots=True)
class Change:
    """The state of a directory ``before`` and ``after`` a line. ``line`` is None for a hole."""

    task_id: str
    position: int
    line: Line | None
    before: Directory
    after: Directory


def changes(log: InstanceLog, stores: Stores) -> Iterator[Change]:
    """Every change of every directory, in the order of the log."""
    shows_directories = any(line is not None and line["event"] in SHOW_DIRECTORIES for line in log.lines)
    logs_releases = any(line is not None and line["event"] == "released" for line in log.lines)
    directories = _Directories(stores, shows_directories, logs_releases)
    for position, line in enumerate(log.lines):
        tasks_of_line = None if line is None or line["event"] in _OF_ALL_TASKS else {line["task_id"] or ""}
        states_before = {
            task: replace(each)
            for task, each in directories.all.items()
            if tasks_of_line is None or task in tasks_of_line
        }
        directories.read(line)
        for task in sorted(
            directories.all if tasks_of_line is None else directories.all.keys() & tasks_of_line
        ):
            before, after = states_before.get(task, Directory()), directories.all[task]
            is_reported = tasks_of_line is not None and line is not None and line["event"] in _ALWAYS_CHANGES
            if task not in states_before or after != before or is_reported:
                yield Change(task, position, line, before, replace(after))


def with_lost_releases(log: InstanceLog, stores: Stores) -> InstanceLog:
    """The log with a hole before each deletion by the cleaner of a directory that seems locked, unless its
    holder gives it up afterwards: as the cleaner passes over locked directories, the line about its release
    is likelier missing.
    """
    if not any(line is not None and line["event"] == _CLEANED for line in log.lines):
        return log
    lost = {
        each.position
        for each in changes(log, stores)
        if each.line is not None and each.line["event"] == _CLEANED
        if each.before.locked and not _is_given_up(log.lines[each.position + 1 :], each)
    }
    lines = [each for at, line in enumerate(log.lines) for each in ([None, line] if at in lost else [line])]
    return replace(log, lines=lines)


def _is_given_up(lines: Sequence[Line | None], deletion: Change) -> bool:
    """Whether the first of these lines that tells who has the directory is its holder's, who gives it up."""
    for line in lines:
        if line is None or line["event"] == "version":
            return False
        if line["task_id"] == deletion.task_id and line["event"] in _TAKES | _GIVES:
            return line["event"] in _GIVES and line["thread"] == deletion.before.holder
    return False


_TAKES = {"initialized", "lock", "report_lock"}
_GIVES = {"suspended", "released", "closed"}
_OF_ALL_TASKS = {"version", "joining", "thread_state", "assignment"}
_ALWAYS_CHANGES = {"initialized", *DELETED_BY}


class _Directories:
    def __init__(self, stores: Stores, shows_directories: bool, logs_releases: bool) -> None:
        self.all: dict[str, Directory] = {}
        self._stores, self._shows_directories, self._logs_releases = stores, shows_directories, logs_releases

    def read(self, line: Line | None) -> None:
        """Read a line (None for a hole) and change the directories that it is about."""
        if line is None:
            self.all = {task: Directory() for task in self.all}
            return
        event, task, thread = line["event"], line["task_id"], line["thread"]
        if event == "version":
            self._read_start()
        elif event == "joining":
            self._read_joining(thread)
        elif event == "thread_state" and line["to_state"] == "PARTITIONS_ASSIGNED":
            self._read_assigned_state(thread)
        elif event == "assignment":
            self._read_assignment(line)
        elif subtopology_of(task) is not None:
            self._read_task_event(event, self.all.setdefault(task, Directory()), line)

    def _read_start(self) -> None:
        """A process starts. Locks are in a process's memory; when the one before released them is
        not known.
        """
        for each in self.all.values():
            if each.locked is not False:
                each.released_ms = each.released_by = each.release_began_ms = None
            each.set_free()
            each.is_assigned, each.may_be_locked_by = False, frozenset()

    def _read_joining(self, thread: str | None) -> None:
        for task, each in self.all.items():
            is_free = each.locked is not True and each.exists is not False
            if thread is not None and is_free and self._stores.has_state(task) is not False:
                each.set_unknown_holder()
                each.may_be_locked_by |= {thread}

    def _read_assigned_state(self, thread: str | None) -> None:
        """A thread releases what it locked only for its report; if releases are logged, their lines say
        when.
        """
        for each in self.all.values():
            has_reported = each.held_for == REPORT and each.holder == thread
            may_have_reported = each.held_for is None and thread in each.may_be_locked_by
            each.may_be_locked_by = frozenset(each.may_be_locked_by - {thread or ""})
            if each.is_assigned or each.may_be_locked_by:
                continue
            if may_have_reported or (has_reported and not self._logs_releases):
                each.set_free()

    def _read_assignment(self, line: Line) -> None:
        new = listed(line["new_active"]) | listed(line["new_standby"])
        for task in new - listed(line["existing_active"]) - listed(line["existing_standby"]):
            each = self.all.setdefault(task, Directory())
            each.is_assigned = True
            if each.locked is not True:
                each.set_unknown_holder()

    def _read_task_event(self, event: str, each: Directory, line: Line) -> None:
        thread = line["thread"]
        if event in {"initialized", "lock"}:
            self._read_initialized(each, line)
        elif event == "report_lock":
            each.set_holder(thread, REPORT)
            if self._shows_directories:
                each.exists, each.deleted_by = True, NONE
        elif event == "suspended":
            each.release_began_ms = line["logged_at_ms"]
        elif event == "released" and not (thread or "").endswith(_CLEANER):
            self._read_released(each, line)
        elif event == "closed":
            # needed if releases are not logged: the thread released the lock just before
            self._read_closed(each, line)
        elif event == "deletion_failed":
            each.exists = each.deleted_by = None
        elif event in DELETED_BY:
            self._read_deleted(each, line)

    def _read_closed(self, each: Directory, line: Line) -> None:
        if each.held_for == TASK and each.holder == line["thread"]:
            self._read_released(each, line)

    def _read_deleted(self, each: Directory, line: Line) -> None:
        each.exists, each.deleted_by = False, DELETED_BY[line["event"]]
        if line["event"] != "wiped":
            each.set_free()
        if line["logged_at_ms"] is not None and line["elapsed_ms"] is not None:
            each.modified_ms = line["logged_at_ms"] - line["elapsed_ms"]

    def _read_initialized(self, each: Directory, line: Line) -> None:
        has_state = self._stores.has_state(line["task_id"])
        if has_state:
            each.set_holder(line["thread"], TASK)
        elif has_state is False:
            each.set_free()
        else:
            each.set_unknown_holder()
        each.is_assigned = False
        if self._shows_directories:
            each.exists, each.deleted_by = True, NONE
        each.released_ms = each.released_by = each.release_began_ms = None

    def _read_released(self, each: Directory, line: Line) -> None:
        if each.held_for == TASK and each.holder == line["thread"]:
            each.released_ms, each.released_by = line["logged_at_ms"], line["thread"]
            each.modified_ms = None
        elif each.held_for is None and (each.is_assigned or not each.may_be_locked_by):
            # it is not known whether the thread had the task, or had only reported it
            each.released_ms = each.released_by = each.release_began_ms = None
        each.set_free()
        each.may_be_locked_by = frozenset(each.may_be_locked_by - {line["thread"]})


_CLOCK_OF_FILES_MS = 20
"""How much earlier a file's modification time may be: the clock of a file system ticks every few ms."""


def since_release(before: Directory, deletion: Mapping[str, int | None], inexact_ms: int = 0) -> int | None:
    """How long before its deletion a directory was released by the thread that had the task (ms); None if not
    known. ``inexact_ms``: by how much times may be later than the log has them.

    A release takes time, and sets the modification time of the directory. If the cleaner logs that the
    directory was modified during the release, the time since that modification counts.
    """
    ms, elapsed, delay = deletion["logged_at_ms"], deletion["elapsed_ms"], deletion["delay_ms"]
    if before.released_ms is None or ms is None or ms < before.released_ms:
        return None
    since = ms - before.released_ms
    if delay is None or since - inexact_ms >= delay:
        return since
    if elapsed is None or before.release_began_ms is None or since + inexact_ms >= delay:
        return None
    late_ms = ms - elapsed - (before.release_began_ms - _CLOCK_OF_FILES_MS)
    if -inexact_ms <= late_ms < inexact_ms:
        return None
    return elapsed if late_ms >= 0 else since
