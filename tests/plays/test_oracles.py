"""Each oracle against facts and rows made by hand: what it must find, and what it once found wrongly."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from plays.audits import TABLES
from plays.oracles import unknowns
from plays.oracles.case import Case
from plays.oracles.holes import holes
from plays.oracles.mirrors import mirrors
from plays.oracles.owners import owners
from plays.oracles.pieces import compare
from plays.oracles.refusals import refusals
from plays.oracles.rules import rules
from plays.oracles.state import state
from plays.oracles.unknowns import Unknowns
from plays.script import Script, Setting, Step
from plays.server_logs import skipped_markers

BEGIN_MS = 1_800_000_000_000
Row = dict[str, Any]


def made(
    facts: list[Row], steps: list[Step] | None = None, options: tuple[str, ...] = (), **rows: list[Row]
) -> Case:
    setting = Setting("4.3.1", 2, options=options)
    return Case(Script("made", setting, steps or []), facts, {table: rows.get(table, []) for table in TABLES})


def at(ms: int) -> dt.datetime:
    return dt.datetime.fromtimestamp((BEGIN_MS + ms) / 1000, dt.UTC)


def request(api: str, ms: int = 0, errors: str = "NONE", client: str = "c-p1", **more: Any) -> Row:
    told = {"event": "request", "play": "p1", "step": 1, "client": client, "correlation_id": 7, "api": api}
    return {**told, "ts_ms": BEGIN_MS + ms, "errors": [errors], "request": {}, "answer": {}, **more}


def names(faults: Any) -> list[str]:
    return [fault["fault"] for fault in faults]


# O2: rules that a broker keeps


def violated(invariant: str, ms: int = 0, scope: str = '{"transactional_id": "x0-p1"}') -> Row:
    told = {"verdict": "violated", "invariant": invariant, "verdict_id": "v", "scope": scope, "witness": "{}"}
    return {**told, "observed": {}, "evidence": "{}", "from_time": at(ms)}


def test_a_violated_rule_of_the_broker_is_a_false_alarm() -> None:
    assert names(rules(made([], verdicts=[violated("status_transitions")]))) == ["O2:status_transitions"]


def test_clients_may_break_what_is_not_the_brokers() -> None:
    assert names(rules(made([], verdicts=[violated("no_zombie_accepted")]))) == []


@pytest.mark.parametrize(("play", "found"), [("p1", []), ("p2", ["O2:marker_of_the_right_type"])])
def test_a_marker_breaks_rules_in_its_own_play_only(play: str, found: list[str]) -> None:
    steps = [{"op": "marker", "play": play}]
    assert names(rules(made([], steps, verdicts=[violated("marker_of_the_right_type")]))) == found


@pytest.mark.parametrize(("pid", "found"), [(5, []), (6, ["O2:no_dangling_transaction"])])
def test_what_kafka_itself_says_dangles_is_no_false_alarm(pid: int, found: list[str]) -> None:
    last = answered(of=None, producers=[["a-p1", 0, 5, 1, 2]])
    row = violated("no_dangling_transaction", scope='{"topic": "a-p1", "partition": 0}')
    row["evidence"] = json.dumps({"producer_id": pid})
    assert names(rules(made([last], verdicts=[row]))) == found


@pytest.mark.parametrize(
    ("partition", "found"),
    [(0, []), (1, []), (2, ["O2:every_marker_is_written"]), (3, ["O2:every_marker_is_written"])],
    ids=["hangs", "open since before the end", "open since after it", "not open"],
)
def test_a_marker_is_lost_if_kafka_itself_has_its_transaction_open(partition: int, found: list[str]) -> None:
    going_on = {"id": "x0-p1", "pid": 5, "epoch": 1, "state": "Ongoing", "partitions": ["a-p1:1", "a-p1:2"]}
    producers = [["a-p1", 0, 5, 1, 2], ["a-p1", 1, 5, 1, 4], ["a-p1", 2, 5, 1, 6], ["a-p1", 3, 5, 1, -1]]
    last = answered(of=None, producers=producers, transactions=[going_on])
    written = [produced(base=4, p=1, ms=50), produced(base=6, p=2, ms=150)]
    row = violated("every_marker_is_written", 100)
    row["evidence"] = json.dumps({"producer_id": 5, "transaction_partition": f"a-p1:{partition}"})
    assert names(rules(made([*written, last], verdicts=[row]))) == found


SKIPPED = """[2027-01-15 08:00:00,020] INFO [Transaction Marker Channel Manager 1]: Couldn't find leader endpoint for partitions Set(b-p1-0, a-p1-2) while trying to send transaction markers for x, ]0-p1, these partitions are likely deleted already and hence can be skipped (kafka.coordinator.transaction.TransactionMarkerChannelManager)
[2027-01-15 08:00:00,030] INFO Started (kafka.server.KafkaServer)
"""  # noqa: E501


@pytest.fixture(params=["server.log", "server.log.1.gz"])
def server_log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A server.log, as it is written and as it is kept."""
    file = tmp_path / request.param
    file.write_bytes(gzip.compress(SKIPPED.encode()) if file.suffix == ".gz" else SKIPPED.encode())
    return file


@pytest.mark.parametrize(
    ("invariant", "of", "deleted", "is_found"),
    [
        ("every_marker_is_written", "a-p1:2 x, ]0-p1", None, False),
        ("every_marker_is_written", "a-p1:2 x, ]0-p1", "b-p1", False),
        ("every_marker_is_written", "b-p1:0 x, ]0-p1", "b-p1", True),
        ("every_marker_is_written", "a-p1:1 x, ]0-p1", None, True),
        ("every_marker_is_written", "a-p1:2 x1-p1", None, True),
        ("no_write_outside_transaction", "b-p1:0 x, ]0-p1", None, False),
        ("no_write_outside_transaction", "b-p1:0 x, ]0-p1", "b-p1", True),
        ("no_write_outside_transaction", "b-p1:1 x, ]0-p1", None, True),
        ("status_transitions", "b-p1:0 x, ]0-p1", None, True),
    ],
)
def test_a_marker_is_lost_if_the_coordinator_says_that_it_skipped_it(
    server_log: Path, invariant: str, of: str, deleted: str | None, is_found: bool
) -> None:
    """The next transaction of the producer has ended what the marker was due for, so nothing is open."""
    place, transactional_id = of.split(" ", 1)
    deletion = request("DeleteTopics", request={"Topics": [{"Name": deleted}]}, sent_ms=BEGIN_MS + 10)
    topic, _, p = place.partition(":")
    row = violated(invariant, 10, json.dumps({"topic": topic, "partition": int(p)}))
    told = {"producer_id": 5, "transactional_id": transactional_id}
    named = {} if invariant == "no_write_outside_transaction" else {"transaction_partition": place}
    row["evidence"] = json.dumps(told | named)
    facts = [*([deletion] if deleted else []), *skipped_markers([server_log])]
    assert names(rules(made(facts, verdicts=[row]))) == is_found * [f"O2:{invariant}"]


def test_an_empty_server_log_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "server.log").touch()
    assert list(skipped_markers([tmp_path / "server.log"])) == []


@pytest.mark.parametrize(("ms", "found"), [(2000, []), (60_000, ["O2:one_marker_each"])])
def test_a_restart_breaks_rules_at_its_time_only(ms: int, found: list[str]) -> None:
    facts = [{"event": "down", "ts_ms": BEGIN_MS, "how": "kill"}, {"event": "up", "ts_ms": BEGIN_MS + 5000}]
    assert names(rules(made(facts, verdicts=[violated("one_marker_each", ms)]))) == found


# O3: Kafka's own answers


def answered(ms: int = 1000, of: str | None = "p1", **told: Any) -> Row:
    fact = {"event": "answers", "ts_ms": BEGIN_MS + ms, "step": 9, "of": of, "groups": [], "transactions": []}
    empty: Row = {"offsets": [], "topics": {}, "partitions": [], "producers": []}
    return fact | (empty if of is None else {}) | told


def group(members: Row, kind: str = "consumer", ms: int = 1000) -> Row:
    asked = [BEGIN_MS + ms, BEGIN_MS + ms]
    return {"id": "c0-p1", "type": kind, "state": "Stable", "epoch": 3, "members": members, "asked": asked}


def member(epoch: int, begin: int, end: int | None = None) -> Row:
    times = {"from_time": at(begin), "to_time": None if end is None else at(end)}
    return {"group_id": "c0-p1", "member_id": "m", "member_epoch": epoch, **times}


MEMBERS = ["O3:members_consumer"]


@pytest.mark.parametrize(
    ("rows", "found"),
    [
        ([member(3, 0)], []),
        ([member(2, 0)], MEMBERS),
        ([], MEMBERS),
        ([member(2, 0, 980), member(3, 980)], []),
        ([member(3, 0, 500), member(2, 500)], MEMBERS),
    ],
    ids=["same", "other epoch", "absent", "moved just then", "too old"],
)
def test_members_are_those_of_the_moment_of_the_question(rows: list[Row], found: list[str]) -> None:
    told = answered(groups=[group({"m": {"epoch": 3, "has": []}})])
    assert names(state(made([told], members=rows))) == found


def test_a_member_that_is_away_is_described_and_has_no_row() -> None:
    assert names(state(made([answered(groups=[group({"m": {"epoch": -2, "has": ["a-p1:0"]}})])]))) == []


@pytest.mark.parametrize(
    ("release", "deleted_ms", "found"),
    [("3.9.2", 50, []), ("4.3.1", 50, ["O3:offsets"]), ("3.9.2", 5, ["O3:offsets"])],
    ids=["pending", "newer coordinators say so", "deleted before"],
)
def test_an_old_coordinator_forgets_what_is_pending_for_a_deleted_topic(
    release: str, deleted_ms: int, found: list[str]
) -> None:
    sent = {"GroupId": "k0-p1", "Topics": [{"Name": "a-p1", "Partitions": [{"PartitionIndex": 0}]}]}
    facts = [
        request("TxnOffsetCommit", 10, request=sent),
        request("DeleteTopics", deleted_ms, request={"Topics": [{"Name": "a-p1"}]}),
        answered(of=None),
    ]
    row = {"group_id": "k0-p1", "topic": "a-p1", "partition": 0, "committed_offset": 7, "is_stored": True}
    case = made(sorted(facts, key=lambda fact: fact["ts_ms"]), offsets=[row])
    case.script = Script("made", Setting(release, 0), [])
    assert names(state(case)) == found


def owned(topic: str | None = "a-p1", topic_id: str | None = "A", pending: bool = False, **more: Any) -> Row:
    times = {"from_time": at(0), "to_time": None, "pending_revocation_since": at(1) if pending else None}
    row = {"group_id": "c0-p1", "member_id": "m", "topic": topic, "topic_id": topic_id, "partition": 0}
    return {**row, "subtopology_id": None, **times, **more}


@pytest.mark.parametrize(
    ("row", "has", "found"),
    [
        (owned(), ["a-p1:0"], []),
        (owned(), [], ["O3:owned_consumer"]),
        (owned(topic="b-p1"), ["a-p1:0"], ["O3:owned_consumer"]),
        (owned(pending=True), [], []),
        (owned(topic_id="deleted"), [], []),
    ],
    ids=["same", "marts only", "another", "pending revocation", "of a deleted topic"],
)
def test_ownership(row: Row, has: list[str], found: list[str]) -> None:
    facts = [
        answered(groups=[group({"m": {"epoch": 3, "has": has}})]),
        answered(of=None, topics={"a-p1": "A"}),
    ]
    topics = [{"topic": "a-p1", "topic_id": "A", "is_live": True}]
    assert names(state(made(facts, members=[member(3, 0)], owned=[row], topics=topics))) == found


def test_a_task_has_no_topic_but_that_of_its_subtopology() -> None:
    facts = [answered(groups=[group({"m": {"epoch": 3, "has": ["b-p1:0"]}}, "streams")])]
    task = owned(topic=None, topic_id=None, subtopology_id="1")
    assert names(state(made(facts, members=[member(3, 0)], owned=[task]))) == []


def transaction(state_: str, **more: Any) -> Row:
    asked = [BEGIN_MS + 1000, BEGIN_MS + 1001]
    return {
        "id": "x0-p1",
        "state": state_,
        "pid": 5,
        "epoch": 1,
        "partitions": ["a-p1:0"],
        "asked": asked,
        **more,
    }


def ended(outcome: str | None, ms: int) -> Row:
    told = {"transactional_id": "x0-p1", "outcome": outcome, "started_at": at(0), "prepared_at": at(ms)}
    return {**told, "transaction_partitions": ["a-p1:0"]}


@pytest.mark.parametrize(
    ("kafka", "row", "found"),
    [
        ("CompleteCommit", ended("committed", 500), []),
        ("CompleteAbort", ended("committed", 500), ["O3:outcome"]),
        ("Ongoing", ended("aborted", 2000), []),
        ("Ongoing", ended("aborted", 500), ["O3:outcome"]),
    ],
    ids=["same", "another", "timed out after the question", "not open any more"],
)
def test_outcomes(kafka: str, row: Row, found: list[str]) -> None:
    facts = [answered(of=None, transactions=[transaction(kafka)])]
    assert names(state(made(facts, transactions=[row]))) == found


def extent(**more: Any) -> Row:
    told = {
        "topic": "a-p1",
        "partition": 0,
        "partition_key": "A:0",
        "log_start_offset": 0,
        "log_end_offset": 9,
    }
    return {**told, "last_stable_offset": 4, "held_by": "ordinary", "producer_id": 5, **more}


@pytest.mark.parametrize(
    ("row", "found"),
    [
        (extent(), []),
        (extent(last_stable_offset=2), ["O3:last_stable_offset"]),
        (extent(log_end_offset=None), ["O3:unknown_log_end_offset"]),
        (extent(partition_key="B:0"), ["O3:no_extent"]),
    ],
    ids=["the start is that of the captured segments", "another", "unknown", "of another topic"],
)
def test_extents(row: Row, found: list[str]) -> None:
    last = answered(of=None, topics={"a-p1": "A"}, partitions=[["a-p1", 0, 4, 9, 4]])
    topics = [{"topic": "a-p1", "topic_id": "A", "is_live": True}]
    assert names(state(made([last], topics=topics, extents=[row]))) == found


@pytest.mark.parametrize(("ms", "found"), [(1500, []), (-5000, ["O3:log_end_offset"])])
def test_a_transaction_that_times_out_after_the_question_goes_on(ms: int, found: list[str]) -> None:
    last = answered(of=None, topics={"a-p1": "A"}, partitions=[["a-p1", 0, 0, 8, 4]])
    rows = {"transactions": [ended("aborted", ms)], "extents": [extent()]}
    topics = [{"topic": "a-p1", "topic_id": "A", "is_live": True}]
    assert names(state(made([last], topics=topics, **rows))) == found


def test_a_partition_without_idempotent_producers_has_no_extent() -> None:
    last = answered(of=None, topics={"a-p1": "A"}, partitions=[["a-p1", 0, 0, 3, 3]])
    topics = [{"topic": "a-p1", "topic_id": "A", "is_live": True}]
    assert names(state(made([last], topics=topics))) == []


DANGLING = {"topic": "a-p1", "partition": 0, "producer_id": 5}
UNSURE = {
    **violated("no_dangling_transaction", scope='{"topic": "a-p1", "partition": 0}'),
    "verdict": "unknown",
    "reason": "not_captured",
    "evidence": '{"producer_id": 5}',
}


@pytest.mark.parametrize(
    ("transactions", "rows", "found"),
    [
        ([transaction("Ongoing")], {}, []),
        ([transaction("Ongoing", epoch=0)], {"dangling": [DANGLING]}, []),
        ([], {"dangling": [DANGLING]}, []),
        ([], {}, ["O3:dangling_missed"]),
        ([], {"verdicts": [UNSURE]}, []),
        ([transaction("Ongoing")], {"dangling": [DANGLING]}, ["O3:dangling_by_marts_only"]),
        ([transaction("PrepareAbort")], {"dangling": [DANGLING]}, []),
        ([transaction("PrepareAbort", epoch=2)], {"dangling": [DANGLING]}, ["O3:dangling_by_marts_only"]),
    ],
    ids=[
        "a coordinator has it",
        "in an epoch before",
        "found",
        "missed",
        "unknown is only counted",
        "too many",
        "the partition refuses the marker",
        "the marker has yet to come",
    ],
)
def test_dangling_transactions(transactions: list[Row], rows: Any, found: list[str]) -> None:
    last = answered(of=None, producers=[["a-p1", 0, 5, 1, 2]], transactions=transactions)
    open_one = [{**ended("open", 0), "prepared_at": None}] if transactions else []
    assert names(state(made([last], transactions=open_one, **rows))) == found


# O4: refusals and their causes


LINE = {"client_id": "c-p1", "correlation_id": 7, "file": "f", "position": 70, "api_name": "PRODUCE"}


def refused(
    error: str,
    cause: str | None,
    by: str | None = None,
    fenced: int | None = None,
    *,
    position: int = 70,
    epoch: int | None = 0,
    victim: str | None = None,
) -> Row:
    told = {"file": "f", "position": position, "caused_by_client_id": by, "victim_client_id": victim}
    told |= {} if fenced is None else {"fenced_at": at(fenced).isoformat()}
    row = {
        "protocol": "producer_epoch",
        "occurred_at": at(100),
        "error": error,
        "cause": cause,
        "victim": "x0-p1",
        "victim_epoch": epoch,
    }
    return {**row, "evidence": json.dumps(told)}


def init(ms: int, epoch: int, client: str, error: int = 0, **more: Any) -> Row:
    answer = {"ErrorCode": error, "ProducerId": 5 if error == 0 else -1, "ProducerEpoch": epoch}
    asked = {"TransactionalId": "x0-p1", "ProducerId": -1}
    errors = "NONE" if error == 0 else "CONCURRENT_TRANSACTIONS"
    numbered = {"correlation_id": 1, "pid": -1, "epoch": -1}
    return request("InitProducerId", ms, errors, client, request=asked, answer=answer, **numbered, **more)


def end(ms: int, epoch: int, client: str) -> Row:
    answer = {"ErrorCode": 0, "ProducerId": 5, "ProducerEpoch": epoch}
    asked = {"TransactionalId": "x0-p1", "ProducerId": 5}
    return request("EndTxn", ms, client=client, request=asked, answer=answer, pid=5, epoch=epoch - 1)


def write(ms: int, epoch: int) -> Row:
    return request("Produce", ms, "INVALID_PRODUCER_EPOCH", pid=5, epoch=epoch, txn="x0-p1")


OTHER = [init(0, 0, "c-p1"), init(50, 1, "other-p1")]


@pytest.mark.parametrize(
    ("facts", "rows", "found"),
    [
        ([*OTHER, write(100, 0)], [refused("INVALID_PRODUCER_EPOCH", "new_instance", "other-p1", 50)], []),
        ([*OTHER, write(100, 0)], [], ["O4:no_event:Produce:INVALID_PRODUCER_EPOCH"]),
        (
            [*OTHER, write(100, 0)],
            [refused("INVALID_PRODUCER_EPOCH", "end_txn", "other-p1", 50)],
            ["O4:cause:Produce:INVALID_PRODUCER_EPOCH:new_instance"],
        ),
        (
            [*OTHER, write(100, 0)],
            [refused("INVALID_PRODUCER_EPOCH", None)],
            [],
        ),
        (
            [*OTHER, write(100, 0)],
            [refused("INVALID_PRODUCER_EPOCH", "new_instance", "other-p1", 119)],
            ["O4:cause_after_effect:producer_epoch:new_instance"],
        ),
        (
            [init(0, 0, "c-p1"), init(50, -1, "other-p1", 51), write(100, 0)],
            [refused("INVALID_PRODUCER_EPOCH", "timeout")],
            [],
        ),
        ([*OTHER, write(100, 9)], [], []),
        ([*OTHER, init(60, -1, "other-p1", 51), write(100, 9)], [], []),
    ],
    ids=[
        "right",
        "no row",
        "another cause",
        "no cause is only counted",
        "the cause came later",
        "a refused InitProducerId may have moved the epoch",
        "an epoch that nobody has been given",
        "nor after a refused InitProducerId",
    ],
)
def test_refusals(facts: list[Row], rows: list[Row], found: list[str]) -> None:
    assert names(refusals(made(facts, events=rows, lines=[LINE]))) == found


ENDED = [init(0, 0, "c-p1"), end(50, 1, "recovery-p1"), init(150, 2, "other-p1")]
BUSY = init(40, -1, "other-p1", 51)


@pytest.mark.parametrize(
    ("facts", "row", "found"),
    [
        ([*ENDED, write(100, 0)], ("end_txn", "recovery-p1"), []),
        ([*ENDED, write(100, 0)], ("new_instance", "other-p1"), ["O4:cause:Produce:{0}:end_txn"]),
        (
            [init(0, 0, "c-p1"), init(50, 1, "c-p1"), write(100, 0)],
            ("timeout", None),
            [],
        ),
        (
            [init(0, 0, "c-p1"), BUSY, init(50, 2, "other-p1"), write(100, 0)],
            ("new_instance", "other-p1"),
            [],
        ),
        (
            [init(0, 0, "c-p1"), BUSY, init(50, 2, "other-p1"), write(100, 0)],
            ("timeout", None),
            ["O4:cause:Produce:{0}:new_instance"],
        ),
        (
            [init(0, 0, "c-p1"), BUSY, init(50, 2, "third-p1"), write(100, 0)],
            ("new_instance", "other-p1"),
            [],
        ),
        (
            [init(0, 0, "c-p1"), init(50, 1, "other-p1"), end(60, 2, "other-p1"), write(100, 1)],
            ("new_instance", "other-p1"),
            [],
        ),
        (
            [init(0, 0, "c-p1"), write(30, 0), init(50, 2, "other-p1"), write(100, 0)],
            ("timeout", None),
            [],
        ),
    ],
    ids=[
        "another client ended it",
        "what came next",
        "an epoch older than the one given is in no line",
        "its own refused request moved it first",
        "nothing else moved it",
        "another's refused request may have",
        "nor is the epoch of another client in any line",
        "it had been refused before",
    ],
)
def test_who_moved_the_epoch_first(facts: list[Row], row: tuple[str, str | None], found: list[str]) -> None:
    error = "INVALID_PRODUCER_EPOCH"
    rows = [refused(error, *row, 50, epoch=1 if row[0] == "timeout" and len(facts) == 3 else 0)]
    faults = names(refusals(made(facts, events=rows, lines=[LINE])))
    assert faults == [each.format(error) for each in found]


@pytest.mark.parametrize(
    ("told", "found"),
    [
        ({"epoch": 1}, ["O4:victim_epoch:Produce"]),
        ({"epoch": None}, []),
        ({"victim": "c-p1"}, []),
        ({"victim": "recovery-p1"}, ["O4:victim_client:Produce"]),
    ],
)
def test_the_victim_is_who_was_refused(told: Row, found: list[str]) -> None:
    rows = [refused("INVALID_PRODUCER_EPOCH", None, **told)]
    assert names(refusals(made([*OTHER, write(100, 0)], events=rows, lines=[LINE]))) == found


def test_whose_client_goes_back_to_an_older_epoch_cannot_be_told() -> None:
    facts = [*OTHER[:1], write(20, 1) | {"errors": ["NONE"]}, *OTHER[1:], write(100, 0)]
    rows = [refused("INVALID_PRODUCER_EPOCH", None, epoch=1)]
    assert names(refusals(made(facts, events=rows, lines=[LINE]))) == []


def test_producers_without_an_id_have_nothing_in_common() -> None:
    """What moved one idempotent producer is no cause of another's refusal."""
    one, other = (init(ms, 0, f"i{ms}-p1") | {"request": {"ProducerId": -1}} for ms in (0, 50))
    other["answer"]["ProducerId"] = 6
    facts = [one, other, write(100, 0) | {"txn": None}]
    rows = [refused("INVALID_PRODUCER_EPOCH", "local", "i0-p1", 50)]
    assert names(refusals(made(facts, events=rows, lines=[LINE]))) == []


def test_a_refusal_is_found_by_its_request_not_by_its_time() -> None:
    """Another refusal of the same client, within the same millisecond, has another cause."""
    rows = [
        refused("INVALID_PRODUCER_EPOCH", "end_txn", "c-p1", 40, position=60),
        refused("INVALID_PRODUCER_EPOCH", "new_instance", "other-p1", 50),
    ]
    assert names(refusals(made([*OTHER, write(100, 0)], events=rows, lines=[LINE]))) == []


def test_an_administrator_is_the_operator_whatever_its_client_id() -> None:
    facts = [init(0, 0, "c-p1"), init(50, 1, "connect-worker-1", by="operator"), write(100, 0)]
    rows = [refused("INVALID_PRODUCER_EPOCH", "new_instance", "connect-worker-1", 50)]
    assert names(refusals(made(facts, events=rows, lines=[LINE]))) == [
        "O4:cause:Produce:INVALID_PRODUCER_EPOCH:operator"
    ]


@pytest.mark.parametrize(("epoch", "found"), [(1, 1), (2, 0)], ids=["the next", "one may lie between"])
def test_where_epochs_move_by_themselves_only_the_next_one_has_a_cause(epoch: int, found: int) -> None:
    rows = [refused("INVALID_PRODUCER_EPOCH", "timeout")]
    facts = [init(0, 0, "c-p1"), init(50, epoch, "other-p1"), write(100, 0)]
    case = made(facts, options=("short_timeouts",), events=rows, lines=[LINE])
    assert names(refusals(case)) == found * ["O4:cause:Produce:INVALID_PRODUCER_EPOCH:new_instance"]


def commit(ms: int = 100, errors: str = "NONE", epoch: int = 3, **more: Any) -> Row:
    asked = {"GenerationIdOrMemberEpoch": epoch}
    return request("OffsetCommit", ms, errors, request=asked, topic="a-p1", p=0, truth=None, **more)


def test_a_commit_without_an_epoch_has_no_row() -> None:
    assert names(refusals(made([commit(errors="UNKNOWN_MEMBER_ID", epoch=-1)], lines=[LINE]))) == []
    assert names(refusals(made([commit(errors="UNKNOWN_MEMBER_ID")], lines=[LINE]))) == [
        "O4:no_event:OffsetCommit:UNKNOWN_MEMBER_ID"
    ]


@pytest.mark.parametrize(("how", "found"), [("kill", 0), ("stop", 1)])
def test_the_last_lines_of_a_killed_broker_may_be_lost(how: str, found: int) -> None:
    down = {"event": "down", "ts_ms": BEGIN_MS + 1000, "how": how}
    assert len(names(refusals(made([commit(errors="UNKNOWN_MEMBER_ID"), down])))) == found
    assert len(names(owners(made([commit(), down])))) == found


# O5: owners


@pytest.mark.parametrize(
    ("known", "marts", "accused", "found"),
    [
        ("owner", "owner", False, []),
        ("owner", "not_owner", False, ["O5:owner_accused"]),
        ("owner", "owner", True, ["O5:owner_accused"]),
        ("owner", "unknown", False, []),
        ("anothers", "not_owner", True, []),
        ("anothers", "not_owner", False, ["O5:anothers_holds"]),
        (None, "zombie", True, []),
    ],
)
def test_owners(known: str | None, marts: str, accused: bool, found: list[str]) -> None:
    row = {**LINE, "topic": "a-p1", "partition": 0, "truth": marts, "commit_id": "c", "unknown_reason": None}
    verdicts = (
        [violated("no_commit_for_anothers_partition") | {"evidence": '{"commit_id": "c"}'}] if accused else []
    )
    case = made([commit() | {"truth": known}], commits=[row], verdicts=verdicts)
    assert names(owners(case)) == found


# O6, O7, O8


def test_pieces_have_the_rows_of_the_whole() -> None:
    whole: Row = {table: [] for table in TABLES} | {
        "commits": [{"truth": "owner", "file": "a", "position": 1}]
    }
    same = whole | {"commits": [{"truth": "owner", "file": "b", "position": 9}]}
    other = whole | {"commits": [{"truth": "unknown", "file": "a", "position": 1}]}
    assert names(compare(whole, same)) == []
    assert names(compare(whole, other)) == ["O6:commits"]


@pytest.mark.parametrize(
    ("invariant", "checked", "found"),
    [
        ("producer_state_is_kept", 158, []),
        ("producer_state_is_kept", 147, ["O6:producer_state_is_kept"]),
        ("status_transitions", 158, ["O6:coverage"]),
    ],
)
def test_snapshots_that_are_removed_between_two_copies_are_in_pieces_only(
    invariant: str, checked: int, found: list[str]
) -> None:
    whole, pieces = (
        {table: [] for table in TABLES}
        | {"coverage": [{"invariant": invariant, "checked": each, "exercised": each, "holds": each}]}
        for each in (148, checked)
    )
    assert names(compare(whole, pieces)) == found


def produced(sequence: int = 0, base: int = 0, **more: Any) -> Row:
    what: Row = {"topic": "a-p1", "topic_id": "A", "p": 0, "n": 2, "sequence": sequence, "pid": 5, "epoch": 0}
    return request("Produce", answer={"BaseOffset": base}, **what | more)


@pytest.mark.parametrize(
    ("sequences", "blamed", "found"),
    [
        ([0, 2, 4], False, []),
        ([0, 2, 6], False, ["O7:gap"]),
        ([0, 2, 6], True, []),
        ([4, 6], False, []),
    ],
    ids=["no gap", "a gap", "a gap that is found", "the first one is not known"],
)
def test_a_gap_that_was_accepted_must_be_violated(
    sequences: list[int], blamed: bool, found: list[str]
) -> None:
    told = violated("no_sequence_gap", scope='{"topic": "a-p1", "partition": 0}')
    verdicts = [told | {"witness": '{"p": "A:0", "k": 5}'}] if blamed else []
    assert names(mirrors(made([produced(each) for each in sequences], verdicts=verdicts))) == found


def test_a_gap_is_not_found_by_a_verdict_about_another_producer() -> None:
    told = violated("no_sequence_gap", scope='{"topic": "a-p1", "partition": 0}')
    verdict = told | {"witness": '{"p": "A:0", "k": 6}'}
    assert names(mirrors(made([produced(0), produced(6)], verdicts=[verdict]))) == ["O7:gap"]


@pytest.mark.parametrize(
    ("end", "leaders", "found"),
    [
        (9, [], []),
        (4, [], ["O7:lost"]),
        (4, [{"topic_id": "A", "partition": 0, "records_lost": 5}], []),
        (4, [{"topic_id": "A", "partition": 0, "records_lost": 0}], ["O7:lost"]),
    ],
    ids=["all there", "lost", "lost and known", "lost and denied"],
)
def test_lost_records_must_be_known(end: int, leaders: list[Row], found: list[str]) -> None:
    last = answered(of=None, topics={"a-p1": "A"}, partitions=[["a-p1", 0, 0, end, end]])
    assert names(mirrors(made([produced(base=7), last], leaders=leaders))) == found


@pytest.mark.parametrize(
    ("operator", "producer", "client", "blamed", "found"),
    [
        (False, True, "new", None, ["O7:half_committed"]),
        (True, False, "new", None, ["O7:half_committed"]),
        (False, True, "adds", None, ["O7:half_committed"]),
        (False, True, "adds nothing", None, []),
        (False, True, "new", "marker_of_the_right_type", []),
        (True, True, "new", None, []),
        (True, True, "adds", None, ["O7:two_markers"]),
        (True, True, "adds", "one_marker_each", []),
    ],
    ids=[
        "abort",
        "commit",
        "old client",
        "not of the transaction",
        "found",
        "as the producer ended it",
        "twice",
        "twice and found",
    ],
)
def test_an_operators_marker_in_a_live_transaction_must_be_violated(
    operator: bool, producer: bool, client: str, blamed: str | None, found: list[str]
) -> None:
    known: Row = {"pid": 5, "epoch": 0}
    marker = {"Topics": [{"Name": "a-p1", "PartitionIndexes": [0]}], "TransactionResult": operator}
    add = {"V3AndBelowTopics": [{"Name": "a-p1", "Partitions": [0]}]}
    facts = [
        *([request("AddPartitionsToTxn", request=add, **known)] if client == "adds" else []),
        produced(txn="x0-p1", version=13 if client == "new" else 11, **known),
        request("WriteTxnMarkers", client="ops-laptop", request={"Markers": [marker]}, **known),
        request("EndTxn", request={"Committed": producer}, version=5 if client == "new" else 4, **known),
    ]
    told = json.dumps({"producer_id": 5, "transaction_partition": "a-p1:0"})
    verdicts = [violated(blamed) | {"evidence": told}] if blamed else []
    assert names(mirrors(made(facts, verdicts=verdicts))) == found


@pytest.mark.parametrize(("version", "found"), [(4, []), (5, ["O7:half_committed"])])
def test_markers_of_one_epoch_are_not_counted_in_topics_of_one_name(version: int, found: list[str]) -> None:
    """The topic is made again after the transaction: the coordinator's records tell its name alone."""
    known: Row = {"pid": 5, "epoch": 0}
    marker = {"Topics": [{"Name": "a-p1", "PartitionIndexes": [0]}], "TransactionResult": False}
    facts = [
        produced(txn="x0-p1", version=13, **known),
        request("WriteTxnMarkers", client="ops-laptop", request={"Markers": [marker]}, **known),
        request("EndTxn", request={"Committed": True}, version=version, **known),
        request("DeleteTopics", request={"Topics": [{"Name": "a-p1"}]}),
    ]
    assert names(mirrors(made(facts))) == found


@pytest.mark.parametrize(
    ("order", "found"),
    [
        ("write cut delete", 0),
        ("write delete cut", 0),
        ("write delete write cut", 1),
        ("write delete cut write", 0),
        ("delete write cut", 1),
        ("write delete_other cut", 1),
    ],
)
def test_a_marker_halves_nothing_in_the_log_of_another_incarnation(order: str, found: int) -> None:
    """What was written before a topic was deleted is gone, and a marker in the next one ends none of it."""
    known: Row = {"pid": 5, "epoch": 0}
    marker = {"Topics": [{"Name": "a-p1", "PartitionIndexes": [0]}], "TransactionResult": True}
    done = {
        "write": produced(txn="x0-p1", version=13, **known),
        "cut": request("WriteTxnMarkers", client="ops-laptop", request={"Markers": [marker]}, **known),
        "delete": request("DeleteTopics", request={"Topics": [{"Name": "a-p1"}]}),
        "delete_other": request("DeleteTopics", request={"Topics": [{"Name": "b-p1"}]}),
    }
    ends = request("EndTxn", request={"Committed": False}, version=5, **known)
    facts = [*(done[each] for each in order.split()), ends]
    assert names(mirrors(made(facts))) == found * ["O7:half_committed"]


@pytest.mark.parametrize(
    ("version", "topic_id", "blamed", "found"),
    [
        (11, "A", None, ["O7:outside"]),
        (11, "A", "no_write_outside_transaction", []),
        (11, "A", "no_dangling_transaction", []),
        (11, "deleted", None, []),
        (13, "A", None, []),
    ],
    ids=["missed", "ended by a marker", "dangling", "of a deleted topic", "the leader adds the partition"],
)
def test_a_write_outside_of_a_transaction_must_be_violated(
    version: int, topic_id: str, blamed: str | None, found: list[str]
) -> None:
    fact = produced(txn="x0-p1", version=version, topic_id=topic_id)
    told = '{"producer_id": 5, "first_offset": 0, "last_offset": 1}'
    scope = '{"topic": "a-p1", "partition": 0}'
    verdicts = [violated(blamed, scope=scope) | {"evidence": told}] if blamed else []
    assert names(mirrors(made([fact, answered(of=None, topics={"a-p1": "A"})], verdicts=verdicts))) == found


def test_missing_lines_only_make_unknown() -> None:
    empty: Row = {table: [] for table in TABLES}
    commit_row = {**LINE, "topic": "a-p1", "partition": 0, "broker_error": "NONE", "outcome": "committed"}
    aborted = {
        "transactional_id": "x",
        "coordinator_partition": 0,
        "started_position": 1,
        "outcome": "aborted",
    }
    aborted |= {"markers_wrong": 0, "client_id": "c"}
    whole = empty | {
        "commits": [commit_row | {"truth": "owner"}],
        "transactions": [aborted | {"abort_cause": "end_txn"}],
        "verdicts": [violated("status_transitions")],
    }
    less = empty | {
        "commits": [commit_row | {"truth": "unknown"}],
        "transactions": [aborted | {"abort_cause": None}],
        "verdicts": [violated("status_transitions")],
    }
    other = empty | {
        "commits": [commit_row | {"truth": "zombie"}],
        "transactions": [aborted | {"abort_cause": "timeout"}],
        "verdicts": [violated("epoch_order")],
    }
    assert names(holes(whole, less)) == []
    assert names(holes(whole, other)) == [
        "O9:epoch_order",
        "O9:commits.truth",
        "O9:transactions.abort_cause",
    ]


LISTED = {"status_transitions:cleaned_away": 0.01}
O8 = "O8:status_transitions:"


@pytest.mark.parametrize(
    ("reason", "unknown", "facts", "found"),
    [
        ("cleaned_away", 0, [], []),
        ("cleaned_away", 3, [], []),
        ("cleaned_away", 4, [], [f"{O8}cleaned_away"]),
        ("not_captured", 1, [], [f"{O8}not_captured"] * 12),
        ("no_coordinator", 9, [], []),
        ("not_captured", 1, [{"event": "down", "ts_ms": BEGIN_MS, "how": "kill"}], []),
    ],
    ids=[
        "none",
        "as many as may be",
        "too many",
        "a reason that is not listed",
        "there is nothing to know",
        "a broker was killed",
    ],
)
def test_what_was_captured_is_known(
    reason: str, unknown: int, facts: list[Row], found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reasons that are not listed are found in each cluster, too high shares over all of them."""
    monkeypatch.setattr(unknowns, "MOST", LISTED)
    checked = {"invariant": "status_transitions", "checked": 300}
    reasons = [{"invariant": "status_transitions", "reason": reason, "unknown": unknown}] if unknown else []
    cases = [made([*facts, answered(of=None)], coverage=[checked], reasons=reasons)] * 12
    counted = Unknowns()
    assert names([*counted.add(cases), *counted.faults()]) == found


@pytest.mark.parametrize(
    ("unknown", "found"),
    [
        ([300] * 9, []),
        ([300] * 10, [f"{O8}cleaned_away"]),
        ([300, *[0] * 60], []),
        ([300, *[4] * 60], []),
        ([30, *[4] * 60], [f"{O8}cleaned_away"]),
        ([4, 2] * 30, []),
        ([4, 3] * 30, [f"{O8}cleaned_away"]),
    ],
    ids=[
        "few clusters",
        "enough of them",
        "one cluster of many",
        "one that hides the others",
        "all, one of them more",
        "as many as may be",
        "a little more",
    ],
)
def test_clusters_have_a_share_not_events(
    unknown: list[int], found: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of 300 events in each cluster three may be unknown."""
    monkeypatch.setattr(unknowns, "MOST", LISTED)
    rows = {"coverage": [{"invariant": "status_transitions", "checked": 300}]}
    told = {"invariant": "status_transitions", "reason": "cleaned_away"}
    cases = [made([answered(of=None)], **rows, reasons=[told | {"unknown": each}]) for each in unknown]
    counted = Unknowns()
    assert names([*counted.add(cases), *counted.faults()]) == found


def test_a_reason_counts_where_the_players_know_the_truth() -> None:
    row = {**LINE, "topic": "a-p1", "partition": 0, "truth": "unknown", "commit_id": "c"}
    row["unknown_reason"] = "several_states"
    counted = Unknowns()
    case = made([commit() | {"truth": "owner"}, answered(of=None)], commits=[row])
    list(counted.add([case]))
    share = {"unknown": 1, "checked": 1, "share": 1.0}
    assert counted.shares() == {"truth_owner:several_states": share}
