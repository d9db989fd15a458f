"""Faults that no broker could be made to commit, planted in a copy of a real cluster's evidence.

The traces of the specification show for every definition what breaks it; here it is a cluster's own bytes.
"""

from __future__ import annotations

import base64
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from less import Bronze, Silver, metadata, of, without
from planted import FAULTS

THREE_BROKERS, ONE_BROKER = "incarnations-4.3.1", "incarnations-4.2.1"
BEHIND = 90
"""``BEHIND``: an offset of the metadata log that is cut out, with the next two."""


@pytest.fixture(scope="module")
def cluster(bronze: Bronze) -> Bronze:
    return {name: rows.filter(pc.equal(rows["cluster"], THREE_BROKERS)) for name, rows in bronze.items()}


def _changed(rows: pa.Table, column: str, here: Any, change: Callable[[Any], Any]) -> pa.Table:
    """The rows with other values of a column where ``here`` is true, which it is of at least one."""
    chosen = here.to_pylist()
    assert any(chosen)
    values = [
        change(value) if mine else value for value, mine in zip(rows[column].to_pylist(), chosen, strict=True)
    ]
    place = rows.schema.get_field_index(column)
    return rows.set_column(place, rows.schema.field(column), pa.array(values, rows.schema.field(column).type))


def _one(rows: list[dict[str, Any]], **values: Any) -> dict[str, Any]:
    (found,) = [row for row in rows if all(row[name] == value for name, value in values.items())]
    return found


def _raw(topic_id: str) -> bytes:
    return base64.urlsafe_b64decode(topic_id + "==")


def _planted(bronze: Bronze, commit: dict[str, Any], fetch: dict[str, Any], log: dict[str, Any]) -> Bronze:
    """Four faults: a commit is stored with the id of the topic that is gone; a consumer that goes on with an
    offset of it says by which epoch it read that; the last batch of its log has a leader epoch that nobody
    was given; and a checkpoint says that an epoch begins behind its first batch.
    """
    planted = dict(bronze)
    records = planted["bronze.records"]
    stored = of(
        records,
        topic="__consumer_offsets",
        partition=commit["commit_partition"],
        record_offset=commit["record_offset"],
    )
    ids = (_raw(commit["committed_topic_id"]), _raw(commit["origin_topic_id"]))
    planted["bronze.records"] = _changed(records, "value", stored, lambda value: value.replace(*ids))
    requests = planted["bronze.requests"]
    asked = of(requests, client_id=fetch["client_id"], correlation_id=fetch["correlation_id"])
    planted["bronze.requests"] = _changed(
        requests, "request", asked, lambda text: text.replace('"lastFetchedEpoch":-1', '"lastFetchedEpoch":0')
    )
    batches = planted["bronze.batches"]
    last = of(batches, topic=log["topic"], topic_id=log["topic_id"], last_offset=log["last_offset"])
    planted["bronze.batches"] = _changed(batches, "leader_epoch", last, lambda _: 77)
    entries = planted["bronze.leader_epoch_checkpoints"]
    entry = of(entries, topic="epochs", leader_epoch=1)
    planted["bronze.leader_epoch_checkpoints"] = _changed(entries, "start_offset", entry, lambda at: at + 3)
    return planted


def test_each_planted_fault_is_found_and_no_other(cluster: Bronze, judged: Any, silver: Silver) -> None:
    whole = judged(cluster)
    rows = {name: [r for r in of_all if r.get("cluster") == THREE_BROKERS] for name, of_all in silver.items()}
    commit = _one(rows["committed_offsets"], group_id="named-equal")
    fetch = _one(rows["fetch_positions"], client_id="named-back-6")
    log = _one(rows["partition_batches"], topic="named", topic_id=commit["origin_topic_id"])
    less = judged(_planted(cluster, commit, fetch, log))
    assert less.decided["fetch_incarnation", fetch["fetch_position_id"]] == "INVALID_PARTITION_EPOCH"
    found = {definition for definition, _ in less.violated - whole.violated}
    assert found == {"commit_to_live_incarnation", "batch_leader_epoch_known", "checkpoint_agrees"}
    assert whole.violated - less.violated == set()
    assert ("commit_to_live_incarnation", f'{{"c":"{commit["commit_id"]}"}}') in less.violated


@pytest.fixture(scope="module")
def one_broker(captures: Path, captured: Any, judged: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Call it with edits of the cluster's files for what the definitions say then."""

    def audited(*faults: Callable[[Path], None]) -> Any:
        home = tmp_path_factory.mktemp("broken")
        shutil.copytree(captures / ONE_BROKER, home / ONE_BROKER)
        for plant in faults:
            plant(home / ONE_BROKER)
        return judged(captured([home / ONE_BROKER], home))

    return audited


def test_each_fault_in_the_files_of_a_broker_is_found(one_broker: Any) -> None:
    """All of them in one copy: none hides another, nor what is found beside them."""
    whole, broken = one_broker(), one_broker(*FAULTS.values())
    found = {definition for definition, _ in broken.violated - whole.violated}
    # the checkpoint says that no older epoch stands behind the newest one
    assert found == {*FAULTS, "checkpoint_agrees"}
    assert whole.violated - broken.violated == set()


def test_a_rebuild_that_counts_wrongly_is_found(cluster: Bronze, judged: Any) -> None:
    """KIP-232's counter is in no record: that two partitions have one epoch is the rebuild's fault."""

    def miscounted(silver: Bronze) -> Bronze:
        rows = silver["silver.partitions"]
        first, *others = sorted(set(rows["partition_epoch"].to_pylist()))
        last = of(rows, partition_epoch=others[-1])
        return {**silver, "silver.partitions": _changed(rows, "partition_epoch", last, lambda _: first)}

    found = judged(cluster, miscounted).violated - judged(cluster).violated
    assert {definition for definition, _ in found} == {"partition_epochs_unique"}


def test_behind_a_hole_what_was_known_of_the_metadata_log_is_unknown(cluster: Bronze, judged: Any) -> None:
    hole = without(
        cluster,
        batches=metadata(BEHIND, BEHIND + 3),
        metadata_snapshots=lambda rows: of(rows, cluster=THREE_BROKERS),
    )
    unknown = {definition for definition, _ in judged(hole).unknown}
    steps = {"leader_epoch_never_falls", "broker_epoch_never_falls", "partition_epoch_grows"}
    assert unknown >= {
        *steps,
        "batch_leader_epoch_known",
        "partition_epochs_unique",
        "commit_to_live_incarnation",
    }
