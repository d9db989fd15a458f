"""Verdicts and decisions on a real cluster whose evidence lacks something, or whose clocks differ: what is
said without it is said with it, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.compute as pc
import pytest
from less import Bronze, Silver, by_broker, later, metadata, of, shifted, some, without

THREE_BROKERS = "incarnations-4.3.1"
METADATA, FETCH, OFFSET_COMMIT = 3, 1, 8
HOUR = 3_600_000
OF_CACHES = {"no_older_metadata_accepted", "outdated", "outdated_with_max", "shipped_metadata_rule"}
"""What a client had in its cache is what the answers told that were found: one that is missing may have told
more, and nothing shows that it is missing, as lines that tell nothing are not kept. Without lines these
definitions may say otherwise.
"""

Judge = Callable[[Bronze], Any]


@pytest.fixture(scope="module")
def all_of_it(bronze: Bronze) -> Bronze:
    return {name: rows.filter(pc.equal(rows["cluster"], THREE_BROKERS)) for name, rows in bronze.items()}


@pytest.fixture(scope="module")
def whole(all_of_it: Bronze, judged: Judge) -> Any:
    return judged(all_of_it)


def _no_file(bronze: Bronze, broker: int) -> Bronze:
    by = by_broker(broker)
    return without(bronze, requests=by, files=by, batches=by, records=by, leader_epoch_checkpoints=by)


def _no_log(bronze: Bronze, broker: int) -> Bronze:
    return without(bronze, requests=by_broker(broker), files=by_broker(broker, kind="request_log"))


def _other_timezone(bronze: Bronze, broker: int) -> Bronze:
    """As if the configuration named another timezone than a request log has."""
    rows = bronze["bronze.requests"]
    return {**bronze, "bronze.requests": later(rows, "logged_at_ms", of(rows, broker_id=broker), HOUR)}


def _lines(bronze: Bronze, api_key: int, count: int) -> Iterator[tuple[str, Bronze]]:
    """Without one line of clients, each time another."""
    rows = bronze["bronze.requests"]
    mine = pc.and_(
        of(rows, api_key=api_key), pc.match_substring_regex(rows["client_id"], "stale|named|payments")
    )
    places = [place for place, is_mine in enumerate(mine.to_pylist()) if is_mine]
    for place in random.Random(api_key).sample(places, count):
        line = rows["line_digest"][place].as_py()
        yield f"line {line}", without(bronze, requests=lambda rows, line=line: of(rows, line_digest=line))


def _less(bronze: Bronze, silver: Silver) -> Iterator[tuple[str, Bronze]]:
    yield "no file of the first controller", _no_file(bronze, 1)
    yield "no request log of the coordinator", _no_log(bronze, 3)
    yield "half of the lines", without(bronze, requests=some(random.Random(3), 0.5))
    for offset in (60, 140):
        yield f"metadata up to {offset}", without(bronze, batches=metadata(offset, 10**9))
    yield "a clock within the tolerance", shifted(bronze, silver, 3, -15)
    yield "a clock beyond the tolerance", shifted(bronze, silver, 2, 400)
    yield "another timezone", _other_timezone(bronze, 1)
    for api_key in (METADATA, FETCH, OFFSET_COMMIT):
        yield from _lines(bronze, api_key, 1)


def test_less_evidence_never_flips_a_verdict(
    all_of_it: Bronze, whole: Any, judged: Judge, silver: Silver
) -> None:
    of_cluster = {
        name: [row for row in rows if row.get("cluster") == THREE_BROKERS] for name, rows in silver.items()
    }
    assert whole.violated
    lost = 0
    for what, left in _less(all_of_it, of_cluster):
        fewer_lines = left["bronze.requests"].num_rows < all_of_it["bronze.requests"].num_rows
        excepted = OF_CACHES if fewer_lines else set()
        less = judged(left)
        assert {key for key in less.violated - whole.violated if key[0] not in excepted} == set(), what
        still = {key for key in whole.violated if key[1] in less.elements and key[0] not in excepted}
        assert still <= less.violated | less.unknown, what
        for key, outcome in less.decided.items():
            if key[0] not in excepted:
                assert None in (outcome, whole.decided.get(key)) or outcome == whole.decided[key], (what, key)
        lost += len(whole.violated - less.violated)
    # something was taken away that mattered
    assert lost > 5
