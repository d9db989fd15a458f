"""Offsets, records, groups and members that were taken away: why, and on whose behalf."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.opening import open_lake
from fencepost.protocols.leader_epoch.plot import layout as leader_epoch
from fencepost.protocols.leader_epoch.plot import reading as topic_reading
from fencepost.protocols.offset_commit.plot import layout as offset_commit
from fencepost.protocols.offset_commit.plot import reading as group_reading
from fencepost.protocols.producer_epoch.plot import layout as producer_epoch
from fencepost.protocols.producer_epoch.plot import reading as producer_reading

NAME = "removals-4.3.1"
OFFSETS = {
    "offset-deleted": ("offset_deleted", "request_log", "offset-deleted-admin"),
    "group-deleted": ("group_deleted", "request_log", "group-deleted-admin"),
    "topic-deleted": ("topic_deleted", "metadata_log", "operator"),
    "late": ("topic_deleted", "metadata_log", "operator"),
    "expired": ("expired", "server_log", None),
}
HALF, RECORDS = 10, 30
"""Every group had committed the offset HALF of a topic with RECORDS records, or more (late, beyond)."""
RESETS = {
    "offset-deleted": ("no_offset", "offset_deleted", HALF, 0),
    "group-deleted": ("no_offset", "group_deleted", HALF, 0),
    "expired": ("no_offset", "expired", HALF, 0),
    # offsets of two topics cannot be compared
    "topic-deleted": ("no_offset", "topic_deleted", None, None),
    "late": ("out_of_range", "topic_recreated", None, None),
    "beyond": ("out_of_range", "beyond_the_end", None, None),
    "records-deleted": ("out_of_range", "records_deleted", 0, HALF),
}
MEMBERS = {
    "session-silent": {"session_timeout"},
    "session-stays": {"left"},
    "slow-slow": {"rebalance_timeout"},
    "left-leaves": {"left"},
    "static-a": {"away"},
    "static-b": {"away"},
    "static-a-again": {"left"},
    "classic-silent": {"session_timeout"},
    "classic-removed": {"administrator"},
    "classic-leaves": {"left"},
    "classic-static": {"replaced"},
    # it has the client.id of the one before in the group's records
    "classic-static-again": {"left"},
}


@pytest.fixture(scope="module")
def rows(audit: Any) -> Any:
    return lambda mart: audit.rows(f"SELECT * FROM marts.{mart} WHERE cluster = '{NAME}'")


def test_what_removed_an_offset(rows: Any) -> None:
    found = {row["group_id"]: row for row in rows("fct_removed_offsets")}
    told = ("ended_by", "told_by", "removed_by_client_id")
    assert {group: tuple(row[name] for name in told) for group, row in found.items()} == OFFSETS
    assert {row["committed_offset"] for row in found.values()} == {HALF}


def test_why_consumers_started_at_the_beginning(rows: Any) -> None:
    found = {row["group_id"]: row for row in rows("fct_offset_resets")}
    retention = found.pop("retention")
    counted = ("reset_because", "cause", "records_read_again", "records_skipped")
    assert {group: tuple(row[name] for name in counted) for group, row in found.items()} == RESETS
    assert retention["cause"] == "retention"
    assert retention["records_skipped"] == retention["reset_to"] - HALF >= RECORDS - HALF
    assert {row["began_where"] for row in (*found.values(), retention)} == {"beginning"}
    assert {row["deleted_by_client_id"] for row in found.values()} == {None, "records-deleted-admin"}


def test_why_members_were_removed(rows: Any) -> None:
    found: dict[str, set[Any]] = {}
    for row in rows("fct_member_lives"):
        assert not row["is_current"]
        found.setdefault(row["client_id"], set()).add(row["removed_by"])
    assert {client: found[client] for client in MEMBERS} == MEMBERS
    assert {row["removed_by_client_id"] for row in rows("fct_member_lives")} >= {
        "lab-admin",
        "classic-leaves",
        "classic-static-again",
    }


def test_why_groups_ended(rows: Any) -> None:
    ended = {row["group_id"]: row["ended_by"] for row in rows("fct_group_lives") if not row["is_current"]}
    assert ended == dict.fromkeys(("session", "slow", "left", "static", "classic"), "expired")


@pytest.mark.parametrize("capture", ["groups-4.3.1", "groups-3.9.2"])
def test_a_group_that_was_deleted_begins_anew(audit: Any, capture: str) -> None:
    found = audit.rows(
        "SELECT group_id, count(*) AS lives FROM marts.fct_group_lives "
        f"WHERE cluster = '{capture}' AND ended_by = 'group_deleted' AND told_by = 'request_log' GROUP BY 1"
    )
    assert found


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_ordinary_consumers_of_a_topic_that_is_deleted(audit: Any, protocol: str) -> None:
    """They start where there was no offset yet, and again when their offset went with the topic."""
    found = audit.rows(
        "SELECT cause, began_where, records_read_again FROM marts.fct_offset_resets "
        f"WHERE cluster = 'incarnations-4.2.1' AND group_id = 'payments-{protocol}' ORDER BY requested_at"
    )
    assert [row["cause"] for row in found] == ["never_committed"] * 2 + ["topic_deleted"] * 2
    assert {row["records_read_again"] for row in found} == {None}


def test_pictures_say_beside_each_mark_what_it_was(audit: Any) -> None:
    """Why a member is gone, where a consumer began and why, what became of a transactional id."""
    with open_lake(audit.settings, "duckdb") as lake:
        group = offset_commit.arrange(group_reading.read(lake, "slow", NAME))
        topic = leader_epoch.arrange(topic_reading.read(lake, "expired", NAME))
        producer = producer_epoch.arrange(producer_reading.read(lake, "expired-older", "expired-4.3.1"))
        waiting = producer_epoch.arrange(producer_reading.read(lake, "kafkajs-tx-2", "makers-4.3.1"))
    assert sorted(group.ends["label"]) == ["left", "rebalance timeout"]
    (marks,) = (lane.marks for lane in topic.groups)
    assert set(marks.loc[marks["kind"] == "reset", "label"]) == {"began at 0: expired"}
    labels = producer.marks.groupby("kind")["label"].agg(set)
    assert labels["ended"] == {"expired"}
    assert labels["fenced"] == {"epoch 0 fenced"}
    # it was let in after a third of a second; its broker asked again only when it wrote the next time
    assert not (waiting.marks["kind"] == "waited").any()
