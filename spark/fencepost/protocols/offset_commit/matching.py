"""Which record of its group each accepted commit wrote."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter

from fencepost.protocols.offset_commit.records import OffsetCommitRecord
from fencepost.protocols.offset_commit.requests import Commit, CommitRequest

_Key = tuple[int, int | None, int, int, int]
"""Partition, offset, leader epoch, and the producer's id and epoch in a transaction."""


@dataclass(slots=True)
class Matches:
    """``sure``: a commit's own record. ``doubtful``: the records that one without a sure one may have
    written.
    """

    sure: dict[Commit, OffsetCommitRecord] = field(default_factory=dict)
    doubtful: dict[Commit, list[OffsetCommitRecord]] = field(default_factory=dict)


def match_commits(
    requests: Iterable[CommitRequest], records: Sequence[OffsetCommitRecord], tolerance_ms: int
) -> Matches:
    """Match the accepted commits of one group with the records it has, in offset order.

    A record fits when it is the same topic's, partition's, offset, leader epoch (and producer's id and epoch)
    and was written between arrival and answer. A commit and a record that fit nobody else belong together.
    Identical commits that compete take identical records in order, if there are as many of each; if records
    are missing nothing is said; if requests are missing every pair is doubtful.
    """
    asked = _asked(requests)
    matches = Matches()
    for key, fitting in _written(records, asked).items():
        commits = asked[key]
        if len(commits) == len(fitting) == 1:
            if _fits(commits[0], fitting[0], tolerance_ms):
                matches.sure[commits[0]] = fitting[0]
            continue
        for component in _competing(_fitting(commits, fitting, tolerance_ms)):
            _choose(component, matches)
    return matches


def _asked(requests: Iterable[CommitRequest]) -> dict[_Key, list[Commit]]:
    """The accepted commits by what they wrote."""
    asked: dict[_Key, list[Commit]] = {}
    for request in requests:
        producer_id = -1 if request.producer_id is None else request.producer_id
        producer_epoch = -1 if request.producer_epoch is None else request.producer_epoch
        for commit in request.commits:
            if commit.accepted:
                key = (
                    commit.partition,
                    commit.committed_offset,
                    commit.committed_leader_epoch,
                    producer_id,
                    producer_epoch,
                )
                asked.setdefault(key, []).append(commit)
    return asked


def _written(
    records: Iterable[OffsetCommitRecord], asked: Container[_Key]
) -> dict[_Key, list[OffsetCommitRecord]]:
    """The records of commits that were asked for; what compaction left tells not how it came about."""
    written: dict[_Key, list[OffsetCommitRecord]] = {}
    for record in records:
        if record.tombstone or record.based:
            continue
        producer = (record.producer_id, record.producer_epoch) if record.is_transactional else (-1, -1)
        key = (record.partition, record.committed_offset, record.committed_leader_epoch, *producer)
        if key in asked:
            written.setdefault(key, []).append(record)
    return written


def _fits(commit: Commit, record: OffsetCommitRecord, tolerance_ms: int) -> bool:
    request, ms = commit.request, record.timestamp_ms
    in_time = request.requested_ms - tolerance_ms <= ms <= request.responded_ms + tolerance_ms
    return in_time and _same_topic(commit, record)


def _fitting(
    commits: Iterable[Commit], records: Sequence[OffsetCommitRecord], tolerance_ms: int
) -> dict[Commit, list[OffsetCommitRecord]]:
    """The records that each commit may have written, by topic and time: idle consumers commit one offset
    again and again.
    """
    by_time = sorted(records, key=attrgetter("timestamp_ms", "offset"))
    times = [record.timestamp_ms for record in by_time]
    found = {}
    for commit in commits:
        first = bisect_left(times, commit.request.requested_ms - tolerance_ms)
        end = bisect_right(times, commit.request.responded_ms + tolerance_ms)
        fits = [record for record in by_time[first:end] if _same_topic(commit, record)]
        if fits:
            found[commit] = fits
    return found


def _same_topic(commit: Commit, record: OffsetCommitRecord) -> bool:
    if commit.topic is not None:
        return commit.topic == record.topic
    return commit.topic_id is not None and commit.topic_id == record.topic_id


def _competing(
    fitting: dict[Commit, list[OffsetCommitRecord]],
) -> Iterator[dict[Commit, list[OffsetCommitRecord]]]:
    """The commits that compete for records, directly or through others, with the records that fit them."""
    takers: dict[int, list[Commit]] = {}
    for commit, records in fitting.items():
        for record in records:
            takers.setdefault(record.offset, []).append(commit)
    seen: set[Commit] = set()
    for commit in fitting:
        if commit in seen:
            continue
        component, waiting = {}, [commit]
        seen.add(commit)
        while waiting:
            one = waiting.pop()
            component[one] = fitting[one]
            for record in fitting[one]:
                # asked once is enough
                for other in takers.pop(record.offset, ()):
                    if other not in seen:
                        seen.add(other)
                        waiting.append(other)
        yield component


def _choose(component: dict[Commit, list[OffsetCommitRecord]], matches: Matches) -> None:
    records = sorted({record.offset: record for fits in component.values() for record in fits}.items())
    if len(component) == len(records):
        # ordered by where the log allows it first: no broker's clock can be wrong about that
        in_order = sorted(component, key=lambda commit: _order(commit, component[commit]))
        for commit, (_, record) in zip(in_order, records, strict=True):
            if record in component[commit]:
                matches.sure[commit] = record
    elif len(component) < len(records):
        matches.doubtful.update(component)


def _order(commit: Commit, fits: Iterable[OffsetCommitRecord]) -> tuple[int, int, str, int, str]:
    request = commit.request
    low = min(record.offset for record in fits)
    return (low, request.responded_ms, request.file, request.position, commit.commit_id)
