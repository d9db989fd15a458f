"""An audit at any earlier moment finds nothing violated that is not violated in the end.

It has what there was of a capture's files then: logs that were copied before others, brokers and segments
that nobody had found yet. ``make arrivals`` tries every capture (CONTRIBUTING.md); else those cases are tried
in which something was wrongly violated.
"""

from __future__ import annotations

import pytest
from audits import AuditedAtOnce, violations

pytestmark = pytest.mark.arrivals

ALWAYS = (
    # the coordinator's log ends before the request log does: a refused commit, an InitProducerId
    ("groups-4.3.1", "grown_line_by_line", 1),
    ("producers-failover-4.3.1", "grown_line_by_line", 1),
    # only a deleted coordinator's log is there, and not the one that followed it
    ("recreated-4.3.1", "late_brokers", 1),
    # a coordinator's log is there, and nothing of the deleted one that was there before it
    ("recreated-4.3.1", "late_brokers", 2),
    # markers of transactions that came after the end of the coordinator's log, in an epoch that goes on
    ("producers-tv1-4.3.1", "grown", 1),
)
"""Capture, how its files arrive, and a seed."""

MENDED_LATER = {"no_dangling_transaction", "epoch_headroom"}
"""What these say is true until an operator ends the transaction, or the id gets another producer id."""


def test_nothing_is_violated_before_all_arrived_that_is_not_in_the_end(
    name: str, way: str, seed: int, audited_at_once: AuditedAtOnce
) -> None:
    site, at_once = audited_at_once(name)
    expected = violations(at_once)
    found = violations(site.found_before(way, seed))
    lasting = found.keys() - MENDED_LATER
    assert {each: found[each] for each in lasting if found[each] > expected.get(each, 0)} == {}
