"""Replays one group coordinator's log (Kafka's GroupCoordinatorShard) into tables of silver."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

import numpy as np
import pyarrow as pa

from fencepost.protocols.offset_commit.answers import Answers
from fencepost.protocols.offset_commit.births import births
from fencepost.protocols.offset_commit.brokers import FIRST_EPOCH_IS_ONE, is_since
from fencepost.protocols.offset_commit.candidates import (
    GroupStates,
    is_decided,
)
from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.protocols.offset_commit.commits import Commits
from fencepost.protocols.offset_commit.groups import Group, TakenOver
from fencepost.protocols.offset_commit.histories import Histories
from fencepost.protocols.offset_commit.not_coordinator import state_of_none
from fencepost.protocols.offset_commit.offsets import OffsetMetadataManager
from fencepost.protocols.offset_commit.pending_requests import PendingRequests
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.request_placement import RequestPlacement
from fencepost.protocols.offset_commit.request_states import RequestStates
from fencepost.protocols.offset_commit.shard import (
    GroupEvidence,
    ShardEvidence,
    by_group,
    decode_shard,
    with_consistent_log,
)
from fencepost.protocols.offset_commit.signs_of_life import SignsOfLife
from fencepost.protocols.offset_commit.states import state_of_answers
from fencepost.protocols.offset_commit.tables import COMMIT_CLOCKS
from fencepost.protocols.offset_commit.unlogged_commits import unlogged_rows
from fencepost.protocols.offset_commit.unrecorded_groups import UnrecordedGroups
from fencepost.protocols.offset_commit.unwritten_states import UnwrittenStates
from fencepost.protocols.offset_commit.witnesses import Witnesses
from fencepost.replay.columns import Columns
from fencepost.replay.coordinator_logs import UNKNOWN, end_of_log
from fencepost.replay.garbage_collection import collection_paused
from fencepost.replay.group_coordinator.conversions import (
    Endings,
    batches_of,
    with_unwritten_ends,
)
from fencepost.replay.group_coordinator.evidence import ShardRows, placed, placed_rows, without_compacted
from fencepost.replay.group_coordinator.records import (
    CLASSIC_METADATA,
    GROUP_TYPES,
    GroupRecord,
)
from fencepost.replay.histories import Point, interval
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.request_clocks import add_clock_rows
from fencepost.replay.requests import NONE
from fencepost.tables import Table

_ROWS_AT_ONCE = 1 << 16
"""A table's rows are yielded when it has so many; this is checked after so many batches of records."""
_BATCHES_AT_ONCE = 64


def replay_rows(rows: ShardRows, metadata: ClusterMetadata, tolerance_ms: int) -> dict[str, pa.Table]:
    """Replay one coordinator's log from rows of bronze: {table of silver: its rows}.

    ``metadata`` is shared by all logs of the cluster; ``tolerance_ms``: how late a line of the request log
    may be written after its request ended.
    """
    return replay(decode_shard(copy(rows), metadata.topics), metadata, tolerance_ms)


def replay(evidence: ShardEvidence, metadata: ClusterMetadata, tolerance_ms: int) -> dict[str, pa.Table]:
    """Replay one coordinator's log: {table of silver: its rows}, for the tables that it fills."""
    with collection_paused():
        shard = GroupCoordinatorShard(evidence, metadata, tolerance_ms)
        rows = {each.table.name: [each.table.arrow_schema.empty_table()] for each in shard.columns}
        for table, some in shard.replay():
            rows[table.name].append(some)
    return {name: pa.concat_tables(each) for name, each in rows.items()}


class GroupCoordinatorShard:
    """One partition of ``__consumer_offsets``. Its requests are placed in its log when this is created;
    ``replay`` then replays one group after the other.
    """

    def __init__(self, evidence: ShardEvidence, metadata: ClusterMetadata, tolerance_ms: int) -> None:
        evidence = with_consistent_log(evidence)
        self._metadata = metadata
        self._unread_lines, self._line_times = evidence.unread_lines, evidence.line_times
        self._stretches = {stretch.number: stretch for stretch in evidence.log.stretches}
        self._commit_records = CommitRecords(placed_rows(evidence.commit_records, evidence.log))
        self._requests = evidence.requests
        self._groups = by_group(
            without_compacted(placed(evidence.group_records, evidence.log), evidence.log),
            self._commit_records,
            self._requests,
            evidence.member_lines,
            evidence.heartbeats,
        )
        self._incarnation = evidence.incarnation
        self._moved = dict.fromkeys(evidence.moved, evidence.partition)
        topic_id, elected = evidence.incarnation.topic_id, dict[int, int | None]()
        if evidence.partition is not None:
            elected = dict(metadata.leaders(OFFSETS_TOPIC, evidence.partition, topic_id))
        self._placement = RequestPlacement(
            evidence,
            self._groups,
            self._commit_records,
            elected,
            tolerance_ms,
            replicated=metadata.is_replicated(OFFSETS_TOPIC, evidence.partition, topic_id),
        )
        self._leaders, self._lateness = self._placement.leaders, self._placement.lateness
        offsets = OffsetMetadataManager(
            self._commit_records,
            placed(evidence.markers, evidence.log),
            self._stretches,
            _refused_keys(self._requests),
        )
        self.histories = Histories(evidence.cluster, evidence.partition, metadata.topics)
        self.commits = Commits(
            evidence.cluster,
            evidence.partition,
            self._requests,
            metadata,
            matches=self._placement.matches,
            offsets=offsets,
            lateness=self._lateness,
            base=evidence.log.base,
            contradicted=evidence.log.contradicted,
            newest_ms=None if evidence.incarnation.is_gone else evidence.log.newest_ms,
            untold=evidence.incarnation is UNKNOWN,
        )
        unlogged = unlogged_rows(
            (evidence.cluster, topic_id, evidence.partition),
            self._commit_records,
            self._placement.unlogged,
            self._leaders,
        )
        clocks = Columns(COMMIT_CLOCKS)
        add_clock_rows(clocks, evidence.cluster, evidence.partition, self._placement.clock_differences)
        self.columns = (
            *self.histories.tables,
            self.commits.commits,
            self.commits.states,
            unlogged,
            clocks,
        )

    def replay(self) -> Iterator[tuple[Table, pa.Table]]:
        """Replay all groups and yield rows as they are made. To be called once: evidence is freed as soon as
        it was replayed.
        """
        for group_id in sorted(self._groups):
            yield from self._replay_group(group_id, self._groups.pop(group_id))
        yield from self._finished_rows()

    def _finished_rows(self, at_least: int = 1) -> Iterator[tuple[Table, pa.Table]]:
        """The rows made since the last call, of tables that have at least so many of them."""
        for columns in self.columns:
            yield from ((columns.table, rows) for rows in columns.take(at_least))

    def _replay_group(self, group_id: str, evidence: GroupEvidence) -> Iterator[tuple[Table, pa.Table]]:
        evidence.records[:] = with_unwritten_ends(evidence.records)
        endings = Endings()
        batches = [(batch, endings.of(batch)) for batch in batches_of(evidence.records)]
        states = GroupStates(evidence.records, [end for _, ends in batches for end in ends])
        numbers = evidence.commit_records
        stored = numbers[self._commit_records["tombstone"][numbers] == 0]
        answers = Answers(evidence.member_lines, self._lateness)
        # not of a group that is, or once was, of another type than classic: its rules differ
        classic = (
            []
            if any(record.type != CLASSIC_METADATA for record in evidence.records)
            else evidence.member_lines
        )
        witnesses = Witnesses(
            self._requests,
            evidence.requests,
            evidence.heartbeats,
            classic,
            lateness=self._lateness,
            topics=self._metadata.topics,
            unread_lines=self._unread_lines,
            line_times=self._line_times,
            came_before=self._placement.came_before,
        )
        presence = UnrecordedGroups(
            evidence.records,
            self._commit_records["offset"][stored],
            answers,
            witnesses.state_before,
            leaders=self._leaders,
            lateness=self._lateness,
        )
        memory = UnwrittenStates(
            answers,
            witnesses.state_before,
            self._leaders,
            self._lateness,
            self._line_times,
            self._unread_lines,
        )
        undecided = self._placement.undecided
        pending = PendingRequests(
            self.commits,
            self._requests,
            memory,
            presence,
            witnesses.revocations_before,
            managed=bool(evidence.records),
        )
        placed, others = self._placement.placed(evidence.requests, states)
        pending.add_placed(placed)
        for request in self._requests.each(others):
            lost = self._placement.why_lost(request)
            candidates = [] if lost else self._placement.candidates(request, states)
            states_of_request = RequestStates(request, candidates, lost=lost)
            untold = candidates or lost or request.broker_id in self._placement.unlike
            answered = None if untold or not is_decided(request) else witnesses.state_before(request)
            if answered is not None and answered.until_ms is None:
                assignment = witnesses.assignment_before(request, answered)
                states_of_request.states = [
                    [(0, state_of_answers(answered, commit, assignment))] for commit in request.commits
                ]
            elif not candidates and undecided.was_not_decided(request):
                states_of_request.states = [[(0, state_of_none())] for _ in request.commits]
            pending.add(states_of_request)
            yield from self._finished_rows(_ROWS_AT_ONCE)
        pending.begin()
        group = Group(
            group_id,
            self._metadata.topics,
            self._stretches,
            self._first_epoch,
            self._incarnation,
            partition=self._moved.get(group_id),
            births={} if evidence.heartbeats else births(classic, self._unread_lines),
            signs=SignsOfLife(evidence.heartbeats, evidence.member_lines, self._metadata),
        )
        yield from self._decide(pending, group)
        for number, (batch, ends) in enumerate(batches):
            taken_over = TakenOver.by(batch)
            for record, end in zip(batch, ends, strict=True):
                group.replay(record, ends=end, taken_over=taken_over, out=self.histories)
                if pending.is_due(group):
                    yield from self._decide(pending, group)
            group.settle(Point(batch[-1].last_offset, batch[-1].timestamp_ms), self.histories)
            if number % _BATCHES_AT_ONCE == 0:
                yield from self._finished_rows(_ROWS_AT_ONCE)
        group.finish(self.histories)
        for _ in pending.finish():
            yield from self._finished_rows(_ROWS_AT_ONCE)
        if not evidence.records and len(stored):
            self._write_simple_group(group_id, stored[0])

    def _decide(self, pending: PendingRequests, group: Group) -> Iterator[tuple[Table, pa.Table]]:
        """Decide the requests that may have met the group's present state."""
        while pending.decide(group):
            yield from self._finished_rows(_ROWS_AT_ONCE)

    def _first_epoch(self, record: GroupRecord) -> int | None:
        leader = self._leaders.get(record.leader_epoch)
        if leader is None:
            return None
        since = FIRST_EPOCH_IS_ONE[GROUP_TYPES[record.type]]
        return 1 if is_since(self._metadata, leader, record.timestamp_ms, since) else None

    def _write_simple_group(self, group_id: str, first: int) -> None:
        """Write the history of a group of which the log shows only commits, from the ``first`` record on."""
        offset, last_offset, ms, stretch = (
            int(self._commit_records[name][first])
            for name in ("offset", "last_offset", "timestamp_ms", "stretch")
        )
        during = interval(Point(last_offset, ms), end_of_log(self._stretches, self._incarnation))
        if during is not None:
            life = self._incarnation.first_life(self._moved.get(group_id)) + offset
            self.histories.simple_group(group_id, life, during, known=stretch <= 0)


def _refused_keys(requests: Requests) -> set[tuple[str, str, int]]:
    """The keys of refused commits: for these OffsetMetadataManager must remember which offset was stored
    when.
    """
    errors = requests.texts_of_commits("broker_error")
    accepted = (errors.values == errors.numbers_of([NONE])) | requests.stored
    refused = np.flatnonzero((errors.values >= 0) & ~accepted)
    groups = requests.texts("group_id").objects(requests.request[refused])
    topics = requests.texts_of_commits("topic").objects(refused)
    partitions = requests.of_commits("partition")[refused].tolist()
    return {each for each in zip(groups, topics, partitions, strict=True) if each[1] is not None}
