"""Finds the records that end a life of a group, which those of a conversion to another type do not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from itertools import groupby
from typing import TypeVar

from fencepost.replay.group_coordinator.records import (
    CLASSIC_METADATA,
    CONSUMER_MEMBER,
    CONSUMER_METADATA,
    EPOCH_TYPES,
    GroupRecord,
    Record,
)

R = TypeVar("R", bound=GroupRecord)

_OTHER = {CLASSIC_METADATA: CONSUMER_METADATA, CONSUMER_METADATA: CLASSIC_METADATA}


def batches_of(records: Sequence[GroupRecord]) -> Iterator[list[GroupRecord]]:
    """The records of a group, batch by batch: the coordinator writes records that belong together as one
    batch.
    """
    for _, batch in groupby(records, key=lambda record: record.base_offset):
        yield list(batch)


def with_unwritten_ends(records: Sequence[R]) -> list[R | GroupRecord]:
    """The records of a group, and a tombstone before each record of a classic group that replaces an empty
    consumer group whose end was never written.

    A JoinGroup makes the coordinator forget an empty consumer group at once (GroupMetadataManager,
    maybeDeleteEmptyConsumerGroup); if it is then refused, the tombstones are dropped with the error, and the
    next JoinGroup creates a classic group of which generations begin anew.
    """
    found: list[R | GroupRecord] = []
    metadata: GroupRecord | None = None
    members: set[str | None] = set()
    for record in records:
        if record.type == CONSUMER_MEMBER:
            (members.discard if record.tombstone else members.add)(record.member_id)
        elif record.type in EPOCH_TYPES:
            if _replaces(record, metadata) and not members:
                found.append(_tombstone(record))
            metadata = record
        found.append(record)
    return found


def _replaces(record: GroupRecord, before: GroupRecord | None) -> bool:
    return (
        before is not None
        and (before.type, record.type) == (CONSUMER_METADATA, CLASSIC_METADATA)
        and before.stretch == record.stretch
        and not (before.tombstone or record.tombstone)
    )


def _tombstone(of: GroupRecord) -> GroupRecord:
    return GroupRecord(
        type=CONSUMER_METADATA,
        group_id=of.group_id,
        tombstone=True,
        **{each.name: getattr(of, each.name) for each in fields(Record)},
    )


class Endings:
    """Finds the records that end a life of a group.

    A life ends with the tombstone of the group's metadata (types 2, 3, 11, 17), except in a conversion
    between classic and consumer group. The coordinator writes a conversion as one batch, which also has the
    metadata of the other type, at no lower epoch. A group that is deleted and created again within one batch
    begins at a lower epoch. If the earlier epoch is not known, the batch is taken for a conversion, so that
    no life is claimed to begin there.
    """

    def __init__(self) -> None:
        self._epoch: int | None = None

    def of(self, batch: Sequence[GroupRecord]) -> list[bool]:
        """For each record of the next batch whether it ends the group's life."""
        if not any(record.type in EPOCH_TYPES for record in batch):
            return [False] * len(batch)
        written = {
            kind: max(
                (r.epoch for r in batch if r.type == kind and not r.tombstone and r.epoch is not None),
                default=None,
            )
            for kind in _OTHER
        }
        ends = []
        for record in batch:
            ends.append(self._ends(record, written))
            if record.type in EPOCH_TYPES and record.epoch is not None:
                self._epoch = record.epoch
        return ends

    def _ends(self, record: GroupRecord, written: dict[int, int | None]) -> bool:
        if not record.tombstone or record.type not in EPOCH_TYPES:
            return False
        other = written[_OTHER[record.type]] if record.type in _OTHER else None
        converts = other is not None and (self._epoch is None or other >= self._epoch)
        return not converts
