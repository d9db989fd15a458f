"""Who had the instance id of a static member that was refused."""

from __future__ import annotations

import json
from typing import Any


def test_the_holder_of_an_instance_id_is_told(audit: Any) -> None:
    """The member itself, whose first answer was lost; the member that is still there; the successor."""
    rows = audit.rows("""
        SELECT victim, error, evidence FROM marts.fct_fencing_events
        WHERE cluster = 'expired-4.3.1' AND cause = 'instance' AND scope LIKE '%expired-static"%'
        ORDER BY occurred_at
    """)
    holders = [json.loads(row["evidence"]).get("holder_member_id") for row in rows]
    clients = [json.loads(row["evidence"]).get("holder_client_id") for row in rows]
    lost, waiting, *_ = rows
    assert [row["error"] for row in rows] == [*["UNRELEASED_INSTANCE_ID"] * 3, "FENCED_INSTANCE_ID"]
    assert holders == [*[lost["victim"]] * 3, waiting["victim"]]
    assert clients == [*["expired-static-a"] * 3, "expired-static-b"]
