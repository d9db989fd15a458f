"""The rebuild of real brokers' logs, compared with the answers that drivers got and with what leaders saw."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fencepost.capture.plan import REQUEST_LOG, SEGMENT, Source
from fencepost.capture.readers import read_all
from fencepost.protocols.ownership_claim.bronze import BROKER_LINES, CONSUMER_LINES
from fencepost.protocols.ownership_claim.logs import REBALANCE_EVENTS
from fencepost.protocols.ownership_claim.shard import decode_shard, replay_shard
from fencepost.replay.group_coordinator.evidence import ShardRows
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.metadata_log import metadata_log
from fencepost.settings import load
from fencepost.tables import BATCHES, CLEANED, QUARANTINE, RECORDS, REQUESTS

Row = Mapping[str, Any]
Silver = dict[str, list[dict[str, Any]]]
TOLERANCE_MS = 25


def _silver(folder: Path) -> Silver:
    (cluster,) = load(folder / "fencepost.toml").clusters
    (broker,) = cluster.brokers
    root, at = folder / f"broker-{broker.id}", (cluster.name, broker.id)
    sources = [
        Source(*at, SEGMENT, str(file), end=file.stat().st_size, topic=topic, partition=0)
        for topic in (OFFSETS_TOPIC, "__cluster_metadata")
        for file in sorted((root / "log_dir").glob(f"{topic}-0/*.log"))
    ]
    for kind, pattern in ((REQUEST_LOG, "kafka-request.log*"), ("server_log", "server.log*")):
        sources += [
            Source(*at, kind, str(file), end=file.stat().st_size, timezone=broker.timezone)
            for file in sorted(root.glob(pattern))
        ]
    read: dict[str, list[pa.RecordBatch]] = defaultdict(list)
    for table, rows in read_all(sources):
        read[table.name].append(rows)
    bronze = {name: pa.Table.from_batches(batches) for name, batches in read.items()}
    none = QUARANTINE.arrow_schema.empty_table()
    log = metadata_log(bronze[BATCHES.name], bronze[RECORDS.name], none)
    of_offsets_topic = {
        name: bronze[name].filter(pc.equal(bronze[name]["topic"], OFFSETS_TOPIC))
        for name in (BATCHES.name, RECORDS.name)
    }
    rows_ = ShardRows(
        cluster.name,
        0,
        of_offsets_topic[BATCHES.name],
        of_offsets_topic[RECORDS.name],
        bronze[REQUESTS.name],
        none,
        CLEANED.arrow_schema.empty_table(),
    )
    told = bronze[BROKER_LINES.name]
    evidence = decode_shard(rows_, told.filter(pc.is_in(told["event"], pa.array(sorted(REBALANCE_EVENTS)))))
    tables = replay_shard(evidence, ClusterMetadata.of(log), TOLERANCE_MS)
    return {name.removeprefix("silver."): table.to_pylist() for name, table in tables.items()}


class _Capture:
    """One capture: its rebuilt rows, and the rows of its ground truth by kind."""

    def __init__(self, folder: Path, each_record: Callable[[Silver], Silver]) -> None:
        self.silver = each_record(_silver(folder))
        self.folder = folder
        self.truth: dict[str, list[Row]] = defaultdict(list)
        for line in (folder / "ground_truth.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            self.truth[row["kind"]].append(row)

    def synced(self) -> list[Row]:
        """Generations whose assignment reached a member: these have a record."""
        return [row for row in self.truth["generation"] if row["is_synced"]]


@pytest.fixture(scope="module", params=["rebalances-4.3.1", "rebalances-3.9.2"])
def capture(
    request: pytest.FixtureRequest, captures: Path, each_record: Callable[[Silver], Silver]
) -> _Capture:
    return _Capture(captures / request.param, each_record)


def test_every_generation_has_its_members(capture: _Capture) -> None:
    by_key: dict[tuple[str, int], Row] = {}
    for row in capture.silver["group_generations"]:
        # the record is written again if a static member is replaced
        if row["members"]:
            by_key.setdefault((row["group_id"], row["generation"]), row)
    for truth in capture.synced():
        row = by_key[truth["group_id"], truth["generation"]]
        expected = (truth["protocol"], truth["leader_member_id"], len(truth["members"]))
        assert (row["protocol"], row["leader_member_id"], row["members"]) == expected


def test_claims_are_those_that_the_leader_saw(capture: _Capture) -> None:
    """Partition by partition, with generations, and with the stale and contradicted claims."""
    by_key: dict[tuple[str, int, str], list[Row]] = defaultdict(list)
    for row in capture.silver["ownership_claims"]:
        by_key[row["group_id"], row["generation"], row["member_id"]].append(row)
    types = {(row["group_id"], row["protocol_type"]) for row in capture.silver["group_generations"]}
    others = {group for group, kind in types if kind not in {"consumer", ""}}
    assert {"connect-cluster", "schema-registry"} <= others
    compared = 0
    for truth in capture.synced():
        if truth["group_id"] in others:
            continue
        unreadable = any(each["claim_source"] == "unreadable" for each in truth["members"])
        for member in truth["members"]:
            rows = by_key[truth["group_id"], truth["generation"], member["member_id"]]
            if member["claim_source"] == "unreadable":
                assert [row["unread_reason"] is not None for row in rows] == [True], (truth, member)
                continue
            held = [row for row in rows if row["is_held"]]
            named = {(row["topic"], row["partition"]) for row in held}
            assert named == {tuple(each) for each in member["claims"]}, (truth["group_id"], member)
            assert {row["claimed_generation"] for row in rows} <= {member["claimed_generation"]}
            if not unreadable:
                stale = {
                    _key(row) for row in held if row["claimed_generation"] < row["greatest_claim_of_others"]
                }
                same = {
                    _key(row) for row in held if row["claimed_generation"] == row["greatest_claim_of_others"]
                }
                assert stale == {tuple(each) for each in member["stale"]}
                assert same == {tuple(each) for each in member["contradicted"]}
            compared += len(rows)
    assert compared > 200


def test_assignments_are_those_that_the_leader_made(capture: _Capture) -> None:
    by_key: dict[tuple[str, int, str], set[tuple[str, int]]] = defaultdict(set)
    for row in capture.silver["classic_assignments"]:
        by_key[row["group_id"], row["generation"], row["member_id"]].add(_key(row))
    for truth in capture.synced():
        for member in truth["members"]:
            if member["assigned"] is not None:
                assigned = by_key[truth["group_id"], truth["generation"], member["member_id"]]
                assert assigned == {tuple(each) for each in member["assigned"]}


def test_broken_rules_of_assignors_are_found(capture: _Capture) -> None:
    """Each handover and each stale claim that won, as in the ground truth, and no other."""
    by_key = {
        (row["group_id"], row["generation"], row["member_id"], row["topic"], row["partition"]): row
        for row in capture.silver["ownership_claims"]
    }
    for broken in capture.truth["broken_rule"]:
        at = (broken["group_id"], broken["generation"])
        of = (broken["topic"], broken["partition"])
        if broken["rule"] == "stale_claim_wins":
            row = by_key[(*at, broken["to_member_id"], *of)]
            assert row["assigned_to_self"]
            assert row["claimed_generation"] < row["greatest_claim_of_others"]
        else:
            row = by_key[(*at, broken["from_member_id"], *of)]
            assert row["assigned_to_another"]
            assert row["is_held"]
            assert row["claimed_generation"] > row["greatest_claim_of_others"]
    broken_in_silver = {
        at
        for at, row in by_key.items()
        if row["is_held"]
        and row["claimed_generation"] is not None
        and row["greatest_claim_of_others"] is not None
        and (
            (row["claimed_generation"] < row["greatest_claim_of_others"] and row["assigned_to_self"])
            or (row["claimed_generation"] > row["greatest_claim_of_others"] and row["assigned_to_another"])
        )
    }
    broken_in_truth = {
        (b["group_id"], b["generation"], b["topic"], b["partition"]) for b in capture.truth["broken_rule"]
    }
    assert {(group, number, *of) for group, number, _, *of in broken_in_silver} == broken_in_truth


def test_claims_that_a_real_leader_complained_of_are_stale_or_contradicted(capture: _Capture) -> None:
    """Its log names both members and their generations: AbstractStickyAssignor."""
    file = capture.folder / "clients" / "java-led-leader.log"
    source = Source("c", None, "consumer_log", str(file), end=file.stat().st_size, client="leader")
    ((_, lines), *_) = [each for each in read_all([source]) if each[0] is CONSUMER_LINES]
    assert all(row["position"] is not None for row in lines.to_pylist())
    claims = {
        (row["member_id"], f"{row['topic']}-{row['partition']}", row["claimed_generation"])
        for row in capture.silver["ownership_claims"]
        if row["group_id"] == "java-led" and row["claimed_generation"] <= row["greatest_claim_of_others"]
    }
    reported = set()
    for row in lines.to_pylist():
        if row["event"] == "same_generation_claimed":
            reported |= {
                (row[m], row["partitions"], row["generation"]) for m in ("member_id", "other_member_id")
            }
        elif row["event"] == "different_generations_claimed":
            both = [("member_id", "generation"), ("other_member_id", "other_generation")]
            reported.add(
                min(((row[m], row["partitions"], row[g]) for m, g in both), key=lambda each: each[2])
            )
    assert reported == claims
    assert len(reported) > 3


def test_every_join_has_its_request_and_answer(capture: _Capture) -> None:
    """Counted by client; the log may also have requests whose answer a client never got."""
    joins = Counter(
        (row["group_id"], row["client_id"], row["error"], row["response_generation"])
        for row in capture.silver["group_joins"]
    )
    answered_requests = Counter(
        (row["asked"]["group_id"], row["client_id"], row["error"], row["told"]["generation"])
        for row in capture.truth["request"]
        if row["api"] == "JoinGroup" and row["error"] is not None
    )
    assert answered_requests.total() > 100
    assert not answered_requests - joins


def test_no_generation_is_lost_between_two(capture: _Capture) -> None:
    """A generation that was abandoned is known from the answers to its members."""
    assert all(row["abandoned"] is not None for row in capture.silver["group_generations"])
    abandoned = sum(row["abandoned"] for row in capture.silver["group_generations"])
    assert abandoned >= len([row for row in capture.truth["generation"] if not row["is_synced"]]) - 2


def _key(row: Row) -> tuple[str, int]:
    return row["topic"], row["partition"]
