"""Whether what compaction left of a group coordinator's log contradicts what follows.

Each replica compacts its own copy of a log, and drops a tombstone once it is older than delete.retention.ms.
A broker that was away for longer, or was restored from an old disk, keeps records whose tombstones it never
got, and so does a lake between two audits: members and groups that are long gone look alive. Nothing tells
which other records are of that kind, so then what compaction left tells no state.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from operator import attrgetter

from fencepost.replay.group_coordinator.evidence import placed
from fencepost.replay.group_coordinator.records import EPOCH_TYPES, GroupRecord
from fencepost.replay.logs import Log

Member = tuple[str, str]
"""Group and member id."""


def consistent(log: Log, records: Iterable[GroupRecord], alive: Container[Member] = ()) -> Log:
    """The log, without its compacted beginning if ``records`` contradict that. ``alive``: the members of whom
    the coordinator was told after it.
    """
    if log.base is None:
        return log
    in_order = placed(records, log)
    left = [each for each in in_order if each.based]
    following = in_order[len(left) :]
    is_trusted = not _epoch_falls(left, following) and not _is_owned_twice(left, following, alive)
    return log if is_trusted else log.without_base()


def _epoch_falls(left: Iterable[GroupRecord], following: Iterable[GroupRecord]) -> bool:
    """Whether a group began anew, or changed its kind, without the end of what compaction left of it."""
    epochs: dict[str, tuple[int, int]] = {}
    for record in left:
        if record.type in EPOCH_TYPES and record.tombstone:
            epochs.pop(record.group_id, None)
        elif record.type in EPOCH_TYPES and record.epoch is not None:
            if epochs.get(record.group_id, (record.type,))[0] != record.type:
                return True
            epochs[record.group_id] = record.type, record.epoch
    for record in following:
        if record.type in EPOCH_TYPES and (before := epochs.pop(record.group_id, None)) is not None:
            kind, epoch = before
            if not record.tombstone and (record.type != kind or (record.epoch or 0) < epoch):
                return True
    return False


@dataclass(slots=True)
class _Owners:
    """The owners of partitions as far as compaction left them."""

    alive: Container[Member]
    of: dict[tuple[str, str], str] = field(default_factory=dict)
    partitions: dict[Member, list[str]] = field(default_factory=dict)

    def follow(self, record: GroupRecord) -> None:
        """A newer record tells what a member owns, or that the group is gone."""
        if record.member_id is not None:
            self._release((record.group_id, record.member_id))
        elif record.tombstone:
            for member in [each for each in self.partitions if each[0] == record.group_id]:
                self._release(member)

    def _release(self, member: Member) -> None:
        for key in self.partitions.pop(member, ()):
            if self.of.get((member[0], key)) == member[1]:
                del self.of[member[0], key]

    def take(self, record: GroupRecord, member: Member) -> None:
        """A member owns what a record says."""
        keys = self.partitions[member] = [each.partition_key for each in record.owned]
        self.of |= {(record.group_id, key): member[1] for key in keys}

    def contradict(self, record: GroupRecord) -> bool:
        """Whether a record gives a member what another one, of whom nobody has heard since, still has."""
        owners = (self.of.get((record.group_id, each.partition_key)) for each in record.owned)
        return any(
            owner not in (None, record.member_id) and (record.group_id, owner) not in self.alive
            for owner in owners
        )


def _is_owned_twice(
    left: Sequence[GroupRecord], following: Iterable[GroupRecord], alive: Container[Member]
) -> bool:
    """Whether a partition was given to a member while another one, by what compaction left, still has it."""
    owners = _Owners(alive)
    newest = {(each.group_id, each.type, each.member_id): each for each in left}
    for record in newest.values():
        if record.changes_a_member and not record.tombstone and record.member_id is not None:
            if owners.contradict(record):
                return True
            owners.take(record, (record.group_id, record.member_id))
    for _, batch in groupby(following, attrgetter("base_offset")):
        changes = [each for each in batch if each.changes_a_member or each.type in EPOCH_TYPES]
        for record in changes:
            owners.follow(record)
        if any(owners.contradict(each) for each in changes if not each.tombstone):
            return True
    return False
