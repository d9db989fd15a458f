"""One consumer group at its coordinator: the rules of Kafka's broker, and the ground truth.

Follows KIP-848 as 4.2 and 4.3 ship it (CurrentAssignmentBuilder, ConsumerGroup.validateOffsetCommit; the
rules of spec/offset_commit/OffsetCommit.tla). The decisions about each commit, by the broker and by each
policy, and the owners of partitions are stored here as they happen; they are not read from the records.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import encoding
from encoding import Record

STABLE, UNREVOKED, UNRELEASED = 0, 1, 2
HELD, LOST, TAKEN = "held", "lost", "taken"
NONE, UNKNOWN_MEMBER_ID, GROUP_ID_NOT_FOUND, STALE_MEMBER_EPOCH = 0, 25, 69, 113
ERRORS = {
    NONE: "NONE",
    UNKNOWN_MEMBER_ID: "UNKNOWN_MEMBER_ID",
    GROUP_ID_NOT_FOUND: "GROUP_ID_NOT_FOUND",
    STALE_MEMBER_EPOCH: "STALE_MEMBER_EPOCH",
}
POLICIES = ("strict", "member_revocation", "partition_revocation", "assignment_epoch")

Place = tuple[str, int]
"""A partition: the topic's name and its number."""


@dataclass(frozen=True)
class Release:
    """The differences between brokers: the rule for commits, and the contents of records."""

    rule: str
    metadata_version: int
    registration_version: int
    first_epoch: int
    records_assignment_epochs: bool


RELEASES = {
    "4.3": Release("assignment_epoch", 30, 4, 2, True),
    "4.2": Release("strict", 29, 3, 1, False),
}


@dataclass
class Member:
    """A live member at the coordinator, with the revocation epochs that KAFKA-19779 proposes."""

    id: str
    client_id: str
    target: frozenset[Place] = frozenset()
    epoch: int = 0
    previous: int = 0
    state: int = STABLE
    assigned: dict[Place, int] = field(default_factory=dict)
    pending: dict[Place, int] = field(default_factory=dict)
    revocation_epoch: int = 0
    revocations: dict[Place, int] = field(default_factory=dict)

    @property
    def owned(self) -> dict[Place, int]:
        """Partitions that are assigned or pending revocation, with their assignment epochs."""
        return {**self.assigned, **self.pending}


@dataclass(frozen=True)
class Request:
    """An OffsetCommit request: the client's epoch, and offsets."""

    member_id: str
    client_id: str
    correlation_id: int
    epoch: int
    offsets: tuple[tuple[Place, int], ...]


@dataclass(frozen=True)
class PartitionTruth:
    """The truth about one partition of a request, and the answers of all POLICIES."""

    place: Place
    offset: int
    truth: str
    accepts: tuple[bool, ...]


class Group:
    """A group's coordinator. Every operation returns the records that it writes, in one batch."""

    def __init__(
        self, name: str, topics: Mapping[str, tuple[bytes, int]], release: Release, rng: Random
    ) -> None:
        self.name = name
        self.topics = topics
        self.release = release
        self.places = [(topic, number) for topic, (_, size) in topics.items() for number in range(size)]
        self.exists = False
        self._rng = rng
        self._restart()

    def _restart(self) -> None:
        self.epoch = self.target_epoch = self.release.first_epoch - 1
        self.metadata_hash = 0
        self.members: dict[str, Member] = {}
        self.owner: dict[Place, str] = {}
        self.stored: set[Place] = set()
        # partition -> member -> epoch at which the member owned it -> the state of that ownership now
        self._account: dict[Place, dict[str, dict[int, str]]] = {}

    # --- membership -----------------------------------------------------------------------------------------

    def join(self, member_id: str, client_id: str, now_ms: int) -> list[Record]:
        """A heartbeat with epoch 0 of a member that is not in the group."""
        self.exists = True
        self.members[member_id] = Member(member_id, client_id)
        written = [encoding.member_record(self.name, member_id, client_id, self.topics)]
        written += [self._next_epoch(), *self._new_target(now_ms, shuffle=0.0)]
        return written + self._reconcile(self.members[member_id])

    def remove(self, member_id: str) -> list[Record]:
        """The member leaves, or is fenced: its partitions are free at once."""
        member = self.members.pop(member_id)
        for place in member.owned:
            self._given_up(member.id, place)
            del self.owner[place]
        written = [encoding.tombstone(kind, self.name, member_id) for kind in (8, 7, 5)]
        return [*written, self._next_epoch()]

    def change_topics(self, member_id: str, now_ms: int) -> list[Record]:
        """A heartbeat after a change of the topics' metadata: a new target, in which more partitions move."""
        written = [self._next_epoch(), *self._new_target(now_ms, shuffle=0.3)]
        return written + self._reconcile(self.members[member_id])

    def delete(self) -> list[Record]:
        """The empty group is deleted, with its offsets; joining again begins a new life."""
        written = [encoding.commit_tombstone(self.name, *place) for place in sorted(self.stored)]
        written += [encoding.tombstone(kind, self.name) for kind in (6, 3)]
        self.exists = False
        self._restart()
        return written

    # --- reconciliation -------------------------------------------------------------------------------------

    def due(self, member: Member) -> bool:
        """Whether a heartbeat of the member (which owns nothing that it must revoke) would write a record."""
        if self.target_epoch < self.epoch or member.state == UNREVOKED or member.epoch < self.target_epoch:
            return True
        missing = member.target - member.assigned.keys()
        return member.state == UNRELEASED and (
            member.previous != member.epoch or any(place not in self.owner for place in missing)
        )

    def heartbeat(self, member_id: str, now_ms: int) -> list[Record]:
        """A heartbeat of a member that has revoked the partitions that it had to."""
        written = self._new_target(now_ms, shuffle=0.0) if self.target_epoch < self.epoch else []
        return written + self._reconcile(self.members[member_id])

    def _next_epoch(self) -> Record:
        self.epoch += 1
        if not self.members:
            self.metadata_hash = 0
        elif not self.metadata_hash or self._rng.random() < 0.1:
            self.metadata_hash = self._rng.getrandbits(62) + 1
        return encoding.group_record(self.name, self.epoch, self.metadata_hash)

    def _new_target(self, now_ms: int, shuffle: float) -> list[Record]:
        """A sticky, balanced assignment for this group epoch; the share ``shuffle`` of the partitions is
        moved.
        """
        rng, members = self._rng, list(self.members.values())
        low, more = divmod(len(self.places), len(members))
        free = set(self.places)
        kept: dict[str, tuple[list[Place], int]] = {}
        # the member with the most partitions keeps one more, so that as few as possible move
        for rank, member in enumerate(sorted(members, key=lambda each: -len(each.target))):
            mine = [place for place in sorted(member.target) if place in free and rng.random() >= shuffle]
            room = low + (rank < more)
            kept[member.id] = (rng.sample(mine, room) if len(mine) > room else mine, room)
            free.difference_update(kept[member.id][0])
        left, written = sorted(free), []
        rng.shuffle(left)
        for member in members:
            mine, room = kept[member.id]
            target = frozenset(mine + [left.pop() for _ in range(room - len(mine))])
            if target != member.target:
                member.target = target
                numbers = {each: [at for at, _ in some] for each, some in self._by_topic(target).items()}
                written.append(encoding.target_record(self.name, member.id, numbers))
        self.target_epoch = self.epoch
        stamp = now_ms if self.release.records_assignment_epochs else None
        return [*written, encoding.target_epoch_record(self.name, self.epoch, stamp)]

    def _reconcile(self, member: Member) -> list[Record]:
        if not self.due(member):
            return []
        unwanted = {place: epoch for place, epoch in member.assigned.items() if place not in member.target}
        kept = {place: epoch for place, epoch in member.assigned.items() if place in member.target}
        missing = member.target - kept.keys()
        gained: set[Place] = set()
        if unwanted:
            # the epoch stays, even if partitions were released with this heartbeat (KAFKA-19974)
            epoch, state = member.epoch, UNREVOKED
        else:
            # a partition that the member itself revokes counts as free for it (KAFKA-19449)
            gained = {place for place in missing if self.owner.get(place) in (None, member.id)}
            epoch, state = self.target_epoch, UNRELEASED if missing - gained else STABLE
        released = member.pending
        self._revoked(member, released, epoch)
        member.assigned = {**kept, **dict.fromkeys(gained, self.target_epoch)}
        member.pending = unwanted
        member.previous, member.epoch, member.state = member.epoch, epoch, state
        for place in released:
            self._given_up(member.id, place)
            if place not in gained:
                del self.owner[place]
        self._owns(member)
        return [self._assignment_record(member)]

    def _assignment_record(self, member: Member) -> Record:
        return encoding.assignment_record(
            self.name,
            member.id,
            epochs=(member.epoch, member.previous),
            state=member.state,
            assigned=self._by_topic(member.assigned),
            pending=self._by_topic(member.pending),
            with_epochs=self.release.records_assignment_epochs,
        )

    def _by_topic(self, places: Iterable[Place] | Mapping[Place, int]) -> dict[bytes, list[tuple[int, int]]]:
        epochs = places if isinstance(places, Mapping) else {}
        by_topic: dict[bytes, list[tuple[int, int]]] = {}
        for topic, number in sorted(places):
            one = (number, epochs.get((topic, number), 0))
            by_topic.setdefault(self.topics[topic][0], []).append(one)
        return by_topic

    # --- commits --------------------------------------------------------------------------------------------

    def decide(self, request: Request) -> tuple[int, list[PartitionTruth]]:
        """The broker's answer to the request, and the truth about each partition."""
        parts = [self._truth_of(request, place, offset) for place, offset in request.offsets]
        together = all(each.accepts[3] for each in parts)
        parts = [
            PartitionTruth(each.place, each.offset, each.truth, (*each.accepts[:3], together))
            for each in parts
        ]
        accepted = together if self.release.rule == "assignment_epoch" else parts[0].accepts[0]
        if accepted:
            self.stored.update(each.place for each in parts)
            return NONE, parts
        if not self.exists:
            return GROUP_ID_NOT_FOUND, parts
        return (STALE_MEMBER_EPOCH if request.member_id in self.members else UNKNOWN_MEMBER_ID), parts

    def commit_records(self, parts: Sequence[PartitionTruth], now_ms: int, *, by_name: bool) -> list[Record]:
        """The records that an accepted request writes."""
        named = by_name and not self.release.records_assignment_epochs
        return [
            encoding.commit_record(
                self.name,
                *each.place,
                topic_id=None if named else self.topics[each.place[0]][0],
                offset=each.offset,
                now_ms=now_ms,
            )
            for each in parts
        ]

    def _truth_of(self, request: Request, place: Place, offset: int) -> PartitionTruth:
        epoch, member = request.epoch, self.members.get(request.member_id)
        if epoch < 0:
            # outside the group protocol: it is not fenced if the group has no members
            accepts = (not self.members,) * 4
            return PartitionTruth(place, offset, "unfenced", accepts)
        became = self._account.get(place, {}).get(request.member_id, {}).get(epoch)
        truth = {HELD: "owner", TAKEN: "zombie"}.get(became or "", "not_owner")
        if member is None:
            return PartitionTruth(place, offset, truth, (False,) * 4)
        current, passed = epoch == member.epoch, epoch < member.epoch
        reached = epoch <= member.epoch
        since = member.owned.get(place)
        accepts = (
            current,
            reached and member.revocation_epoch < epoch,
            reached and member.revocations.get(place, 0) < epoch,
            current or (passed and since is not None and since <= epoch),
        )
        return PartitionTruth(place, offset, truth, accepts)

    # --- the ground truth -----------------------------------------------------------------------------------

    def _revoked(self, member: Member, released: Iterable[Place], epoch: int) -> None:
        for place in released:
            member.revocations[place] = member.epoch
            if epoch > member.epoch:
                member.revocation_epoch = member.epoch

    def _given_up(self, member_id: str, place: Place) -> None:
        epochs = self._account[place][member_id]
        for epoch, became in epochs.items():
            if became == HELD:
                epochs[epoch] = LOST

    def _owns(self, member: Member) -> None:
        for place in member.owned:
            new = self.owner.get(place) != member.id
            self.owner[place] = member.id
            owners = self._account.setdefault(place, {})
            owners.setdefault(member.id, {})[member.epoch] = HELD
            if new:
                for other, epochs in owners.items():
                    if other != member.id:
                        for epoch, became in epochs.items():
                            if became == LOST:
                                epochs[epoch] = TAKEN
