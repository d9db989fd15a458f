"""Records of share groups that were delivered again: what ended the delivery before is what the driver did,
and evidence that is missing makes no other cause of it.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.capture.plan import REQUEST_LOG, SEGMENT, Source
from fencepost.capture.readers import read_all
from fencepost.protocols.offset_commit.share_groups.causes import MemberLines
from fencepost.protocols.offset_commit.share_groups.lines import (
    ACKNOWLEDGED,
    ACQUIRED,
    SESSION,
    ShareLine,
    share_lines,
    tells,
)
from fencepost.protocols.offset_commit.share_groups.rebuild import Groups, clocks_apart, ids_of_clients
from fencepost.protocols.offset_commit.share_groups.share_partition import SharePartition
from fencepost.protocols.offset_commit.share_groups.state_log import (
    BATCH_COLUMNS,
    RECORD_COLUMNS,
    StateBatch,
    StateRecord,
    state_logs,
)
from fencepost.replay.keys import SHARE_STATE_TOPIC
from fencepost.replay.metadata import Sighting, Topics
from fencepost.tables import BATCHES, QUARANTINE, RECORDS, REQUEST_IDS, REQUESTS

CLUSTER = "share-4.3.1"
NOT_TOLD = {("disconnected", 0): "not_logged", ("altered", 6): "not_logged"}
"""By group and offset: what no evidence tells, and why. A client that does not come back leaves no line; and
a broker that learns late of altered offsets delivers once more what it has delivered since.
"""
Told = dict[tuple[str, int, int | None], dict[str, Any]]
"""By group, offset and delivery count (None: archived)."""


@pytest.fixture(scope="module")
def folder(captures: Path) -> Path:
    return captures / CLUSTER / "broker-1"


@pytest.fixture(scope="module")
def truth(folder: Path) -> Told:
    """What the driver knows of each offset that was delivered again, or archived."""
    lines = (folder.parent / "ground_truth.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [row for row in map(json.loads, lines) if row["kind"] == "redelivery"]
    return {
        (row["group_id"], offset, row["delivery_count"]): row
        for row in rows
        for offset in range(row["first_offset"], row["last_offset"] + 1)
    }


@pytest.fixture(scope="module")
def state(folder: Path) -> tuple[pa.Table, pa.Table]:
    """The batches and the records of ``__share_group_state``."""
    (segment,) = (folder / "log_dir" / f"{SHARE_STATE_TOPIC}-0").glob("*.log")
    place = {"topic": SHARE_STATE_TOPIC, "topic_id": None, "partition": 0}
    source = Source(CLUSTER, 1, SEGMENT, str(segment), end=segment.stat().st_size, **place)
    read = list(read_all([source]))
    batches, records = (
        pa.Table.from_batches([rows for of, rows in read if of is table]) for table in (BATCHES, RECORDS)
    )
    return batches.select(BATCH_COLUMNS), records.select(RECORD_COLUMNS)


def _told(log: Path, batches: pa.Table, records: pa.Table) -> Told:
    source = Source(CLUSTER, 1, REQUEST_LOG, str(log), end=log.stat().st_size)
    read = list(read_all([source]))
    requests, numbers = (
        pa.Table.from_batches([rows for of, rows in read if of is table], table.arrow_schema)
        for table in (REQUESTS, REQUEST_IDS)
    )
    logs = state_logs(batches, records, QUARANTINE.arrow_schema.empty_table())
    topics = {CLUSTER: Topics([Sighting("lock-expired", "some id", 0)])}
    groups = Groups(topics, logs, ids_of_clients(numbers))
    ((_, rows),) = groups.replay("", {"lines": share_lines(requests), "records": records})
    return {
        (row["group_id"], offset, row["delivery_count"]): row
        for row in rows.to_pylist()
        for offset in range(row["first_offset"], row["last_offset"] + 1)
    }


def test_what_ended_each_delivery_is_what_the_driver_did(
    folder: Path, truth: Told, state: tuple[pa.Table, pa.Table]
) -> None:
    told = _told(folder / "kafka-request.log", *state)
    assert told.keys() == truth.keys()
    for key, row in told.items():
        made, reason = truth[key], NOT_TOLD.get((key[0], key[1]), NOT_TOLD.get((key[0], 0)))
        assert row["cause"] == (None if reason else made["cause"]), key
        assert row["cause_unknown_because"] == reason, key
        assert row["outcome"] == ("archived" if made["member_id"] is None else "delivered_again")
        assert row["member_id"] == made["member_id"]
        if made["cause"] in (row["cause"], "connection_closed"):
            before = row["member_id_before"], row["client_id_before"], row["delivery_count_before"]
            assert before == (made["member_before"], made["client_before"], made["count_before"]), key
    (disconnected,) = {tuple(row["possible_causes"]) for row in told.values() if row["possible_causes"]}
    assert disconnected == ("connection_closed", "released", "session_closed")
    assert {row["renewals"] for row in told.values() if row["group_id"] == "renewed"} == {1}


def _lines_taken(lines: list[bytes]) -> Iterator[list[bytes]]:
    of_share_groups = [at for at, line in enumerate(lines) if b'"SHARE_' in line and tells(line)]
    assert len(of_share_groups) > 40
    for at in of_share_groups:
        yield lines[:at] + lines[at + 1 :]
    dice = random.Random(7)
    for part in (0.1, 0.3, 0.6) * 5:
        yield [line for line in lines if dice.random() > part]


def _records_taken(batches: pa.Table, records: pa.Table) -> Iterator[tuple[pa.Table, pa.Table]]:
    dice = random.Random(7)
    offsets = batches["base_offset"].to_pylist()
    every = [{offset} for offset in offsets]
    for lost in [*every, *({o for o in offsets if dice.random() < 0.3} for _ in range(20)), set(offsets)]:
        kept = (
            pa.array([o not in lost for o in rows["base_offset"].to_pylist()]) for rows in (batches, records)
        )
        of_batches, of_records = kept
        yield batches.filter(of_batches), records.filter(of_records)


def _no_other(told: Told, truth: Told) -> int:
    """How many causes are known. None is another one than the driver's, nor is whom it names."""
    for key, row in told.items():
        made = truth.get(key)
        # of a delivery whose line is missing, nothing but the archiving of what it delivered is known
        if made is None:
            assert (row["outcome"], row["cause"]) == ("archived", None), row
            continue
        assert row["cause"] in (None, made["cause"]), row
        assert row["member_id_before"] in (None, made["member_before"]), row
        assert (row["cause"] is None) == (row["cause_unknown_because"] is not None)
        assert row["possible_causes"] is None or made["cause"] in row["possible_causes"], row
    return sum(row["cause"] is not None for row in told.values())


def test_lines_that_are_missing_make_no_other_cause(
    folder: Path, tmp_path: Path, truth: Told, state: tuple[pa.Table, pa.Table]
) -> None:
    log, known = tmp_path / "kafka-request.log", set()
    whole = (folder / "kafka-request.log").read_bytes().splitlines(keepends=True)
    for left in _lines_taken(whole):
        log.write_bytes(b"".join(left))
        known.add(_no_other(_told(log, *state), truth))
    assert min(known) < max(known)


def test_another_run_of_a_client_hides_no_missing_line(
    folder: Path, tmp_path: Path, state: tuple[pa.Table, pa.Table]
) -> None:
    """Every program counts from 0: the numbers of one show nothing of another with the same client id."""
    log, key = tmp_path / "kafka-request.log", ("reconnected", 0, 2)
    whole = (folder / "kafka-request.log").read_bytes().splitlines(keepends=True)
    of_client = [line for line in whole if b'"clientId":"reconnected-a"' in line]
    first, missing = (
        next(line for line in of_client if b'"correlationId":%d,' % number in line) for number in (0, 2)
    )
    left = [line for line in whole if line != missing]
    run_before = [
        first.replace(b'"correlationId":0,', b'"correlationId":%d,' % number).replace(b"-0-24", b"-0-99")
        for number in range(4)
    ]
    causes = []
    for lines in (whole, left, [*run_before, *left]):
        log.write_bytes(b"".join(lines))
        causes.append(_told(log, *state)[key]["cause"])
    assert causes == ["connection_closed", None, None]


def test_records_that_are_missing_make_no_other_cause(
    folder: Path, truth: Told, state: tuple[pa.Table, pa.Table]
) -> None:
    known = {_no_other(_told(folder / "kafka-request.log", *left), truth) for left in _records_taken(*state)}
    assert min(known) == 0 < max(known)


def test_lines_and_records_that_are_missing_make_no_other_cause(
    folder: Path, tmp_path: Path, truth: Told, state: tuple[pa.Table, pa.Table]
) -> None:
    log, dice = tmp_path / "kafka-request.log", random.Random(11)
    whole = (folder / "kafka-request.log").read_bytes().splitlines(keepends=True)
    known = set()
    for _, left in zip(range(60), _records_taken(*state), strict=False):
        log.write_bytes(b"".join(line for line in whole if dice.random() > 0.1))
        known.add(_no_other(_told(log, *left), truth))
    assert max(known)


Event = tuple[Any, ...]
"""Time in ms, what, whose, number: ``gets`` with the delivery count; ``says`` with the acknowledge type;
``session`` with the epoch; ``stores`` with nobody, delivery state and count; ``leads`` and ``alters`` with
nobody and the epoch; ``snapshot`` as ``stores``. It is about offset 0, or up to the last number and from the
one after that, if there are such.
"""

A_GETS, A_GETS_AGAIN = (0, "gets", "a", 1), (0, "gets", "a", 2)
CASES: dict[str, tuple[list[Event], dict[str, Any], list[tuple[Any, ...]]]] = {
    # the release that ended it may be the line that is missing
    "another session after a missing line": (
        [A_GETS, (500, "stores", 0, 1), (600, "session", "a", 0), (700, "gets", "a", 2)],
        {"is_whole": False, "dated": {1}},
        [("a", None, "not_logged", ("connection_closed", "released", "session_closed"))],
    ),
    "another session": (
        [A_GETS, (500, "stores", 0, 1), (600, "session", "a", 0), (700, "gets", "a", 2)],
        {"dated": {1}},
        [("a", "connection_closed", None, ())],
    ),
    # the record may be of the end of the lock, by another clock
    "another session by clocks that nothing compares": (
        [A_GETS, (500, "stores", 0, 1), (600, "session", "a", 0), (700, "gets", "a", 2)],
        {},
        [("a", None, "not_logged", ("connection_closed", "lock_expired", "released", "session_closed"))],
    ),
    "a delivery without a line": (
        [A_GETS, (500, "says", "a", 2), (500, "stores", 0, 1), (900, "stores", 0, 2), (999, "gets", "b", 3)],
        {},
        [(None, None, "not_captured", ())],
    ),
    "a delivery and its record are missing": (
        [A_GETS, (500, "says", "a", 2), (500, "stores", 0, 1), (999, "gets", "b", 3)],
        {},
        [(None, None, "not_captured", ())],
    ),
    "a count that is not its own": (
        [A_GETS, (2_000, "stores", 0, 2), (2_100, "gets", "b", 3)],
        {},
        [(None, None, "not_captured", ())],
    ),
    "records are missing": (
        [A_GETS, (2_000, "stores", 0, 1), (2_100, "gets", "b", 2)],
        {"holes": [1_500]},
        [(None, None, "not_captured", ())],
    ),
    "records were missing before": (
        [(5_000, "gets", "a", 1), (7_000, "stores", 0, 1), (7_100, "gets", "b", 2)],
        {"holes": [1_500]},
        [("a", "lock_expired", None, ())],
    ),
    "one leader after another": (
        [(-9, "leads", 1), A_GETS, (500, "leads", 2), (600, "leads", 3), (999, "gets", "b", 1)],
        {},
        [(None, "leader_moved", None, ())],
    ),
    "another leader after it was given back": (
        [(-9, "leads", 1), A_GETS, (500, "says", "a", 2), (500, "stores", 0, 1), (600, "leads", 2),
         (999, "gets", "b", 2)],
        {},
        [(None, None, "not_logged", ("leader_moved", "released"))],
    ),
    "a snapshot in place of a record": (
        [(-9, "stores", 0, 1), A_GETS_AGAIN, (500, "snapshot", 0, 1), (999, "gets", "b", 2)],
        {},
        [(None, None, "not_captured", ()), (None, None, "not_captured", ())],
    ),
    "a snapshot as a record": (
        [(-9, "stores", 0, 1), A_GETS_AGAIN, (2_000, "snapshot", 0, 2), (2_100, "gets", "b", 3)],
        {},
        [(None, None, "not_captured", ()), ("a", "lock_expired", None, ())],
    ),
    "given back long after the lock": (
        [A_GETS, (9_000, "stores", 0, 1), (9_100, "gets", "b", 2)],
        {},
        [("a", None, "not_logged", ("connection_closed", "lock_expired", "released", "session_closed"))],
    ),
    # a release without a line, or a closed connection
    "given back right before the lock ends": (
        [A_GETS, (1_850, "stores", 0, 1), (1_900, "gets", "b", 2)],
        {"dated": {1}},
        [("a", None, "not_logged", ("connection_closed", "released", "session_closed"))],
    ),
    "given back right before the lock ends, by clocks that nothing compares": (
        [A_GETS, (1_850, "stores", 0, 1), (1_900, "gets", "b", 2)],
        {},
        [("a", None, "not_logged", ("connection_closed", "lock_expired", "released", "session_closed"))],
    ),
    "closed right before the lock ends": (
        [A_GETS, (1_850, "session", "a", -1), (1_850, "stores", 0, 1), (1_900, "gets", "b", 2)],
        {"dated": {1}},
        [("a", "session_closed", None, ())],
    ),
    "closed when the lock ends": (
        [A_GETS, (2_000, "session", "a", -1), (2_000, "stores", 0, 1), (2_100, "gets", "b", 2)],
        {},
        [("a", None, "not_logged", ("lock_expired", "session_closed"))],
    ),
    "closed long after the lock": (
        [A_GETS, (2_000, "stores", 0, 1), (5_000, "session", "a", -1), (5_100, "gets", "b", 2)],
        {},
        [("a", "lock_expired", None, ())],
    ),
    "other clocks": (
        [A_GETS, (2_000, "stores", 0, 1), (2_100, "gets", "b", 2)],
        {"undated": {1}},
        [("a", None, "other_clock", ("connection_closed", "lock_expired", "released", "session_closed"))],
    ),
    "an answer without the lock's duration": (
        [A_GETS, (2_000, "stores", 0, 1), (2_100, "gets", "b", 2)],
        {"lock_ms": None},
        [("a", None, "not_logged", ("connection_closed", "lock_expired", "released", "session_closed"))],
    ),
    "stored after the next delivery": (
        [A_GETS, (2_000, "gets", "b", 2), (2_010, "stores", 0, 1), (2_100, "says", "b", 1),
         (2_100, "stores", 2, 2)],
        {},
        [("a", "lock_expired", None, ())],
    ),
    "no record there": ([A_GETS, (500, "says", "a", 0), (500, "stores", 4, 1)], {}, []),
    "a rejection without a line": (
        [A_GETS, (500, "stores", 4, 1)],
        {"dated": {1}},
        [("a", None, "not_logged", ("rejected", "released"))],
    ),
    "archived after a delivery without a line": (
        [A_GETS, (500, "stores", 4, 2)],
        {},
        [(None, None, "not_captured", ())],
    ),
    "two records of one delivery": (
        [A_GETS, (500, "stores", 0, 1), (2_000, "stores", 0, 1), (2_100, "gets", "b", 2)],
        {},
        [(None, None, "not_captured", ())],
    ),
    "released with the request that gets it again": (
        [A_GETS, (500, "says", "a", 2), (500, "stores", 0, 1), (500, "gets", "a", 2), (2_500, "stores", 0, 2),
         (2_600, "gets", "b", 3)],
        {},
        [("a", "released", None, ()), ("a", "lock_expired", None, ())],
    ),
    "released right after it was got again": (
        [A_GETS, (2_000, "stores", 0, 1), (2_000, "gets", "a", 2), (2_001, "says", "a", 2),
         (2_001, "stores", 0, 2), (2_600, "gets", "b", 3)],
        {},
        [("a", "lock_expired", None, ()), ("a", "released", None, ())],
    ),
    "altered after it was given back": (
        [(-9, "alters", 2), A_GETS, (500, "says", "a", 2), (500, "stores", 0, 1), (700, "alters", 3),
         (999, "gets", "b", 1)],
        {},
        [(None, "offsets_altered", None, ())],
    ),
    "delivered on by a leader that had not learned of the alteration": (
        [(-9, "alters", 2), A_GETS, (500, "says", "a", 2), (500, "stores", 0, 1), (700, "alters", 3),
         (800, "gets", "b", 2), (999, "gets", "b", 1)],
        {},
        [("a", "released", None, ()), ("b", "offsets_altered", None, ())],
    ),
    "altered, and then another leader": (
        [(-9, "alters", 2), A_GETS, (700, "alters", 3), (800, "leads", 2), (999, "gets", "b", 1)],
        {},
        [(None, None, "not_captured", ())],
    ),
    "altered while it was delivered": (
        [(-9, "alters", 2), A_GETS, (700, "alters", 3), (999, "gets", "b", 1)],
        {},
        [("a", "offsets_altered", None, ())],
    ),
    "acknowledged within the millisecond": ([A_GETS, (0, "stores", 2, 1)], {}, []),
    "released within the millisecond": (
        [A_GETS, (0, "says", "a", 2), (0, "stores", 0, 1), (999, "gets", "b", 2)],
        {},
        [("a", None, "not_logged", ("connection_closed", "lock_expired", "released", "session_closed"))],
    ),
    "acknowledged by halves": (
        [(0, "gets", "a", 1, 1), (500, "says", "a", 2), (500, "says", "a", 2, 1, 1), (500, "stores", 0, 1, 1),
         (999, "gets", "b", 2, 1)],
        {},
        [("a", "released", None, ())],
    ),
    "acknowledged by half": (
        [(0, "gets", "a", 1, 1), (500, "says", "a", 2), (2_000, "stores", 0, 1, 1),
         (2_100, "gets", "b", 2, 1)],
        {},
        [("a", None, "not_captured", ("connection_closed", "lock_expired", "released", "session_closed"))],
    ),
    "offsets altered twice": (
        [(-9, "alters", 2), A_GETS, (500, "says", "a", 2), (500, "stores", 0, 1), (600, "stores", 2, 2),
         (700, "alters", 3), (999, "gets", "b", 1)],
        {},
        [(None, "offsets_altered", None, ())],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_a_cause_is_told_only_where_nothing_else_is_possible(case: str) -> None:
    events, more, expected = CASES[case]
    told = _replayed(events, **more)
    causes = [
        (
            each.before.member_id if each.before else None,
            each.ended.cause,
            each.ended.reason,
            each.ended.possible,
        )
        for each in told
    ]
    assert causes == expected


def test_an_acknowledgement_after_the_lock_has_no_other_clock() -> None:
    """Kafka answers it as if nothing were wrong, and writes no record."""
    place = ("g", "t", 0)
    own, late = (
        ShareLine(ACKNOWLEDGED, 0, 9, 1, None, whose, whose, "host", whose, 1, 1, ms, ms + 2, whose, "log", 0)
        for whose, ms in (("b", 4_100), ("a", 7_000))
    )
    stored = StateRecord(("c", None, 0), 1, False, 0, 0, 0, (StateBatch(0, 9, 2, 2),), 4_101, "segment", 1)
    assert clocks_apart({place: [own, late]}, {place: [stored]}) == {"g": {1: 0}}
    assert clocks_apart({place: [late]}, {place: [stored]}) == {"g": {1: 2_899}}


def _replayed(
    events: list[Event],
    *,
    holes: list[int] | None = None,
    is_whole: bool = True,
    dated: set[int] | None = None,
    undated: set[int] | None = None,
    lock_ms: int | None = 2_000,
) -> list[Any]:
    of: dict[str, list[ShareLine]] = {ACQUIRED: [], ACKNOWLEDGED: [], SESSION: []}
    records: list[StateRecord] = []
    epochs = {"leads": 1, "alters": 2}
    kinds = {"gets": ACQUIRED, "says": ACKNOWLEDGED, "session": SESSION}
    for number, (ms, what, *rest) in enumerate(events):
        if what in kinds:
            whose, count, last, first = (*rest, 0, 0)[:4]
            sender, place = (lock_ms, whose, whose, "host", "connection"), (f"line {number}", "log", number)
            line = (*sender, number, 1, ms, ms, *place)
            of[kinds[what]].append(ShareLine(kinds[what], first, last, count, *line))
            continue
        epochs |= {what: rest[0]} if what in epochs else {}
        batches = () if what in epochs else (StateBatch(0, (*rest, 0)[2], *rest[:2]),)
        is_snapshot = what in ("snapshot", "alters")
        state_epoch = epochs["alters"] if is_snapshot else None
        place = ("c", None, 0), number, is_snapshot, state_epoch, epochs["leads"], 0, batches
        records.append(StateRecord(*place, ms, "segment", number))
    by_member = [{name: [each for each in of[kind] if each.member_id == name] for name in "ab"}
                 for kind in (ACKNOWLEDGED, SESSION)]  # fmt: skip
    lines = MemberLines(*by_member, lambda one, other: is_whole, dated or set(), undated or set())
    return SharePartition(lines, holes or ()).replay(of[ACQUIRED], records)
