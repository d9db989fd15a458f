"""What changed among the members of a group from one record to the next."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.members import MemberOfGeneration
from fencepost.protocols.ownership_claim.subscriptions import Partition


class Change(NamedTuple):
    """A member in the record before and in this one; None where it is not one."""

    member_id: str
    was: MemberOfGeneration | None
    now: MemberOfGeneration | None

    def partitions(self) -> Iterator[Partition]:
        """Whatever it claimed or was assigned, before and now."""
        for member in (self.was, self.now):
            if member is not None:
                yield from claimed(member)
                yield from member.assigned or ()


class Members:
    """The members of the newest record, by id, in its order."""

    def __init__(self) -> None:
        self.by_id: dict[str, MemberOfGeneration] = {}
        self.before: dict[str, MemberOfGeneration] = {}
        """Those of the record before; of the first known one, and after a hole, there are none."""

    def take(self, generation: Generation) -> list[Change]:
        """The members that are not as they were."""
        self.before = {} if generation.before is None else self.by_id
        self.by_id = {member.member_id: member for member in generation.record.members}
        was, now = self.before, self.by_id
        changes = [
            Change(member_id, was.get(member_id), member)
            for member_id, member in now.items()
            if (before := was.get(member_id)) is not member and before != member
        ]
        changes += [Change(each, was[each], None) for each in was if each not in now]
        return changes


def claimed(member: MemberOfGeneration) -> dict[Partition, bool]:
    """Each partition that a member claims, and whether it holds it."""
    subscription = member.subscription
    if subscription is None:
        return {}
    return {**dict.fromkeys(subscription.remembered, False), **dict.fromkeys(subscription.held, True)}
