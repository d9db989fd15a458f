"""Topics that were created again and leaders that changed on real brokers, against what the drivers did."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

CAPTURES = Path(__file__).parents[1] / "captures"
TOLD = {
    path.parent.name: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for path in sorted(CAPTURES.glob("incarnations-*/ground_truth.jsonl"))
}
THREE_BROKERS = "incarnations-4.3.1"
REAL_CLIENTS = "payments.eu-1"
"""What its consumers committed the drivers do not tell."""


def told(name: str, kind: str) -> list[dict[str, Any]]:
    return [row for row in TOLD[name] if row["kind"] == kind]


@pytest.mark.parametrize("name", TOLD)
def test_every_topic_is_told_with_its_lives(audit: Any, name: str) -> None:
    rows = audit.rows(f"SELECT * FROM marts.fct_topic_incarnations WHERE cluster = '{name}'")
    found = {row["topic_id"]: row for row in rows}
    assert len(found) == len(rows)
    events = told(name, "topic")
    created = [row for row in events if row["event"] == "created"]
    assert created
    for row in created:
        assert found[row["topic_id"]]["topic"] == row["topic"], row
    deleted = {row["topic_id"] for row in events if row["event"] == "deleted"}
    assert deleted
    for row in created:
        assert found[row["topic_id"]]["is_live"] == (row["topic_id"] not in deleted), row
    for topic in {row["topic"] for row in created}:
        ids = [row["topic_id"] for row in created if row["topic"] == topic]
        assert [found[each]["incarnation"] for each in ids] == list(range(1, len(ids) + 1))
        assert [found[each]["previous_topic_id"] for each in ids] == [None, *ids[:-1]]
        epochs = [found[each]["first_partition_epoch"] for each in ids]
        assert epochs == sorted(set(epochs))


@pytest.mark.parametrize("name", TOLD)
def test_every_orphaned_offset_is_found_with_its_size_and_no_other(audit: Any, name: str) -> None:
    rows = audit.rows(f"""
        SELECT * FROM marts.fct_orphaned_offsets WHERE cluster = '{name}' AND topic <> '{REAL_CLIENTS}'
    """)
    found = {(row["group_id"], row["topic"], row["partition"], row["committed_offset"]): row for row in rows}
    assert len(found) == len(rows)
    orphans = {
        (row["group_id"], row["topic"], row["partition"], row["committed_offset"]): row
        for row in told(name, "orphan")
    }
    assert found
    assert found.keys() == orphans.keys()
    for key, row in found.items():
        orphan = orphans[key]
        assert row["records_at_risk"] == orphan["at_risk"], orphan
        assert (row["risk"] == "out_of_range") == orphan["out_of_range"], orphan
        assert row["origin_topic_id"] in (orphan["earlier_topic_id"], None), orphan
        assert row["live_topic_id"] == orphan["live_topic_id"], orphan
        assert row["cause"] == ("topic_deleted" if orphan["made_by"] == "coordinator_away" else "late_commit")
        if row["is_stored"]:
            assert f"'{row['group_id']}'" in row["remedy"], orphan
        if orphan["returned_offset"] is not None:
            assert row["used"] == ("read_on" if orphan["reset_to"] is None else "out_of_range"), orphan
            assert row["next_offset"] == orphan["reset_to"], orphan
            skipped = orphan["at_risk"] if orphan["reset_to"] is None else orphan["reset_to"]
            assert row["records_skipped"] == skipped, orphan


def test_an_offset_that_nobody_read_there_is_not_called_safe(audit: Any) -> None:
    """Offset 60 of a topic that ended at 10: of the topic before, if its client had read that one."""
    rows = audit.rows("""
        SELECT group_id, is_orphaned FROM marts.fct_committed_offsets
        WHERE cluster = 'by-hand-4.3.1' AND topic = 'moved'
    """)
    assert {row["group_id"]: row["is_orphaned"] for row in rows} == {
        "both-read": False,
        "both-behind": False,
        "both-before": True,
        "new-past": None,
        "seeker": None,
        "seeker-on": False,
    }


def test_every_lost_range_is_found_and_no_other(audit: Any) -> None:
    columns = ("topic", "partition", "topic_id", "lost_leader_epoch", "lost_from", "lost_to")
    for name in TOLD:
        rows = audit.rows(f"""
            SELECT * FROM marts.fct_leader_epochs WHERE cluster = '{name}' AND records_lost > 0
        """)
        found = {tuple(row[column] for column in columns): row["records_lost"] for row in rows}
        lost = {
            (
                *(row[column] for column in ("topic", "partition", "topic_id", "leader_epoch")),
                *(row["first_offset"], row["last_offset"] + 1),
            ): row["last_offset"] + 1 - row["first_offset"]
            for row in told(name, "lost")
        }
        assert found == lost
        assert bool(found) == (name == THREE_BROKERS)


def test_every_offset_past_a_truncation_is_found_and_no_other(audit: Any) -> None:
    rows = audit.rows("SELECT * FROM marts.fct_offsets_past_truncation WHERE cluster LIKE 'incarnations-%'")
    found = {(row["group_id"], row["topic"], row["partition"], row["committed_offset"]): row for row in rows}
    past = {
        (row["group_id"], row["topic"], row["partition"], row["committed_offset"]): row
        for row in told(THREE_BROKERS, "past_truncation")
    }
    assert found.keys() == past.keys()
    for key, row in past.items():
        assert found[key]["lost_from"] == row["epoch_end_offset"], row
        at_risk = min(row["committed_offset"], row["log_end_offset"]) - row["epoch_end_offset"]
        assert found[key]["records_at_risk"] == at_risk, row


def test_each_stale_answer_is_labelled_by_each_rule(audit: Any) -> None:
    """What the brokers told that had been overtaken; the client's cache had the newer of it."""
    rows = audit.rows(f"""
        SELECT * FROM marts.fct_metadata_answers WHERE cluster = '{THREE_BROKERS}' AND kip_232 = 'OUTDATED'
    """)
    found = {(row["client_id"], row["correlation_id"], row["topic"], row["partition"]): row for row in rows}
    stale = {
        (row["client_id"], row["correlation_id"], row["topic"], row["partition"]): row
        for row in told(THREE_BROKERS, "stale_answer")
    }
    assert found
    by_hand = {key: row for key, row in found.items() if key[0].startswith("stale-")}
    assert by_hand.keys() <= stale.keys()
    for row in (row for key, row in found.items() if key not in by_hand):
        # the same broker told a real client that only asked which topics there are: it takes nothing of that
        assert row["client_id"].startswith("bystander-consumer-"), row
        assert row["broker_id"] in {each["broker_id"] for each in stale.values()}, row
        assert row["is_accepted"] is not True, row
    for key, row in by_hand.items():
        # another topic id always wins; an older leader epoch of the same topic is refused
        by_leader = stale[key]["what"] == "leader_epoch"
        assert row["kip_232_without_max"] == "OUTDATED", row
        assert row["shipped"] == ("OUTDATED" if by_leader else "NONE"), row
        assert row["is_accepted"] == (not by_leader), row
        assert row["broker_id"] == stale[key]["broker_id"]
        assert row["behind_ms"] > 0
    assert {stale[key]["what"] for key in by_hand} == {"leader_epoch", "incarnation"}
    (summary,) = audit.rows(f"""
        SELECT sum(outdated_accepted) AS accepted, count(DISTINCT broker_id) AS brokers
        FROM marts.fct_stale_metadata WHERE cluster = '{THREE_BROKERS}' AND outdated_kip_232 > 0
    """)
    assert (summary["accepted"], summary["brokers"]) == (1, 1)


FENCED = ("FENCED_LEADER_EPOCH", "UNKNOWN_LEADER_EPOCH", "STALE_BROKER_EPOCH", "INCONSISTENT_TOPIC_ID")


@pytest.mark.parametrize("name", TOLD)
def test_everyone_who_was_fenced_is_told(audit: Any, name: str) -> None:
    rows = audit.rows(f"""
        SELECT f.error, s.client_id, s.correlation_id FROM marts.fct_fencing_events f
        JOIN silver.leader_epoch_fencings s
        ON s.cluster = f.cluster AND s.fencing_id = get_json_object(f.evidence, '$.fencing_id')
        WHERE f.cluster = '{name}' AND f.protocol = 'leader_epoch' AND f.error IS NOT NULL
    """)
    found = {(row["client_id"], row["correlation_id"], row["error"]) for row in rows}
    refused = {
        (row["client_id"], row["correlation_id"], row["error"])
        for row in told(name, "request")
        if row["error"] in FENCED
    }
    assert refused
    assert refused <= found


def test_every_broker_that_was_fenced_is_told(audit: Any) -> None:
    rows = audit.rows(f"SELECT * FROM marts.fct_broker_fencings WHERE cluster = '{THREE_BROKERS}'")
    timed_out = [row["broker_id"] for row in rows if row["cause"] == "session_timeout"]
    fenced = [row["broker_id"] for row in told(THREE_BROKERS, "broker") if row["event"] == "fenced"]
    assert sorted(timed_out) == sorted(fenced) != []
    assert all(row["isr_shrunk"] > 0 for row in rows if row["cause"] == "session_timeout")


def test_the_command_tells_which_stored_offsets_are_safe(audit: Any, tmp_path: Path) -> None:
    """Offsets that a real Java consumer sought to, and some past a truncation, in an application's file."""
    stored = [
        {**row, "becomes": None if row["safe"] else "another_incarnation"}
        for row in told(THREE_BROKERS, "stored")
    ]
    assert {row["becomes"] for row in stored} == {None, "another_incarnation"}
    for row in told(THREE_BROKERS, "past_truncation"):
        place = {"offset": row["committed_offset"], "leader_epoch": row["committed_leader_epoch"]}
        stored.append({**row, **place, "becomes": "past_truncation"})
        end = row["epoch_end_offset"]
        stored.append({**row, **place, "offset": end, "becomes": None})
    nobody = {"topic": "nobody's", "partition": 0, "offset": 1, "becomes": "topic_unknown"}
    columns = ("topic", "partition", "offset", "topic_id", "leader_epoch")
    rows = [{name: row[name] for name in columns if name in row} for row in (*stored, nobody)]
    file = tmp_path / "stored.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")

    done = offsets(audit, file, "--cluster", THREE_BROKERS, "--format", "json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert [(row["topic"], row["partition"], row["offset"]) for row in found] == [
        (row["topic"], row["partition"], row["offset"]) for row in rows
    ]
    reasons = [row["becomes"] for row in (*stored, nobody)]
    assert [row["reason"] for row in found] == reasons
    assert [row["safe"] for row in found] == [*(reason is None for reason in reasons[:-1]), None]
    owner = stored[0]
    assert found[0]["detail"] == (
        f"it is of the topic id {owner['topic_id']}, the live one is {owner['live_topic_id']}"
    )

    file.write_text(json.dumps(next(row for row in rows if row["topic"] == "nobody's")), encoding="utf-8")
    unknown = offsets(audit, file, "--cluster", THREE_BROKERS)
    assert unknown.returncode == 0, unknown.stderr
    assert "no log that was read tells of a topic of this name" in unknown.stdout
    misnamed = offsets(audit, file, "--cluster", "none")
    assert misnamed.returncode == 2
    assert "--cluster none: name one of the lake's clusters: " in misnamed.stderr
    assert THREE_BROKERS in misnamed.stderr


def offsets(audit: Any, file: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """``fencepost offsets`` in a process of its own, on the audited lake."""
    command = [str(Path(sys.executable).with_name("fencepost")), "offsets", str(file), *options]
    return subprocess.run(
        [*command, "--config", str(CAPTURES / THREE_BROKERS / "fencepost.toml")],
        env={**os.environ, "FENCEPOST_LAKE": str(Path(audit.settings.lake.warehouse).parent)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
