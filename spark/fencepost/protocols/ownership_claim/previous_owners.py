"""The owners of a partition in the generation before: whether they are still members, and have
joined again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.protocols.ownership_claim.changes import Members
from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.members import MemberOfGeneration
from fencepost.protocols.ownership_claim.rebalance import Rebalances
from fencepost.protocols.ownership_claim.subscriptions import Partition


class PreviousOwners:
    """The members of the generation before that are still members.

    A static member that does not join in time stays a member with its old subscription, which does not claim
    what it was assigned since (ClassicGroup.removeExpiredMembers removes dynamic members only).
    """

    def __init__(self, generation: Generation, members: Members, rebalances: Rebalances) -> None:
        self._generation = generation
        self._rebalances = rebalances
        self._by_id, self._members_before = members.by_id, members.before
        self._by_instance = {m.instance_id: m for m in members.by_id.values() if m.instance_id is not None}

    def of(
        self, member: MemberOfGeneration, owners: Sequence[str], *, all_read: bool
    ) -> tuple[bool | None, bool | None]:
        """For a partition that is assigned to ``member`` and was assigned to ``owners`` before: whether
        another owner is still a member, and whether it has joined; None if not known. ``all_read``: whether
        all assignments of the generation before could be read.
        """
        if owners == [member.member_id]:
            # the most frequent case: there is no other owner
            return (False, False) if all_read else (None, None)
        remaining = [
            (self._members_before[owner], member_now)
            for owner in owners
            if (member_now := self._current_member(self._members_before[owner]))
        ]
        others = [
            (member_before, member_now)
            for member_before, member_now in remaining
            if member_now.member_id != member.member_id
        ]
        if not others:
            return (False, False) if all_read else (None, None)
        joined = [self._has_joined(member_before, member_now) for member_before, member_now in others]
        if all(joined):
            return True, True
        return True, False if any(each is False for each in joined) else None

    def _current_member(self, member_before: MemberOfGeneration) -> MemberOfGeneration | None:
        if member_before.instance_id is not None:
            return self._by_instance.get(member_before.instance_id)
        return self._by_id.get(member_before.member_id)

    def _has_joined(self, member_before: MemberOfGeneration, member_now: MemberOfGeneration) -> bool | None:
        number, before = self._generation.generation, self._generation.previous
        is_same_claim = before is not None and member_before.claimed_generation(
            before
        ) == member_now.claimed_generation(number)
        if (
            member_before.subscription != member_now.subscription
            or not is_same_claim
            or member_before.member_id != member_now.member_id
        ):
            return True
        joined = self._rebalances.has_joined(
            self._generation, {member_before.member_id, member_now.member_id}
        )
        if joined is not False:
            return joined
        # a member that joins again claims a newer generation, if it claims one
        if member_now.subscription is None or member_now.subscription.unread is not None or before is None:
            return None
        return False if 0 <= member_now.claimed_generation(number) < before else None


class GenerationChange:
    """A generation compared with the one before. ``owners_before``: the owners of each changed partition in
    that one.
    """

    def __init__(
        self, generation: Generation, members: Members, owners_before: Mapping[Partition, Sequence[str]]
    ) -> None:
        self.generation, self.members, self.owners_before = generation, members, owners_before
        self._previous_owners: PreviousOwners | None = None

    def previous_owners(self, rebalances: Rebalances) -> PreviousOwners:
        """The members of the record before that are still members."""
        if self._previous_owners is None:
            self._previous_owners = PreviousOwners(self.generation, self.members, rebalances)
        return self._previous_owners
