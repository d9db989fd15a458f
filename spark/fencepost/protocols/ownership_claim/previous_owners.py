"""Who had a partition in the generation before, and whether it was asked to give it up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fencepost.protocols.ownership_claim.changes import Members
from fencepost.protocols.ownership_claim.generations import Generation
from fencepost.protocols.ownership_claim.members import MemberOfGeneration
from fencepost.protocols.ownership_claim.rebalance import Rebalances
from fencepost.protocols.ownership_claim.subscriptions import Partition


class PreviousOwners:
    """The members of the generation before that are members still.

    A static member that does not join in time stays a member, with the subscription that it sent before: what
    it was assigned since is in no claim (ClassicGroup.removeExpiredMembers takes dynamic ones only).
    """

    def __init__(self, generation: Generation, members: Members, rebalances: Rebalances) -> None:
        self._generation = generation
        self._rebalances = rebalances
        self._by_id, self._were = members.by_id, members.before
        self._by_instance = {m.instance_id: m for m in members.by_id.values() if m.instance_id is not None}

    def of(
        self, member: MemberOfGeneration, owners: Sequence[str], *, all_read: bool
    ) -> tuple[bool | None, bool | None]:
        """Of a partition that a member is assigned and ``owners`` had: whether another owner is a member
        still, and whether it joined; None where that is not known.
        """
        if owners == [member.member_id]:
            # the most frequent case, answered as below
            return (False, False) if all_read else (None, None)
        stay = [(self._were[owner], now) for owner in owners if (now := self._now(self._were[owner]))]
        others = [(was, now) for was, now in stay if now.member_id != member.member_id]
        if not others:
            return (False, False) if all_read else (None, None)
        joined = [self._has_joined(was, now) for was, now in others]
        if all(joined):
            return True, True
        return True, False if any(each is False for each in joined) else None

    def _now(self, was: MemberOfGeneration) -> MemberOfGeneration | None:
        if was.instance_id is not None:
            return self._by_instance.get(was.instance_id)
        return self._by_id.get(was.member_id)

    def _has_joined(self, was: MemberOfGeneration, now: MemberOfGeneration) -> bool | None:
        number, before = self._generation.generation, self._generation.previous
        same = before is not None and was.claimed_generation(before) == now.claimed_generation(number)
        if was.subscription != now.subscription or not same or was.member_id != now.member_id:
            return True
        joined = self._rebalances.has_joined(self._generation, {was.member_id, now.member_id})
        if joined is not False:
            return joined
        # who joins again says another generation, if it says one
        if now.subscription is None or now.subscription.unread is not None or before is None:
            return None
        return False if 0 <= now.claimed_generation(number) < before else None


class Moment:
    """A generation beside the one before: ``had`` tells who had a partition then, where that changed."""

    def __init__(
        self, generation: Generation, members: Members, had: Mapping[Partition, Sequence[str]]
    ) -> None:
        self.generation, self.members, self.had = generation, members, had
        self._previous_owners: PreviousOwners | None = None

    def previous_owners(self, rebalances: Rebalances) -> PreviousOwners:
        """The members of the record before that are members still."""
        if self._previous_owners is None:
            self._previous_owners = PreviousOwners(self.generation, self.members, rebalances)
        return self._previous_owners
