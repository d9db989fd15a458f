"""Offsets that applications commit and seek to as they like, and a leader that leads again (``by-hand``)."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from less import Bronze, metadata, of, without

from fencepost.tables import FILES, REQUESTS

CAPTURE = "by-hand-4.3.1"
Row = dict[str, Any]
Silver = dict[str, list[Row]]


@pytest.fixture(scope="module")
def by_hand(captures: Path, captured: Any, tmp_path_factory: pytest.TempPathFactory) -> Bronze:
    found: Bronze = captured([captures / CAPTURE], tmp_path_factory.mktemp("by-hand"))
    return found


@pytest.fixture(scope="module")
def rows(rebuilt: Callable[[Bronze], Silver], by_hand: Bronze) -> Silver:
    return rebuilt(by_hand)


def origins(silver: Silver, topic: str) -> dict[tuple[str, int], str | None]:
    commits = (row for row in silver["committed_offsets"] if row["topic"] == topic)
    return {(row["group_id"], row["committed_offset"]): row["origin_topic_id"] for row in commits}


def test_an_offset_is_of_the_topic_from_which_its_client_can_have_read_it(
    rows: Silver, captures: Path
) -> None:
    lines = (captures / CAPTURE / "ground_truth.jsonl").read_text(encoding="utf-8").splitlines()
    made = [row for row in map(json.loads, lines) if row["kind"] == "by_hand"]
    noted = {(row["group_id"], row["offset"]): row["topic_id"] for row in made}
    assert origins(rows, "moved") == noted
    assert set(noted.values()) > {None}
    live = {row["live_topic_id"] for row in rows["committed_offsets"] if row["topic"] == "moved"}
    assert len(live) == 1 and noted["both-before", 60] not in live


def test_what_an_application_seeks_to_begins_a_position_of_no_known_topic(rows: Silver) -> None:
    found = [row for row in rows["fetch_positions"] if row["client_id"] == "moved-seeker"]
    assert [(row["fetch_offset"], row["origin"], row["origin_topic_id"]) for row in found] == [
        (0, "elsewhere", None),
        (60, "elsewhere", None),
    ]


def test_positions_on_a_connection_are_one_row_until_the_client_goes_elsewhere(rows: Silver) -> None:
    """Two clients of one id without fetch sessions: eight fetches each, six of which only read on."""
    found = [row for row in rows["fetch_positions"] if row["client_id"] == "once-reader"]
    assert {row["client"] for row in found} == {None}
    by_connection: dict[str, list[int]] = {}
    for row in sorted(found, key=lambda row: row["correlation_id"]):
        by_connection.setdefault(row["connection"], []).append(row["fetch_offset"])
    assert list(by_connection.values()) == [[5, 7], [5, 7]]


def test_the_only_topic_of_a_name_leaves_no_choice(
    rows: Silver, by_hand: Bronze, rebuilt: Callable[[Bronze], Silver]
) -> None:
    (once,) = (row["topic_id"] for row in rows["topic_incarnations"] if row["topic"] == "once")
    assert {r["origin_topic_id"] for r in rows["fetch_positions"] if r["topic"] == "once"} == {once}
    assert None not in origins(rows, "owned").values()
    # what is missing at the beginning may hide an earlier topic of the name
    begins_late = rebuilt(without(by_hand, batches=metadata(0, 5)))
    assert {r["origin_topic_id"] for r in begins_late["fetch_positions"] if r["topic"] == "once"} == {None}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_java_consumer_commits_for_another_member(rows: Silver, protocol: str) -> None:
    """It owns nothing, and commitSync(Map) is accepted."""
    commits = [row for row in rows["committed_offsets"] if row["group_id"] == f"owned-{protocol}"]
    by_client = {row["client_id"]: row["committed_offset"] for row in commits}
    assert by_client == {f"owned-{protocol}-owner": 50, f"owned-{protocol}-visitor": 20}


def unclean(silver: Silver) -> dict[str, int | None]:
    found = (row for row in silver["leader_epochs"] if row["how"] == "unclean")
    return {row["topic"]: row["records_lost"] for row in found}


def test_the_last_leader_that_leads_again_lost_nothing(rows: Silver) -> None:
    lost = unclean(rows)
    assert "last-leader" in lost and set(lost.values()) == {0}


def _told_of_more(requests: pa.Table) -> pa.Table:
    """A producer was told of a record that is not in the log."""
    said = pc.replace_substring(requests["response"], '"baseOffset":10,', '"baseOffset":12,')
    ours = pc.and_(pc.equal(requests["client_id"], "last-leader-writer"), pc.equal(requests["api_key"], 0))
    place = requests.schema.get_field_index("response")
    return requests.set_column(place, "response", pc.if_else(ours, said, requests["response"]))


def test_without_what_it_acknowledged_nothing_is_known(
    by_hand: Bronze, rebuilt: Callable[[Bronze], Silver]
) -> None:
    requests, files = by_hand[REQUESTS.name], by_hand[FILES.name]
    assert unclean(rebuilt({**by_hand, REQUESTS.name: _told_of_more(requests)}))["last-leader"] is None
    silent = without(by_hand, requests=lambda lines: of(lines, api_key=0))
    assert set(unclean(rebuilt(silent)).values()) == {None}
    # it wrote nothing since to the others: its own files say where its log ended
    unread = {**by_hand, FILES.name: files.filter(pc.not_equal(files["kind"], "segment"))}
    lost = unclean(rebuilt(unread))
    assert lost.pop("last-leader") == 0 and set(lost.values()) == {None}
