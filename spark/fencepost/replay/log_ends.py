"""The final ends of logs: a log that is captured up to its final end is complete.

A captured log may end before the cluster's log does: its copy may be older than that of another log, or lack
the newest segment. Its final end is known if every broker that has a replica was shut down cleanly
(bronze.log_ends), and none of them was started again, as far as the metadata log shows.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from fencepost.replay.metadata import ClusterMetadata

Ends = Mapping[tuple[str, int], int]
"""(cluster, partition) of one topic -> the first offset that was never written."""


def final_ends(rows: pa.Table, metadata: Mapping[str, ClusterMetadata], topic: str) -> Ends:
    """The final ends of a topic's logs; logs whose final end is not known are left out.

    ``rows``: of ``bronze.log_ends``. Replicas that were shut down one after the other may end at different
    offsets: the highest one counts.
    """
    names = ("cluster", "broker_id", "broker_epoch", "topic", "partition", "log_end_offset")
    ends: dict[tuple[str, int], dict[int, int]] = {}
    for cluster, broker_id, broker_epoch, name, partition, end in zip(
        *(rows[name].to_pylist() for name in names), strict=True
    ):
        of_cluster = metadata.get(cluster, ClusterMetadata())
        if name == topic and of_cluster.broker_epochs.get(broker_id) == broker_epoch:
            ends.setdefault((cluster, partition), {})[broker_id] = end
    return {
        (cluster, partition): max(each.values())
        for (cluster, partition), each in ends.items()
        if _replicas(metadata, cluster, topic, partition) == each.keys()
    }


def ends_of_stopped_clusters(
    rows: pa.Table, metadata: Mapping[str, ClusterMetadata]
) -> dict[tuple[str, str, int], int]:
    """By cluster, topic and partition: where the logs end of clusters whose brokers all were shut down
    cleanly, and none was started again. A broker without any replica does not count.

    ``rows``: of ``bronze.log_ends``. A broker learns of another one's start before it sends it anything, and
    its own metadata log tells of it: so nothing that was sent before the last of them stopped is missing.
    """
    names = ("cluster", "broker_id", "broker_epoch")
    closed = set(zip(*(rows[name].to_pylist() for name in names), strict=True))
    stopped = {
        cluster: known.broker_epochs
        for cluster, known in metadata.items()
        if known.hosts
        and all((cluster, each, known.broker_epochs.get(each)) in closed for each in known.hosts)
    }
    ends: dict[tuple[str, str, int], int] = {}
    for cluster, broker_id, epoch, *place, end in zip(
        *(rows[name].to_pylist() for name in (*names, "topic", "partition", "log_end_offset")), strict=True
    ):
        if stopped.get(cluster, {}).get(broker_id) == epoch:
            key = (cluster, *place)
            ends[key] = max(ends.get(key, 0), end)
    return ends


def _replicas(
    metadata: Mapping[str, ClusterMetadata], cluster: str, topic: str, partition: int
) -> set[int] | None:
    replicas = metadata[cluster].replicas.get(topic, {}).get(partition)
    return None if replicas is None else set(replicas)
