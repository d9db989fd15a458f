"""What the audit says of a cluster upgraded under traffic, which ``tests/lab/upgraded.py`` played."""

from __future__ import annotations

from typing import Any

CLUSTER = "upgraded-3.9.2"


def test_every_line_of_both_releases_is_read(audit: Any) -> None:
    assert audit.rows(f"SELECT * FROM marts.fct_quarantine WHERE cluster = '{CLUSTER}'") == []


def test_what_was_not_replicated_may_never_have_taken_effect(audit: Any) -> None:
    """The EndTxn whose record came too late is repeated: it met the open transaction, or its prepared end."""
    (repeated,) = audit.rows(f"""
        SELECT request_id, record_offset FROM silver.end_txns WHERE cluster = '{CLUSTER}' AND candidates > 1
    """)
    states = audit.rows(f"""
        SELECT status, from_position FROM silver.end_txn_states
        WHERE cluster = '{CLUSTER}' AND request_id = '{repeated["request_id"]}' ORDER BY from_position
    """)
    assert [row["status"] for row in states] == ["Ongoing", "PrepareCommit"]
    assert states[-1]["from_position"] < repeated["record_offset"]


def test_a_transaction_that_was_prepared_twice_is_one(audit: Any) -> None:
    transactions = audit.rows(f"SELECT outcome FROM marts.fct_transactions WHERE cluster = '{CLUSTER}'")
    ends = audit.rows(f"SELECT error FROM silver.end_txns WHERE cluster = '{CLUSTER}'")
    assert {row["outcome"] for row in transactions} == {"committed"}
    assert len(transactions) == len(ends)
    markers = audit.rows(f"SELECT found FROM silver.transaction_markers WHERE cluster = '{CLUSTER}'")
    assert {row["found"] for row in markers} == {1}


def test_brokers_that_were_replaced_were_shut_down(audit: Any) -> None:
    fenced = audit.rows(f"SELECT broker_id, cause FROM marts.fct_broker_fencings WHERE cluster = '{CLUSTER}'")
    assert {row["cause"] for row in fenced} <= {"controlled_shutdown", None}
    assert {row["broker_id"] for row in fenced} == {1, 2, 3}
