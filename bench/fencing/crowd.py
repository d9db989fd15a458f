"""One group with so many members that only few of them act between two changes of the group.

The walk of ``walk.Clients`` visits all members at each step, and all follow a change before the next one:
with 10,000 members and as many epochs that would be 100 million records. Here only some members act, chosen
at random, and the others skip epochs, as members do whose group changes more often than they send
heartbeats.
"""

from __future__ import annotations

import encoding
from coordinator import Group, Place
from encoding import Record
from walk import Client, Clients, Written

_OF_EACH = 2
_MOVES = 20
_TRIES = 50


class CrowdedGroup(Group):
    """A group whose assignor moves nothing except one partition to a new member."""

    def _restart(self) -> None:
        super()._restart()
        self._free: list[Place] = []
        self._taken = 0

    def remove(self, member_id: str) -> list[Record]:
        """The member leaves, or is fenced."""
        self._free += sorted(self.members[member_id].target)
        return super().remove(member_id)

    def _new_target(self, now_ms: int, shuffle: float) -> list[Record]:
        """Members without a target get one; nothing is shuffled."""
        rng, written = self._rng, []
        named = list(self.members)
        for member_id in reversed(named):
            member = self.members[member_id]
            if member.target:
                # members are in the order in which they joined: those without a target are the last
                break
            giver = self.members[rng.choice(named)]
            if len(giver.target) == _OF_EACH:
                moved = rng.choice(sorted(giver.target))
                giver.target -= {moved}
                self._free.append(moved)
                written.append(self._target_record(giver.id))
            fresh = self.places[self._taken : self._taken + _OF_EACH]
            self._taken += len(fresh)
            chosen = (self._free + fresh)[::-1]
            member.target = frozenset(chosen[:_OF_EACH])
            self._free = chosen[_OF_EACH:][::-1]
            written.append(self._target_record(member_id))
        self.target_epoch = self.epoch
        at = now_ms if self.release.records_assignment_epochs else None
        return [*written, encoding.target_epoch_record(self.name, self.epoch, at)]

    def _target_record(self, member_id: str) -> Record:
        target = self._by_topic(self.members[member_id].target)
        numbers = {topic_id: [number for number, _ in some] for topic_id, some in target.items()}
        return encoding.target_record(self.name, member_id, numbers)


class Crowd(Clients):
    """The walk over such a group: all members join, then they commit."""

    def run(self, wanted: int) -> Written:
        """Walk."""
        self._wanted = wanted
        for _ in range(self.size):
            self._join()
            for _ in range(_MOVES):
                self._move()
        due = self._next_change(0)
        while len(self.written.decided) < wanted:
            if len(self.written.decided) >= due:
                due = self._next_change(len(self.written.decided))
                self._change()
                self._settle()
            else:
                self._commit()
        return self.written

    def _settle(self) -> None:
        for _ in range(_MOVES):
            self._move()

    def _move(self) -> bool:
        for _ in range(_TRIES):
            client = self._rng.choice(self.clients)
            move = self._next_move(client)
            if move:
                self._do(client, move)
                return True
        return False

    def _one_that_commits(self, *, unheard: bool) -> Client | None:
        for _ in range(_TRIES):
            client = self._rng.choice(self.clients)
            is_member = client.owned and client.member_id in self.group.members
            if is_member and (unheard or self._next_move(client) != "hear"):
                return client
        return None
