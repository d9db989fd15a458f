"""Selects the records of groups from before the cut of their log that a replay needs.

Members come and go, and the records of all of them are carried from chapter to chapter. The state that a
commit met depends on its own member, on who owned its partition since that member's first record, on who is
a member now, and on the group's epochs since then. So in each group those members count that exist at the
cut, that requests name, or that have records behind the cut. Needed are all records of every member that had
one since the first of these members began. Members that were gone before are not replayed.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.replay.entities import last_of_each
from fencepost.replay.group_coordinator.records import CLASSIC_METADATA, EPOCH_TYPES, GROUP_TYPES, group_of
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.logs import Log, Longs, longs
from fencepost.replay.merged_batches import Mask, mask

_NEVER = np.iinfo(np.int64).max


def select_needed_records(records: pa.Table, log: Log, cut: int, member_ids: Collection[str]) -> pa.Table:
    """The rows of ``bronze.records`` of one coordinator's log, without those of members that no replay needs.

    ``cut``: the offset below which the log is compacted. ``member_ids``: those that requests name.
    Each record of a classic group has all its members, so all of them are needed.
    """
    readable = pc.and_(pc.equal(records["topic"], OFFSETS_TOPIC), pc.equal(records["decode_status"], "known"))
    of_groups = pc.is_in(records["record_type"], pa.array(sorted(GROUP_TYPES), pa.int32()))
    place = log.find_all(longs(records["base_offset"]), longs(records["leader_epoch"]))
    # records that did not survive an election do not show who is a member
    chosen = mask(pc.and_(pc.and_(readable, of_groups), pc.invert(records["is_control"]))) & (place >= 0)
    if not (chosen & (longs(records["record_offset"]) < cut)).any():
        return records
    rows = np.flatnonzero(chosen)
    rows = rows[np.argsort(longs(records["record_offset"])[rows], kind="stable")]
    stay = ~chosen
    stay[rows] = _Records(records.take(pa.array(rows)), place[rows] < log.based, cut, member_ids).needed()
    return records.filter(pa.array(stay))


class _Records:
    """Records of groups in offset order, as columns: for each the number of its group, of its member (-1: the
    record is about the group itself), and of its key.
    """

    def __init__(self, rows: pa.Table, based: Mask, cut: int, member_ids: Collection[str]) -> None:
        """``based``: the records that the log cleaner left, which are all needed."""
        keys = rows["key"].combine_chunks().dictionary_encode()
        named = [_named(key) for key in keys.dictionary.to_pylist()]
        groups = _numbered([group for group, _ in named])
        members = _numbered([None if member is None else (group, member) for group, member in named])
        requested_ids = {name.encode() for name in member_ids}
        is_requested = np.array([member in requested_ids for _, member in named], dtype=np.bool_)
        self.key = longs(keys.indices.cast(pa.int64()))
        self.group, self.member, self.is_requested = (
            groups[self.key],
            members[self.key],
            is_requested[self.key],
        )
        self.offset, self.base_offset = longs(rows["record_offset"]), longs(rows["base_offset"])
        self.type = longs(rows["record_type"])
        self.tombstone = ~mask(pc.is_valid(rows["value"]))
        self.before = self.offset < cut
        self.whole = based | _is_in(self.group, self.group[self.type == CLASSIC_METADATA])

    def needed(self) -> Mask:
        """For each record whether it is needed."""
        since = self._since()
        of_member = self.member >= 0
        newest = _greatest(self.member[of_member], self.offset[of_member])
        stay = self.whole | (self.offset >= since)
        stay[of_member] |= newest[self.member[of_member]] >= since[of_member]
        earlier = np.flatnonzero(~of_member & (self.offset < since))
        stay[earlier[last_of_each(self.key[earlier])]] = True
        stay[self._beginnings(since)] = True
        return stay

    def _since(self) -> Longs:
        """For each record the offset from which on its group is replayed."""
        of_member = self.member >= 0
        counts = np.flatnonzero(of_member & (self._is_current() | self.is_requested | ~self.before))
        first = np.full(self.member.max(initial=-1) + 1, _NEVER)
        np.minimum.at(first, self.member[of_member], self.offset[of_member])
        since = np.full(self.group.max(initial=0) + 1, _NEVER)
        np.minimum.at(since, self.group[counts], first[self.member[counts]])
        # a request may meet the state after the newest batch before the cut, so that batch is needed
        before = np.flatnonzero(self.before)
        last = before[last_of_each(self.group[before])]
        np.minimum.at(since, self.group[last], self.base_offset[last])
        return since[self.group]

    def _is_current(self) -> Mask:
        """For each record whether it is the last one of its key before the cut, and no tombstone."""
        is_last = np.zeros(len(self.key), dtype=np.bool_)
        before = np.flatnonzero(self.before)
        is_last[before[last_of_each(self.key[before])]] = True
        return is_last & ~self.tombstone

    def _beginnings(self, since: Longs) -> Longs:
        """For each group the record with which the life began that its replay starts in, and the record that
        ended the life before.
        """
        earlier = np.flatnonzero(self.offset < since)
        ends = earlier[self.tombstone[earlier] & np.isin(self.type[earlier], list(EPOCH_TYPES))]
        end_of = np.full(self.group.max(initial=0) + 1, -1)
        np.maximum.at(end_of, self.group[ends], self.offset[ends])
        lives = np.flatnonzero(~self.tombstone & (self.offset > end_of[self.group]))
        begins = lives[np.unique(self.group[lives], return_index=True)[1]]
        return np.concatenate([begins, ends[last_of_each(self.group[ends])]])


def _named(key: bytes) -> tuple[bytes, bytes | None]:
    """The group's id and the member's id in a key, None in a key of the group itself. A key has an int16
    type, then texts that each begin with their int16 length.
    """
    group = group_of(key)
    at = 4 + len(group)
    member = key[at + 2 : at + 2 + int.from_bytes(key[at : at + 2], "big")] if len(key) > at else None
    return group, member


def _numbered(names: list[object]) -> Longs:
    numbers: dict[object, int] = {None: -1}
    return np.array([numbers.setdefault(name, len(numbers) - 1) for name in names], dtype=np.int64)


def _greatest(of: Longs, values: Longs) -> Longs:
    greatest = np.full(of.max(initial=-1) + 1, -1)
    np.maximum.at(greatest, of, values)
    return greatest


def _is_in(values: Longs, others: Longs) -> Mask:
    return np.asarray(np.isin(values, others))
