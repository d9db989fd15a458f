"""What the marts answer about producers of real brokers: who, until when, may I, and what is waited for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fencepost.opening import open_lake
from fencepost.protocols.producer_epoch.report import Producers

CAPTURES = {path.parent.name for path in Path(__file__).parents[1].glob("captures/*/fencepost.toml")}
HAND_MADE = ("producers-4.3.1", "producers-tv1-4.3.1", "producers-3.9.2")


def test_an_operator_is_named_with_host_and_principal(audit: Any) -> None:
    rows = audit.rows("""
        SELECT * FROM marts.fct_fencing_events
        WHERE cluster = 'expired-4.3.1' AND cause = 'operator' AND protocol = 'producer_epoch'
    """)
    assert {
        (row["client_id"], row["host"], row["caused_by_client_id"], row["caused_by_host"]) for row in rows
    } == {("administrators-connect-A", "127.0.0.1", "connector-worker-adminclient-orders", "127.0.0.1")}
    assert {row["caused_by_principal"] for row in rows} == {"User:ANONYMOUS"}
    assert all(row["caused_at"] <= row["occurred_at"] for row in rows)


def test_a_victim_is_no_broker_that_asked_for_it(audit: Any) -> None:
    asked = "get_json_object(evidence, '$.client_id') LIKE 'AddPartitionsManager-client-%'"
    rows = audit.rows(f"SELECT client_id, host FROM marts.fct_fencing_events WHERE {asked}")
    assert rows
    assert {row["host"] for row in rows} == {None}
    assert not [row for row in rows if (row["client_id"] or "").startswith("AddPartitionsManager")]


def test_what_ended_a_transactional_id(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM marts.fct_transactional_ids")
    ended = {(row["cluster"], row["transactional_id"], row["life"]): row for row in rows if row["ended_by"]}
    of = {
        cluster: {
            (name, life, row["ended_by"]) for (where, name, life), row in ended.items() if where == cluster
        }
        for cluster in ("expired-4.3.1", "recreated-4.3.1")
    }
    assert of["expired-4.3.1"] == {
        (name, 1, "expired") for name in ("expired-newer", "expired-older", "not_yet_given")
    }
    assert {(name, by) for name, _, by in of["recreated-4.3.1"]} == {
        (name, "log_deleted") for name in ("aborted", "kept", "left-open", "renewed")
    }
    # the idle ones of before were given again
    lives = [row["life"] for row in rows if row["transactional_id"] == "expired-newer"]
    assert sorted(lives) == [1, 2]


def test_clients_that_take_an_id_from_each_other_in_turn(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM marts.fct_transactional_ids WHERE turns > 0")
    found = {(row["cluster"], row["transactional_id"]): row for row in rows}
    expected = {(cluster, f"stale_init-{number}") for cluster in HAND_MADE for number in (1, 2)}
    assert {key for key in found if key[0] in HAND_MADE} == expected
    for _, name in expected:
        row = found[HAND_MADE[0], name]
        assert row["contenders"] == [f"{name}-A@127.0.0.1", f"{name}-B@127.0.0.1"]
        assert row["turns"] == 2
        assert row["contended_since"] < row["contended_until"]


def test_whether_an_abort_is_allowed(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM marts.fct_last_stable_offsets WHERE held_by <> 'nothing'")
    of = {(row["cluster"], row["topic"], row["partition"]): row for row in rows}
    answers = {
        ("operators-4.3.1", "lost", 0): ("dangling", "committed", "no"),
        ("operators-4.3.1", "lost", 2): ("dangling", "aborted", "yes"),
        ("unclean-4.3.1", "unclean", 0): ("dangling", "committed", "no"),
        ("producers-4.3.1", "hanging", 0): ("dangling", "none", "yes"),
        ("producers-4.3.1", "hanging", 8): ("late", "open", "no"),
        ("producers-4.3.1", "hanging", 9): ("ordinary", "open", "no"),
        ("recreated-4.3.1", "ledger", 1): ("dangling", "none", "yes"),
    }
    for key, answer in answers.items():
        row = of[key]
        assert (row["held_by"], row["coordinator_has"], row["may_abort"]) == answer, key
        assert (" abort " in row["command"]) == (answer[2] == "yes"), key
        assert row["records_at_stake"] > 0, key
    # nobody is told to abort what a coordinator has, or had committed
    assert {row["coordinator_has"] for row in rows if row["may_abort"] == "yes"} == {"none", "aborted"}


def test_what_a_producer_waits_for(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM marts.fct_transaction_waits WHERE cluster = 'producers-4.3.1'")
    assert rows
    assert {row["waited_for"] for row in rows} == {"marker"}
    assert all(row["prepared_at"] <= row["last_answer_at"] for row in rows)
    assert all(row["awaited_partition"] and row["awaited_broker_id"] == 1 for row in rows)
    # in recordings of one clock a wait ends when its transaction is complete, and not before
    ended = audit.rows("SELECT * FROM marts.fct_transaction_waits WHERE ended_with = 'NONE'")
    recorded = [row for row in ended if row["cluster"] in CAPTURES and row["completed_at"]]
    assert len(recorded) > 100
    assert [row for row in recorded if row["completed_at"] > row["ended_at"]] == []


def test_whose_transaction_holds_an_offset(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM marts.fct_unstable_offsets WHERE cluster LIKE 'groups-_._._'")
    assert len(rows) > 20
    assert all(row["transactional_id"].startswith(row["group_id"]) for row in rows)
    assert all(
        row["held_since"] <= row["last_answer_at"] and row["began_at"] <= row["completed_at"] for row in rows
    )


def test_what_a_partition_had_of_a_producer_that_it_refused(audit: Any) -> None:
    rows = audit.rows("""
        SELECT * FROM marts.fct_refused_produces
        WHERE cluster = 'producers-4.3.1' AND error = 'OUT_OF_ORDER_SEQUENCE_NUMBER' ORDER BY responded_at
    """)
    assert [(row["client_id"], row["reason"], row["known_last_sequence"]) for row in rows] == [
        ("idempotent-bumping-A", "out_of_sequence", 2),
        ("idempotent-repeating-A", "out_of_sequence", 8),
        ("idempotent-repeating-A", "out_of_sequence", 26),
    ]
    fenced = audit.rows("""
        SELECT DISTINCT reason FROM marts.fct_refused_produces WHERE error = 'INVALID_PRODUCER_EPOCH'
    """)
    assert [row["reason"] for row in fenced] == ["epoch_is_over"]
    # no broker of these recordings lost anything that a producer was acknowledged, and then refused it
    lost = audit.rows("SELECT * FROM marts.fct_refused_produces WHERE reason LIKE 'broker_lost%'")
    assert lost == []


def test_an_incident_names_the_issues_that_may_be_behind_it(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM marts.fct_incidents WHERE cluster = 'operators-4.3.1'")
    of = {row["title"]: row for row in rows}
    lost = next(row for title, row in of.items() if "lost-committed" in title)
    assert lost["known_issues"] == ["election_loses_a_marker", "marker_is_lost"]
    assert lost["fault_of"] is None
    ended = next(row for title, row in of.items() if "operators-writer" in title)
    assert (ended["known_issues"], ended["fault_of"]) == (["ended_by_another"], "client")
    # whose marker it was, request logs say
    by_operator = next(row for title, row in of.items() if "operators-older-tool" in title)
    assert (by_operator["known_issues"], by_operator["fault_of"]) == (["operator_aborts"], "operator")
    # a coordinator that never had a transaction lost no marker of it
    hanging = audit.rows("""
        SELECT transactional_id, known_issues FROM marts.fct_incidents
        WHERE cluster IN ('producers-4.3.1', 'recreated-4.3.1')
        AND invariants = ['no_dangling_transaction'] AND transactional_id IS NOT NULL
    """)
    named = {row["transactional_id"]: row["known_issues"] for row in hanging}
    deleted = ["late_batch", "transaction_log_deleted"]
    assert {name: named.pop(name) for name in ("left-open", "renewed")} == {
        "left-open": deleted,
        "renewed": deleted,
    }
    assert list(named.values()) == [["late_batch"]] * 4


def test_the_report_says_so(audit: Any) -> None:
    with open_lake(audit.settings, "duckdb") as lake:
        report = Producers(lake)
        lines = {name: " ".join(report(name)) for name in ("producers-4.3.1", "expired-4.3.1")}
    said = lines["producers-4.3.1"]
    assert "2 transactional ids are taken by clients from each other in turn. Most often stale_init-" in said
    assert "2 out of sequence, though the broker had lost nothing that is known, 1 behind one" in said
    assert "for a transaction of theirs to be complete (CONCURRENT_TRANSACTIONS). The longest: " in said
    assert "8 partitions hold back what read_committed consumers see: 6 may be aborted, 2 not" in said
    said = lines["expired-4.3.1"]
    assert "3 transactional ids expired." in said
    assert "(UNSTABLE_OFFSET_COMMIT). The longest: group expired-memberless" in said
