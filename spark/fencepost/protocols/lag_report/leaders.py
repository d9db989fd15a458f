"""What the leaders of an application decided, as their own logs tell it: the lag of each task, and what for.

HighAvailabilityTaskAssignor logs at INFO what it knows of each process and what it gives to it. A custom
assignor does not.
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
"""Event: whether the next rebalance is to come by itself, since tasks are to move once they are warmed up."""

REPLICA, WARMUP, HANDOVER = "replica", "warmup", "handover"
"""What a standby task is for: to be there, to be active here when it has caught up, or at once."""

# no repetition reaches over what another one may begin with: a line may be long, and anyone's
_TASKS = r"\(\[(?P<{}>[^\[\]]*)\]\)"
_PROCESS = re.compile(
    rf"(?<![\w-])(?P<process>[\w-]{{1,64}})=\[activeTasks: {_TASKS.format('active')} "
    rf"standbyTasks: {_TASKS.format('standby')} "
    r"(?:(?! changelogOffsetTotalsByTask: |=\[activeTasks: ).)*"
    rf" changelogOffsetTotalsByTask: {_TASKS.format('sums')} taskLagTotals: {_TASKS.format('lags')}",
    re.DOTALL,
)


class ClientState(NamedTuple):
    """What a leader knew of a process: by task what it reported, and what lag that makes (ClientState); and
    which tasks it is to have."""

    active: set[str]
    standby: set[str]
    sums: Mapping[str, int]
    lags: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Decision:
    """An assignment, and what it was decided by. ``past_end``: ends of tasks whose sum was past them.

    ``probes``: some tasks are to be warmed up, and the next rebalance comes by itself. ``standby_replicas``:
    num.standby.replicas of the leader, None where its log does not show its configuration.
    """

    probes: bool
    standby_replicas: int | None
    given: str
    processes: Mapping[str, ClientState]
    past_end: Mapping[str, set[int | None]]

    def lag(self, process_id: str | None, task_id: str | None, offset_sum: int | None) -> int | None:
        """The lag that was made of what a process had reported; None where this was another report."""
        found = self.processes.get(process_id or "")
        if found is None or task_id is None or found.sums.get(task_id, 0) != offset_sum:
            return None
        return found.lags.get(task_id)

    def standby_as(self, process_id: str | None, task_id: str) -> str | None:
        """What a standby task of a process is; None where no log tells: replicas may be warm-ups as well.

        A task that its owner has yet to give up is a standby task of who is to have it.
        """
        found = self.processes.get(process_id or "")
        if found is None or task_id not in found.standby:
            return None if found is None or task_id not in found.active else HANDOVER
        if not self.probes:
            return REPLICA
        return WARMUP if self.standby_replicas == 0 else None

    def end_offset_sum(self, task_id: str | None) -> int | None:
        """The end of a task's changelogs, by what was reported of it and the lags that it made.

        A sum past the end makes the lag that another may make, too: ClientState.computeTaskLags warns of it.
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
        """Of all its instances."""
        found: defaultdict[int, list[Decision]] = defaultdict(list)
        for log in logs:
            for generation, decision in _decisions(log):
                found[generation].append(decision)
        return cls(found)

    def of_member(self, generation: int | None, member_id: str | None) -> Decision | None:
        """What was decided for a member in a generation: generations begin again, member ids do not."""
        if generation is None or member_id is None:
            return None
        named = [f"{before}{member_id}=Assignment(" for before in ("{", ", ")]
        told = self.by_generation.get(generation, ())
        own = [each for each in told if any(name in each.given for name in named)]
        return own[0] if len(own) == 1 else None


def _decisions(log: InstanceLog) -> Iterator[tuple[int, Decision]]:
    """Each with its generation: what a thread decided is between its joining and its handing it over."""
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
            begun = joined.get(line["thread"])
            if decided is not None and begun is not None and begun < decided[0]:
                _, said = decided
                if said["told"] is not None and line["generation"] is not None:
                    processes = _processes(said["told"])
                    known = DECIDED[said["event"]], replicas, line["told"] or ""
                    yield line["generation"], Decision(*known, processes, past_end)
            decided, past_end = None, defaultdict(set)


def _processes(told: str) -> dict[str, ClientState]:
    return {
        found["process"]: ClientState(
            listed(found["active"]),
            listed(found["standby"]),
            _numbers(found["sums"]),
            _numbers(found["lags"]),
        )
        for found in _PROCESS.finditer(told)
    }


def _numbers(told: str) -> dict[str, int]:
    pairs = (each.rpartition("=") for each in told.split(", ") if each)
    # Java's long
    numbers = {task: int(number) for task, _, number in pairs if re.fullmatch(r"-?\d{1,19}", number)}
    return {task: number for task, number in numbers.items() if -MOST <= number <= MOST}
