"""The replay of one group coordinator's log (GroupCoordinatorShard): evidence in, tables of silver out."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from operator import attrgetter

import numpy as np
import pyarrow as pa

from fencepost.protocols.offset_commit.answers import Answers
from fencepost.protocols.offset_commit.brokers import FIRST_EPOCH_IS_ONE, is_since
from fencepost.protocols.offset_commit.commits import Commits, Request
from fencepost.protocols.offset_commit.groups import Group
from fencepost.protocols.offset_commit.histories import Histories
from fencepost.protocols.offset_commit.lateness import Lateness
from fencepost.protocols.offset_commit.matches import Matches
from fencepost.protocols.offset_commit.matching import Matching
from fencepost.protocols.offset_commit.member_lines import HeartbeatAnswer
from fencepost.protocols.offset_commit.offsets import OffsetMetadataManager
from fencepost.protocols.offset_commit.order import Order, Places, epochs_of
from fencepost.protocols.offset_commit.places import (
    GroupStates,
    Stored,
    answered_leaders,
    candidates_of,
    is_decided,
)
from fencepost.protocols.offset_commit.presence import Presence
from fencepost.protocols.offset_commit.questions import Questions
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.shard import (
    GroupEvidence,
    ShardEvidence,
    by_group,
    decode_shard,
)
from fencepost.protocols.offset_commit.states import state_told
from fencepost.protocols.offset_commit.terms import Terms
from fencepost.protocols.offset_commit.undecided import Undecided, state_of_none
from fencepost.protocols.offset_commit.unwritten import Memory
from fencepost.protocols.offset_commit.witnesses import Witnesses
from fencepost.replay.collection import collection_paused
from fencepost.replay.group_coordinator.conversions import Endings, batches_of
from fencepost.replay.group_coordinator.evidence import ShardRows, placed, without_compacted
from fencepost.replay.group_coordinator.records import (
    CLASSIC_METADATA,
    GroupRecord,
    Marker,
    OffsetCommitRecord,
)
from fencepost.replay.histories import Point, interval
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.logs import Log
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.requests import NONE
from fencepost.tables import Table

_ROWS_AT_ONCE = 1 << 16


def replay_rows(rows: ShardRows, metadata: ClusterMetadata, tolerance_ms: int) -> dict[str, pa.Table]:
    """Replay one coordinator's log from rows of bronze: {table of silver: its rows}.

    ``metadata`` is shared by all logs of the cluster; ``tolerance_ms``: how late a line of the request log
    may be written after its request ended.
    """
    return replay(decode_shard(copy(rows), metadata.topics), metadata, tolerance_ms)


def replay(evidence: ShardEvidence, metadata: ClusterMetadata, tolerance_ms: int) -> dict[str, pa.Table]:
    """Replay one coordinator's log: {table of silver: its rows}, the seven tables of groups."""
    with collection_paused():
        shard = GroupCoordinatorShard(evidence, metadata, tolerance_ms)
        rows = {each.table.name: [each.table.arrow_schema.empty_table()] for each in shard.columns}
        for table, some in shard.replay():
            rows[table.name].append(some)
    return {name: pa.concat_tables(each) for name, each in rows.items()}


class GroupCoordinatorShard:
    """One partition of ``__consumer_offsets``: facts of its log, then group by group."""

    def __init__(self, evidence: ShardEvidence, metadata: ClusterMetadata, tolerance_ms: int) -> None:
        self._tolerance_ms = tolerance_ms
        self._metadata = metadata
        self._unread_lines = evidence.unread_lines
        self._stretches = {stretch.number: stretch for stretch in evidence.log.stretches}
        self._markers = placed(evidence.markers, evidence.log)
        self._commit_records = placed(evidence.commit_records, evidence.log)
        self._requests = evidence.requests
        self._groups = by_group(
            without_compacted(placed(evidence.group_records, evidence.log), evidence.log),
            self._commit_records,
            self._requests,
            evidence.member_lines,
            evidence.heartbeats,
        )
        self._lateness = Lateness(tolerance_ms)
        self._order = self._ordered(evidence.heartbeats)
        self._matches, self._places, self._undecided = self._matched(evidence.log, evidence.partition)
        self._stored = Stored(self._requests, self._matches)
        self._leaders = self._led(evidence.partition)
        self._terms = Terms(evidence.log.terms(self._leaders), evidence.log.stretches)
        self._offsets = OffsetMetadataManager(self._stretches, _refused_keys(self._requests))
        self.histories = Histories(evidence.cluster, evidence.partition, metadata.topics)
        self.commits = Commits(
            evidence.cluster,
            evidence.partition,
            metadata,
            self._offsets,
            lateness=self._lateness,
            base=evidence.log.base,
        )
        self.columns = (*self.histories.tables, self.commits.commits, self.commits.states)

    def replay(self) -> Iterator[tuple[Table, pa.Table]]:
        """Replay everything, once; rows are given as they are made. What has been replayed, or asked, is let
        go.
        """
        for record in _merged(self._commit_records, self._markers):
            self._offsets.replay(record)
        self._offsets.finish()
        for group_id in sorted(self._groups):
            yield from self._replay_group(group_id, self._groups.pop(group_id))
        yield from self._made()

    def _made(self, at_least: int = 1) -> Iterator[tuple[Table, pa.Table]]:
        """The rows that were made since they were given last, of tables with so many."""
        for columns in self.columns:
            yield from ((columns.table, rows) for rows in columns.take(at_least))

    def _ordered(self, answers: Sequence[HeartbeatAnswer]) -> Order:
        # a hole may hide where a member had an epoch
        whole = len(self._stretches) == 1
        epochs = {
            group_id: epochs_of(group.records)
            for group_id, group in self._groups.items()
            if whole and group.heartbeats
        }
        return Order(self._requests, answers, epochs)

    def _matched(self, log: Log, partition: int | None) -> tuple[Matches, Places, Undecided]:
        """The records of accepted commits. How late lines were is known before the clock is asked."""
        elected = {} if partition is None else self._metadata.leaders(OFFSETS_TOPIC, partition)
        self._lateness.note_last(self._order.is_last)
        matching = Matching(self._requests, self._commit_records, self._order, self._tolerance_ms)
        matching.place_without_clock(Terms(log.terms(elected), log.stretches), self._lateness)
        matches = matching.place_by_clock(self._lateness, self._state_at)
        undecided = Undecided(self._requests, log, elected, self._lateness)
        undecided.settle(matches)
        return matches, matching.between(matches), undecided

    def _state_at(self, number: int) -> int:
        record = self._commit_records[number]
        return bisect_left(self._groups[record.group_id].records, record.offset, key=attrgetter("offset"))

    def _led(self, partition: int | None) -> dict[int, int | None]:
        """Who led the log, by leader epoch: whoever answered a request whose record is in it, else who was
        elected.
        """
        leaders: dict[int, int | None] = {}
        if partition is not None:
            leaders.update(self._metadata.leaders(OFFSETS_TOPIC, partition))
        leaders.update(answered_leaders(self._requests, self._matches))
        return leaders

    def _replay_group(self, group_id: str, evidence: GroupEvidence) -> Iterator[tuple[Table, pa.Table]]:
        endings = Endings()
        batches = [(batch, endings.of(batch)) for batch in batches_of(evidence.records)]
        states = GroupStates(evidence.records, [end for _, ends in batches for end in ends])
        presence = Presence(
            evidence.records, evidence.commit_records, evidence.member_lines, self._leaders, self._lateness
        )
        first = next((record for record in evidence.commit_records if not record.tombstone), None)
        evidence.commit_records.clear()
        witnesses = Witnesses(
            self._requests,
            evidence.requests,
            evidence.heartbeats,
            # of a group that is, or was, no classic one they are told by another rule
            []
            if any(record.type != CLASSIC_METADATA for record in evidence.records)
            else evidence.member_lines,
            lateness=self._lateness,
            topics=self._metadata.topics,
            unread_lines=self._unread_lines,
        )
        answers = Answers(evidence.member_lines, self._lateness)
        memory = Memory(answers, witnesses.told, self._leaders, self._lateness)
        questions = Questions(
            self.commits, self._requests, self._matches, memory, presence, managed=bool(evidence.records)
        )
        placed, others = self._stored.placed(evidence.requests, states)
        questions.ask(placed)
        for request in self._requests.each(others):
            candidates = candidates_of(
                request,
                self._matches,
                states,
                self._terms,
                order=self._order,
                places=self._places,
                lateness=self._lateness,
            )
            asked = Request(request, candidates)
            told = None if candidates or not is_decided(request) else witnesses.told(request)
            if told is not None and told.until_ms is None:
                owned = witnesses.owned(told)
                asked.met = [[(0, state_told(told, commit, owned))] for commit in request.commits]
            elif not candidates and self._undecided.met_none(request):
                asked.met = [[(0, state_of_none())] for _ in request.commits]
            questions.ask_one(asked)
        questions.begin()
        group = Group(group_id, self._metadata.topics, self._stretches, self._first_epoch)
        questions.answer(group)
        for batch, ends in batches:
            taken_over = _taken_over(batch)
            for record, end in zip(batch, ends, strict=True):
                group.replay(record, ends=end, taken_over=taken_over, out=self.histories)
                questions.answer(group)
            group.settle(Point(batch[-1].last_offset, batch[-1].timestamp_ms), self.histories)
            yield from self._made(_ROWS_AT_ONCE)
        group.finish(self.histories)
        questions.finish()
        if not evidence.records and first is not None:
            self._write_simple_group(group_id, first)

    def _first_epoch(self, record: GroupRecord) -> int | None:
        leader = self._leaders.get(record.leader_epoch)
        if leader is None:
            return None
        return 1 if is_since(self._metadata, leader, record.timestamp_ms, FIRST_EPOCH_IS_ONE) else None

    def _write_simple_group(self, group_id: str, first: OffsetCommitRecord) -> None:
        """A group of which only commits were ever seen, since the ``first``."""
        during = interval(Point(first.last_offset, first.timestamp_ms), None)
        if during is not None:
            self.histories.simple_group(group_id, first.offset, during, known=first.stretch <= 0)


def _merged(
    commits: Sequence[OffsetCommitRecord], markers: Sequence[Marker]
) -> Iterable[OffsetCommitRecord | Marker]:
    if not markers:
        return commits
    return sorted([*commits, *markers], key=attrgetter("offset"))


def _refused_keys(requests: Requests) -> set[tuple[str, str, int]]:
    """What refused commits were about: of these the past of the stored offset is asked for."""
    errors = requests.texts_of_commits("broker_error")
    accepted = (errors.values == errors.numbers_of([NONE])) | requests.stored
    refused = np.flatnonzero((errors.values >= 0) & ~accepted)
    groups = requests.texts("group_id").objects(requests.request[refused])
    topics = requests.texts_of_commits("topic").objects(refused)
    partitions = requests.of_commits("partition")[refused].tolist()
    return {each for each in zip(groups, topics, partitions, strict=True) if each[1] is not None}


def _taken_over(batch: Sequence[GroupRecord]) -> frozenset[str]:
    """The members that a batch writes into a classic group."""
    return frozenset(
        member.member_id
        for record in batch
        if record.type == CLASSIC_METADATA and not record.tombstone
        for member in record.classic_members or ()
    )
