"""The ends of changelogs that brokers answered while a leader assigned tasks.

Between the answer to its JoinGroup and its SyncGroup, StreamsPartitionAssignor requests the ends of existing
changelogs with ListOffsets (latest); it takes 0 as the end of a changelog that it has just created.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.lag_report.messages import DISTRIBUTED, LISTED
from fencepost.replay.columns import Columns
from fencepost.replay.requests import RequestLine, each_line, integer, text
from fencepost.tables import Table

LIST_OFFSETS, CREATE_TOPICS = 2, 19
APIS = (LIST_OFFSETS, CREATE_TOPICS)
_LATEST, _READ_UNCOMMITTED, _NONE = -1, 0, 0
_CHANGELOG = "-changelog"

ENDS = Table(
    "changelog_ends",
    "The end of a changelog partition that a broker answered; partition -1 and end 0 for a topic created.",
    {
        "cluster": "string",
        "group_id": "string",
        "topic": "string",
        "partition": "int",
        "end_offset": "bigint",
        "broker_id": "int",
        "requested_ms": "bigint",
        "responded_ms": "bigint",
    },
    ("cluster", "group_id"),
)
_CREATED = -1


def of_lines(groups: Mapping[str, Collection[str]], requests: pa.Table) -> pa.Table:
    """Rows of ENDS from lines of ``bronze.requests``; ``groups``: the applications of each cluster.

    A topic whose name fits several applications has a row for each.
    """
    ends = Columns(ENDS)
    for cluster in pc.unique(requests["cluster"]).to_pylist():
        cluster_requests = requests.filter(pc.equal(requests["cluster"], cluster))
        applications = groups.get(cluster, ())
        for line in each_line(cluster_requests, APIS):
            try:
                line_ends = list(_listed(line) if line.api_key == LIST_OFFSETS else _created(line))
            except (AttributeError, KeyError, TypeError, ValueError):
                # JSON that no broker wrote has no ends; it must not end the run
                continue
            for topic, partition, end in line_ends:
                for group_id in (each for each in applications if topic.startswith(f"{each}-")):
                    place_and_times = line.broker_id, line.requested_ms, line.responded_ms
                    ends.add(cluster, group_id, topic, partition, end, *place_and_times)
    return ends.to_arrow()


def _listed(line: RequestLine) -> Iterator[tuple[str, int, int]]:
    latest_requested = {
        (topic["name"], partition["partitionIndex"])
        for topic in line.sent["topics"]
        for partition in topic["partitions"]
        if partition["timestamp"] == _LATEST
    }
    if line.answer is None or line.sent.get("isolationLevel", _READ_UNCOMMITTED) != _READ_UNCOMMITTED:
        return
    for topic in line.answer["topics"]:
        name = text(topic["name"])
        for partition in topic["partitions"] if name is not None and name.endswith(_CHANGELOG) else ():
            index, end = integer(partition["partitionIndex"]), integer(partition["offset"], 64)
            if (
                partition["errorCode"] == _NONE
                and (name, index) in latest_requested
                and end is not None
                and end >= 0
            ):
                yield name, index, end


def _created(line: RequestLine) -> Iterator[tuple[str, int, int]]:
    if line.answer is None or line.sent.get("validateOnly"):
        return
    for topic in line.answer["topics"]:
        name = text(topic["name"])
        if name is not None and name.endswith(_CHANGELOG) and topic["errorCode"] == _NONE:
            yield name, _CREATED, 0


class _Assigning(NamedTuple):
    """The time in which a leader assigned tasks, by its coordinator's clock."""

    broker_id: int | None
    begin_ms: int
    end_ms: int


class _Answer(NamedTuple):
    broker_id: int
    requested_ms: int
    responded_ms: int
    end_offset: int


@dataclass(frozen=True)
class ChangelogEnds:
    """The ends of one application's changelogs that its leaders know.

    A leader knows the end that a broker answered while that leader assigned, if all answers in that time are
    the same. The clock of another broker may differ by ``tolerance_ms``. That it differs by no more is
    assumed if there is an answer in each time in which a leader assigned, since every leader requests the
    ends.
    """

    tolerance_ms: int = 0
    assigning: dict[tuple[int, str], _Assigning] = field(default_factory=dict)
    answers: dict[tuple[str, int], list[_Answer]] = field(default_factory=lambda: defaultdict(list))
    _ends: dict[tuple[str, int], Mapping[_Assigning, int | None]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, messages: Iterable[Mapping[str, Any]], ends: Iterable[Mapping[str, Any]], tolerance_ms: int
    ) -> ChangelogEnds:
        """The ends, from rows of MESSAGES and of ENDS of one application."""
        changelog_ends = cls(tolerance_ms)
        listed: dict[tuple[int, str], Mapping[str, Any]] = {}
        distributed: dict[tuple[int, str], Mapping[str, Any]] = {}
        for each in messages:
            if each["kind"] in (LISTED, DISTRIBUTED) and each["generation"] is not None and each["member_id"]:
                of_kind = listed if each["kind"] == LISTED else distributed
                of_kind[each["generation"], each["member_id"]] = each
        for member in listed.keys() & distributed.keys():
            first, last = listed[member], distributed[member]
            if first["broker_id"] == last["broker_id"]:
                times = first["responded_ms"] - tolerance_ms, last["requested_ms"]
                changelog_ends.assigning[member] = _Assigning(first["broker_id"], *times)
        for each in ends:
            place_and_times = each["broker_id"], each["requested_ms"], each["responded_ms"]
            changelog_ends.answers[each["topic"], each["partition"]].append(
                _Answer(*place_and_times, each["end_offset"])
            )
        return changelog_ends

    def sum_of(
        self,
        generation: int | None,
        member_id: str | None,
        topics: Iterable[str] | None,
        partition: int | None,
    ) -> int | None:
        """The sum of the ends of these changelogs that the leader ``member_id`` of a generation knew; None
        if one is not known.
        """
        times = self.assigning.get((generation or 0, member_id or ""))
        if times is None or topics is None or partition is None:
            return None
        ends = [self._end(times, topic, partition) for topic in topics]
        known = [each for each in ends if each is not None]
        total = sum(known)
        return total if len(known) == len(ends) and total < 2**63 else None

    def _end(self, times: _Assigning, topic: str, partition: int) -> int | None:
        key = topic, partition
        if key not in self._ends:
            self._ends[key] = self._each_end(
                [*self.answers.get(key, ()), *self.answers.get((topic, _CREATED), ())]
            )
        return self._ends[key][times]

    def _each_end(self, answers: Sequence[_Answer]) -> Mapping[_Assigning, int | None]:
        """The end of one changelog that a leader knew, for each time in which one assigned."""
        answers = sorted(answers, key=lambda each: each.responded_ms)
        responded = [each.responded_ms for each in answers]
        longest = max((each.responded_ms - each.requested_ms for each in answers), default=0)
        answers_by_assigning: dict[_Assigning, list[_Answer]] = {}
        for times in set(self.assigning.values()):
            first = bisect_left(responded, times.begin_ms - self.tolerance_ms)
            last = bisect_right(responded, times.end_ms + self.tolerance_ms + longest)
            answers_by_assigning[times] = [
                each for each in answers[first:last] if self._is_within(times, each)
            ]
        is_whole = all(answers_by_assigning.values())
        ends_by_assigning: dict[_Assigning, int | None] = {}
        for times, during in answers_by_assigning.items():
            ends = {each.end_offset for each in during if is_whole or each.broker_id == times.broker_id}
            ends_by_assigning[times] = ends.pop() if len(ends) == 1 else None
        return ends_by_assigning

    def _is_within(self, times: _Assigning, answer: _Answer) -> bool:
        late = 0 if answer.broker_id == times.broker_id else self.tolerance_ms
        return answer.responded_ms >= times.begin_ms - late and answer.requested_ms <= times.end_ms + late
