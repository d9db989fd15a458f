"""The content by which a commit and its record are matched: what both of them have."""

from __future__ import annotations

import numpy as np

from fencepost.protocols.offset_commit.attributes import Numbers
from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.requests import Commit
from fencepost.replay.entities import numbered_rows
from fencepost.replay.logs import UNKNOWN, Longs

Content = tuple[str, int, int | None, int, int, int]
"""Group, partition, offset, leader epoch, and the producer's id and epoch in a transaction."""


def content_of(commit: Commit) -> Content:
    """The content of a commit, which its record has too, if there is one."""
    request = commit.request
    return (
        request.group_id,
        commit.partition,
        commit.committed_offset,
        commit.committed_leader_epoch,
        -1 if request.producer_id is None else request.producer_id,
        -1 if request.producer_epoch is None else request.producer_epoch,
    )


def contents_of_records(records: CommitRecords, numbers: Longs) -> list[Content]:
    """The content of each of these records."""
    columns = (
        records.texts("group_id").objects(numbers),
        records["partition"][numbers].tolist(),
        Numbers.as_objects(records["committed_offset"][numbers]),
        records["committed_leader_epoch"][numbers].tolist(),
        *(records.in_transaction(name)[numbers].tolist() for name in ("producer_id", "producer_epoch")),
    )
    return list(zip(*columns, strict=True))


def is_of_topic(commit: Commit, records: CommitRecords, number: int) -> bool:
    """Whether a record is of the topic that a commit names."""
    name = "topic" if commit.topic is not None else "topic_id"
    (named,) = records.texts(name).objects(np.array([number]))
    return named is not None and named == (commit.topic if commit.topic is not None else commit.topic_id)


def numbered_contents(
    records: CommitRecords, numbers: Longs, requests: Requests, commits: Longs
) -> tuple[Longs, Longs]:
    """Numbers for the contents of these records and of these commits: equal contents have equal numbers, in
    order of first appearance. Contents of records come first, then those that only commits have.
    """
    groups, of = requests.texts("group_id"), requests.request[commits]
    found = numbered_rows(
        np.concatenate([groups.numbers_in(records.texts("group_id"))[numbers], groups.values[of]]),
        *(
            np.concatenate([records[name][numbers], requests.of_commits(name)[commits]])
            for name in ("partition", "committed_offset", "committed_leader_epoch")
        ),
        *(
            np.concatenate([records.in_transaction(name)[numbers], _none_is_minus_one(requests[name][of])])
            for name in ("producer_id", "producer_epoch")
        ),
    )
    return found[: len(numbers)], found[len(numbers) :]


def _none_is_minus_one(values: Longs) -> Longs:
    return np.where(values == UNKNOWN, -1, values)
