"""What a commit and its record have in common: the content by which they are matched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter

import numpy as np

from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.requests import Commit
from fencepost.replay.entities import numbered_rows
from fencepost.replay.group_coordinator.records import OffsetCommitRecord
from fencepost.replay.logs import UNKNOWN, Longs

Content = tuple[str, int, int | None, int, int, int]
"""Group, partition, offset, leader epoch, and the producer's id and epoch in a transaction."""


def content_of(commit: Commit) -> Content:
    """What the record of a commit has of it, if it has one."""
    request = commit.request
    return (
        request.group_id,
        commit.partition,
        commit.committed_offset,
        commit.committed_leader_epoch,
        -1 if request.producer_id is None else request.producer_id,
        -1 if request.producer_epoch is None else request.producer_epoch,
    )


def content_of_record(record: OffsetCommitRecord) -> Content:
    """What a record has of its commit."""
    return (
        record.group_id,
        record.partition,
        record.committed_offset,
        record.committed_leader_epoch,
        record.producer_id if record.is_transactional else -1,
        record.producer_epoch if record.is_transactional else -1,
    )


def same_topic(commit: Commit, record: OffsetCommitRecord) -> bool:
    """Whether a record is of the topic that a commit names."""
    if commit.topic is not None:
        return commit.topic == record.topic
    return commit.topic_id is not None and commit.topic_id == record.topic_id


def numbered_contents(
    records: Sequence[OffsetCommitRecord], requests: Requests, commits: Longs
) -> tuple[Longs, Longs]:
    """A number for the content of each record and of each of these commits, the same for equal ones, in the
    order in which they come first: those of records, then those that only commits have.
    """
    groups, of = requests.texts("group_id"), requests.request[commits]
    found = numbered_rows(
        np.concatenate([groups.numbers_of(each.group_id for each in records), groups.values[of]]),
        *(
            np.concatenate([_column(map(attrgetter(name), records)), requests.of_commits(name)[commits]])
            for name in ("partition", "committed_offset", "committed_leader_epoch")
        ),
        *(
            np.concatenate([_in_transaction(records, name), _none_is_minus_one(requests[name][of])])
            for name in ("producer_id", "producer_epoch")
        ),
    )
    _, first, found = np.unique(found, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    found = rank[found]
    return found[: len(records)], found[len(records) :]


def _column(values: Iterable[int | None]) -> Longs:
    return np.fromiter((UNKNOWN if each is None else each for each in values), np.int64)


def _in_transaction(records: Iterable[OffsetCommitRecord], name: str) -> Longs:
    value = attrgetter(name)
    return np.fromiter((value(each) if each.is_transactional else -1 for each in records), np.int64)


def _none_is_minus_one(values: Longs) -> Longs:
    return np.where(values == UNKNOWN, -1, values)
