"""PROTOCOL: the audit of producer epochs and transactions."""

from __future__ import annotations

import re

from fencepost.formats.request_log import every_line
from fencepost.protocols.base import Context, Later, Plot, Protocol
from fencepost.protocols.producer_epoch import tables
from fencepost.protocols.producer_epoch.request_targets import UNSTABLE


def _is_unstable(line: bytes) -> bool:
    """Whether a transaction held an offset that was asked for."""
    return re.search(UNSTABLE.encode(), line) is not None


PROTOCOL = Protocol(
    name="producer_epoch",
    tables=tables.TABLES,
    clocks=(tables.TRANSACTION_CLOCKS,),
    unlogged=(tables.UNLOGGED_ENDS,),
    rebuild=Later(f"{__package__}.rebuild:rebuild"),
    states=tables.STATES,
    requests={
        **dict.fromkeys(
            (
                "PRODUCE",
                "INIT_PRODUCER_ID",
                "ADD_PARTITIONS_TO_TXN",
                "ADD_OFFSETS_TO_TXN",
                "END_TXN",
                "WRITE_TXN_MARKERS",
                "TXN_OFFSET_COMMIT",
            ),
            every_line,
        ),
        "OFFSET_FETCH": _is_unstable,
    },
    report=Later(f"{__package__}.report:Producers"),
    shown=(
        "transactional_id",
        "producer_id",
        "producer_epoch",
        "transaction_partition",
        "client_id",
        "connection",
        "provided_id",
        "provided_epoch",
        "commit",
        "verify_only",
        "error",
        "returned_id",
        "returned_epoch",
        "first_offset",
        "last_offset",
        "snapshot_offset",
        "again_offset",
        "original_offset",
        "due_type",
        "wrong_type",
        "wrong_client_id",
    ),
    explain=Later(f"{__package__}.explanation:explain"),
    context=(
        Context(
            "silver.transactional_ids",
            "the transactional id, as its coordinator had it",
            ("transactional_id",),
            ("status", "producer_id", "producer_epoch", "cause"),
        ),
        Context(
            "silver.partition_transactions",
            "transactions of the partition",
            ("topic", "partition"),
            ("producer_id", "producer_epoch", "open", "listed", "coordinator_outcome"),
        ),
    ),
    remedies={"marts.fct_dangling_transactions": ("topic", "partition", "first_offset")},
    follows={"no_write_outside_transaction": "no_dangling_transaction"},
    plots=(
        Plot(
            "--transactional-id",
            "ID",
            "a transactional id, with its transactions",
            "transactional_id",
            Later(f"{__package__}.plot.reading:read"),
            Later(f"{__package__}.plot.drawing:picture"),
        ),
    ),
)
