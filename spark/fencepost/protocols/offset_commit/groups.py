"""Replays a group as GroupMetadataManager does: its lives, its epochs, its members, and what they own."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import NamedTuple

from fencepost.protocols.offset_commit.epochs import Epochs
from fencepost.protocols.offset_commit.histories import Histories
from fencepost.protocols.offset_commit.members import (
    Member,
    MemberMetadata,
    Revocation,
    Step,
    classic_step_of,
    protocol_of,
    step_of,
)
from fencepost.protocols.offset_commit.owned_rows import OwnedRows
from fencepost.protocols.offset_commit.ownership import Ownership
from fencepost.protocols.offset_commit.signs_of_life import SignsOfLife
from fencepost.protocols.offset_commit.spans import Generation, Span
from fencepost.replay.coordinator_logs import ONLY, Incarnation
from fencepost.replay.group_coordinator.lives import Lives
from fencepost.replay.group_coordinator.records import (
    CLASSIC_METADATA,
    EPOCH_TYPES,
    MEMBER_TYPES,
    STREAMS_TOPOLOGY,
    TARGET_TYPES,
    ClassicMember,
    GroupRecord,
    Owned,
)
from fencepost.replay.histories import Point, interval
from fencepost.replay.keys import topic_key
from fencepost.replay.logs import Stretch
from fencepost.replay.metadata import Topics

FirstEpoch = Callable[[GroupRecord], int | None]
"""The first epochs of a group that is not classic, before any is written; None if they are not known."""


class TakenOver(NamedTuple):
    """The ids of the members that one batch writes into a classic group, and into a consumer group."""

    by_classic_group: frozenset[str]
    by_consumer_group: frozenset[str]

    @classmethod
    def by(cls, batch: Sequence[GroupRecord]) -> TakenOver:
        """From the records of the batch."""
        written = [record for record in batch if not record.tombstone]
        return cls(
            frozenset(member.member_id for record in written for member in record.classic_members or ()),
            frozenset(record.member_id for record in written if record.member_id and record.changes_a_member),
        )


class Group(Lives[Histories]):
    """One group in one log. Its records are replayed in order, batch by batch."""

    def __init__(
        self,
        group_id: str,
        topics: Topics,
        stretches: Mapping[int, Stretch],
        first_epoch: FirstEpoch,
        incarnation: Incarnation = ONLY,
        *,
        partition: int | None = None,
        births: Mapping[str, int],
        signs: SignsOfLife,
    ) -> None:
        """``births``: member id -> the generation with which it is known to have begun."""
        super().__init__(group_id, stretches, incarnation, partition)
        self._births = births
        self._signs = signs
        self._first_epoch = first_epoch
        self.base_epoch: int | None = None
        """The group epoch that compaction left of this life."""
        self.written: Generation | None = None
        """The generation in the newest record, if that is of a classic group."""
        self.span: Span | None = None
        self._topics = topics
        self._former: set[str] = set()

    def span_in(self, stretch: int) -> Span | None:
        """What the group's records in this stretch show of its life; None if that life is over, or if the
        newest record is in another stretch.
        """
        return self.span if self.stretch == stretch and not self._over else None

    def was_member(self, member_id: str, stretch: int) -> bool:
        """Whether the group had a member of this id and removed it, as far as this stretch shows, or in an
        earlier life.
        """
        span = self.span_in(stretch)
        return member_id in self._former or (span is not None and member_id in span.gone)

    def size(self) -> int | None:
        """How many members the group has, as far as this stretch shows; None if it does not show it."""
        if self.span is None or self.group_type is None:
            return None
        return self.span.classic_size if self.group_type == "classic" else len(self.span.present)

    def replay(self, record: GroupRecord, *, ends: bool, taken_over: TakenOver, out: Histories) -> None:
        """Replay the next record. ``ends``: whether it ends a life (Endings). ``taken_over``: the members
        that the same batch writes: the tombstones of a conversion do not mean that these left.
        """
        at = Point(record.last_offset, record.timestamp_ms)
        begins = self.enter(record, out)
        self.written = None
        if self.span is None:
            self.span = Span(record.stretch)
        if begins:
            self.base_epoch = None
            if record.type != CLASSIC_METADATA and not record.based and self._is_known_alive(record):
                self.span.group_epoch = self.span.target_assignment_epoch = self._first_epoch(record)
        if not self._over:
            self._replay_group(record, self.span)
            self._replay_members(record, self.span, at, taken_over, out)
        self.leave(record, out, ends=ends)

    def settle(self, at: Point, out: Histories) -> None:
        """End a batch: only now was the group's state observable."""
        if self.span is None or not self.alive:
            return
        now = Epochs(self.group_type, self.span.group_epoch, self.span.target_assignment_epoch)
        if self.span.epochs.newest != now:
            self._write_epochs(self.span, at, out)
            self.span.epochs.add(at, now)

    def _replay_group(self, record: GroupRecord, span: Span) -> None:
        if record.type in EPOCH_TYPES and record.epoch is not None:
            span.group_epoch = record.epoch
            if record.based:
                self.base_epoch = max(record.epoch, self.base_epoch or 0)
        if (record.type in TARGET_TYPES or record.type == CLASSIC_METADATA) and record.epoch is not None:
            span.target_assignment_epoch = record.epoch
        if record.type == STREAMS_TOPOLOGY:
            span.topology, span.has_topology = record.topology, True
        if record.classic_members is not None:
            span.classic_size = len(record.classic_members)

    def _replay_members(
        self, record: GroupRecord, span: Span, at: Point, taken_over: TakenOver, out: Histories
    ) -> None:
        if record.type == CLASSIC_METADATA:
            self._replay_generation(record, span, at, taken_over, out)
            return
        member_id = record.member_id
        if member_id is None:
            return
        if record.type in MEMBER_TYPES:
            metadata = span.metadata.get(member_id)
            if metadata is None:
                metadata = span.metadata[member_id] = MemberMetadata()
            metadata.replay(record)
            member = span.members.get(member_id)
            if member is not None and not record.tombstone:
                protocol = protocol_of(record, metadata)
                if protocol != member.newest.protocol:
                    # the member goes on with another protocol, and its assignment is not written again
                    step = member.newest._replace(no=self.no, at=at, protocol=protocol)
                    self._replay_step(member_id, step, span, out)
        if not record.changes_a_member:
            return
        if not record.tombstone:
            span.present.add(member_id)
            known = self._is_known_alive(record)
            step = step_of(record, self.no, at, span.metadata.get(member_id), known=known)
            self._replay_step(member_id, step, span, out)
        else:
            span.present.discard(member_id)
            if member_id not in taken_over.by_classic_group:
                self._remove(member_id, span, at, out)

    def _replay_generation(
        self, record: GroupRecord, span: Span, at: Point, taken_over: TakenOver, out: Histories
    ) -> None:
        """A record of a classic group has all members of a generation: compare it with the one before."""
        if span.generation is not None:
            span.generation.follow(record, taken_over.by_consumer_group)
        if record.tombstone:
            # a conversion to a consumer group writes the members that it has in memory: not those that have
            # left since the last generation was written
            self._keep(taken_over.by_consumer_group, span, at, out)
            span.generation = None
            return
        members = {member.member_id: member for member in record.classic_members or ()}
        generation = record.epoch or 0
        self.written = span.generation = Generation(
            generation, list(members), record.leader_epoch, self.ended
        )
        span.ownership.note_generation(generation, self.no)
        known = self._is_known_alive(record)
        for member_id, member in members.items():
            owned = self._assigned(member, generation, span.ownership, record.timestamp_ms)
            born = self._births.get(member_id) == generation
            named = member._replace(client_id=self._client_of(member, span, known=known))
            step = classic_step_of(record, self.no, at, named, owned, known=known, born=born)
            self._replay_step(member_id, step, span, out)
        self._keep(members, span, at, out)

    def _client_of(self, member: ClassicMember, span: Span, *, known: bool) -> str | None:
        """client.id of a member. Records of a static member that replaced another keep the one of the first
        that had the instance id (ClassicGroup.replaceStaticMember). ``known``: the life's records are.
        """
        if member.instance_id is None:
            return member.client_id
        first = span.first_holders.setdefault(member.instance_id, member.member_id)
        is_first = first == member.member_id and known and self.base_epoch is None
        return self._signs.client_of(member.member_id) or (member.client_id if is_first else None)

    def _assigned(
        self, member: ClassicMember, generation: int, ownership: Ownership, ms: int
    ) -> list[Owned] | None:
        """The partitions that a classic member was assigned: topics by name, and the ids the
        names had then.
        """
        if member.topics is None:
            return None
        owned = {}
        for topic, partitions in member.topics:
            topic_id = self._topics.id_at(topic, ms)
            for partition in partitions:
                key = topic_key(topic_id, topic, partition)
                if key is not None:
                    ownership.note_name(topic, partition, key)
                    owned[key] = Owned(key, topic_id, None, partition, False, generation, False)
        return list(owned.values())

    def _replay_step(self, member_id: str, step: Step, span: Span, out: Histories) -> None:
        member = span.members.get(member_id)
        epoch = None
        if member is None:
            member = span.members[member_id] = Member(step, span.gone.pop(member_id, 0))
        else:
            epoch = member.newest.member_epoch
            self._write_member(member_id, member, span, step.at, out)
            if member.newest.instance_id is not None:
                span.holders[member.newest.instance_id].discard(member_id)
        if step.instance_id is not None:
            span.holders[step.instance_id].add(member_id)
        changes = member.replay(step)
        out.owned_partitions(self, member_id, span.owned_rows[member_id].take(member))
        ownership = span.ownership
        ownership.is_renamed = ownership.is_renamed or changes.renamed
        for key in changes.got:
            ownership.begin(key, member_id, self.no)
            ownership.has_unnamed |= self._topics.name_of(member.owned[key].topic_id) is None
        for key in changes.lost:
            ownership.end(key, member_id, self.no)
        if step.record_type != CLASSIC_METADATA:
            ownership.note_epoch(member_id, step.member_epoch, self.no)
        if epoch is not None:
            for key in changes.given_up:
                self._write_revocation(member_id, member, key, step.at, out)
                member.revocations[key] = Revocation(epoch, step.at)

    def _keep(self, member_ids: Container[str], span: Span, at: Point, out: Histories) -> None:
        """Remove all members but these."""
        for member_id in [each for each in span.members if each not in member_ids]:
            self._remove(member_id, span, at, out)

    def _remove(self, member_id: str, span: Span, at: Point, out: Histories) -> None:
        """Remove a member that left; it may come back under the same id."""
        member = span.members.pop(member_id, None)
        lives = span.gone.get(member_id, 0)
        if member is not None:
            self._close_member(member_id, member, span, at, out)
            if member.newest.instance_id is not None:
                span.holders[member.newest.instance_id].discard(member_id)
            for key in member.owned:
                span.ownership.end(key, member_id, self.no)
            lives = member.lives_before
        span.gone[member_id] = lives + 1

    def _write_histories(self, end: Point | None, out: Histories, *, lost: bool) -> None:
        span = self.span
        if span is None:
            return
        if lost and span.generation is not None and not span.generation.followed:
            span.generation.next_lost = True
        for member_id, member in span.members.items():
            self._close_member(member_id, member, span, end, out)
        self._write_epochs(span, end, out)
        if not lost:
            self._former.update(span.members, span.gone)
        self.span = None

    def _close_member(
        self, member_id: str, member: Member, span: Span, end: Point | None, out: Histories
    ) -> None:
        self._write_member(member_id, member, span, end, out)
        out.owned_partitions(self, member_id, span.owned_rows.pop(member_id, OwnedRows()).end(end))
        for key in list(member.revocations):
            self._write_revocation(member_id, member, key, end, out)

    def _write_member(
        self, member_id: str, member: Member, span: Span, end: Point | None, out: Histories
    ) -> None:
        """Write the state that the member had until ``end``, if it was ever observable."""
        at = member.newest.at
        if end is not None and at.position == end.position:
            return
        member.note_revocation_epoch()
        if member.is_away:
            return
        for beside in span.epochs.beside(member.newest.member_epoch, at, end):
            out.member(self, member_id, member, beside, self._signs)

    def _write_revocation(
        self, member_id: str, member: Member, key: str, end: Point | None, out: Histories
    ) -> None:
        revocation = member.revocations.get(key)
        if revocation is None:
            return
        for revocation_epoch, cut in member.revocation_epochs.between(revocation.at, end):
            out.revoked_partition(self, (member_id, key), (revocation.epoch, revocation_epoch), cut)

    def _write_epochs(self, span: Span, end: Point | None, out: Histories) -> None:
        epochs = span.epochs.newest
        if epochs is None or epochs.group_epoch is None:
            return
        during = interval(span.epochs.begins[-1], end)
        if during is not None:
            out.group(self, epochs, during)
