"""Decodes rows of bronze into the log of a group coordinator and its records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import Decoded, decode
from fencepost.formats.large_values import as_written
from fencepost.replay.arrow_slices import filtered, shared_values
from fencepost.replay.group_coordinator.classic_members import ClassicMembers
from fencepost.replay.group_coordinator.evidence import ShardRows
from fencepost.replay.group_coordinator.records import (
    CLASSIC_METADATA,
    COMMIT_RECORDS,
    COMMIT_TYPES,
    GROUP_TYPES,
    MARKERS,
    STREAMS_ASSIGNMENT,
    GroupRecord,
    Marker,
    Owned,
    Subtopology,
    owned_partitions,
    owned_tasks,
)
from fencepost.replay.keys import OFFSETS_TOPIC, ZERO_ID
from fencepost.replay.logs import Batches, Log
from fencepost.replay.unreadable import damaged_batches, missing_end, unread_pieces

SIGHTINGS = pa.schema(
    [*((name, pa.string()) for name in ("cluster", "topic", "topic_id")), ("timestamp_ms", pa.int64())]
)
SIGHTED_BY = (
    "cluster", "topic", "record_type", "record_name", "decode_status", "is_control", "timestamp_ms",
    "record_offset", "key", "value", "value_size",
)  # fmt: skip
"""The columns of ``bronze.records`` that :func:`sightings` reads."""

_PLACE = ("record_offset", "base_offset", "last_offset", "leader_epoch", "timestamp_ms")
_Column = Sequence[Any]


def log_of(rows: ShardRows) -> Log:
    """The coordinator's log: its surviving batches and stretches."""
    cleaned = rows.cleaned.filter(_of_log(rows.cleaned, rows.partition))
    unread = unread_pieces(rows.quarantine)
    unread = [p for p in unread if p.topic == OFFSETS_TOPIC and p.partition == rows.partition]
    if rows.partition is not None and rows.incarnation.misses_end_of(rows.partition):
        unread.append(missing_end(OFFSETS_TOPIC, rows.partition))
    return Log(
        Batches.of(rows.batches),
        damaged=damaged_batches(rows.records, GROUP_TYPES),
        cleaned_to=cleaned["cleaned_to"].to_pylist(),
        unread=unread,
    )


def sightings(records: pa.Table) -> pa.Table:
    """The topic ids in stored commits (written by brokers since 4.1) of one cluster or several, each with its
    earliest time: columns SIGHTINGS. ``records``: rows of ``bronze.records`` with SIGHTED_BY.

    They show the topics' incarnations if the metadata log was not captured. A commit that a later leader
    truncated counts, too: a broker knew the topic when it wrote it.
    """
    seen = [SIGHTINGS.empty_table()]
    for rows, fields in _decoded(records, COMMIT_TYPES):
        if "topic_id" in fields:
            columns = (rows["cluster"], fields["topic"], fields["topic_id"], rows["timestamp_ms"])
            seen.append(_earliest(pa.table(columns, schema=SIGHTINGS)))
    return _earliest(pa.concat_tables(seen))


def _earliest(rows: pa.Table) -> pa.Table:
    named = rows.filter(pc.and_kleene(pc.is_valid(rows["topic_id"]), pc.not_equal(rows["topic_id"], ZERO_ID)))
    first = named.group_by(SIGHTINGS.names[:3], use_threads=False).aggregate([("timestamp_ms", "min")])
    return first.select([*SIGHTINGS.names[:3], "timestamp_ms_min"]).rename_columns(SIGHTINGS.names)


def group_records(records: pa.Table) -> list[GroupRecord]:
    """The records about groups among rows of ``bronze.records``."""
    decoded: list[GroupRecord] = []
    members = ClassicMembers()
    for rows, fields in _decoded(records, GROUP_TYPES):
        decoded += _group_records(rows, fields, members)
    return decoded


def commit_records(records: pa.Table) -> pa.Table:
    """The stored offset commits, and their tombstones, among rows of ``bronze.records``: COMMIT_RECORDS."""
    tables = [COMMIT_RECORDS.empty_table()]
    for rows, fields in _decoded(records, COMMIT_TYPES):
        none = pa.nulls(rows.num_rows)
        topic_id = fields.get("topic_id", none.cast(pa.string()))
        columns = {
            **{name: rows[of] for name, of in zip(COMMIT_RECORDS.names, _PLACE, strict=False)},
            **{name: rows[name] for name in ("producer_id", "producer_epoch")},
            "is_transactional": pc.fill_null(rows["is_transactional"], False),
            "group_id": fields["group"].dictionary_encode(),
            "topic": fields["topic"].dictionary_encode(),
            "partition": fields["partition"],
            "topic_id": pc.if_else(pc.equal(topic_id, ZERO_ID), None, topic_id).dictionary_encode(),
            "committed_offset": fields["offset"],
            "committed_leader_epoch": pc.fill_null(fields.get("leader_epoch", none).cast(pa.int32()), -1),
            "tombstone": pc.is_null(rows["value"]),
        }
        tables.append(pa.table([columns[name] for name in COMMIT_RECORDS.names], COMMIT_RECORDS.names))
    return pa.concat_tables([each.cast(COMMIT_RECORDS) for each in tables]).unify_dictionaries()


def markers(records: pa.Table) -> list[Marker]:
    """The ends of transactions among rows of ``bronze.records``."""
    ends = pc.and_(records["is_control"], pc.is_in(records["record_type"], pa.array(MARKERS, pa.int32())))
    rows = records.filter(pc.and_(_of_topic(records), ends))
    columns = zip(
        *_places(rows), rows["producer_id"].to_pylist(), rows["record_type"].to_pylist(), strict=True
    )
    return [Marker(*place, producer_id=producer, outcome=MARKERS[kind]) for *place, producer, kind in columns]


def _of_topic(rows: pa.Table) -> pa.ChunkedArray:
    return pc.equal(rows["topic"], OFFSETS_TOPIC)


def _of_log(rows: pa.Table, partition: int | None) -> pa.ChunkedArray:
    return pc.and_(_of_topic(rows), pc.equal(rows["partition"], pa.scalar(partition, pa.int32())))


def _places(rows: pa.Table) -> list[_Column]:
    return [rows[name].to_pylist() for name in _PLACE]


def _decoded(
    records: pa.Table, types: Sequence[int] | Mapping[int, str]
) -> Iterator[tuple[pa.Table, dict[str, pa.Array]]]:
    """The rows of one record type after the other, with the fields of their keys and values."""
    is_chosen = pc.and_(
        _of_topic(records), pc.is_in(records["record_type"], pa.array(sorted(types), pa.int32()))
    )
    is_chosen = pc.and_(is_chosen, pc.equal(records["decode_status"], "known"))
    is_chosen = pc.and_(is_chosen, pc.invert(records["is_control"]))
    names = records["record_name"]
    # each row is copied once, with the others of its type
    for name in sorted(pc.unique(names.filter(is_chosen)).to_pylist()):
        for rows in as_written(filtered(records, pc.and_(is_chosen, pc.equal(names, name)))):
            fields: dict[str, pa.Array] = {}
            for part in ("value", "key"):
                decoded = decode(name, part, rows[part])
                _refuse_damaged(name, part, decoded, rows)
                columns = zip((f.name for f in decoded.values.type), decoded.values.flatten(), strict=True)
                fields.update(columns)
            yield rows, fields


def _refuse_damaged(name: str, part: str, decoded: Decoded, rows: pa.Table) -> None:
    if decoded.codes.any():
        at = rows["record_offset"][int(decoded.codes.argmax())]
        raise ValueError(f"{name} at offset {at}: captured as readable, its {part} is not. Capture again.")


def _group_records(
    rows: pa.Table, fields: Mapping[str, pa.Array], classic: ClassicMembers
) -> Iterator[GroupRecord]:
    size = rows.num_rows

    def values(name: str) -> _Column:
        return fields[name].to_pylist() if name in fields else [None] * size

    def texts(name: str) -> _Column:
        return shared_values(fields[name]) if name in fields else [None] * size

    epochs = next((n for n in ("generation", "assignment_epoch", "epoch") if n in fields), "epoch")
    group_ids = texts("group_id" if "group_id" in fields else "group")
    record_types = rows["record_type"].to_pylist()
    kind = record_types[0] if record_types else 0
    columns = zip(
        *_places(rows),
        record_types,
        group_ids,
        texts("member_id"),
        pc.is_null(rows["value"]).to_pylist(),
        values(epochs),
        classic.of(fields) if kind == CLASSIC_METADATA else [None] * size,
        _topologies(fields) if "subtopologies" in fields else [None] * size,
        texts("client_id"),
        texts("instance_id"),
        _of_classic(fields, size),
        values("member_epoch"),
        values("previous_member_epoch"),
        values("state"),
        _owned(fields, kind, size),
        strict=True,
    )
    for (
        offset, base, last, epoch, ms, record_type, group_id, member_id, tombstone, own_epoch, members,
        topology, client_id, instance_id, (speaks_classic, timeout_ms), member_epoch, previous, state, owned,
    ) in columns:  # fmt: skip
        yield GroupRecord(
            offset=offset,
            base_offset=base,
            last_offset=last,
            leader_epoch=epoch,
            timestamp_ms=ms,
            type=record_type,
            group_id=group_id,
            member_id=member_id,
            tombstone=tombstone,
            epoch=own_epoch,
            classic_members=members,
            topology=topology,
            client_id=client_id,
            instance_id=instance_id,
            speaks_classic=speaks_classic,
            session_timeout_ms=timeout_ms,
            member_epoch=member_epoch,
            previous_member_epoch=previous,
            state=state,
            owned=owned,
        )


def _of_classic(fields: Mapping[str, pa.Array], size: int) -> _Column:
    """Of each record, whether its member uses the classic protocol, and the session timeout that it then
    has.
    """
    metadata = fields.get("classic_member_metadata")
    if metadata is None:
        return [(False, None)] * size
    valid = pc.is_valid(metadata).to_pylist()
    timeouts = metadata.field("session_timeout_ms").to_pylist()
    return [
        (is_classic, timeout if is_classic else None)
        for is_classic, timeout in zip(valid, timeouts, strict=True)
    ]


_Listed = list[tuple[str, Sequence[int], Sequence[int] | None]]


def _owned(fields: Mapping[str, pa.Array], kind: int, size: int) -> Sequence[Sequence[Owned]]:
    """The partitions or tasks that each record of a member lists as owned; members of share
    groups own none.
    """
    if kind == STREAMS_ASSIGNMENT:
        assigned = _listed(fields["active_tasks"], "subtopology_id")
        pending = _listed(fields["active_tasks_pending_revocation"], "subtopology_id")
    elif "partitions_pending_revocation" in fields:
        assigned = _listed(fields["assigned_partitions"], "topic_id")
        pending = _listed(fields["partitions_pending_revocation"], "topic_id")
    else:
        return [()] * size
    read = owned_tasks if kind == STREAMS_ASSIGNMENT else owned_partitions
    return [
        () if epoch is None else read(listed, given_up, epoch)
        for listed, given_up, epoch in zip(assigned, pending, fields["member_epoch"].to_pylist(), strict=True)
    ]


def _listed(column: pa.ListArray, element: str) -> list[_Listed]:
    """A column of lists of {topic or subtopology, partitions, assignment epochs}."""
    each = column.flatten()
    entries = list(
        zip(
            shared_values(each.field(element)),
            each.field("partitions").to_pylist(),
            each.field("assignment_epochs").to_pylist(),
            strict=True,
        )
    )
    return _split(column, entries)


def _split(column: pa.ListArray, entries: list[Any]) -> list[Any]:
    """The flattened entries of a column of lists, split into these lists; an empty one for null."""
    lists, at = [], 0
    for length in pc.fill_null(pc.list_value_length(column), 0).to_pylist():
        lists.append(entries[at : at + length])
        at += length
    return lists


def _topologies(fields: Mapping[str, pa.Array]) -> list[list[Subtopology] | None]:
    return [
        None
        if subtopologies is None
        else [
            Subtopology(
                each["subtopology_id"],
                frozenset([*each["source_topics"], *(t["name"] for t in each["repartition_source_topics"])]),
            )
            for each in subtopologies
        ]
        for subtopologies in fields["subtopologies"].to_pylist()
    ]
