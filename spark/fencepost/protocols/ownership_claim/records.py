"""Records of classic groups (GroupMetadataValue), decoded as far as the audit of rebalances needs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.formats.large_values import as_written
from fencepost.protocols.ownership_claim.members import MemberOfGeneration, MembersOfRecords
from fencepost.replay.group_coordinator.decoding import group_records
from fencepost.replay.group_coordinator.records import CLASSIC_METADATA, GroupRecord
from fencepost.replay.keys import OFFSETS_TOPIC

_PLACE = ("record_offset", "base_offset", "last_offset", "leader_epoch", "timestamp_ms", "file", "position")


@dataclass(slots=True, kw_only=True, eq=False)
class GenerationRecord(GroupRecord):
    """The record of a generation of a classic group, or the group's tombstone; ``file``, ``position``: the
    place of its batch.
    """

    protocol_type: str = ""
    protocol: str | None = None
    leader: str | None = None
    members: Sequence[MemberOfGeneration] = ()
    file: str = ""
    position: int = 0


def records_of(rows: pa.Table) -> list[GroupRecord]:
    """The records of groups among rows of ``bronze.records`` of one coordinator's log; only those of classic
    groups have their members.
    """
    records: list[GroupRecord] = []
    members = MembersOfRecords()
    for piece in as_written(rows):
        classic = pc.fill_null(pc.equal(piece["record_type"], CLASSIC_METADATA), False)
        records += group_records(piece.filter(pc.invert(classic)))
        is_decoded = pc.and_(
            pc.equal(piece["topic"], OFFSETS_TOPIC), pc.equal(piece["decode_status"], "known")
        )
        generations = pc.and_(pc.and_(classic, is_decoded), pc.invert(piece["is_control"]))
        records += _generations(piece.filter(generations), members)
    return records


def _generations(rows: pa.Table, members: MembersOfRecords) -> Iterator[GenerationRecord]:
    if not rows.num_rows:
        return
    (name,) = set(rows["record_name"].to_pylist())
    values = decode(name, "value", rows["value"]).values
    fields = dict(zip((field.name for field in values.type), values.flatten(), strict=True))
    columns = zip(
        *(rows[column].to_pylist() for column in _PLACE),
        decode(name, "key", rows["key"]).values.field("group").to_pylist(),
        pc.is_null(values).to_pylist(),
        *(fields[column].to_pylist() for column in ("generation", "protocol_type", "protocol", "leader")),
        members.of(fields),
        strict=True,
    )
    for (
        offset, base, last, epoch, ms, file, position, group_id, tombstone, generation, kind, protocol,
        leader, record_members,
    ) in columns:  # fmt: skip
        yield GenerationRecord(
            offset=offset,
            base_offset=base,
            last_offset=last,
            leader_epoch=epoch,
            timestamp_ms=ms,
            type=CLASSIC_METADATA,
            group_id=group_id,
            tombstone=tombstone,
            epoch=generation,
            # the audit of offset commits reads the owners from the same records
            classic_members=None if tombstone else (),
            protocol_type=kind or "",
            protocol=protocol,
            leader=leader,
            members=record_members,
            file=file,
            position=position,
        )
