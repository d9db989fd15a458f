"""Decodes records of a cluster's metadata log and of its snapshots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.decode import decode
from fencepost.replay.logs import by_log

NAMES = {
    0: "RegisterBrokerRecord",
    1: "UnregisterBrokerRecord",
    2: "TopicRecord",
    3: "PartitionRecord",
    4: "ConfigRecord",
    5: "PartitionChangeRecord",
    7: "FenceBrokerRecord",
    8: "UnfenceBrokerRecord",
    9: "RemoveTopicRecord",
    17: "BrokerRegistrationChangeRecord",
    21: "ZkMigrationStateRecord",
    23: "BeginTransactionRecord",
    24: "EndTransactionRecord",
    25: "AbortTransactionRecord",
    28: "ClearElrRecord",
}
"""The records that are replayed: apiKey -> name."""

(
    REGISTER_BROKER, UNREGISTER_BROKER, TOPIC, PARTITION, CONFIG, PARTITION_CHANGE, FENCE_BROKER,
    UNFENCE_BROKER, REMOVE_TOPIC, BROKER_CHANGE, ZK_MIGRATION_STATE, BEGIN_TRANSACTION, END_TRANSACTION,
    ABORT_TRANSACTION, CLEAR_ELR,
) = NAMES  # fmt: skip
_DAMAGED = ("malformed", "unknown_version")


@dataclass(frozen=True, slots=True)
class MetadataRecord:
    """One record of the metadata log; ``fields`` have Kafka's names in snake_case."""

    offset: int
    timestamp_ms: int
    type: int
    fields: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Kafka's name of its type."""
        return NAMES[self.type]


@dataclass(frozen=True)
class Snapshot:
    """A ``.checkpoint`` file: the image before ``offset``. ``ms``: when it was taken, None if not known.

    ``read`` decodes its records, only when they are needed: of many snapshots few are.
    """

    offset: int
    epoch: int
    ms: int | None
    read: Callable[[], tuple[MetadataRecord, ...]] = tuple

    @cached_property
    def records(self) -> tuple[MetadataRecord, ...]:
        """The records of the image."""
        return self.read()


def snapshots(rows: pa.Table) -> list[Snapshot]:
    """The snapshots in rows of ``bronze.metadata_snapshots`` of one cluster; those with a damaged record are
    left out.

    Replicas may have written the same image in another order: only one of them is used.
    """
    decoded = []
    for (offset, epoch), of in sorted(by_log(rows, "snapshot_offset", "snapshot_epoch").items(), key=str):
        digest = min(of["content_digest"].to_pylist())
        one = of.filter(pc.equal(of["content_digest"], digest))
        if pc.any(pc.is_in(one["decode_status"], pa.array(_DAMAGED))).as_py():
            continue
        times = pc.filter(one["timestamp_ms"], pc.invert(one["is_control"]))
        decoded.append(
            Snapshot(int(str(offset)), int(str(epoch)), pc.max(times).as_py(), partial(_read, one))
        )
    return decoded


def _read(rows: pa.Table) -> tuple[MetadataRecord, ...]:
    return tuple(record for _, record in metadata_records(rows))


def metadata_records(
    rows: pa.Table, key: tuple[str, ...] = ()
) -> list[tuple[tuple[Any, ...], MetadataRecord]]:
    """The records that are replayed (NAMES), decoded, in offset order.

    Each comes with its values of the columns ``key``. ``rows`` have ``record_offset``, ``record_type``,
    ``decode_status`` and ``value`` as in ``bronze.records``.
    """
    is_known = pc.equal(rows["decode_status"], "known")
    rows = rows.filter(pc.and_(is_known, pc.is_in(rows["record_type"], pa.array(NAMES, pa.int32()))))
    decoded = []
    for number, name in NAMES.items():
        of_type = rows.filter(pc.equal(rows["record_type"], number))
        if not of_type.num_rows:
            continue
        values = decode(name, "value", of_type["value"]).values.to_pylist()
        times = of_type["timestamp_ms"].to_pylist()
        keys = zip(*(of_type[each].to_pylist() for each in key), strict=True) if key else [()] * len(values)
        decoded += [
            (of, MetadataRecord(offset, ms, number, value))
            for of, offset, ms, value in zip(
                keys, of_type["record_offset"].to_pylist(), times, values, strict=True
            )
            if value is not None
        ]
    return sorted(decoded, key=lambda each: (each[1].offset, each[1].timestamp_ms))
