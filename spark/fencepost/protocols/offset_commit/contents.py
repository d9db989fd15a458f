"""What a commit and its record have in common: the content by which they are matched."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain

import numpy as np

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
    records: Sequence[OffsetCommitRecord], commits: Sequence[Commit]
) -> tuple[Longs, Longs]:
    """A number for the content of each record and of each commit, the same for equal ones, in the order in
    which they come first: those of records, then those that only commits have.
    """
    asked = [commit.request for commit in commits]
    groups = numbered_texts([each.group_id for each in records], [each.group_id for each in asked])
    found = numbered_rows(
        np.concatenate(groups),
        _column((each.partition for each in records), (each.partition for each in commits)),
        _column((each.committed_offset for each in records), (each.committed_offset for each in commits)),
        _column(
            (each.committed_leader_epoch for each in records),
            (each.committed_leader_epoch for each in commits),
        ),
        _column(
            (each.producer_id if each.is_transactional else -1 for each in records),
            (-1 if each.producer_id is None else each.producer_id for each in asked),
        ),
        _column(
            (each.producer_epoch if each.is_transactional else -1 for each in records),
            (-1 if each.producer_epoch is None else each.producer_epoch for each in asked),
        ),
    )
    _, first, found = np.unique(found, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    found = rank[found]
    return found[: len(records)], found[len(records) :]


def numbered_texts(*columns: Iterable[str | None]) -> list[Longs]:
    """A number for each text, the same in all columns; -1 for None."""
    numbers: dict[str | None, int] = {None: -1}
    return [
        np.fromiter((numbers.setdefault(each, len(numbers)) for each in column), np.int64)
        for column in columns
    ]


def _column(of_records: Iterable[int | None], of_commits: Iterable[int | None]) -> Longs:
    numbers = (UNKNOWN if each is None else each for each in chain(of_records, of_commits))
    return np.fromiter(numbers, np.int64)
