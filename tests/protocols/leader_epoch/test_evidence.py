"""The order of evidence does not matter; less of it may make a value unknown, and never another one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from fencepost.protocols.leader_epoch.tables import METADATA_TOPIC_ID

Row = dict[str, Any]
Silver = dict[str, list[Row]]
Bronze = Mapping[str, pa.Table]
Rebuilt = Callable[[Bronze], Silver]

THREE_BROKERS = "incarnations-4.3.1"
METADATA = "__cluster_metadata"

# By what a row of the whole evidence is found again, and what it says. What a client had in its cache is
# what was found of its answers: an answer that is missing may have told more.
SAID = {
    "partitions": (
        ("partition_key", "from_position"),
        ("topic", "leader", "leader_epoch", "kraft_partition_epoch", "isr", "replicas", "recovering"),
    ),
    "topic_incarnations": (
        ("topic_id",),
        ("topic", "incarnation", "created_position", "removed_position", "live", "created_by_client_id",
         "removed_by_client_id"),
    ),
    "broker_states": (
        ("broker_id", "from_position"),
        ("broker_epoch", "incarnation_id", "fenced", "in_controlled_shutdown"),
    ),
    "leader_epochs": (
        ("log", "leader_epoch"), ("leader", "previous_leader", "how", "checkpoint_agrees", "given"),
    ),
    "leader_epoch_entries": (("entry_id",), ("agrees",)),
    "partition_batches": (("log", "from_position"), ("leader_epoch", "given")),
    "committed_offsets": (
        ("commit_id",),
        ("committed_offset", "committed_leader_epoch", "committed_topic_id", "live_topic_id",
         "origin_topic_id", "error", "current"),
    ),
    "fetch_positions": (
        ("fetch_position_id",), ("asked_topic_id", "fetch_offset", "error", "live_topic_id"),
    ),
    "leader_epoch_fencings": (("fencing_id",), ("kind", "victim", "error", "victim_epoch", "current_epoch")),
}  # fmt: skip
# One counter numbers all partitions: where some of what it counts is missing, only the order in which one
# partition's incarnations followed each other is the same.
NUMBERED = {
    "partitions": ("partition_key", "partition_epoch"),
    "committed_offsets": ("commit_id", "live_partition_epoch"),
    "fetch_positions": ("fetch_position_id", "live_partition_epoch"),
}


def _of(rows: pa.Table, **values: Any) -> pa.ChunkedArray:
    chosen = pa.chunked_array([pa.array([True] * rows.num_rows)])
    for name, value in values.items():
        chosen = pc.and_(chosen, pc.equal(rows[name], value))
    return chosen


def _without(bronze: Bronze, **lost: Callable[[pa.Table], Any]) -> Bronze:
    """Bronze without the rows that a function tells, by the table's name without its schema."""
    left = dict(bronze)
    for name, which in lost.items():
        rows = left[f"bronze.{name}"]
        left[f"bronze.{name}"] = rows.filter(pc.invert(pc.fill_null(which(rows), False)))
    return left


def _some(chance: random.Random, share: float) -> Callable[[pa.Table], pa.Array]:
    return lambda rows: pa.array([chance.random() < share for _ in range(rows.num_rows)], pa.bool_())


def _by_broker(broker: int, **values: Any) -> Callable[[pa.Table], Any]:
    return lambda rows: _of(rows, broker_id=broker, **values)


def _thinned(bronze: Bronze) -> Iterator[tuple[str, Bronze]]:
    chance = random.Random(16)
    for broker in (1, 2, 3):
        by = _by_broker(broker)
        logs = _by_broker(broker, kind="request_log")
        yield f"no request log of broker {broker}", _without(bronze, requests=by, files=logs)
        yield f"no file of broker {broker}", _without(
            bronze, requests=by, files=by, batches=by, records=by, leader_epoch_checkpoints=by,
        )  # fmt: skip
    for share in (0.02, 0.2, 0.5):
        yield f"{share:.0%} of the lines", _without(bronze, requests=_some(chance, share))
        yield f"{share:.0%} of the batches", _without(bronze, batches=_some(chance, share))
        yield (
            f"{share:.0%} of the checkpoints",
            _without(bronze, leader_epoch_checkpoints=_some(chance, share)),
        )
    for offset in (30, 90, 200):
        yield f"metadata up to {offset}", _without(bronze, batches=_metadata(0, offset))
        yield f"metadata from {offset}", _without(bronze, batches=_metadata(offset, 10**9))
        yield f"metadata about {offset}", _without(bronze, batches=_metadata(offset, offset + 3))
    yield (
        "metadata without snapshots",
        _without(
            bronze, batches=_metadata(0, 90), metadata_snapshots=lambda rows: _of(rows, cluster=THREE_BROKERS)
        ),
    )


def _metadata(first: int, end: int) -> Callable[[pa.Table], Any]:
    def which(rows: pa.Table) -> Any:
        inside = pc.and_(pc.greater_equal(rows["base_offset"], first), pc.less(rows["base_offset"], end))
        return pc.and_(_of(rows, topic=METADATA), inside)

    return which


def _said(silver: Silver, table: str) -> dict[tuple[Any, ...], Row]:
    keys, values = SAID[table]
    return {
        (row["cluster"], *(row[key] for key in keys)): {name: row[name] for name in values}
        for row in silver[table]
    }


Thinned = list[tuple[str, Silver]]


@pytest.fixture(scope="module")
def all_of_it(bronze: Bronze) -> Bronze:
    """The evidence of the cluster with three brokers."""
    return {name: rows.filter(pc.equal(rows["cluster"], THREE_BROKERS)) for name, rows in bronze.items()}


@pytest.fixture(scope="module")
def whole(all_of_it: Bronze, rebuilt: Rebuilt) -> Silver:
    """What the rebuild makes of it."""
    return rebuilt(all_of_it)


@pytest.fixture(scope="module")
def thinned(all_of_it: Bronze, rebuilt: Rebuilt) -> Thinned:
    """What the rebuild makes of less, with what was lost."""
    return [(lost, rebuilt(left)) for lost, left in _thinned(all_of_it)]


@pytest.mark.parametrize("table", SAID)
def test_less_evidence_never_says_otherwise(table: str, whole: Silver, thinned: Thinned) -> None:
    full, wrong, known, unknown = _said(whole, table), [], 0, 0
    for lost, less in thinned:
        said = _said(less, table)
        for key, before in full.items():
            for column, then in before.items():
                value = said.get(key, {}).get(column)
                known += value is not None and then is not None
                unknown += value is None and then is not None
                if value is not None and then is not None and value != then:
                    wrong.append((lost, key, column, then, value))
    assert not wrong, f"{len(wrong)} values, the first: {wrong[:3]}"
    # both sides of the claim were met
    assert known > 100 and unknown > 10


@pytest.mark.parametrize("table", NUMBERED)
def test_less_evidence_leaves_incarnations_in_order(table: str, whole: Silver, thinned: Thinned) -> None:
    key, column = NUMBERED[table]
    full = {(row["cluster"], row[key]): row[column] for row in whole[table]}
    for lost, less in thinned:
        pairs: dict[tuple[str, int], set[tuple[int, int]]] = {}
        for row in less[table]:
            then = full.get((row["cluster"], row[key]))
            if then is not None and row[column] is not None and min(then, row[column]) >= 0:
                pairs.setdefault((row["topic"], row["partition"]), set()).add((then, row[column]))
        for of_partition in pairs.values():
            numbers = [now for _, now in sorted(of_partition)]
            assert numbers == sorted(set(numbers)), lost


def test_the_order_of_evidence_does_not_matter(all_of_it: Bronze, whole: Silver, rebuilt: Rebuilt) -> None:
    chance = random.Random(17)
    shuffled = {}
    for name, rows in all_of_it.items():
        places = list(range(rows.num_rows))
        chance.shuffle(places)
        shuffled[name] = rows.take(pa.array(places, pa.int64()))
    again = rebuilt(shuffled)
    for table, rows in whole.items():
        assert sorted(map(repr, again[table])) == sorted(map(repr, rows)), table


def _shifted(bronze: Bronze, whole: Silver, broker: int, ms: int) -> Bronze:
    """As if a node's clock were ``ms`` ahead: its request log, and what it wrote as coordinator and as
    controller.
    """
    led = {(r["topic_id"], r["partition"], r["leader_epoch"]) for r in whole["leader_epochs"]
           if r["leader"] == broker and r["topic"].startswith("__")}  # fmt: skip
    led |= {(METADATA_TOPIC_ID, 0, r["controller_epoch"]) for r in whole["controllers"]
            if r["controller_id"] == broker}  # fmt: skip
    left = dict(bronze)
    requests = left["bronze.requests"]
    left["bronze.requests"] = _later(requests, "logged_at_ms", _of(requests, broker_id=broker), ms)
    for name, columns in (("batches", ("max_timestamp_ms",)), ("records", ("timestamp_ms",))):
        rows = left[f"bronze.{name}"]
        keys = (rows[key].to_pylist() for key in ("topic_id", "partition", "leader_epoch"))
        here = pa.array([key in led for key in zip(*keys, strict=True)], pa.bool_())
        for column in columns:
            rows = _later(rows, column, here, ms)
        left[f"bronze.{name}"] = rows
    return left


def _later(rows: pa.Table, column: str, here: Any, ms: int) -> pa.Table:
    changed = pc.if_else(here, pc.add(rows[column], ms), rows[column])
    return rows.set_column(rows.schema.get_field_index(column), column, changed)


@pytest.mark.parametrize(("broker", "ms"), [(1, 90_000), (2, -90_000), (3, 90_000), (3, -3_000)])
def test_clocks_that_differ_never_say_otherwise(
    broker: int, ms: int, all_of_it: Bronze, whole: Silver, rebuilt: Rebuilt
) -> None:
    less = rebuilt(_shifted(all_of_it, whole, broker, ms))
    for table in SAID:
        said = _said(less, table)
        for key, before in _said(whole, table).items():
            for column, then in before.items():
                value = said.get(key, {}).get(column)
                assert None in (value, then) or value == then, (table, key, column)
