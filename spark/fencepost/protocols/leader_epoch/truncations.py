"""What replicas truncated because a leader's answer to their Fetch said where the two logs diverge (KIP-595's
divergingEpoch).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.client_requests import client_requests, each_request
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.lines import FETCH
from fencepost.protocols.leader_epoch.tables import TRUNCATED
from fencepost.replay.columns import Columns
from fencepost.replay.logs import by_log

_DIVERGING = '"divergingEpoch"'


class Truncation(NamedTuple):
    """Offsets ``[begins, ends)`` of ``leader_epoch`` that a replica had, and that its leader, of
    ``by_leader_epoch``, did not have.
    """

    begins: int
    ends: int
    leader_epoch: int
    by_leader_epoch: int
    replica: int


Truncations = Mapping[tuple[str, str, int], Sequence[Truncation]]
"""By cluster, topic id and partition."""


def truncated_replicas(requests: pa.Table) -> pa.Table:
    """Rows of TRUNCATED, of any rows of ``bronze.requests``."""
    rows = Columns(TRUNCATED)
    diverging = requests.filter(pc.fill_null(pc.match_substring(requests["response"], _DIVERGING), False))
    for (cluster,), lines in sorted(by_log(diverging, "cluster").items(), key=str):
        for line in each_request(client_requests(lines), (FETCH,)):
            for each in line.partitions if line.replica_id >= 0 else ():
                if 0 <= each.answered < each.offset:
                    epochs = (each.offset_epoch, each.leader_epoch)
                    rows.add(cluster, *each.requested, line.replica_id, each.answered, each.offset, *epochs)
    return rows.to_arrow()


def truncations(rows: pa.Table, histories: Mapping[str, ClusterHistory]) -> Truncations:
    """The truncations by log. A topic that a request names without an id counts only if the name had a single
    incarnation.
    """
    by_log: dict[tuple[str, str, int], list[Truncation]] = {}
    for row in rows.to_pylist():
        history, topic_id = histories.get(row["cluster"]), row["topic_id"]
        if topic_id is None and history is not None:
            lives = history.by_name.get(row["topic"], [])
            topic_id = lives[0].topic_id if len(lives) == 1 else None
        if topic_id is not None:
            names = ("begins", "ends", "leader_epoch", "by_leader_epoch", "replica")
            cut = Truncation(*(row[name] for name in names))
            by_log.setdefault((row["cluster"], topic_id, row["partition"]), []).append(cut)
    return by_log
