"""Verdicts and decisions on a real cluster whose evidence lacks something, or whose clocks differ: what is
said without it is said with it, too.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow.compute as pc
import pytest
from less import Bronze, Line, Silver, by_broker, later, metadata, of, shifted, some, without, without_lines

THREE_BROKERS = "incarnations-4.3.1"
METADATA, FETCH, OFFSET_COMMIT = 3, 1, 8
HOUR = 3_600_000
Judge = Callable[[Bronze], Any]


@pytest.fixture(scope="module")
def all_of_it(bronze: Bronze) -> Bronze:
    return {name: rows.filter(pc.equal(rows["cluster"], THREE_BROKERS)) for name, rows in bronze.items()}


@pytest.fixture(scope="module")
def whole(all_of_it: Bronze, judged: Judge) -> Any:
    return judged(all_of_it)


def _no_file(bronze: Bronze, broker: int) -> Bronze:
    by = by_broker(broker)
    return without(
        bronze, requests=by, request_ids=by, files=by, batches=by, records=by, leader_epoch_checkpoints=by
    )


def _no_log(bronze: Bronze, broker: int) -> Bronze:
    by = by_broker(broker)
    return without(bronze, requests=by, request_ids=by, files=by_broker(broker, kind="request_log"))


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


def _thinned(seed: int, share: float, only: frozenset[Line] | None = None) -> Callable[[Line], bool]:
    """Whether a line is one of a share of all lines, or of these."""
    key = random.Random(seed).random()
    return lambda line: (only is None or line in only) and random.Random(f"{key}{line}").random() < share


def _fewer_lines(bronze: Bronze) -> Iterator[tuple[str, Bronze]]:
    """Without single lines, as where a log is written asynchronously, or its level was changed for a time."""
    rows = bronze["bronze.requests"]
    keys = (rows[name].to_pylist() for name in ("broker_id", "connection", "correlation_id"))
    logged = list(zip(zip(*keys, strict=True), rows["logged_at_ms"].to_pylist(), strict=True))
    lines, apis = dict(logged), rows["api_key"].to_pylist()
    told = frozenset(line for (line, _), api in zip(logged, apis, strict=True) if api == METADATA)
    for seed, share in enumerate((0.1, 0.3, 0.5)):
        yield f"{share:.0%} of all lines", without_lines(bronze, _thinned(seed, share))
        yield f"{share:.0%} of the metadata", without_lines(bronze, _thinned(seed, share, told))
    begin, end = min(lines.values()), max(lines.values())
    for part in range(1, 5):
        off = (begin + (end - begin) * part // 6, begin + (end - begin) * (part + 1) // 6)
        gone = frozenset(line for line, ms in lines.items() if off[0] <= ms < off[1])
        yield f"no line from {off[0]} to {off[1]}", without_lines(bronze, gone.__contains__)


def _check(what: str, less: Any, whole: Any) -> None:
    """What less evidence says, all of it says too, or nothing that differs."""
    assert less.violated <= whole.violated, what
    still = {key for key in whole.violated if key[1] in less.elements}
    assert still <= less.violated | less.unknown, what
    for key, outcome in less.decided.items():
        assert None in (outcome, whole.decided.get(key)) or outcome == whole.decided[key], (what, key)


def test_less_evidence_never_flips_a_verdict(
    all_of_it: Bronze, whole: Any, judged: Judge, silver: Silver
) -> None:
    of_cluster = {
        name: [row for row in rows if row.get("cluster") == THREE_BROKERS] for name, rows in silver.items()
    }
    assert whole.violated
    lost = 0
    for what, left in _less(all_of_it, of_cluster):
        less = judged(left)
        _check(what, less, whole)
        lost += len(whole.violated - less.violated)
    # something was taken away that mattered
    assert lost > 5


def test_lines_that_are_missing_never_flip_a_verdict(all_of_it: Bronze, whole: Any, judged: Judge) -> None:
    of_caches = {key for key in whole.decided if key[0] == "outdated" and whole.decided[key] is not None}
    assert "no_older_metadata_accepted" in {name for name, _ in whole.violated}
    known, asked = 0, 0
    for what, left in _fewer_lines(all_of_it):
        less = judged(left)
        _check(what, less, whole)
        asked += len(of_caches)
        known += len([key for key in of_caches if less.decided.get(key) is not None])
    # the lines mattered, and what the others tell is said
    assert 0.1 * asked < known < 0.9 * asked
