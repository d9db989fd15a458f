"""What tasks of the rebuild do: each is given all evidence of some logs, or of some producers, and gives rows
of silver and what the steps after it need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Replayed
from fencepost.protocols.producer_epoch.coordinators import Coordinators, replay_coordinators
from fencepost.protocols.producer_epoch.facts import Facts
from fencepost.protocols.producer_epoch.homes import PARTITION, Homes, coordinator_partitions
from fencepost.protocols.producer_epoch.meeting import meet, newest_markers
from fencepost.protocols.producer_epoch.partitions import Partitions, replay_partitions
from fencepost.protocols.producer_epoch.tables import CARRIED, TABLES
from fencepost.protocols.producer_epoch.verifications import BEGAN
from fencepost.replay.log_ends import Ends
from fencepost.replay.metadata import ClusterMetadata
from fencepost.tables import Table

ACCOUNT = Table(
    "account",
    "What the replays of single logs tell the step after them: account.PACKED.",
    {"bucket": "int", "kind": "string", "rows": "binary"},
    ("bucket", "kind"),
)
NEWEST = Table(
    "newest",
    "markers_due.NEWEST: what a task of the last step must know of the others'.",
    {
        "cluster": "string", "topic": "string", "partition": "int", "partition_key": "string",
        "name": "string", "prepared_position": "bigint", "marker_position": "bigint",
    },
    ("cluster", "partition_key", "name"),
)  # fmt: skip
_BY_NAME = {table.name: table for table in (*TABLES, *CARRIED, BEGAN)}

WROTE = account.schema_of(account.WROTE).append(pa.field(PARTITION, pa.int32()))

Steps = Iterable[tuple[Table, pa.Table]]
Task = Callable[[str, Mapping[str, pa.Table]], Steps]


def of_partitions(evidence_of_all: Mapping[str, Any], asking: set[str], buckets: int) -> Task:
    """Replay logs of partitions. ``evidence_of_all``: the fields of Partitions that are of no log."""

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        for piece in replay_partitions(Partitions(**evidence, **evidence_of_all), asking):
            yield from _given(piece, buckets)

    return run


def of_coordinators(
    evidence_of_all: Mapping[str, Any],
    ends: Ends,
    metadata: Mapping[str, ClusterMetadata],
    tolerance_ms: int,
    buckets: int,
) -> Task:
    """Replay logs of coordinators. ``evidence_of_all``: the fields of Coordinators that are of no log."""

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        given = Coordinators(**evidence, **evidence_of_all, ends=ends)
        yield from _given(replay_coordinators(given, metadata, tolerance_ms), buckets)

    return run


def newest(known: Facts) -> Task:
    """Find the newest markers of some producers: NEWEST."""

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        yield NEWEST, newest_markers(account.unpack(evidence["account"]), known)

    return run


def meeting(known: Facts, newest: pa.Table, tolerance_ms: int) -> Task:
    """Let the logs of partitions and of coordinators meet, of some producers."""

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        told = account.unpack(evidence["account"])
        yield from _given(meet(told, known, newest, tolerance_ms), 1)

    return run


def _given(replayed: Replayed, buckets: int) -> Steps:
    yield from ((_BY_NAME[name], rows) for name, rows in replayed.tables.items())
    if replayed.account:
        yield ACCOUNT, account.pack(replayed.account, buckets)


def of_kinds(kinds: tuple[str, ...], packed: pa.Table) -> pa.Table:
    """The rows of ACCOUNT of some kinds."""
    return packed.filter(pc.is_in(packed["kind"], pa.array(kinds)))


def wrote(metadata: Mapping[str, ClusterMetadata], known: Homes, packed: pa.Table) -> pa.Table:
    """Of rows of ACCOUNT what connections wrote, each with the coordinator's partition: WROTE."""
    told = account.unpack(of_kinds((account.WROTE,), packed))
    return placed(metadata, known, account.rows_of(told, account.WROTE))


def placed(metadata: Mapping[str, ClusterMetadata], known: Homes, rows: pa.Table) -> pa.Table:
    """The rows, each with the partition of ``__transaction_state`` that its transactional id is in."""
    return rows.append_column(PARTITION, coordinator_partitions(rows, metadata, known))
