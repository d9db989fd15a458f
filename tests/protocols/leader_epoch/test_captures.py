"""Captures of real clusters against what their drivers did, and what the clusters said of themselves."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

CLUSTERS = ("incarnations-4.3.1", "incarnations-4.2.1", "incarnations-4.1.2", "incarnations-3.9.2")
THREE_BROKERS = CLUSTERS[0]
_ACTIVE = re.compile(
    r"QuorumController id=(\d+)\] Becoming the active controller at epoch (\d+), next write offset (\d+)"
)

Row = dict[str, Any]
Silver = dict[str, list[Row]]


@pytest.fixture(params=CLUSTERS)
def cluster(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    return name


@pytest.fixture
def truth(captures: Path, cluster: str) -> dict[str, list[Row]]:
    return told(captures, cluster)


def told(captures: Path, cluster: str) -> dict[str, list[Row]]:
    """The ground truth of a capture, by kind."""
    found: dict[str, list[Row]] = {}
    for line in (captures / cluster / "ground_truth.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        found.setdefault(row["kind"], []).append(row)
    return found


def of(silver: Silver, table: str, cluster: str) -> list[Row]:
    return [row for row in silver[table] if row["cluster"] == cluster]


def test_every_incarnation_is_there_with_who_made_it(
    silver: Silver, cluster: str, truth: dict[str, list[Row]]
) -> None:
    found = {row["topic_id"]: row for row in of(silver, "topic_incarnations", cluster)}
    made = Counter(event["event"] for event in truth["topic"])
    for event in truth["topic"]:
        row = found[event["topic_id"]]
        assert row["topic"] == event["topic"]
        if event["event"] == "created":
            assert row["created_by_client_id"] == event["client_id"]
            assert row["created_position"] is not None
        if event["event"] == "deleted":
            assert row["live"] is False
            assert row["removed_by_client_id"] == event["client_id"]
            assert row["removed_partition_epoch"] > row["max_partition_epoch"]
    assert made["created"] > 5 and made["deleted"] > 3
    gone = {event["topic_id"] for event in truth["topic"] if event["event"] == "deleted"}
    assert {topic_id for topic_id, row in found.items() if row["live"] is False} == gone


def test_partition_epochs_are_kip_232_s(silver: Silver, cluster: str) -> None:
    """One for each partition created and for each topic deleted, in the order of the log."""
    rows = of(silver, "partitions", cluster)
    epochs = {row["partition_key"]: row["partition_epoch"] for row in rows}
    removed = [
        row["removed_partition_epoch"]
        for row in of(silver, "topic_incarnations", cluster)
        if row["removed_partition_epoch"] is not None
    ]
    (newest,) = [row for row in of(silver, "partition_epochs", cluster) if row["to_position"] is None]
    assert newest["from_beginning"] is True
    assert sorted([*epochs.values(), *removed]) == list(range(1, newest["max_partition_epoch"] + 1))
    first = {row["partition_key"]: row["from_position"] for row in reversed(rows)}
    in_order = sorted(epochs, key=lambda key: epochs[key])
    assert [first[key] for key in in_order] == sorted(first.values())


def test_leaders_are_those_that_kafka_topics_describes(
    silver: Silver, cluster: str, truth: dict[str, list[Row]]
) -> None:
    """What kafka-topics.sh said between two moments was so somewhere between them, give or take a second."""
    states: dict[tuple[str, int], list[Row]] = {}
    for row in of(silver, "partitions", cluster):
        states.setdefault((row["topic_id"], row["partition"]), []).append(row)
    described = 0
    for moment in truth["leaders"]:
        early, late = moment["asked_at_ms"] - 1_000, moment["answered_at_ms"] + 1_000
        for each in moment["partitions"]:
            described += 1
            then = [
                row
                for row in states[each["topic_id"], each["partition"]]
                if _ms(row["from_time"]) <= late and (row["to_time"] is None or early <= _ms(row["to_time"]))
            ]
            said = (each["leader"], [str(b) for b in each["replicas"]], sorted(each["isr"]))
            assert said in [(r["leader"], r["replicas"], sorted(int(b) for b in r["isr"])) for r in then]
    assert described > 10


def _ms(moment: Any) -> float:
    return float(moment.timestamp() * 1000)


def test_leader_epochs_are_those_that_brokers_answered(
    silver: Silver, cluster: str, truth: dict[str, list[Row]]
) -> None:
    epochs: dict[tuple[str, int], set[int]] = {}
    for row in of(silver, "leader_epochs", cluster):
        epochs.setdefault((row["topic"], row["partition"]), set()).add(row["leader_epoch"])
    answered = [
        (request["topic"], request["partition"], request["told"]["leader_epoch"])
        for request in truth["request"]
        if request["api"] == "Metadata" and (request.get("told") or {}).get("leader_epoch", -1) >= 0
    ]
    assert len(answered) > 10
    assert [each for each in answered if each[2] not in epochs[each[0], each[1]]] == []


def test_batches_and_checkpoints_agree_with_the_metadata_log(silver: Silver, cluster: str) -> None:
    entries = Counter(row["agrees"] for row in of(silver, "leader_epoch_entries", cluster))
    given = Counter(row["given"] for row in of(silver, "partition_batches", cluster))
    assert entries[False] == 0 and given[False] == 0 and given[None] == 0
    assert entries[True] > 3 * entries[None] and given[True] > 10


def test_every_lost_range_is_found_with_its_size_and_no_other(
    silver: Silver, cluster: str, truth: dict[str, list[Row]]
) -> None:
    made = {
        (row["topic_id"], row["partition"], row["first_offset"], row["last_offset"] + 1)
        for row in truth.get("lost", [])
    }
    found = {
        (row["topic_id"], row["partition"], row["lost_from"], row["lost_to"])
        for row in of(silver, "leader_epochs", cluster)
        if row["records_lost"]
    }
    assert found == made
    if cluster == THREE_BROKERS:
        assert len(made) == 3


def test_every_orphaned_offset_is_of_the_incarnation_that_is_gone(
    silver: Silver, cluster: str, truth: dict[str, list[Row]]
) -> None:
    lives = {row["topic_id"]: row["live"] for row in of(silver, "topic_incarnations", cluster)}
    rows = of(silver, "committed_offsets", cluster)
    for orphan in truth["orphan"]:
        (row,) = [
            row
            for row in rows
            if (row["client_id"], row["correlation_id"], row["topic"], row["partition"])
            == (orphan["client_id"], orphan["correlation_id"], orphan["topic"], orphan["partition"])
        ]
        assert row["committed_offset"] == orphan["committed_offset"]
        # a late one is of another incarnation than the one that lived; others' lived when they were committed
        of_id = row["origin_topic_id"] or row["live_topic_id"]
        assert of_id == orphan["earlier_topic_id"] and lives[of_id] is False
        if orphan["made_by"] in ("late_commit", "position_kept"):
            assert row["live_topic_id"] == orphan["live_topic_id"]
            assert row["origin_partition_epoch"] < row["live_partition_epoch"]
        (now,) = [
            each
            for each in of(silver, "partition_extents", cluster)
            if each["live"] and (each["topic"], each["partition"]) == (row["topic"], row["partition"])
        ]
        at_risk = min(row["committed_offset"], now["log_end_offset"]) - now["log_start_offset"]
        assert at_risk == orphan["at_risk"]


def test_no_other_offset_is_of_another_incarnation_than_the_live_one(
    silver: Silver, cluster: str, truth: dict[str, list[Row]]
) -> None:
    made = {(row["client_id"], row["correlation_id"]) for row in truth["orphan"]}
    wrong = [
        row
        for row in of(silver, "committed_offsets", cluster)
        if None not in (row["origin_topic_id"], row["live_topic_id"])
        and row["origin_topic_id"] != row["live_topic_id"]
        and (row["client_id"], row["correlation_id"]) not in made
        and row["error"] == "NONE"
    ]
    assert wrong == []


def test_only_what_happened_beside_a_change_met_one_of_several_partitions(silver: Silver) -> None:
    """All brokers are on one machine. What their logs tell of the order of things bounds their
    clocks to a few tenths of a second; closer to a deletion or an election than that nothing can be told.
    """
    changes: dict[tuple[str, int], list[float]] = {}
    for row in of(silver, "partitions", THREE_BROKERS):
        ends = [row[name] for name in ("from_time", "to_time") if row[name] is not None]
        changes.setdefault((row["topic"], row["partition"]), []).extend(map(_ms, ends))
    rows = of(silver, "committed_offsets", THREE_BROKERS)
    several = [row for row in rows if row["candidates"] > 1]
    for row in several:
        at = _ms(row["committed_at"] or row["requested_at"])
        near = min(abs(at - change) for change in changes[row["topic"], row["partition"]])
        assert near < 400, row["group_id"]
    assert 0 < len(several) < 0.1 * len(rows)
    assert [row for row in rows if row["live_topic_id"] is None and row["candidates"] == 1] == []


def test_a_fetch_is_placed_by_what_it_was_refused_with(silver: Silver, cluster: str) -> None:
    """A fetch session keeps the name: while no topic has it, and then another one, the answers differ."""
    placed = 0
    for row in of(silver, "fetch_positions", cluster):
        if row["error"] in ("UNKNOWN_TOPIC_OR_PARTITION", "INCONSISTENT_TOPIC_ID"):
            placed += 1
            assert row["candidates"] == 1, row
            assert (row["live_topic_id"] == "") == (row["error"] == "UNKNOWN_TOPIC_OR_PARTITION"), row
            assert row["live_topic_id"] != row["asked_topic_id"], row
    assert placed


def test_stale_answers_are_older_than_what_their_client_had(silver: Silver, captures: Path) -> None:
    stale = told(captures, THREE_BROKERS)["stale_answer"]
    rows = of(silver, "metadata_answer_partitions", THREE_BROKERS)
    found = {(r["client_id"], r["correlation_id"], r["topic"], r["partition"]): r for r in rows}
    seen = set()
    for each in stale:
        row = found.get((each["client_id"], each["correlation_id"], each["topic"], each["partition"]))
        if row is None or each["told_topic_id"] is None:
            # the same again, after the client took it; a client that is told no ids; an answer for no cache
            continue
        seen.add(each["what"])
        assert (row["told_topic_id"], row["told_leader_epoch"]) == (
            each["told_topic_id"], each["told_leader_epoch"],
        )  # fmt: skip
        older_incarnation = row["told_partition_epoch"] < row["cached_partition_epoch"]
        assert older_incarnation == (each["what"] == "incarnation")
        # a change of the id always wins; an older epoch of the same incarnation never does
        assert row["accepted"] is older_incarnation
        assert row["told_max_partition_epoch"] < row["cached_max_partition_epoch"]
    assert seen == {"incarnation", "leader_epoch"}


def test_who_only_looks_goes_back_to_nothing(silver: Silver, captures: Path) -> None:
    """Real clients that were told of an earlier incarnation after the later one; they keep neither."""
    seen: dict[str, list[int]] = {}
    for line in (captures / THREE_BROKERS / "clients" / "bystanders.log").read_text().splitlines():
        if line.startswith("{"):
            told_it = json.loads(line)
            seen.setdefault(told_it["client"], []).append(told_it["partitions"])
    # the later one has two partitions
    went_back = {client for client, counts in seen.items() if (2, 1) in pairwise(counts)}
    assert went_back
    rows = of(silver, "metadata_answer_partitions", THREE_BROKERS)
    found = [row for row in rows if row["client_id"] in seen and row["topic"] in ("stale", None)]
    assert went_back <= {row["client_id"] for row in found}
    assert {row["accepted"] for row in found} <= {None, False}


def test_whoever_was_refused_is_told(silver: Silver, cluster: str, truth: dict[str, list[Row]]) -> None:
    fenced = {(row["client_id"], row["correlation_id"], row["error"]) for row in
              of(silver, "leader_epoch_fencings", cluster)}  # fmt: skip
    errors = ("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "UNKNOWN_TOPIC_ID", "INCONSISTENT_TOPIC_ID",
              "STALE_BROKER_EPOCH")  # fmt: skip
    made = {
        (row["client_id"], row["correlation_id"], row["error"])
        for row in truth["request"]
        if row["error"] in errors and row["api"] != "Produce"
    }
    assert len(made) > 5
    assert made - fenced == set()


def test_a_broker_that_is_fenced_is_told_with_what_it_moved(silver: Silver, captures: Path) -> None:
    events = [row for row in told(captures, THREE_BROKERS)["broker"] if row["event"] == "fenced"]
    rows = [row for row in of(silver, "leader_epoch_fencings", THREE_BROKERS) if row["kind"] == "broker"]
    assert events
    for event in events:
        near = [
            row
            for row in rows
            if row["victim_broker_id"] == event["broker_id"]
            and abs(_ms(row["occurred_at"]) - event["at_ms"]) < 5_000
        ]
        assert [row["cause"] for row in near] == ["session_timeout"]
        assert near[0]["leaders_moved"] > 0 or near[0]["isr_shrunk"] > 0


def test_controllers_that_others_followed_are_told(silver: Silver, cluster: str) -> None:
    """With how long nobody was active, and the requests that met one of before."""
    terms = of(silver, "controllers", cluster)
    changed = [(b, t) for b, t in pairwise(terms) if b["controller_id"] != t["controller_id"]]
    rows = [
        row for row in of(silver, "leader_epoch_fencings", cluster) if row["cause"] == "controller_change"
    ]
    columns = ("victim_broker_id", "victim_epoch", "current_epoch", "leaders_moved")
    followed = [tuple(row[name] for name in columns) for row in rows if row["error"] is None]
    assert followed == [
        (before["controller_id"], before["controller_epoch"], term["controller_epoch"], 1)
        for before, term in changed
    ]
    assert bool(followed) == (cluster == THREE_BROKERS)
    for before, term in changed:
        assert 0 <= term["unled_ms"] <= _ms(term["from_time"]) - _ms(before["from_time"])
    refused = [row for row in rows if row["error"] == "NOT_CONTROLLER"]
    for row in refused:
        was = [term["controller_id"] for term in terms if term["from_position"] < row["caused_position"]]
        assert row["broker_id"] in was
    assert bool(refused) == (cluster == THREE_BROKERS)


def test_controllers_are_those_that_said_so(captures: Path, silver: Silver, cluster: str) -> None:
    """QuorumController logs the offset behind the LeaderChangeMessage that begins its epoch."""
    said = {
        (int(epoch), int(controller_id), int(offset) - 1)
        for file in (captures / cluster).glob("broker-*/server.log*")
        for controller_id, epoch, offset in _ACTIVE.findall(_text(file))
    }
    rows = of(silver, "controllers", cluster)
    found = [(row["controller_epoch"], row["controller_id"], row["from_position"]) for row in rows]
    # who is elected while the cluster is shut down may not get to say so
    assert said in ({*found}, {*found[:-1]})
    assert [row["to_position"] for row in rows] == [*(row["from_position"] for row in rows[1:]), None]
    assert len(said) > 1


def _text(file: Path) -> str:
    content = file.read_bytes()
    return (gzip.decompress(content) if file.suffix == ".gz" else content).decode()


def test_who_asked_for_an_election_or_a_partition_is_told(silver: Silver, cluster: str) -> None:
    by_how: dict[str, set[str | None]] = {}
    for row in of(silver, "leader_epochs", cluster):
        if not row["topic"].startswith("__"):
            by_how.setdefault(row["how"], set()).add(row["elected_by_client_id"])
            assert (row["elected_by"] is None) == (row["elected_request_id"] is None)
    assert by_how["created"] == {"operator"}
    # nobody asked for what followed a failure
    assert all(names == {None} for how, names in by_how.items() if how not in ("created", "preferred"))
    if cluster == THREE_BROKERS:
        assert by_how["preferred"] == {"operator"}
