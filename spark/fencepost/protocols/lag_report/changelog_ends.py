"""The ends of changelogs as brokers told them while a leader assigned: its admin client asks for them then.

StreamsPartitionAssignor asks ListOffsets (latest) for the changelogs that are there, between the answer to
its JoinGroup and its SyncGroup; of a changelog that it has just created it takes 0 for granted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.lag_report.messages import GIVEN, TOLD
from fencepost.replay.columns import Columns
from fencepost.replay.requests import RequestLine, each_line, integer, text
from fencepost.tables import Table

LIST_OFFSETS, CREATE_TOPICS = 2, 19
APIS = (LIST_OFFSETS, CREATE_TOPICS)
_LATEST, _READ_UNCOMMITTED, _NONE = -1, 0, 0
_CHANGELOG = "-changelog"

ENDS = Table(
    "changelog_ends",
    "The end of a changelog partition as a broker told it; of a topic that was created -1 and 0.",
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
    """Rows of ENDS that lines of ``bronze.requests`` tell; ``groups``: the applications of each cluster.

    A topic whose name fits several applications has a row for each.
    """
    found = Columns(ENDS)
    for cluster in pc.unique(requests["cluster"]).to_pylist():
        own = requests.filter(pc.equal(requests["cluster"], cluster))
        known = groups.get(cluster, ())
        for line in each_line(own, APIS):
            try:
                told = list(_listed(line) if line.api_key == LIST_OFFSETS else _created(line))
            except (AttributeError, KeyError, TypeError, ValueError):
                # it is JSON, but no broker's: it names nothing, and ends no run
                continue
            for topic, partition, end in told:
                for group_id in (each for each in known if topic.startswith(f"{each}-")):
                    when = line.broker_id, line.requested_ms, line.responded_ms
                    found.add(cluster, group_id, topic, partition, end, *when)
    return found.to_arrow()


def _listed(line: RequestLine) -> Iterator[tuple[str, int, int]]:
    asked = {
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
            if partition["errorCode"] == _NONE and (name, index) in asked and end is not None and end >= 0:
                yield name, index, end


def _created(line: RequestLine) -> Iterator[tuple[str, int, int]]:
    if line.answer is None or line.sent.get("validateOnly"):
        return
    for topic in line.answer["topics"]:
        name = text(topic["name"])
        if name is not None and name.endswith(_CHANGELOG) and topic["errorCode"] == _NONE:
            yield name, _CREATED, 0


class _Assigning(NamedTuple):
    """While a leader assigned, by its coordinator's clock."""

    broker_id: int | None
    begin_ms: int
    end_ms: int


class _Told(NamedTuple):
    broker_id: int
    requested_ms: int
    responded_ms: int
    end_offset: int


@dataclass(frozen=True)
class ChangelogEnds:
    """What one application's leaders were told of its changelogs.

    What a broker told in the time in which a leader assigned is what that leader knows, if it was told one
    thing only. Another broker's clock may differ by ``tolerance_ms``.
    """

    tolerance_ms: int = 0
    assigning: dict[tuple[int, str], _Assigning | None] = field(default_factory=dict)
    told: dict[tuple[str, int], list[_Told]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(
        cls, messages: Iterable[Mapping[str, Any]], ends: Iterable[Mapping[str, Any]], tolerance_ms: int
    ) -> ChangelogEnds:
        """From rows of MESSAGES and of ENDS of one application."""
        found = cls(tolerance_ms)
        begun: dict[tuple[int, str], Mapping[str, Any]] = {}
        given: dict[tuple[int, str], Mapping[str, Any]] = {}
        for each in messages:
            if each["kind"] in (TOLD, GIVEN) and each["generation"] is not None and each["member_id"]:
                of_kind = begun if each["kind"] == TOLD else given
                of_kind[each["generation"], each["member_id"]] = each
        for member in begun.keys() & given.keys():
            first, last = begun[member], given[member]
            if first["broker_id"] == last["broker_id"]:
                times = first["responded_ms"] - tolerance_ms, last["requested_ms"]
                found.assigning[member] = _Assigning(first["broker_id"], *times)
        for each in ends:
            when = each["broker_id"], each["requested_ms"], each["responded_ms"]
            found.told[each["topic"], each["partition"]].append(_Told(*when, each["end_offset"]))
        return found

    def sum_of(
        self,
        generation: int | None,
        member_id: str | None,
        topics: Iterable[str] | None,
        partition: int | None,
    ) -> int | None:
        """The sum of the ends of these changelogs as the leader of a member's generation was told them."""
        times = self.assigning.get((generation or 0, member_id or ""))
        if times is None or topics is None or partition is None:
            return None
        ends = [self._end(times, topic, partition) for topic in topics]
        known = [each for each in ends if each is not None]
        return sum(known) if len(known) == len(ends) else None

    def _end(self, times: _Assigning, topic: str, partition: int) -> int | None:
        asked = (*self.told.get((topic, partition), ()), *self.told.get((topic, _CREATED), ()))
        ends = {each.end_offset for each in asked if self._is_within(times, each)}
        return ends.pop() if len(ends) == 1 else None

    def _is_within(self, times: _Assigning, told: _Told) -> bool:
        late = 0 if told.broker_id == times.broker_id else self.tolerance_ms
        return told.responded_ms >= times.begin_ms - late and told.requested_ms <= times.end_ms + late
