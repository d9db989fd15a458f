"""Finds stored commits of which the request log has no line, although it has earlier and later ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.protocols.offset_commit.contents import numbered_contents
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.tables import UNLOGGED_COMMITS
from fencepost.replay.columns import Columns
from fencepost.replay.logs import Longs


def unlogged_commits(
    records: CommitRecords,
    requests: Requests,
    without_accepted: Longs,
    leaders: Mapping[int, int | None],
    tolerance_ms: int,
) -> Longs:
    """The numbers of the records that no request can have written, whatever it was answered, and that were
    stored between the first and the last commit request that their broker logged.

    ``without_accepted``: the records whose content no accepted commit has; ``leaders``: leader epoch -> the
    broker; ``tolerance_ms``: by how much later than a record its line may be written.
    """
    every = np.arange(len(requests.request))
    of_records, of_commits = numbered_contents(records, without_accepted, requests, every)
    numbers = without_accepted[~np.isin(of_records, of_commits)]
    epochs, times = records["leader_epoch"][numbers], records["timestamp_ms"][numbers]
    is_between = np.zeros(len(numbers), dtype=np.bool_)
    for epoch, broker_id in leaders.items():
        own = requests["broker_id"] == broker_id
        if own.any():
            first_ms, last_ms = requests["responded_ms"][own].min(), requests["requested_ms"][own].max()
            is_between |= (epochs == epoch) & (first_ms < times) & (times + tolerance_ms < last_ms)
    return numbers[is_between]


def unlogged_rows(
    cluster: str,
    partition: int | None,
    records: CommitRecords,
    numbers: Longs,
    leaders: Mapping[int, int | None],
) -> Columns:
    """The rows of UNLOGGED_COMMITS about these records."""
    rows = Columns(UNLOGGED_COMMITS)
    of_records = zip(
        records["offset"][numbers].tolist(),
        records["leader_epoch"][numbers].tolist(),
        records.texts("group_id").objects(numbers),
        records.texts("topic").objects(numbers),
        records["partition"][numbers].tolist(),
        records["committed_offset"][numbers].tolist(),
        records["timestamp_ms"][numbers].tolist(),
        strict=True,
    )
    for offset, epoch, group_id, topic, of_topic, committed_offset, stored_ms in of_records:
        rows.add(
            cluster, partition, offset, leaders[epoch], group_id, topic, of_topic, committed_offset, stored_ms
        )
    return rows
