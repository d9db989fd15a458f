"""The same evidence in any order, in one run or in many: the same rows, with the same ids.

Every run takes what there is of a capture's files, cut and named as at that time; after the last one the
lake holds what one audit of all files finds. ``make arrivals`` tries it on every capture (CONTRIBUTING.md);
else a few cases are tried on small ones.
"""

from __future__ import annotations

import pytest
from audits import AuditedAtOnce, differences

pytestmark = pytest.mark.arrivals

ALWAYS = (
    ("markers-4.3.1", "grown", 1),
    ("markers-4.3.1", "cut_anywhere", 2),
    ("subscriptions-4.3.1", "renamed", 3),
    ("subscriptions-4.3.1", "late_logs", 4),
    ("subscriptions-4.3.1", "there_twice", 5),
    ("recreated-4.3.1", "grown", 2),
)
"""Capture, how its files arrive, and a seed."""


def test_what_arrives_in_pieces_is_found_as_if_it_had_been_there_at_once(
    name: str, way: str, seed: int, audited_at_once: AuditedAtOnce
) -> None:
    site, expected = audited_at_once(name)
    assert differences(site.audited_in_pieces(name, way, seed), expected) == {}
