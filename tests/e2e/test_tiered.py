"""Consumers of topics with tiered storage: what took their records away, and what only looks like that."""

from __future__ import annotations

from typing import Any

import pytest

NAME = "tiered-4.3.1"
HALF = 10
"""Every group had committed this offset, which its broker no longer had itself."""


@pytest.fixture(scope="module")
def rows(audit: Any) -> Any:
    return lambda mart: audit.rows(f"SELECT * FROM marts.{mart} WHERE cluster = '{NAME}'")


def test_disabling_it_does_not_pass_for_retention(rows: Any) -> None:
    found = {row["group_id"]: row for row in rows("fct_offset_resets") if row["group_id"]}
    told = ("reset_because", "cause", "unknown_reason", "tiered_storage")
    assert {group: tuple(row[name] for name in told) for group, row in found.items()} == {
        "too-old": ("out_of_range", "retention", None, "enabled"),
        "records-deleted": ("out_of_range", "records_deleted", None, "enabled"),
        "disabled": ("out_of_range", None, "not_logged", "deletes_when_disabled"),
    }
    assert {row["offset_before"] for row in found.values()} == {HALF}


def test_who_reads_on_from_the_remote_tier_is_not_reset(rows: Any) -> None:
    (kept,) = [row for row in rows("fct_fetch_positions") if row["topic"] == "kept" and row["fetch_offset"]]
    assert (kept["fetch_offset"], kept["origin"], kept["error"]) == (HALF, "committed", "NONE")
