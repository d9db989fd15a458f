"""What changed among the members of a group from one record to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.members import MemberOfGeneration
from fencepost.protocols.ownership_claim.subscriptions import Partition


class Change(NamedTuple):
    """A member in the record before and in this one; None where it is not a member."""

    member_id: str
    before: MemberOfGeneration | None
    after: MemberOfGeneration | None

    def partitions(self) -> Iterator[Partition]:
        """All partitions that it claimed or was assigned, in both records."""
        for member in (self.before, self.after):
            if member is not None:
                yield from claimed(member)
                yield from member.assigned or ()


class Members:
    """The members of the newest record, by id, in its order."""

    def __init__(self) -> None:
        self.by_id: dict[str, MemberOfGeneration] = {}
        self.before: dict[str, MemberOfGeneration] = {}
        """The members of the record before; none for the first known record, and after a hole."""

    def next_record(self, generation: Generation) -> list[Change]:
        """Take the next record's members, and return the changes."""
        self.before = {} if generation.before is None else self.by_id
        self.by_id = {member.member_id: member for member in generation.record.members}
        members_before, members_after = self.before, self.by_id
        changes = [
            Change(member_id, members_before.get(member_id), member)
            for member_id, member in members_after.items()
            if (member_before := members_before.get(member_id)) is not member and member_before != member
        ]
        changes += [
            Change(each, members_before[each], None) for each in members_before if each not in members_after
        ]
        return changes


def claimed(member: MemberOfGeneration) -> dict[Partition, bool]:
    """Each partition that a member claims, and whether it holds it."""
    subscription = member.subscription
    if subscription is None:
        return {}
    return {**dict.fromkeys(subscription.remembered, False), **dict.fromkeys(subscription.held, True)}
