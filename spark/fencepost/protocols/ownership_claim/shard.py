"""The replay of one group coordinator's log for its classic groups: evidence in, tables of silver out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.ownership_claim.generations import Generation, replay
from fencepost.protocols.ownership_claim.joins import Join, Lines, Sign, read_lines
from fencepost.protocols.ownership_claim.members import CONSUMER
from fencepost.protocols.ownership_claim.places import Place
from fencepost.protocols.ownership_claim.rebalance import CoordinatorLine, Rebalances
from fencepost.protocols.ownership_claim.records import GenerationRecord, records_of
from fencepost.protocols.ownership_claim.rows import GenerationRows
from fencepost.protocols.ownership_claim.states_met import State, StatesMet
from fencepost.protocols.ownership_claim.tables import (
    GROUP_JOIN_STATES,
    GROUP_JOINS,
    NO_GENERATION,
    SYNC_CLOCKS,
)
from fencepost.reasons import Unknown
from fencepost.replay.columns import Columns
from fencepost.replay.coordinator_logs import ONLY, Incarnation
from fencepost.replay.coverage import is_whole
from fencepost.replay.garbage_collection import collection_paused
from fencepost.replay.group_coordinator.contradictions import consistent
from fencepost.replay.group_coordinator.decoding import log_of
from fencepost.replay.group_coordinator.evidence import ShardRows, placed, without_compacted
from fencepost.replay.group_coordinator.needed_records import select_needed_records
from fencepost.replay.group_coordinator.records import GroupRecord
from fencepost.replay.group_coordinator.requests import ELSEWHERE, SYNC_GROUP
from fencepost.replay.histories import Interval
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.replay.line_times import LineTimesOfCluster
from fencepost.replay.logs import Log
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.request_clocks import (
    add_clock_rows,
    brokers_with_another_clock,
    differences,
    leaders_by_clock,
)
from fencepost.replay.requests import NONE, RequestLine
from fencepost.replay.unread_lines import UnreadLines

_NOWHERE = -1
_OTHER_TYPE = "it joins as another protocol type than consumer: what it presents is its own affair"


@dataclass(slots=True)
class ShardEvidence:
    """The evidence of one coordinator's log, decoded, in any order. A case written by hand begins here."""

    cluster: str
    partition: int | None
    log: Log
    records: Sequence[GroupRecord]
    lines: Lines
    coordinator_lines: Sequence[CoordinatorLine]
    unread_lines: UnreadLines = field(default_factory=dict)
    line_times: LineTimesOfCluster = field(default_factory=LineTimesOfCluster)
    incarnation: Incarnation = ONLY
    moved: frozenset[str] = frozenset()


@dataclass(slots=True)
class _GroupEvidence:
    records: list[GroupRecord] = field(default_factory=list)
    lines: Lines = field(default_factory=lambda: Lines([], []))
    coordinator_lines: list[CoordinatorLine] = field(default_factory=list)


def decode_shard(rows: ShardRows, line_rows: pa.Table) -> ShardEvidence:
    """Decode rows of bronze; ``line_rows``: those of ``bronze.broker_lines`` about groups of this
    log.
    """
    log = log_of(rows)
    return ShardEvidence(
        rows.cluster,
        rows.partition,
        log,
        # requests of this audit are about members of classic groups only
        records_of(select_needed_records(rows.records, log, rows.cut, ())),
        read_lines(rows.requests),
        coordinator_lines(line_rows),
        rows.unread_lines,
        rows.line_times.of(rows.cluster),
        rows.incarnation,
        rows.moved,
    )


def coordinator_lines(rows: pa.Table) -> list[CoordinatorLine]:
    """The lines that name a group and have a time, each once."""
    names = ("broker_id", "event", "group_id", "member_id", "generation", "reason", "logged_at_ms")
    named = rows.filter(pc.and_(pc.is_valid(rows["group_id"]), pc.is_valid(rows["logged_at_ms"])))
    columns = (named[name].to_pylist() for name in names)
    return [CoordinatorLine(*values) for values in dict.fromkeys(zip(*columns, strict=True))]


def replay_shard(
    evidence: ShardEvidence, metadata: ClusterMetadata, tolerance_ms: int
) -> dict[str, pa.Table]:
    """Replay one coordinator's log: {table of silver: its rows}."""
    with collection_paused():
        return _Shard(evidence, metadata, tolerance_ms).replay()


class _Shard:
    """One partition of ``__consumer_offsets``, group by group."""

    def __init__(self, evidence: ShardEvidence, metadata: ClusterMetadata, tolerance_ms: int) -> None:
        evidence = replace(evidence, log=consistent(evidence.log, evidence.records))
        self._evidence = evidence
        self._metadata = metadata
        self._tolerance_ms = tolerance_ms
        self._stretches = {stretch.number: stretch for stretch in evidence.log.stretches}
        self._whole = evidence.partition is not None and (is_whole(evidence.log) or not len(evidence.log))
        partition, incarnation = evidence.partition, evidence.incarnation
        elected = dict[int, int | None]()
        if partition is not None:
            elected = dict(metadata.leaders(OFFSETS_TOPIC, partition, incarnation.topic_id))
        compared = _compared(evidence.records, evidence.lines.signs)
        other_clocks = brokers_with_another_clock(compared, tolerance_ms)
        self._leaders = leaders_by_clock(elected, evidence.log.leader_epoch.tolist(), other_clocks)
        self._clocks = Columns(SYNC_CLOCKS)
        add_clock_rows(self._clocks, evidence.cluster, partition, differences(compared, other_clocks))
        self._rows = GenerationRows(evidence.cluster, partition, metadata.topics, incarnation.named_in_ids)
        self._joins, self._states = Columns(GROUP_JOINS), Columns(GROUP_JOIN_STATES)

    def replay(self) -> dict[str, pa.Table]:
        """Replay everything, once."""
        groups = self._by_group()
        for group_id in sorted(groups):
            self._replay_group(group_id, groups.pop(group_id))
        rows = self._rows
        written = (
            rows.coverage, rows.generations, rows.claims, rows.assignments, self._joins, self._states,
            self._clocks,
        )  # fmt: skip
        return {columns.table.name: columns.to_arrow() for columns in written}

    def _by_group(self) -> dict[str, _GroupEvidence]:
        evidence = self._evidence
        groups: defaultdict[str, _GroupEvidence] = defaultdict(_GroupEvidence)
        for record in without_compacted(placed(evidence.records, evidence.log), evidence.log):
            groups[record.group_id].records.append(record)
        for join in sorted(evidence.lines.joins, key=_join_order):
            groups[join.group_id].lines.joins.append(join)
        for sign in evidence.lines.signs:
            groups[sign.group_id].lines.signs.append(sign)
        for line in evidence.coordinator_lines:
            groups[line.group_id].coordinator_lines.append(line)
        return dict(groups)

    def _replay_group(self, group_id: str, evidence: _GroupEvidence) -> None:
        shard = self._evidence
        partition = shard.partition if group_id in shard.moved else None
        generations, lives = replay(group_id, evidence.records, self._stretches, shard.incarnation, partition)
        if any(isinstance(record, GenerationRecord) for record in evidence.records):
            for life, covered, during in lives.pieces:
                self._rows.add_coverage(group_id, life, covered, during)
        joins = evidence.lines.joins
        are_of_generations = [isinstance(record, GenerationRecord) for record in evidence.records]
        rebalances = Rebalances(
            joins, evidence.coordinator_lines, self._leaders, self._tolerance_ms, self._evidence.line_times
        )
        self._rows.add_generations(generations, rebalances)
        states_met = StatesMet(
            generations,
            evidence.lines,
            evidence.coordinator_lines,
            self._leaders,
            self._tolerance_ms,
            line_times=self._evidence.line_times,
            whole=self._whole,
            other_kinds=not all(are_of_generations),
            begins_otherwise=not all(are_of_generations[:1]),
            base=self._evidence.log.base,
            unread=self._evidence.unread_lines,
        )
        for join in joins:
            place = states_met.places.of(join)
            states = states_met.states(join, place)
            self._write(join, place, states, states_met.unknown(join, place, states))

    def _write(self, join: Join, place: Place, states: Sequence[State], unknown: Unknown) -> None:
        line, sent = join.line, join.subscription
        generation_met = place.first or place.last
        during = _moment(generation_met, line)
        life = generation_met.life if generation_met is not None else None
        group_columns = (self._evidence.cluster, join.group_id, life, self._evidence.partition)
        subscription = None if sent is None else sent.subscription
        readable = None if subscription is None or subscription.unread is not None else subscription
        # what members of other types say of themselves names no generation
        is_other = join.protocol_type not in ("", CONSUMER)
        otherwise = NO_GENERATION if is_other else None
        claimed_generation = otherwise if readable is None or sent is None else sent.generation
        held_claims = None if readable is None else len(readable.held)
        self._joins.add(
            *group_columns,
            line.request_id,
            line.broker_id,
            join.member_id,
            join.answered_id,
            join.instance_id,
            line.client_id,
            line.api_version,
            join.reason,
            join.protocol_type,
            join.protocols,
            claimed_generation,
            None if subscription is None else subscription.source,
            None if readable is None else len(readable.held) + len(readable.remembered),
            held_claims,
            _OTHER_TYPE if subscription is None else subscription.unread,
            join.error,
            join.generation,
            join.error == NONE and join.leader == join.answered_id,
            line.requested_ms,
            line.responded_ms,
            line.connection,
            *join.worker,
            len(states),
            *unknown,
            line.file,
            line.position,
            *during,
        )
        for number, state in enumerate(states):
            self._states.add(
                *group_columns,
                line.request_id,
                number,
                join.member_id,
                claimed_generation,
                join.error,
                line.api_version,
                state.current_generation,
                bool(join.member_id),
                join.instance_id is not None,
                state.member_known,
                state.instance_known,
                state.instance_fenced,
                join.error in ELSEWHERE,
                state.protocols_supported,
                *during,
            )


def _compared(records: Iterable[GroupRecord], signs: Iterable[Sign]) -> list[tuple[int, int, int, int]]:
    """The times (request_clocks) of the SyncGroups of groups' leaders: each wrote the record of its
    generation.
    """
    written: defaultdict[tuple[str, str | None, int | None], list[int]] = defaultdict(list)
    for record in records:
        if isinstance(record, GenerationRecord) and record.leader is not None:
            written[record.group_id, record.leader, record.epoch].append(record.timestamp_ms)
    synced: defaultdict[tuple[str, str | None, int | None], list[RequestLine]] = defaultdict(list)
    for sign in signs:
        if sign.line.api_key == SYNC_GROUP:
            synced[sign.group_id, sign.member_id, sign.generation].append(sign.line)
    return [
        (lines[0].broker_id, lines[0].requested_ms, lines[0].responded_ms, written[of][0])
        for of, lines in synced.items()
        if len(lines) == len(written.get(of, ())) == 1
    ]


def _moment(generation: Generation | None, line: RequestLine) -> Interval:
    """The interval of a request: it is decided once, at the position at which its generation begins."""
    if generation is None or generation.during is None:
        return _NOWHERE, _NOWHERE, line.requested_ms, line.responded_ms
    position = generation.begin.position
    return position, position + 1, line.requested_ms, line.responded_ms


def _join_order(join: Join) -> tuple[int, str, int, str]:
    return join.line.responded_ms, join.line.file, join.line.position, join.line.request_id
