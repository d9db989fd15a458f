"""Finds stored commits of which the request log has no line, although it has earlier and later ones."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.protocols.offset_commit.contents import numbered_contents
from fencepost.protocols.offset_commit.shard import ShardEvidence
from fencepost.protocols.offset_commit.tables import UNLOGGED_COMMITS
from fencepost.replay.columns import Columns
from fencepost.replay.logs import Longs

_LINE = ("broker_id", "requested_ms", "responded_ms")
_NEVER = 2**63 - 1


def unlogged_commits(
    records: CommitRecords,
    without_accepted: Longs,
    evidence: ShardEvidence,
    leaders: Mapping[int, int | None],
    tolerance_ms: int,
) -> Longs:
    """The numbers of the records that no request can have written, whatever it was answered, and that were
    stored between the first and the last line about the log's groups that their leader logged.

    ``without_accepted``: the records whose content no accepted commit has; ``leaders``: leader epoch -> the
    broker; ``tolerance_ms``: by how much later than a record its line may be written. Lines after the end of
    the leader's term do not count: a broker that is killed does not log what it was about to answer.
    """
    if not len(without_accepted):
        return without_accepted
    if evidence.moved:
        # their requests are not known to be about this log
        groups = records.texts("group_id").objects(without_accepted)
        without_accepted = without_accepted[[each not in evidence.moved for each in groups]]
    requests = evidence.requests
    every = np.arange(len(requests.request))
    of_records, of_commits = numbered_contents(records, without_accepted, requests, every)
    numbers = without_accepted[~np.isin(of_records, of_commits)]
    epochs, times = records["leader_epoch"][numbers], records["timestamp_ms"][numbers]
    lines = _lines(evidence)
    is_between = np.zeros(len(numbers), dtype=np.bool_)
    for epoch in np.unique(epochs).tolist():
        later_ms = evidence.log.max_timestamp_ms[evidence.log.leader_epoch > epoch].min(initial=_NEVER)
        own = lines[(lines[:, 0] == leaders.get(epoch)) & (lines[:, 1] < later_ms)]
        if len(own):
            first_ms, last_ms = own[:, 2].min(), own[:, 1].max()
            is_between |= (epochs == epoch) & (first_ms < times) & (times + tolerance_ms < last_ms)
    return numbers[is_between]


def _lines(evidence: ShardEvidence) -> Longs:
    """The lines about the log's groups: broker, arrival and answer of each."""
    requests = evidence.requests
    of_commits = np.column_stack([requests[name] for name in _LINE])
    of_members = [
        [getattr(line, name) for name in _LINE] for line in (*evidence.member_lines, *evidence.heartbeats)
    ]
    return np.concatenate([of_commits, np.array(of_members, dtype=np.int64).reshape(-1, len(_LINE))])


def unlogged_rows(
    log: tuple[str, str | None, int | None],
    records: CommitRecords,
    numbers: Longs,
    leaders: Mapping[int, int | None],
) -> Columns:
    """The rows of UNLOGGED_COMMITS about these records; ``log``: their cluster, topic id and partition."""
    cluster, topic_id, partition = log
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
            cluster, topic_id or "", partition, offset, leaders[epoch], group_id, topic, of_topic,
            committed_offset, stored_ms,
        )  # fmt: skip
    return rows
