"""The order of evidence does not matter; less of it may make a value unknown, and never another one."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from less import Bronze, Silver, by_broker, metadata, of, shifted, some, some_contents, without

Row = dict[str, Any]
Rebuilt = Callable[[Bronze], Silver]

THREE_BROKERS = "incarnations-4.3.1"

# By what a row of the whole evidence is found again, and what it says.
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
    "metadata_answer_partitions": (
        ("answer_partition_id",),
        ("cached", "cached_gone", "cached_topic_id", "cached_leader_epoch", "told_topic_id", "accepted"),
    ),
    "committed_offsets": (
        ("commit_id",),
        ("committed_offset", "committed_leader_epoch", "committed_topic_id", "live_topic_id",
         "origin_topic_id", "error"),
    ),
    "stored_offsets": (("commit_id",), ("is_newest",)),
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


def _thinned(bronze: Bronze) -> Iterator[tuple[str, Bronze]]:
    chance = random.Random(16)
    for broker in (1, 2, 3):
        by = by_broker(broker)
        logs = by_broker(broker, kind="request_log")
        yield f"no request log of broker {broker}", without(bronze, requests=by, request_ids=by, files=logs)
        yield f"no file of broker {broker}", without(
            bronze, requests=by, request_ids=by, files=by, batches=by, records=by,
            leader_epoch_checkpoints=by,
        )  # fmt: skip
    for share in (0.05, 0.5):
        yield f"{share:.0%} of the lines", without(bronze, requests=some(chance, share))
        yield f"{share:.0%} of the batches", without(bronze, batches=some(chance, share))
        yield (
            f"{share:.0%} of the checkpoints",
            without(bronze, leader_epoch_checkpoints=some_contents(chance, share)),
        )
    for offset in (30, 90, 200):
        yield f"metadata up to {offset}", without(bronze, batches=metadata(0, offset))
        yield f"metadata from {offset}", without(bronze, batches=metadata(offset, 10**9))
        yield f"metadata about {offset}", without(bronze, batches=metadata(offset, offset + 3))
    yield (
        "metadata without snapshots",
        without(
            bronze, batches=metadata(0, 90), metadata_snapshots=lambda rows: of(rows, cluster=THREE_BROKERS)
        ),
    )


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


@pytest.mark.parametrize(("broker", "ms"), [(1, 90_000), (2, -90_000), (3, 90_000), (3, -3_000)])
def test_clocks_that_differ_never_say_otherwise(
    broker: int, ms: int, all_of_it: Bronze, whole: Silver, rebuilt: Rebuilt
) -> None:
    less = rebuilt(shifted(all_of_it, whole, broker, ms))
    for table in SAID:
        said = _said(less, table)
        for key, before in _said(whole, table).items():
            for column, then in before.items():
                value = said.get(key, {}).get(column)
                assert None in (value, then) or value == then, (table, key, column)
