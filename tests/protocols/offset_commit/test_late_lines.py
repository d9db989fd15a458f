"""Lines of the request log that are written late: what is told is true, or not told."""

from __future__ import annotations

import random
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from lines_in_pieces import LineEngine

from fencepost.engines import Engine
from fencepost.protocols.offset_commit.replay import replay_rows
from fencepost.replay.view import EvidenceView
from fencepost.tables import REQUESTS

sys.path.append(str(Path(__file__).resolve().parents[3] / "bench" / "fencing"))

from generate import Size, generate
from walk import Mix

TOLERANCE_MS = 25
BROKER_HEARTBEAT = 63
KEY = ("group_id", "client_id", "correlation_id", "topic", "partition")
TROUBLED = Mix(moments_held=0.25, unheard=0.3, interrupted=0.08, empties=0.3, rebalance_every=8, idle=0.5)

Bronze = dict[str, pa.Table]
Tables = dict[str, list[dict[str, Any]]]


@pytest.fixture(scope="module", params=("4.2", "4.3"))
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, bronze_of: Callable[..., Bronze]
) -> tuple[Bronze, dict[tuple[Any, ...], dict[str, Any]]]:
    """A generated cluster with many identical commits, and the truth about each of its commits."""
    folder = tmp_path_factory.mktemp("late") / request.param
    size = Size(commits=300, groups=4, members=24, coordinators=1)
    generate(folder, size, seed=7, release=request.param, mix=TROUBLED)
    rows = pq.read_table(folder / "ground_truth.parquet").to_pylist()
    return bronze_of(folder), {tuple(row[part] for part in KEY): row for row in rows}


def _late(bronze: Bronze, chance: random.Random, share: float, most_ms: int) -> Bronze:
    """The same with some lines of clients written later: a broker reads no further request of a connection
    before.
    """
    lines = bronze[REQUESTS.name].to_pylist()
    connections: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for line in sorted(lines, key=lambda each: (each["logged_at_ms"], each["file"], each["position"])):
        if line["api_key"] != BROKER_HEARTBEAT:
            # the generator counts connections by group
            connections[line["connection"], line["client_id"].rpartition("-")[0]].append(line)
    for each in connections.values():
        for line, after in zip(each, [*each[1:], None], strict=True):
            late = chance.randrange(most_ms) if chance.random() < share else 0
            if after is not None:
                arrival = int(after["logged_at_ms"] - after["total_time_ms"])
                late = min(late, arrival - 1 - line["logged_at_ms"])
            line["logged_at_ms"] += max(late, 0)
    lines.sort(key=lambda each: each["logged_at_ms"])
    for number, line in enumerate(lines):
        line["file"], line["position"] = "request.log", number
    return {**bronze, REQUESTS.name: pa.Table.from_pylist(lines, schema=bronze[REQUESTS.name].schema)}


def _replayed(bronze: Bronze, shards_of: Callable[..., Any]) -> Tables:
    parts, metadata = shards_of(bronze)
    found: Tables = defaultdict(list)
    for rows in parts:
        for name, table in replay_rows(rows, metadata, TOLERANCE_MS).items():
            found[name] += table.to_pylist()
    return found


def _truth(state: dict[str, Any]) -> str | None:
    if state["client_epoch"] < 0:
        return "unfenced"
    if state["owned_at_client_epoch"] is None:
        return None
    if state["owned_at_client_epoch"] and state["reassigned_since"]:
        return "zombie"
    return "owner" if state["owned_at_client_epoch"] and state["uninterrupted"] else "not_owner"


@settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    seed=st.integers(0, 10**6), share=st.sampled_from((0.05, 0.5, 1.0)), most_ms=st.sampled_from((200, 4000))
)
def test_no_answer_contradicts_the_truth(
    made: tuple[Bronze, dict[tuple[Any, ...], dict[str, Any]]],
    shards_of: Callable[..., Any],
    seed: int,
    share: float,
    most_ms: int,
) -> None:
    bronze, truth = made
    tables = _replayed(_late(bronze, random.Random(seed), share, most_ms), shards_of)
    states: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for state in tables["silver.offset_commit_states"]:
        states[state["commit_id"]].append(state)
    commits = tables["silver.offset_commits"]
    assert len(commits) == len(truth)
    for commit in commits:
        told, met = truth[tuple(commit[part] for part in KEY)], states[commit["commit_id"]]
        truths = {_truth(state) for state in met}
        assert not met or {told["truth"], None} & truths, (told, met)
        strict = {state["member_known"] and state["client_epoch"] == state["member_epoch"] for state in met}
        if told["client_epoch"] >= 0:
            assert not met or told["strict"] in strict, (told, met)
    # every accepted commit's record is there, and almost all are found, whatever the lines say
    accepted = [commit for commit in commits if commit["broker_error"] == "NONE"]
    placed = [commit for commit in accepted if commit["candidates"]]
    assert len(placed) > 0.95 * len(accepted)


MET = (
    "protocol", "group_known", "member_known", "member_epoch", "rebalancing", "owned_at_client_epoch",
    "owned_by_self", "owned_by_another",
)  # fmt: skip


@pytest.mark.parametrize("capture", ["troubled-4.3.1", "groups-4.2.1", "groups-3.9.2"])
def test_what_real_brokers_wrote_is_told_alike_or_not_told(
    captures: Path, bronze_of: Callable[..., Bronze], shards_of: Callable[..., Any], capture: str
) -> None:
    """What consumer and streams groups accepted has the same record; nothing met a state that it did not."""
    bronze = bronze_of(captures / capture)
    in_time = _replayed(bronze, shards_of)
    own = {row["commit_id"]: row["record_offset"] for row in in_time["silver.offset_commits"]}
    late = _replayed(_late(bronze, random.Random(capture), 1.0, 3000), shards_of)
    rows = [row for row in late["silver.offset_commits"] if row["group_type"] != "classic"]
    found = [row for row in rows if row["record_offset"] is not None]
    assert all(row["record_offset"] == own[row["commit_id"]] for row in found)
    accepted = [row for row in rows if row["broker_error"] == "NONE" and own[row["commit_id"]] is not None]
    assert len(found) == len(accepted)
    assert _told_alike(in_time, late) > 80


@pytest.mark.parametrize("capture", ["troubled-4.3.1", "groups-4.2.1", "groups-3.9.2", "days-4.3.1"])
@pytest.mark.parametrize(
    "dated_ms",
    [
        pytest.param(lambda ms: ms + -(ms - 137) % 500, id="twice a second"),
        pytest.param(lambda ms: ms + -(ms - 137) % 5000, id="each five seconds"),
        pytest.param(lambda ms: ms - ms % 1000, id="whole seconds"),
    ],
)
def test_lines_that_a_program_dated_when_it_read_them_are_told_alike_or_not_told(
    captures: Path,
    bronze_of: Callable[..., Bronze],
    shards_of: Callable[..., Any],
    capture: str,
    dated_ms: Callable[[int], int],
) -> None:
    bronze = bronze_of(captures / capture)
    lines = bronze[REQUESTS.name].to_pylist()
    lines.sort(key=lambda each: (each["logged_at_ms"], each["file"], each["position"]))
    for number, line in enumerate(lines):
        line["logged_at_ms"] = dated_ms(line["logged_at_ms"])
        line["file"], line["position"] = f"request.log of {line['broker_id']}", number
    engine = EvidenceView(cast(Engine, LineEngine(lines, 1_000))).with_line_times(TOLERANCE_MS)
    dated = {**bronze, REQUESTS.name: engine.collect(engine.scan(REQUESTS))}
    _told_alike(_replayed(bronze, shards_of), _replayed(dated, shards_of))


def _told_alike(in_time: Tables, late: Tables) -> int:
    """How many commits met one state that is known, of which none is told otherwise."""
    before, after = (_met(tables) for tables in (in_time, late))
    sure = {commit_id: states[0] for commit_id, states in before.items() if len(states) == 1}
    wrong = [
        (state, after[commit_id])
        for commit_id, state in sure.items()
        if commit_id in after and not any(_agrees(state, other) for other in after[commit_id])
    ]
    assert not wrong, wrong[0]
    return len(sure.keys() & after.keys())


def _met(tables: Tables) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in tables["silver.offset_commit_states"]:
        found[row["commit_id"]].append({name: row[name] for name in MET})
    return found


def _agrees(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return all(None in (one[name], other[name]) or one[name] == other[name] for name in MET)
