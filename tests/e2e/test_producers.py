"""What became of producers on real brokers, against what the drivers did and what Kafka's own tool says."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from altered import ALTERED_PRODUCERS
from broken import BROKEN, COPIES

from fencepost.opening import open_lake
from fencepost.protocols.producer_epoch.explanation import explain

CAPTURES = Path(__file__).parents[1] / "captures"
TOLD = {
    path.parent.name: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for path in sorted(CAPTURES.glob("*/ground_truth.jsonl"))
}
PRODUCERS = [name for name, rows in TOLD.items() if any(row.get("kind") == "producer" for row in rows)]
RECREATED = "recreated-4.3.1"
"""Coordinators' logs were deleted: test_recreated.py has what hangs there."""
HANGING = [
    name
    for name in PRODUCERS
    if name != RECREATED and any(row.get("kind") == "hanging" for row in TOLD[name])
]
FAILOVERS = {name for name in PRODUCERS if name.startswith("producers-failover")}
COMPACTED = "exhausted-4.3.1"
"""Who moved an epoch before the log was compacted is not there to be known."""

UNUSED = "expired-4.3.1"
"""An operator under a name of its own, and an instance that does nothing: nothing tells them apart."""

UNKNOWN = {COMPACTED: 2, UNUSED: 3}
"""How many victims' causes are not known at most, by capture."""

ENDS = {"ends-4.3.1": 8, "ends-4.2.1": 7, "ends-4.0.2": 7}
"""How often a producer that was fenced was given the current epoch."""

MARKERS = ("markers-4.0.2", "markers-4.1.2", "markers-4.3.1")
"""Nobody is fenced there."""

OPERATED, UNCLEAN = "operators-4.3.1", "unclean-4.3.1"
"""Nobody is fenced there either."""

IDEMPOTENT = "idempotent-4.3.1"
"""Nobody has a transactional id there."""

OPERATORS = "__consumer_offsets"

CLEANED = ("cleaned", "cleaned-tv1")
"""Captures whose coordinator log was cleaned afterwards (altered.py)."""


def told(name: str, kind: str) -> list[dict[str, Any]]:
    return [row for row in TOLD[name] if row.get("kind") == kind]


@pytest.mark.parametrize("name", PRODUCERS)
def test_every_victim_is_told_with_its_cause_and_what_was_in_flight(audit: Any, name: str) -> None:
    events = audit.rows(f"""
        SELECT e.*, q.client_id AS asked_by, q.correlation_id FROM marts.fct_fencing_events e
        JOIN (SELECT DISTINCT cluster, request_id, client_id, correlation_id FROM silver.producer_requests) q
        ON q.cluster = e.cluster AND q.request_id = get_json_object(e.evidence, '$.request_id')
        WHERE e.cluster = '{name}' AND e.protocol = 'producer_epoch'
    """)
    found = {(row["asked_by"], row["correlation_id"]): row for row in events}
    assert len(found) == len(events)
    victims = [row for row in told(name, "producer") if row["victim"]]
    assert bool(victims) == (name not in (*MARKERS, OPERATED, UNCLEAN))
    unknown = 0
    for row in victims:
        event = found.pop((row["client_id"], row["correlation_id"]))
        if row["transactional_id"]:
            assert event["victim"] == row["transactional_id"]
        unknown += event["cause"] is None
        assert event["cause"] in (row["cause"], None), row
        assert event["error"] == row["error"], row
        assert event["victim_epoch"] in (row["producer_epoch"], None), row
        if row["transactional_id"]:
            assert event["current_epoch"] in (row["current_epoch"], None), row
        if event["cause"] and row["transactional_id"]:
            assert _in_flight(json.loads(event["in_flight"])) == _in_flight(row["in_flight"]), row
    assert unknown <= UNKNOWN.get(name, 0)
    # others presented what they had never been given: nobody fenced them
    hand_made = {row["client_id"] for row in told(name, "producer")}
    others = [event for (client, _), event in found.items() if client in hand_made]
    assert {event["cause"] for event in others} <= {"unassigned_epoch", None}
    assert all("caused_by_client_id" not in json.loads(event["evidence"]) for event in others)


def test_every_refusal_because_of_an_epoch_is_told(audit: Any) -> None:
    """Whatever the API; a broker's own request is told with that of the producer that it was for."""
    missing = audit.rows("""
        SELECT q.* FROM silver.producer_requests q
        LEFT JOIN silver.producer_fencings f ON f.cluster = q.cluster AND f.request_id = q.request_id
        WHERE q.error IN ('PRODUCER_FENCED', 'INVALID_PRODUCER_EPOCH', 'INVALID_PRODUCER_ID_MAPPING')
          AND q.api_key IN (0, 22, 24, 25, 26, 28) AND f.request_id IS NULL
          AND q.client_id NOT LIKE 'AddPartitionsManager-client-%'
    """)
    assert missing == []


def test_nobody_is_blamed_for_an_id_that_expired(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM silver.producer_fencings WHERE cause IN ('expired', 'unassigned_epoch')")
    apis = {row["api_name"] for row in rows if row["cause"] == "expired"}
    assert apis == {
        *("PRODUCE", "ADD_PARTITIONS_TO_TXN", "ADD_OFFSETS_TO_TXN", "END_TXN", "TXN_OFFSET_COMMIT")
    }
    assert all(row["caused_by_client_id"] is None and row["in_flight"] == "[]" for row in rows)


def test_nobody_is_fenced_by_what_comes_later(audit: Any) -> None:
    """A cause precedes its effect; all brokers of a recording have one clock."""
    rows = audit.rows("SELECT * FROM silver.producer_fencings WHERE fenced_at IS NOT NULL")
    recorded = [row for row in rows if row["cluster"] in TOLD]
    assert len(recorded) > 100
    assert [row for row in recorded if row["fenced_at"] > row["occurred_at"]] == []


def test_every_member_that_is_refused_is_told(audit: Any) -> None:
    name = "fencings-4.3.1"
    events = audit.rows(f"""
        SELECT e.*, m.client_id AS asked_by, q.correlation_id FROM marts.fct_fencing_events e
        JOIN silver.member_fencings m
        ON m.cluster = e.cluster AND m.request_id = get_json_object(e.evidence, '$.request_id')
        JOIN bronze.requests q
        ON q.cluster = m.cluster AND q.file = m.file AND q.position = m.position
        WHERE e.cluster = '{name}' AND e.protocol = 'offset_commit'
    """)
    found = {(row["asked_by"], row["correlation_id"]): row for row in events}
    members = told(name, "member")
    for row in members:
        event = found.get((row["client_id"], row["correlation_id"]))
        assert (event is not None) == row["victim"], row
        if event is not None:
            assert event["victim"] == row["member_id"], row
            assert (event["cause"], event["error"]) == (row["cause"], row["error"]), row
            assert event["victim_epoch"] == row["client_epoch"], row
    assert sum(row["victim"] for row in members) > 10


def test_an_administrator_is_no_victim(audit: Any) -> None:
    refused = audit.rows("""
        SELECT cluster, request_id FROM marts.fct_offset_commits
        WHERE committer = 'administrator' AND broker_answer = 'reject'
    """)
    assert {row["cluster"] for row in refused} >= {"fencings-4.3.1", "groups-4.3.1"}
    events = audit.rows(
        "SELECT get_json_object(evidence, '$.request_id') AS id FROM marts.fct_fencing_events"
    )
    assert {row["request_id"] for row in refused} & {row["id"] for row in events} == set()


def _in_flight(listed: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
    """What the drivers account for: they do not count offset commits."""
    return {(at["topic"], at["partition"], at["records"]) for at in listed if at["topic"] != OPERATORS}


@pytest.mark.parametrize("name", HANGING)
def test_every_hanging_transaction_is_found_and_no_other(audit: Any, name: str) -> None:
    mart = audit.rows(f"SELECT * FROM marts.fct_dangling_transactions WHERE cluster = '{name}'")
    found = {(row["topic"], row["partition"], row["producer_id"], row["first_offset"]) for row in mart}
    assert len(found) == len(mart) > 0
    assert found == {
        (row["topic"], row["partition"], row["producer_id"], row["first_offset"])
        for row in told(name, "hanging")
        if row["hanging"]
    }
    for row in mart:
        assert row["first_offset"] == row["last_stable_offset"] < row["log_end_offset"], row
        assert row["age_s"] >= 0, row
        for word in ("kafka-transactions.sh", "abort", row["topic"], str(row["first_offset"])):
            assert word in row["remedy"], row


@pytest.mark.parametrize("name", HANGING)
def test_kafka_transactions_find_hanging_agrees(audit: Any, name: str) -> None:
    oracle = json.loads((CAPTURES / name / "find_hanging.json").read_text(encoding="utf-8"))
    live = {
        (row["topic"], row["partition"], row["producer_id"], row["producer_epoch"], row["start_offset"])
        for answer in (oracle if isinstance(oracle, list) else [oracle])
        for row in answer["hanging"]
    }
    mart = audit.rows(f"SELECT * FROM marts.fct_dangling_transactions WHERE cluster = '{name}'")
    columns = ("topic", "partition", "producer_id", "producer_epoch", "first_offset")
    assert {tuple(row[column] for column in columns) for row in mart} == live


@pytest.mark.parametrize("name", PRODUCERS)
def test_every_transaction_is_told_with_its_end(audit: Any, name: str) -> None:
    rows = audit.rows(f"""
        SELECT * FROM marts.fct_transactions WHERE cluster = '{name}' ORDER BY started_position
    """)
    found = defaultdict(list)
    for row in rows:
        found[row["transactional_id"], row["producer_id"], row["producer_epoch"]].append(row)
    made = defaultdict(list)
    for row in told(name, "transaction"):
        made[row["transactional_id"], row["producer_id"], row["producer_epoch"]].append(row)
    assert bool(made) == (name != IDEMPOTENT)
    for key, transactions in made.items():
        ends = [(row["outcome"], row["abort_cause"]) for row in found[key]]
        own = {"client": "end_txn"}
        known = [(row["outcome"], own.get(row["abort_cause"], row["abort_cause"])) for row in transactions]
        if name == UNUSED:
            ends = [end if end[1] or end[0] != "aborted" else of for end, of in zip(ends, known, strict=True)]
        assert ends == known
    late = {row["transactional_id"] for row in rows if row["is_late"]}
    assert late == {row["transactional_id"] for row in told(name, "hanging") if row["why"] == "late"}


def test_epochs_and_sequences_hold_wherever_brokers_kept_them(audit: Any) -> None:
    """No false alarm: what real brokers do wrong is known by name, and nothing else is violated."""
    rows = audit.rows("""
        SELECT cluster, invariant FROM marts.fct_invariant_coverage
        WHERE module = 'ProducerEpochProps' AND status = 'violated'
    """)
    violated = defaultdict(set)
    for row in rows:
        violated[row["cluster"]].add(row["invariant"])
    hanging = {"no_dangling_transaction", "no_write_outside_transaction"}
    expected = {
        **{name: {"no_stale_abort", *hanging} for name in HANGING},
        COMPACTED: {"no_dangling_transaction", "epoch_headroom"},
        RECREATED: {"no_dangling_transaction"},
        # who was fenced is given the current epoch, also by EndTxn; a retry fails at the last epoch, and
        # across two rotations
        **{
            name: {"no_stale_epoch_granted", "no_stale_end_granted", "no_retry_fenced", "epoch_headroom"}
            for name in ENDS
        },
        # the retry after a failover (KAFKA-20357)
        **{name: {"no_retry_fenced"} for name in FAILOVERS},
    }
    for name in ("ends-4.0.2", "ends-4.2.1"):
        expected[name].add("next_producer_id_at_exhaustion")  # KAFKA-20310
    expected["producers-4.3.1"].add("no_stale_end_granted")
    # a copy of a marker does no harm where nothing is open, and else ends it, before 4.2 (KAFKA-19446)
    expected |= {name: {"one_marker_each"} for name in MARKERS}
    for name in ("markers-4.0.2", "markers-4.1.2"):
        expected[name] |= {"no_write_outside_transaction", "marker_of_the_right_type"}
    # what operators did to transactions, and what a coordinator left undone (KAFKA-20734)
    expected[OPERATED] = {
        *hanging,
        *("marker_of_the_right_type", "every_marker_is_written", "one_marker_each", "no_sequence_gap"),
        "transaction_ended_by_its_producer",
    }
    # an election lost a marker (KAFKA-20716)
    expected[UNCLEAN] = {"no_dangling_transaction", "every_marker_is_written"}
    # sent again after a local bump; and what a partition takes that has forgotten the producer
    expected[IDEMPOTENT] = {
        *("no_records_written_twice", "no_sequence_gap", "no_sequence_reset", "no_write_after_fence")
    }
    assert {name: found for name, found in violated.items() if name in TOLD} == expected


def test_an_operators_marker_is_wrong_where_it_halves_a_transaction(audit: Any) -> None:
    """By hand and by Kafka's tool, with transaction version 2 and without. One that ends what hangs, or ends
    a transaction as its producer does, is not; and each names who sent it, and the records.
    """
    rows = audit.rows(f"""
        SELECT * FROM silver.transaction_markers WHERE cluster = '{OPERATED}' AND wrong <> 0
    """)
    by_hand = {"aborted": 0, "committed": 1, "going-on": 2, "older-aborted": 5, "older-committed": 7}
    by_tool = {"tool": 3, "older-tool": 4}
    senders = {f"operators:{n}": f"operators-{name}-operator" for name, n in by_hand.items()}
    senders |= {f"operators:{n}": "adminclient-1" for n in by_tool.values()}
    assert {row["transaction_partition"]: row["wrong_client_id"] for row in rows} == senders
    assert {(row["wrong"], row["found"], row["wrong_records"]) for row in rows} == {(1, 1, 3)}
    unknown = audit.rows(f"""
        SELECT transaction_partition FROM silver.transaction_markers
        WHERE cluster = '{OPERATED}' AND (wrong IS NULL OR marker_coordinator_epoch IS NULL AND found > 0)
    """)
    assert unknown == []
    (verdict, *_) = audit.rows(f"""
        SELECT * FROM marts.fct_invariant_verdicts
        WHERE cluster = '{OPERATED}' AND invariant = 'marker_of_the_right_type' AND verdict = 'violated'
            AND get_json_object(evidence, '$.transactional_id') = 'operators-tool'
    """)
    with open_lake(audit.settings, "duckdb") as lake:
        told_by = explain(lake, [verdict])[verdict["verdict_id"]]
    assert "client adminclient-1 (connection 127.0.0.1:" in told_by.sentence
    assert "ended the transaction of operators-tool in operators-3 with ABORT at offset 3" in told_by.sentence
    assert "never get its 3 records from offset 0 to 2" in told_by.sentence


def test_a_transaction_that_its_coordinator_does_not_know_has_a_story(audit: Any) -> None:
    verdicts = audit.rows("""
        SELECT * FROM marts.fct_invariant_verdicts WHERE verdict = 'violated'
        AND invariant IN ('no_dangling_transaction', 'no_write_outside_transaction')
    """)
    with open_lake(audit.settings, "duckdb") as lake:
        told = explain(lake, verdicts)
    assert {each["invariant"] for each in verdicts} == {
        "no_dangling_transaction",
        "no_write_outside_transaction",
    }
    for each in verdicts:
        place, named = json.loads(each["scope"]), json.loads(each["evidence"])
        sentence = told[each["verdict_id"]].sentence
        span = f"offsets {named['first_offset']} to {named['last_offset']} of {place['topic']}-"
        assert f"producer {named['producer_id']}" in sentence and span in sentence
        hangs = each["invariant"] == "no_dangling_transaction"
        assert hangs == ("nobody will end it" in sentence) == (" ended that at offset" not in sentence)
    # who ended it is told where that was no coordinator
    here = [told[each["verdict_id"]].sentence for each in verdicts if each["cluster"] == "producers-4.3.1"]
    for name, client in (("operator", "hanging-operator-operator"), ("operator-tool", "adminclient-1")):
        (sentence,) = (each for each in here if f"'hanging-{name}'" in each)
        assert f"An ABORT marker of client {client} (connection " in sentence
        assert "), which is no coordinator, ended that at offset " in sentence


def test_a_missing_marker_is_told_with_what_waits_for_it(audit: Any) -> None:
    verdicts = audit.rows(f"""
        SELECT * FROM marts.fct_invariant_verdicts WHERE verdict = 'violated'
        AND invariant = 'every_marker_is_written' AND cluster IN ('{OPERATED}', '{UNCLEAN}')
    """)
    with open_lake(audit.settings, "duckdb") as lake:
        sentences = [each.sentence for each in explain(lake, verdicts).values()]
    waits = "are still open there: readers with read_committed get nothing from offset "
    assert len(sentences) == len(verdicts) == 3
    assert [sentence.count(waits) for sentence in sentences] == [1, 1, 1]


def test_a_marker_that_was_skipped_is_told_with_what_the_coordinator_had_decided(audit: Any) -> None:
    rows = audit.rows(f"SELECT * FROM marts.fct_dangling_transactions WHERE cluster = '{OPERATED}'")
    remedies = {(row["partition"], row["coordinator_outcome"]): row["remedy"] for row in rows}
    assert remedies.keys() == {(0, "committed"), (2, "aborted")}
    assert " abort --topic 'lost' --partition 2 --start-offset 0" in remedies[2, "aborted"]
    assert remedies[0, "committed"].startswith("its records were committed, ")
    assert "abort --topic" not in remedies[0, "committed"]


def test_an_abort_is_not_advised_where_an_election_lost_the_marker_of_a_commit(audit: Any) -> None:
    (row,) = audit.rows(f"SELECT * FROM marts.fct_dangling_transactions WHERE cluster = '{UNCLEAN}'")
    assert (row["topic"], row["coordinator_outcome"]) == ("unclean", "committed")
    assert row["remedy"].startswith("its records were committed, ")
    elections = audit.rows(f"SELECT how FROM marts.fct_leader_epochs WHERE cluster = '{UNCLEAN}'")
    assert [row["how"] for row in elections].count("unclean") == 1


def test_two_batches_of_which_one_should_not_follow_the_other_have_a_story(audit: Any) -> None:
    verdicts = audit.rows(f"""
        SELECT * FROM marts.fct_invariant_verdicts WHERE verdict = 'violated' AND cluster = '{IDEMPOTENT}'
        AND invariant IN ('no_sequence_gap', 'no_sequence_reset', 'no_write_after_fence')
    """)
    with open_lake(audit.settings, "duckdb") as lake:
        stories = explain(lake, verdicts)
    told = {each["invariant"]: stories[each["verdict_id"]].sentence for each in verdicts}
    gap, fenced = told["no_sequence_gap"], told["no_write_after_fence"]
    assert "at offset 3, with the sequence numbers 8 to 10, in idempotent-6. Before it had a batch" in gap
    assert gap.endswith(" ms.\nThere, 5 sequence numbers are missing in between.")
    assert fenced.endswith("\nEpoch 1 had fenced epoch 0 there.")
    assert "sequence numbers 0 to 2, in idempotent-7. Before it had" in told["no_sequence_reset"]


@pytest.mark.parametrize("name", [OPERATED, UNCLEAN])
def test_readers_are_held_back_where_their_broker_says_so(audit: Any, name: str) -> None:
    """ListOffsets with read_committed told the driver the same."""
    mart = audit.rows(f"SELECT * FROM marts.fct_last_stable_offsets WHERE cluster = '{name}'")
    names = ("topic", "partition", "last_stable_offset", "log_start_offset")
    found = {tuple(row[name] for name in names) for row in mart if not row["topic"].startswith("__")}
    assert found == {tuple(row[name] for name in names) for row in told(name, "read_committed")}


def test_who_ends_anothers_transaction_is_told(audit: Any) -> None:
    rows = audit.rows(f"""
        SELECT transactional_id, ended_by_client_id FROM marts.fct_transactions
        WHERE cluster = '{OPERATED}' AND is_ended_by_another
    """)
    assert [tuple(row.values()) for row in rows] == [("operators-writer", "operators-writer-recovery")]


def test_a_gap_says_how_long_its_producer_was_silent(audit: Any) -> None:
    (row,) = audit.rows(f"""
        SELECT kind, silent_ms FROM marts.fct_sequence_anomalies WHERE cluster = '{OPERATED}'
    """)
    assert row["kind"] == "gap" and 4000 <= row["silent_ms"] < 60_000


def test_of_batches_in_transactions_little_is_unknown_where_the_cleaner_has_been(audit: Any) -> None:
    rows = audit.rows("""
        SELECT cluster, exercised, holds, violated, unknown FROM marts.fct_invariant_coverage
        WHERE invariant = 'no_write_outside_transaction'
    """)
    cleaned = [row for row in rows if row["cluster"] in CLEANED or row["cluster"].startswith("natural")]
    assert len(cleaned) > len(CLEANED)
    for row in cleaned:
        assert row["violated"] == 0, row
        assert 0 < row["unknown"] < 0.1 * row["exercised"], row


def test_what_a_local_bump_wrote_twice_is_told(audit: Any) -> None:
    """By the checksums of its batches; of nobody else it is said."""
    rows = audit.rows("SELECT * FROM marts.fct_local_bumps")
    twice = [row for row in rows if row["is_written_twice"]]
    (again,) = (row for row in twice if row["cluster"] == IDEMPOTENT)
    written = (again["client_id"], again["topic"], again["partition"])
    assert written == ("idempotent-again-A", "idempotent", 2)
    assert (again["batches_again"], again["records_again"]) == (1, 3)
    assert (again["original_offset"], again["again_offset"]) == (0, 3)
    assert {row["cluster"] for row in twice} & set(PRODUCERS) == {IDEMPOTENT}
    bumps = {row["client_id"]: row for row in rows if row["cluster"] == IDEMPOTENT}
    assert bumps["idempotent-bumping-A"]["is_written_twice"] is False
    assert bumps["idempotent-exhausted-A"]["producer_epoch"] == 32767
    assert bumps["java"]["bumped_at"] is not None


ENDED = {
    # capture, client, whether it is a commit: what KIP-890 proposed, what the shipped rule says, the answer
    ("ends-4.3.1", "ends-timeout-aborting-A", False): ("PRODUCER_FENCED", "NONE", "NONE"),
    ("producers-4.3.1", "timeout-tx-A", False): ("PRODUCER_FENCED", "NONE", "NONE"),
    ("producers-4.3.1", "timeout-tx-A", True): ("PRODUCER_FENCED", "INVALID_TXN_STATE", "INVALID_TXN_STATE"),
    ("producers-failover-4.3.1", "failover-end-retry-0-commit-A", False): (*["INVALID_TXN_STATE"] * 3,),
}


def test_every_end_of_a_transaction_is_decided_as_its_broker_did(audit: Any) -> None:
    """No broker broke its rule, and the retry table of transaction version 2 is there."""
    for mart, least in (("fct_end_txns", 0.85), ("fct_add_partitions_to_txns", 0.6)):
        rows = audit.rows(f"SELECT * FROM marts.{mart} WHERE cluster NOT LIKE '{BROKEN}-%'")
        judged = [row for row in rows if row["error"] not in ("CONCURRENT_TRANSACTIONS", None)]
        known = [row for row in judged if row["shipped"] is not None]
        assert [row for row in known if row["shipped"] != row["error"]] == []
        # where compaction took the records of nearly all, answers tell a part
        of_answers = [row for row in judged if row["cluster"].startswith(("natural", *CLEANED))]
        part = {"fct_end_txns": 0.75, "fct_add_partitions_to_txns": 0.2}[mart]
        assert sum(row["shipped"] is not None for row in of_answers) > part * len(of_answers) > 50
        whole = [row for row in judged if not row["cluster"].startswith(("natural", *CLEANED))]
        assert sum(row["shipped"] is not None for row in whole) > least * len(whole) > 400
    for (cluster, client, commit), expected in ENDED.items():
        rows = audit.rows(
            f"SELECT kip_890, shipped, error FROM marts.fct_end_txns "
            f"WHERE cluster = '{cluster}' AND client_id = '{client}' AND is_commit = {commit}"
        )
        assert expected in {(row["kip_890"], row["shipped"], row["error"]) for row in rows}


def test_a_broker_decides_as_it_is_known_to(audit: Any) -> None:
    rows = audit.rows(f"SELECT * FROM marts.fct_init_producer_ids WHERE cluster NOT LIKE '{BROKEN}-%'")
    answered = Counter((row["shipped"] is not None, row["broker"]) for row in rows)
    known = sum(times for (told_, _), times in answered.items() if told_)
    assert known > 0.7 * len(rows)
    for row in rows:
        if row["shipped"] and row["broker"] != "waits":
            assert row["shipped"] == row["broker"], row
    differs = {row["cluster"] for row in rows if row["kip_360"] == "same_epoch" and row["broker"] == "fenced"}
    assert differs >= FAILOVERS


@pytest.mark.parametrize("name", ENDS)
def test_an_old_epoch_gets_what_a_broker_gave_it(audit: Any, name: str) -> None:
    """Under transaction version 2 who was fenced gets the current epoch; at the last one a retry fails."""
    rows = audit.rows(f"""
        SELECT client_id, correlation_id, kip_360, shipped, broker FROM marts.fct_init_producer_ids
        WHERE cluster = '{name}' AND provided_epoch >= 0
    """)
    asked = {(row["client_id"], row["correlation_id"]): row for row in told(name, "producer")}
    given: Counter[tuple[str, str]] = Counter()
    for row in rows:
        error = asked[row["client_id"], row["correlation_id"]]["error"]
        if error in ("NONE", "UNKNOWN_SERVER_ERROR"):
            assert row["shipped"] == row["broker"]
            assert (row["broker"] == "fails") == (error != "NONE")
        given[row["kip_360"], row["broker"]] += 1
    assert given["same_epoch", "fails"] == 1
    assert given["fenced", "same_epoch"] == ENDS[name]
    assert given["fenced", "same_epoch"] + given["fenced", "fails"] == 9


@pytest.mark.parametrize("name", ENDS)
def test_a_transaction_without_partitions_is_one_of_its_own(audit: Any, name: str) -> None:
    rows = audit.rows(f"""
        SELECT outcome, abort_cause, partitions, markers_due, markers_found FROM marts.fct_transactions
        WHERE cluster = '{name}' AND transactional_id = 'ends-empty' ORDER BY started_position
    """)
    empty = {
        "outcome": "aborted",
        "abort_cause": "end_txn",
        "partitions": 0,
        "markers_due": 0,
        "markers_found": 0,
    }
    assert [row == empty for row in rows] == [True, True, False, True, False, False, True, False]
    assert {row["markers_found"] for row in rows if row != empty} == {1}


# What is told of producers, by what names a row in the whole capture and in what is left of it.
TOLD_OF = {
    "fencings": (
        """
        SELECT q.client_id, q.correlation_id, f.cause, f.victim_epoch, f.current_epoch, f.caused_by_client_id
        FROM silver.producer_fencings f JOIN (
            SELECT DISTINCT cluster, request_id, correlation_id, client_id FROM silver.producer_requests
        ) q USING (cluster, request_id)
        """,
        2,
    ),
    "partition_transactions": (
        """
        SELECT topic, partition, producer_id, first_offset, open, aborted, listed, indexed
        FROM silver.partition_transactions
        """,
        4,
    ),
    "transactions": (
        """
        SELECT transactional_id, producer_id, producer_epoch, started_position, outcome, abort_cause
        FROM silver.transactions
        """,
        4,
    ),
    "markers": (
        """
        SELECT transactional_id, transaction_partition, from_position, found, wrong, due_type
        FROM silver.transaction_markers
        """,
        3,
    ),
    "epochs": (
        """
        SELECT transactional_id, from_position, status, producer_id, producer_epoch, last_producer_epoch,
            cause
        FROM silver.transactional_ids
        """,
        2,
    ),
}


BROKERS_OWN = ("AddPartitionsManager-client-",)


@pytest.mark.parametrize("what", TOLD_OF)
@pytest.mark.parametrize("name", ALTERED_PRODUCERS)
def test_less_evidence_leaves_less_known_and_nothing_else(audit: Any, name: str, what: str) -> None:
    query, keys = TOLD_OF[what]
    (whole, left) = (
        audit.rows(f"{query} WHERE cluster = '{cluster}'") for cluster in (ALTERED_PRODUCERS[name][0], name)
    )
    before: dict[tuple[Any, ...], list[tuple[Any, ...]]] = defaultdict(list)
    for row in whole:
        values = tuple(row.values())
        # the same row; whatever a hole may have cut short, which begins elsewhere then; and any, as a
        # broker's own line stands for a producer's that is gone
        for key in (values[:keys], values[: keys - 1], BROKERS_OWN):
            before[key].append(values[keys:])
    known = 0
    for row in left:
        values = tuple(row.values())
        found = before.get(values[:keys]) or before.get(values[: keys - 1])
        if what == "fencings" and values[0].startswith(BROKERS_OWN[0]):
            found = found or before[BROKERS_OWN]
        if what == "fencings" and values[:keys] not in before and row["cause"] is None and name in CLEANED:
            # refused at an epoch that never was, which only the records tell
            continue
        assert found, f"it was not there before: {row}"
        for now, *then in zip(values[keys:], *found, strict=True):
            known += now is not None and None not in then
            assert now is None or None in then or now in then, (row, found)
    # of the one whose clock was set back, too, no fencing is left that the logs tell
    assert known > 0 or (name, what) == ("set-back-cleaned", "fencings")


@pytest.mark.parametrize("name", ALTERED_PRODUCERS)
def test_less_evidence_violates_nothing_new(audit: Any, name: str) -> None:
    query = """
        SELECT invariant, count(*) AS times FROM marts.fct_invariant_verdicts
        WHERE verdict = 'violated' AND cluster = '{}' AND module = 'ProducerEpochProps' GROUP BY ALL
    """
    before, now = (
        Counter({row["invariant"]: row["times"] for row in audit.rows(query.format(cluster))})
        for cluster in (ALTERED_PRODUCERS[name][0], name)
    )
    assert now <= before
    dangling = (
        "SELECT topic, partition, first_offset FROM marts.fct_dangling_transactions WHERE cluster = '{}'"
    )
    left, all_of_them = (
        {tuple(row.values()) for row in audit.rows(dangling.format(cluster))}
        for cluster in (name, ALTERED_PRODUCERS[name][0])
    )
    assert left <= all_of_them


@pytest.mark.parametrize("name", COPIES)
def test_files_altered_to_break_rules_are_seen_and_break_no_other(audit: Any, name: str) -> None:
    query = """
        SELECT invariant, count(*) AS times FROM marts.fct_invariant_verdicts
        WHERE verdict = 'violated' AND cluster = '{}' GROUP BY invariant
    """
    whole, broken = (
        Counter({row["invariant"]: row["times"] for row in audit.rows(query.format(cluster))})
        for cluster in (COPIES[name].whole, name)
    )
    assert whole - broken == Counter()
    assert set(broken - whole) == set(COPIES[name].broken)


def test_no_payload_reaches_the_lake(audit: Any) -> None:
    """Every record that the drivers wrote carries the text."""
    folder = Path(audit.settings.lake.warehouse.removeprefix("file:"))
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) > 100
    assert [path for path in files if b"PAYLOAD-MUST-NOT-BE-READ" in path.read_bytes()] == []
    sizes = audit.rows(
        "SELECT count(*) AS n FROM bronze.records WHERE topic NOT LIKE '\\\\_\\\\_%' AND NOT is_control"
    )
    assert sizes == [{"n": 0}]
