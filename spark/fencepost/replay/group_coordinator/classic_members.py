"""Decodes the members in records of classic groups; members that do not change are one object."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.arrow_slices import shared_values
from fencepost.replay.group_coordinator.assignments import Topics, assigned_topics
from fencepost.replay.group_coordinator.records import ClassicMember


class ClassicMembers:
    """Decodes the members of records. From one generation to the next nearly all members stay the same."""

    def __init__(self) -> None:
        self._assigned: dict[bytes | None, Topics | None] = {None: (), b"": ()}
        self._seen: dict[tuple[Any, ...], ClassicMember] = {}

    def of(self, fields: Mapping[str, pa.Array]) -> list[list[ClassicMember] | None]:
        """For each GroupMetadata value its members, with the topics assigned to them; None for a tombstone.

        Only groups with the protocol type ``consumer`` assign partitions.
        """
        members = fields["members"]
        each = members.flatten()
        consumers = pc.equal(fields["protocol_type"], "consumer").take(pc.list_parent_indices(members))
        assignments = shared_values(pc.if_else(consumers, each.field("assignment"), None))
        self._read(assignments)
        names = (shared_values(each.field(name)) for name in ("member_id", "group_instance_id", "client_id"))
        timeouts = each.field("session_timeout").to_pylist()
        entries = map(self._member, zip(*names, timeouts, assignments, strict=True))
        lengths = pc.list_value_length(members).to_pylist()
        return [None if length is None else list(islice(entries, length)) for length in lengths]

    def _read(self, assignments: Sequence[bytes | None]) -> None:
        new = list(dict.fromkeys(each for each in assignments if each and each not in self._assigned))
        self._assigned.update(zip(new, assigned_topics(new), strict=True))

    def _member(self, fields: tuple[Any, ...]) -> ClassicMember:
        member = self._seen.get(fields)
        if member is None:
            member_id, instance_id, client_id, timeout_ms, assignment = fields
            topics = self._assigned[assignment]
            member = ClassicMember(member_id, instance_id, client_id, topics, timeout_ms)
            self._seen[fields] = member
        return member
