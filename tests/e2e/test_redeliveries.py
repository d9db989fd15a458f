"""Records of share groups that were delivered again: the mart says what the driver did, or that it is not
told.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

NAME = "share-4.3.1"
TRUTH = Path(__file__).parents[1] / "captures" / NAME / "ground_truth.jsonl"
NOT_TOLD = {("disconnected", 0), ("altered", 6)}
"""By group and first offset: a client that never came back, and a broker that learned late of altered
offsets.
"""


def test_why_records_were_delivered_again(audit: Any) -> None:
    made = [json.loads(line) for line in TRUTH.read_text(encoding="utf-8").splitlines()]
    expected = {
        (
            row["group_id"],
            row["first_offset"],
            row["last_offset"],
            row["client_id"],
            row["delivery_count"],
        ): None if (row["group_id"], row["first_offset"]) in NOT_TOLD else row["cause"]
        for row in made
        if row["kind"] == "redelivery"
    }
    rows = audit.rows(f"SELECT * FROM marts.fct_share_redeliveries WHERE cluster = '{NAME}'")
    names = ("group_id", "first_offset", "last_offset", "client_id", "delivery_count")
    assert {tuple(row[name] for name in names): row["cause"] for row in rows} == expected
    assert {row["topic"] for row in rows} == {row["group_id"] for row in rows}
