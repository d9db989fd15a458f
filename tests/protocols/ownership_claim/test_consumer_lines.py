"""What consumers of each release log about their rebalances."""

from __future__ import annotations

from pathlib import Path

import pytest

from fencepost.capture.plan import Source
from fencepost.protocols.ownership_claim.bronze import CONSUMER_LINES
from fencepost.protocols.ownership_claim.logs import CONSUMER_LOGS

CONTEXT = "[Consumer clientId=reader, groupId=orders] "
COORDINATOR = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
TOLD = ("event", "client_id", "group_id", "partitions")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        # 0.10 and 0.11
        ("(Re-)joining group orders", ("joining", None, "orders", None)),
        ("Revoking previously assigned partitions [t-0, t-1] for group orders",
         ("revoked", None, "orders", "t-0, t-1")),
        ("Setting newly assigned partitions [] for group orders", ("added", None, "orders", "")),
        # 1.0 to 2.3
        (f"{CONTEXT}(Re-)joining group", ("joining", "reader", "orders", None)),
        (f"{CONTEXT}Revoking previously assigned partitions [t-0]", ("revoked", "reader", "orders", "t-0")),
        (f"{CONTEXT}Setting newly assigned partitions [t-0]", ("added", "reader", "orders", "t-0")),
        # of today
        (f"{CONTEXT}Lost previously assigned partitions t-0", ("lost", "reader", "orders", "t-0")),
        (f"{CONTEXT}Adding newly assigned partitions: t-0", ("added", "reader", "orders", "t-0")),
    ],
)  # fmt: skip
def test_what_a_consumer_logs(tmp_path: Path, text: str, told: tuple[str | None, ...]) -> None:
    file = tmp_path / "reader.log"
    file.write_text(f"[2026-11-20 22:02:40,024] INFO {text} ({COORDINATOR})\n")
    source = Source("c", None, "consumer_log", str(file), 0, file.stat().st_size, client="reader")
    (row,) = (
        row
        for table, batch in CONSUMER_LOGS.rows(source)
        if table is CONSUMER_LINES
        for row in batch.to_pylist()
    )
    assert tuple(row[name] for name in TOLD) == told
