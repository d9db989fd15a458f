"""The tasks of the rebuild: each takes all evidence of some logs, or of some producers, and yields rows of
silver and the account for the next step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Replayed
from fencepost.protocols.producer_epoch.comparison import compare_logs, newest_markers
from fencepost.protocols.producer_epoch.coordinators import Coordinators, replay_coordinators
from fencepost.protocols.producer_epoch.facts import Facts
from fencepost.protocols.producer_epoch.homes import HOME, with_homes
from fencepost.protocols.producer_epoch.partitions import Partitions, replay_partitions
from fencepost.protocols.producer_epoch.tables import STATES, TABLES
from fencepost.protocols.producer_epoch.verifications import BEGAN
from fencepost.replay.log_ends import Ends
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.placement import Placement
from fencepost.tables import Table

ACCOUNT = Table(
    "account",
    "What the replays of single logs pass on to the last step: account.PACKED.",
    {"bucket": "int", "kind": "string", "rows": "binary"},
    ("bucket", "kind"),
)
NEWEST = Table(
    "newest",
    "markers_due.NEWEST: what a task of the last step must know of the producers of other tasks.",
    {
        "cluster": "string", "topic": "string", "partition": "int", "partition_key": "string",
        "name": "string", "prepared_position": "bigint", "marker_position": "bigint",
    },
    ("cluster", "partition_key", "name"),
)  # fmt: skip
_BY_NAME = {table.name: table for table in (*TABLES, *STATES, BEGAN)}

CONNECTION_EPOCHS = pa.schema([*account.schema_of(account.CONNECTION_EPOCH), *HOME])

OPERATED = pa.schema([("cluster", pa.string()), ("producer_id", pa.int64())])
"""Producers of which an operator ended a transaction in some partition."""

Steps = Iterable[tuple[Table, pa.Table]]
Task = Callable[[str, Mapping[str, pa.Table]], Steps]


def partitions_task(evidence_of_all: Mapping[str, Any], refused_connections: set[str], buckets: int) -> Task:
    """A task that replays logs of partitions. ``evidence_of_all``: the fields of Partitions that are not of
    single logs.
    """

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        for piece in replay_partitions(Partitions(**evidence, **evidence_of_all), refused_connections):
            yield from _step_tables(piece, buckets)

    return run


def coordinators_task(
    evidence_of_all: Mapping[str, Any],
    ends: Ends,
    metadata: Mapping[str, ClusterMetadata],
    tolerance_ms: int,
    buckets: int,
) -> Task:
    """A task that replays logs of coordinators. ``evidence_of_all``: the fields of Coordinators that are not
    of single logs.
    """

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        coordinators = Coordinators(**evidence, **evidence_of_all, ends=ends)
        yield from _step_tables(replay_coordinators(coordinators, metadata, tolerance_ms), buckets)

    return run


def newest_markers_task(facts: Facts, tolerance_ms: int) -> Task:
    """A task that finds the newest markers of some producers: NEWEST."""

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        accounts = account.unpack(evidence["account"])
        yield NEWEST, newest_markers(accounts, evidence["counts"], facts, tolerance_ms)

    return run


def comparison_task(facts: Facts, newest: pa.Table, tolerance_ms: int) -> Task:
    """A task that compares the logs of partitions with those of coordinators, for some producers."""

    def run(_: str, evidence: Mapping[str, pa.Table]) -> Steps:
        accounts = account.unpack(evidence["account"])
        yield from _step_tables(compare_logs(accounts, evidence["counts"], facts, newest, tolerance_ms), 1)

    return run


def _step_tables(replayed: Replayed, buckets: int) -> Steps:
    yield from ((_BY_NAME[name], rows) for name, rows in replayed.tables.items())
    if replayed.account:
        yield ACCOUNT, account.pack(replayed.account, buckets)


def of_kinds(kinds: tuple[str, ...], packed: pa.Table) -> pa.Table:
    """The rows of ACCOUNT of some kinds."""
    return packed.filter(pc.is_in(packed["kind"], pa.array(kinds)))


def operated(packed: pa.Table) -> pa.Table:
    """OPERATED of rows of ACCOUNT."""
    markers = account.rows_of(account.unpack(of_kinds((account.MARKER,), packed)), account.MARKER)
    of_operators = markers.filter(pc.fill_null(markers["by_operator"], False))
    return of_operators.select(OPERATED.names).group_by(OPERATED.names).aggregate([]).cast(OPERATED)


def connection_epochs(placement: Placement, packed: pa.Table) -> pa.Table:
    """CONNECTION_EPOCHS: the epochs that connections wrote with, among rows of ACCOUNT, each with the
    log of its coordinator.
    """
    accounts = account.unpack(of_kinds((account.CONNECTION_EPOCH,), packed))
    return with_homes(placement, account.rows_of(accounts, account.CONNECTION_EPOCH))
