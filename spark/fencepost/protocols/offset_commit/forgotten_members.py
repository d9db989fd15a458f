"""The members that coordinators forgot because their log was deleted: the next coordinator refuses them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.coordinator_logs import FIRST_LIFE
from fencepost.replay.entities import tuples
from fencepost.replay.placement import UNTOLD, Placement
from fencepost.replay.requests import RequestLine

COLUMNS = ("cluster", "group_id", "life", "coordinator_partition", "member_id", "to_position")
"""The columns of ``silver.group_members`` that are read."""

Member = tuple[str, str, str]
"""Cluster, group id and member id."""


@dataclass(frozen=True)
class ForgottenMembers:
    """``last``: each member that some deleted log had to its end -> the number of the last of these logs."""

    last: Mapping[Member, int] = field(default_factory=dict)
    placement: Placement = field(default_factory=Placement)

    @classmethod
    def of(cls, members: pa.Table, placement: Placement) -> ForgottenMembers:
        """From rows of ``silver.group_members`` (COLUMNS)."""
        several = pc.is_in(members["cluster"], pa.array(sorted(placement.logs), pa.string()))
        rows = members.filter(pc.and_(several, pc.is_valid(members["to_position"])))
        last: dict[Member, int] = {}
        for cluster, group_id, life, partition, member_id, end in tuples(rows.select(COLUMNS)):
            number, member = life // FIRST_LIFE, (cluster, group_id, member_id)
            incarnations = placement.logs[cluster].incarnations
            if any(
                each.number == number and each.is_gone and end == each.end_of(partition)
                for each in incarnations
            ):
                last[member] = max(number, last.get(member, number))
        return cls(last, placement)

    def has(self, cluster: str, group_id: str, member_id: str, line: RequestLine) -> bool:
        """Whether a request was decided by a coordinator after the one that had the member."""
        number = self.last.get((cluster, group_id, member_id))
        if number is None:
            return False
        times = (line.broker_id, line.requested_ms, line.responded_ms)
        home = self.placement.home_of(cluster, group_id, *times)
        decided_by = self.placement.logs[cluster].of(home.topic_id).number
        return home.topic_id != UNTOLD and decided_by > number
