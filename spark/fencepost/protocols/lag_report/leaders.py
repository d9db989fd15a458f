"""The decisions of an application's leaders, as their own logs show them: the lag and the use of each task.

HighAvailabilityTaskAssignor logs at INFO what it knows of each process and which tasks it assigns to it. A
custom assignor does not.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fencepost.protocols.lag_report.instance_logs import InstanceLog, number_of
from fencepost.protocols.lag_report.log_files import Line
from fencepost.protocols.lag_report.tasks import listed

MOST = 2**63 - 1
DECIDED = {"decided": False, "decided_to_probe": True}
"""By event, whether a probing rebalance follows because tasks are to move once they are warmed up."""

REPLICA, WARMUP, HANDOVER = "replica", "warmup", "handover"
"""The use of a standby task: a replica; a warm-up, to be active here when it has caught up; a handover, to be
active here as soon as its owner has given it up."""

# no repetition runs over the beginning of another one: a line may be long, and anybody may have written it
_TASKS = r"\(\[(?P<{}>[^\[\]]*)\]\)"
_PROCESS = re.compile(
    rf"(?<![\w-])(?P<process>[\w-]{{1,64}})=\[activeTasks: {_TASKS.format('active')} "
    rf"standbyTasks: {_TASKS.format('standby')} "
    r"(?:(?! changelogOffsetTotalsByTask: |=\[activeTasks: ).)*"
    rf" changelogOffsetTotalsByTask: {_TASKS.format('sums')} taskLagTotals: {_TASKS.format('lags')}",
    re.DOTALL,
)


class ClientState(NamedTuple):
    """What a leader knew of a process (ClientState): its reported offset sums and their lags by task, and the
    tasks that were assigned to it.
    """

    active: set[str]
    standby: set[str]
    sums: Mapping[str, int]
    lags: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Decision:
    """An assignment, and what it was decided from.

    ``probes``: whether some tasks are warmed up and a probing rebalance follows. ``standby_replicas``:
    num.standby.replicas of the leader, None if its log does not show its configuration. ``assignments``:
    those of all members, as logged. ``past_end``: by task, the ends of its changelogs where a reported sum
    was past them.
    """

    probes: bool
    standby_replicas: int | None
    assignments: str
    processes: Mapping[str, ClientState]
    past_end: Mapping[str, set[int | None]]

    def lag(self, process_id: str | None, task_id: str | None, offset_sum: int | None) -> int | None:
        """The lag that the leader computed from the offset sum that a process had reported; None if it
        used another report.
        """
        process = self.processes.get(process_id or "")
        if process is None or task_id is None or process.sums.get(task_id, 0) != offset_sum:
            return None
        return process.lags.get(task_id)

    def standby_as(self, process_id: str | None, task_id: str) -> str | None:
        """The use of a standby task of a process; None if no log shows it: a replica may be a warm-up as
        well.

        A task that its owner still has to give up is a standby task of its next owner.
        """
        process = self.processes.get(process_id or "")
        if process is None or task_id not in process.standby:
            return None if process is None or task_id not in process.active else HANDOVER
        if not self.probes:
            return REPLICA
        return WARMUP if self.standby_replicas == 0 else None

    def end_offset_sum(self, task_id: str | None) -> int | None:
        """The end of a task's changelogs, from the reported sums and the lags computed from them.

        ClientState.computeTaskLags takes a sum past the end for the lag, and warns: so a lag may have two
        meanings.
        """
        ends: set[int] | None = None
        for each in self.processes.values():
            offset_sum, lag = each.sums.get(task_id or "", 0), each.lags.get(task_id or "")
            if lag is None or offset_sum < 0:
                continue
            possible = {lag + offset_sum} | ({lag} if offset_sum > lag else set())
            ends = possible if ends is None else ends & possible
        if not ends:
            return None
        warned = ends & self.past_end.get(task_id or "", set())
        end = max(warned or ends)
        return end if end <= MOST else None


@dataclass(frozen=True, slots=True)
class Decisions:
    """The decisions of the leaders of one application."""

    by_generation: Mapping[int, Sequence[Decision]] = field(default_factory=dict)

    @classmethod
    def of(cls, logs: Iterable[InstanceLog]) -> Decisions:
        """The decisions in the logs of all its instances."""
        by_generation: defaultdict[int, list[Decision]] = defaultdict(list)
        for log in logs:
            for generation, decision in _decisions(log):
                by_generation[generation].append(decision)
        return cls(by_generation)

    def of_member(self, generation: int | None, member_id: str | None) -> Decision | None:
        """The decision for a member in a generation. Generations may start over; member ids are unique."""
        if generation is None or member_id is None:
            return None
        named = [f"{before}{member_id}=Assignment(" for before in ("{", ", ")]
        decisions = self.by_generation.get(generation, ())
        own = [each for each in decisions if any(name in each.assignments for name in named)]
        return own[0] if len(own) == 1 else None


def _decisions(log: InstanceLog) -> Iterator[tuple[int, Decision]]:
    """Each decision with its generation: a thread logs its decision between its join and the end of the
    assignment.
    """
    joined: dict[str, int] = {}
    decided: tuple[int, Line] | None = None
    past_end: defaultdict[str, set[int | None]] = defaultdict(set)
    replicas: int | None = None
    for position, line in enumerate(log.lines):
        event = None if line is None else line["event"]
        if line is None or event == "version":
            joined, decided, past_end = {}, None, defaultdict(set)
        elif event == "configured":
            replicas = number_of(line["told"], "num.standby.replicas", 31)
        elif event == "joined":
            joined[line["thread"]] = position
        elif event == "sum_past_end":
            past_end[line["task_id"] or ""].add(line["changelog_offset"])
        elif event in DECIDED:
            decided = position, line
        elif event == "finished_assignment":
            joined_at = joined.get(line["thread"])
            if decided is not None and joined_at is not None and joined_at < decided[0]:
                _, decided_line = decided
                if decided_line["told"] is not None and line["generation"] is not None:
                    processes = _processes(decided_line["told"])
                    context = DECIDED[decided_line["event"]], replicas, line["told"] or ""
                    yield line["generation"], Decision(*context, processes, past_end)
            decided, past_end = None, defaultdict(set)


def _processes(logged: str) -> dict[str, ClientState]:
    return {
        match["process"]: ClientState(
            listed(match["active"]),
            listed(match["standby"]),
            _numbers(match["sums"]),
            _numbers(match["lags"]),
        )
        for match in _PROCESS.finditer(logged)
    }


def _numbers(logged: str) -> dict[str, int]:
    pairs = (each.rpartition("=") for each in logged.split(", ") if each)
    # Java's long
    numbers = {task: int(number) for task, _, number in pairs if re.fullmatch(r"-?\d{1,19}", number)}
    return {task: number for task, number in numbers.items() if -MOST <= number <= MOST}
