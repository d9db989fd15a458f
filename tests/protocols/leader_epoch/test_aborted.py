"""A transaction of the metadata log (KIP-868) that a real controller aborts.

Shipped controllers begin one only for bootstrap records, and write it in one batch; so one that was cut short
is written behind the log of a stopped broker, as a controller that died would leave it. What starts then is
Kafka's.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from brokers import Plan
from cluster import Cluster
from images import image_at, images_of
from segments import append, metadata_values

from fencepost.protocols.leader_epoch.cluster_replay import replay
from fencepost.replay.metadata_log import metadata_log
from fencepost.tables import BATCHES, QUARANTINE, RECORDS

LOG = "__cluster_metadata-0"
SEGMENT = f"{0:020}.log"
BEGIN = bytes([1, 23, 0, 0])


@pytest.mark.live
def test_what_a_real_controller_aborts_was_never_there(
    tmp_path: Path, jars: Path, captured: Callable[..., dict[str, object]]
) -> None:
    with Cluster(Plan("4.3.1"), tmp_path / "home") as cluster:
        kept = cluster.create_topic("alpha", 2)
        cluster.stop_broker(1)
        segment = cluster.brokers[0].log_dir / LOG / SEGMENT
        (topic,) = metadata_values(segment, "TopicRecord", name="alpha")
        topic_id = topic[-17:-1]
        partitions = [each for each in metadata_values(segment, "PartitionRecord") if topic_id in each]
        ghost = [each.replace(topic_id, b"sixteen bytes id").replace(b"alpha", b"ghost")
                 for each in (topic, *partitions)]  # fmt: skip
        append(segment, [BEGIN, *ghost[:2]], ghost[2:])
        cluster.start_broker(1)
        again = cluster.create_topic("ghost", 1)
        with cluster.admin() as admin:
            answer = admin.call("Metadata", 12, {"Topics": None})
        told = {each["Name"]: each["TopicId"] for each in answer["Topics"]}
        cluster.stop_broker(1)
    assert told == {"alpha": kept, "ghost": again}
    assert metadata_values(segment, "AbortTransactionRecord") != []

    folder = tmp_path / "capture"
    shutil.copytree(segment.parent, folder / "broker-1" / "log_dir" / LOG)
    (folder / "fencepost.toml").write_text(
        '[[clusters]]\nname = "aborted"\n[[clusters.brokers]]\nid = 1\nlog_dirs = ["broker-1/log_dir"]\n'
    )
    bronze = captured([folder], tmp_path)
    log = metadata_log(*(bronze[table.name] for table in (BATCHES, RECORDS, QUARANTINE)))
    history = replay(log)
    end, kafkas = images_of(jars, [segment.parent])[segment.parent][-1]
    assert image_at(history, end) == kafkas
    assert kafkas.names == {kept: "alpha", again: "ghost"}
    (life,) = history.by_name["ghost"]
    assert (life.topic_id, life.number, life.previous) == (again, 1, None)
