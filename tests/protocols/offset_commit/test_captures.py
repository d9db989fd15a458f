"""Real brokers' logs from bytes to tables: what drivers did and were answered is what the replay tells."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.offset_commit.answered_assignments import Owners, Revocations
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.member_lines import MemberLine
from fencepost.protocols.offset_commit.replay import replay_rows
from fencepost.protocols.offset_commit.requests import Commit
from fencepost.protocols.offset_commit.shard import decode_shard, read_members
from fencepost.protocols.offset_commit.witnesses import Witnesses
from fencepost.replay.group_coordinator.evidence import ShardRows
from fencepost.replay.group_coordinator.records import CLASSIC_METADATA
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.metadata import ClusterMetadata
from fencepost.tables import CLEANED, REQUESTS

CLUSTER = "healthy-4.3.1"
TOLERANCE_MS = 25
KEY = ("group_id", "client_id", "correlation_id", "topic", "partition", "committed_offset")

Rows = dict[str, pa.Table]


@pytest.fixture(scope="module")
def bronze(captures: Path, bronze_of: Callable[..., Rows]) -> Rows:
    """Bronze of a cluster of three brokers, every replica's rows: what a replay takes once, it takes once."""
    return bronze_of(captures / CLUSTER)


@pytest.fixture(scope="module")
def replayed(
    bronze: Rows, shards_of: Callable[..., tuple[list[ShardRows], ClusterMetadata]]
) -> dict[str, list[dict[str, Any]]]:
    """The tables that the replay of all logs gives."""
    parts, metadata = shards_of(bronze)
    found: dict[str, list[dict[str, Any]]] = {}
    for rows in parts:
        for name, table in replay_rows(rows, metadata, TOLERANCE_MS).items():
            found.setdefault(name, []).extend(table.to_pylist())
    return found


def test_every_commit_of_the_drivers_is_told_as_it_was(
    captures: Path, replayed: dict[str, list[dict[str, Any]]]
) -> None:
    commits = {tuple(row[name] for name in KEY): row for row in replayed["silver.offset_commits"]}
    states: dict[str, list[dict[str, Any]]] = {}
    for row in replayed["silver.offset_commit_states"]:
        states.setdefault(row["commit_id"], []).append(row)
    truth = captures / CLUSTER / "ground_truth.jsonl"
    made = [json.loads(line) for line in truth.read_text(encoding="utf-8").splitlines()]
    assert len(made) > 10
    for each in made:
        commit = commits[tuple(each[name] for name in KEY)]
        assert commit["broker_error"] == each["error"], each["case"]
        assert commit["unknown_reason"] is None, each["case"]
        assert {_truth(state) for state in states[commit["commit_id"]]} == {each["truth"]}, each["case"]


def _truth(state: dict[str, Any]) -> str:
    if state["client_epoch"] < 0:
        return "unfenced"
    if state["owned_at_client_epoch"] and state["reassigned_since"]:
        return "zombie"
    return "owner" if state["owned_at_client_epoch"] and state["uninterrupted"] else "not_owner"


def test_replicas_and_the_order_of_rows_change_nothing(
    bronze: Rows, shards_of: Callable[..., tuple[list[ShardRows], ClusterMetadata]]
) -> None:
    """Rows of one log twice, and backwards, give what they give once."""
    parts, metadata = shards_of(bronze)
    for rows in parts:
        twice = [
            pa.concat_tables([table, table]).take(pa.array(range(2 * table.num_rows - 1, -1, -1), pa.int64()))
            for table in (rows.batches, rows.records)
        ]
        again = ShardRows(rows.cluster, rows.partition, *twice, rows.requests, rows.quarantine, rows.cleaned)
        assert replay_rows(again, metadata, TOLERANCE_MS) == replay_rows(rows, metadata, TOLERANCE_MS)


@pytest.mark.parametrize("capture", ["troubled-4.2.1", "troubled-4.3.1", "groups-4.3.1", "groups-3.9.2"])
def test_what_members_were_told_is_what_records_say(
    captures: Path,
    bronze_of: Callable[[Path], Rows],
    shards_of: Callable[..., tuple[list[ShardRows], ClusterMetadata]],
    capture: str,
) -> None:
    """Answers to members stand in for records that are gone. Where one is there, both say the same: of the
    member's epoch, of its group, of what it owned, of what others owned, and of what was revoked from it.
    """
    parts, metadata = shards_of(bronze_of(captures / capture))
    compared = owned = more = 0
    for rows in parts:
        evidence = decode_shard(copy(rows), metadata.topics)
        member_lines: list[MemberLine] = []
        read_members(rows.requests, member_lines, [], with_assignments=True)
        lateness = Lateness(TOLERANCE_MS)
        states: dict[str, list[dict[str, Any]]] = {}
        for state in replay_rows(rows, metadata, TOLERANCE_MS)["silver.offset_commit_states"].to_pylist():
            states.setdefault(state["commit_id"], []).append(state)
        requests = evidence.requests.by_group()
        for group_id in {record.group_id for record in evidence.group_records} & requests.keys():
            witnesses = Witnesses(
                evidence.requests,
                requests[group_id],
                *(
                    [line for line in lines if line.group_id == group_id]
                    for lines in (evidence.heartbeats, member_lines)
                ),
                lateness=lateness,
                topics=metadata.topics,
                unread_lines={},
                line_times=evidence.line_times,
                came_before=lambda *_: False,
            )
            kinds = {record.type for record in evidence.group_records if record.group_id == group_id}
            for request in evidence.requests.each(requests[group_id]):
                told = witnesses.state_before(request)
                # what time alone tells is so only where the next record agrees
                if told is None or told.until_ms is not None:
                    continue
                if told.group_type == "classic" and kinds != {CLASSIC_METADATA}:
                    continue
                assigned, owners, revocations = witnesses.assignment_before(request, told)
                for commit in request.commits:
                    met, key = states.get(commit.commit_id, []), commit.partition_key or ""
                    epochs = {(each["member_known"], each["member_epoch"], each["protocol"]) for each in met}
                    assert not met or (True, told.epoch, told.group_type) in epochs, (request, met)
                    compared += bool(met)
                    if commit.partition_key in assigned and request.client_epoch == told.epoch:
                        assert not met or any(_truth(each) == "owner" for each in met), (request, met)
                        exclusive = told.group_type == "consumer"
                        assert not (exclusive and any(each["owned_by_another"] for each in met)), (
                            request,
                            met,
                        )
                        owned += bool(met)
                    if met and request.client_epoch == told.epoch:
                        more += _same_of_others(commit, owners, met) + _same_revoked(revocations, key, met)
    assert compared > 5 and owned > 3 and more > 5


def _same_of_others(commit: Commit, owners: Owners | None, met: list[dict[str, Any]]) -> bool:
    if owners is None:
        return False
    own, of_partition = commit.request.member_id, owners.get((commit.topic or "", commit.partition), ())
    told = (own in of_partition, min((each for each in of_partition if each != own), default=None))
    assert told in {(each["owned_by_self"], each["owner_member_id"]) for each in met}, (commit, met)
    return True


def _same_revoked(revocations: Revocations | None, key: str, met: list[dict[str, Any]]) -> bool:
    if revocations is None or revocations.partitions.get(key) == met[0]["member_epoch"]:
        return False
    told = (revocations.member, revocations.partitions.get(key, 0))
    assert told in {(each["revocation_epoch"], each["partition_revocation_epoch"]) for each in met}, (
        met,
        told,
    )
    return True


@pytest.mark.parametrize("seed", range(4))
def test_fewer_answers_tell_less_and_nothing_else(
    captures: Path,
    bronze_of: Callable[[Path], Rows],
    shards_of: Callable[..., tuple[list[ShardRows], ClusterMetadata]],
    seed: int,
) -> None:
    """Where the cleaner has been, and many lines of the request log are not there either."""
    folder, chance = captures / "compacted-4.3.1", random.Random(seed)
    bronze = bronze_of(folder)
    checkpoint = (folder / "broker-1" / "log_dir" / "cleaner-offset-checkpoint").read_text(encoding="utf-8")
    (cleaned_to,) = re.findall(r"^__consumer_offsets 0 (\d+)$", checkpoint, re.MULTILINE)
    place = {"cluster": folder.name, "topic": OFFSETS_TOPIC, "partition": 0, "cleaned_to": int(cleaned_to)}
    bronze[CLEANED.name] = pa.Table.from_pylist([place], schema=bronze[CLEANED.name].schema)
    lines = bronze[REQUESTS.name]
    if seed:
        kept = [chance.random() < 0.6 for _ in range(lines.num_rows)]
        bronze[REQUESTS.name] = lines.filter(pa.array(kept))
    parts, metadata = shards_of(bronze)
    tables = [replay_rows(rows, metadata, TOLERANCE_MS) for rows in parts]
    commits = [row for each in tables for row in each["silver.offset_commits"].to_pylist()]
    met = {
        row["commit_id"]: row for each in tables for row in each["silver.offset_commit_states"].to_pylist()
    }
    text = (folder / "ground_truth.jsonl").read_text(encoding="utf-8")
    told = {tuple(row[name] for name in KEY): row for row in map(json.loads, text.splitlines())}
    gone = [row for row in commits if (row["unknown_detail"] or "").endswith("this commit was decided")]
    stood = 0
    for row in gone:
        made, state = told[tuple(row[name] for name in KEY)], met.get(row["commit_id"])
        if state is not None:
            stood += 1
            accepted = state["member_known"] and state["member_epoch"] == state["client_epoch"]
            assert accepted == (made["error"] == "NONE"), (state, made)
            assert state["owned_at_client_epoch"] is None or _truth(state) == made["truth"], (state, made)
    assert stood == len(gone) > 100 if seed == 0 else 10 < stood < len(gone)


_MET = ("member_known", "member_epoch", "rebalancing", "instance_fenced", "owned_by_self")


@pytest.mark.parametrize("capture", ["rebalances-4.3.1", "rebalances-3.9.2", "groups-3.9.2"])
def test_what_commits_at_rebalances_met_is_known_and_fewer_lines_leave_it_possible(
    captures: Path,
    bronze_of: Callable[[Path], Rows],
    shards_of: Callable[..., tuple[list[ShardRows], ClusterMetadata]],
    capture: str,
) -> None:
    """Real consumers commit when they are told to join: nearly all met one state for sure. Lines that are not
    there, whichever they are, make others possible beside it; none takes its place.
    """
    bronze = bronze_of(captures / capture)
    whole = _met_in(bronze, shards_of)
    assert len(whole) > 100 and sum(len(each) > 1 for each in whole.values()) <= 0.02 * len(whole)
    lines = bronze[REQUESTS.name]
    for seed, share in enumerate((0.02, 0.2, 0.5)):
        chance = random.Random(seed)
        kept = pa.array([chance.random() > share for _ in range(lines.num_rows)])
        less = _met_in({**bronze, REQUESTS.name: lines.filter(kept)}, shards_of)
        assert 0 < len(less) < len(whole)
        for commit_id, found in less.items():
            for met in whole[commit_id]:
                assert any(_may_be(each, met) for each in found), (seed, met, found)
        assert any(len(each) > 1 for each in less.values()) or share < 0.5


def _met_in(
    bronze: Rows, shards_of: Callable[..., tuple[list[ShardRows], ClusterMetadata]]
) -> dict[str, list[dict[str, Any]]]:
    """The states that each commit may have met."""
    parts, metadata = shards_of(bronze)
    found: dict[str, list[dict[str, Any]]] = {}
    for rows in parts:
        for row in replay_rows(rows, metadata, TOLERANCE_MS)["silver.offset_commit_states"].to_pylist():
            found.setdefault(row["commit_id"], []).append(row)
    return found


def _may_be(state: dict[str, Any], met: dict[str, Any]) -> bool:
    return all(None in (state[name], met[name]) or state[name] == met[name] for name in _MET)


def test_a_static_member_that_replaced_another_has_its_own_client_id(
    captures: Path, bronze_of: Callable[..., Rows], shards_of: Callable[..., Any]
) -> None:
    parts, metadata = shards_of(bronze_of(captures / "removals-4.3.1"))

    def clients(*, with_lines: bool) -> list[str | None]:
        told = {}
        for rows in parts:
            of = rows if with_lines else replace(rows, requests=rows.requests.slice(0, 0))
            for row in replay_rows(of, metadata, TOLERANCE_MS)["silver.group_members"].to_pylist():
                if row["group_id"] == "classic" and row["instance_id"] is not None:
                    told[row["from_position"], row["member_id"]] = row["client_id"]
        return list(dict.fromkeys(told[key] for key in sorted(told)))

    # its records keep the client.id of the first one, whose own they are
    assert clients(with_lines=True) == ["classic-static", "classic-static-again"]
    assert clients(with_lines=False) == ["classic-static", None]
