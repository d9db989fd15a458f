"""Coordinators' logs that were deleted and created again, of which each run finds what is left by then."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from audits import Audit, AuditedAtOnce, Found, Site, differences
from trees import Tree

from fencepost.tables import EPISODES

pytestmark = pytest.mark.arrivals

NAME = "recreated-4.3.1"
_DELETED = re.compile(r".*/__[a-z_]+-\d+\.[0-9a-f]{32}-delete/.*")


def test_what_was_captured_of_a_deleted_log_stays(audited_at_once: AuditedAtOnce, tmp_path: Path) -> None:
    """Kafka removes the folder of a deleted log after a minute. One run came before that, or was early enough
    to find the log under its own name.
    """
    site, expected = audited_at_once(NAME)
    left = Site(site.folder, _without_deleted(site.whole))
    found = left.after([Audit(site.whole, rebuilds=False), Audit(left.whole)])
    assert differences(found, _without_verdicts(expected)) == {}


def test_without_the_deleted_logs_nothing_before_is_judged_by_the_new_ones(
    audited_at_once: AuditedAtOnce,
) -> None:
    site, expected = audited_at_once(NAME)
    left = Site(site.folder, _without_deleted(site.whole))
    found = left.after([Audit(left.whole, judges=True)])
    assert not _verdicts(found, "violated")
    assert _verdicts(expected, "violated") == {"no_dangling_transaction"}
    known = {row for row in _states(found) if row not in _states(expected)}
    assert not known, "a request met a state that it did not meet"


def _without_deleted(tree: Tree) -> Tree:
    return {name: data for name, data in tree.items() if not _DELETED.fullmatch(name)}


def _without_verdicts(found: Found) -> Found:
    return {name: rows for name, rows in found.items() if not name.startswith("verdicts.")}


def _verdicts(found: Found, verdict: str) -> set[str]:
    """The invariants that have this verdict somewhere."""
    names = list(EPISODES.columns)
    rows = (dict(zip(names, row, strict=False)) for row in found[EPISODES.name])
    return {row["invariant"].strip("'") for row in rows if row["verdict"] == repr(verdict)}


def _states(found: Found) -> set[tuple[Any, ...]]:
    return {
        row
        for name in ("silver.offset_commit_states", "silver.end_txn_states", "silver.init_producer_id_states")
        for row in found[name]
    }
