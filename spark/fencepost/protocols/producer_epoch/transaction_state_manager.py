"""One coordinator: the transactional ids of one partition of ``__transaction_state``, and their requests.

After org.apache.kafka.coordinator.transaction.TransactionStateManager, which loads one partition's log when
its broker becomes the leader.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.answered_transactions import count_answered_transactions
from fencepost.protocols.producer_epoch.causes import (
    Enders,
    Pair,
    compared_times,
    granted_pairs,
    late_lines_of,
)
from fencepost.protocols.producer_epoch.coordinator import Coordinator
from fencepost.protocols.producer_epoch.coordinator_evidence import CoordinatorEvidence
from fencepost.protocols.producer_epoch.coordinator_rows import CoordinatorRows, add_history
from fencepost.protocols.producer_epoch.decided_requests import select_decided
from fencepost.protocols.producer_epoch.endings import added_pairs, committed_without_clock, ended_pairs
from fencepost.protocols.producer_epoch.facts import NO_EPOCH
from fencepost.protocols.producer_epoch.fenced_rows import OpenTransactions, add_fencing, add_idempotent
from fencepost.protocols.producer_epoch.fencings import Fences
from fencepost.protocols.producer_epoch.forgotten import Forgotten, add_forgotten
from fencepost.protocols.producer_epoch.given_epochs import GivenEpochs, given_epochs
from fencepost.protocols.producer_epoch.id_state import UNKNOWN_ID, IdState, state_at
from fencepost.protocols.producer_epoch.initialisers import Initialisers, producers_connections
from fencepost.protocols.producer_epoch.missing_lines import MissingLines, Numbering
from fencepost.protocols.producer_epoch.refusals import Connection, KnownEpoch, refusals
from fencepost.protocols.producer_epoch.request_rows import RequestRow, giving_answers, granted_inits
from fencepost.protocols.producer_epoch.request_targets import END, INIT
from fencepost.protocols.producer_epoch.state import dump_id
from fencepost.protocols.producer_epoch.states_met import MetStates, States
from fencepost.protocols.producer_epoch.transaction_log import (
    TransactionRecord,
    consistent,
    transaction_records,
)
from fencepost.protocols.producer_epoch.transaction_metadata import TransactionMetadata, Transition
from fencepost.protocols.producer_epoch.transactions import Transaction, transactions
from fencepost.protocols.producer_epoch.unlike_lines import recorded_requests, unrecorded
from fencepost.protocols.producer_epoch.unlogged_ends import UnloggedEnds
from fencepost.protocols.producer_epoch.verifications import verified_during
from fencepost.protocols.producer_epoch.verified_transactions import Verified, verified_transactions
from fencepost.protocols.producer_epoch.witnesses import Witnesses
from fencepost.replay.coordinator_logs import UNKNOWN
from fencepost.replay.coverage import LogKey, log_coverage
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.late_lines import LateLines
from fencepost.replay.line_times import LineTimesOfCluster
from fencepost.replay.log_ends import FOREVER, LogEnd
from fencepost.replay.logs import Batches, Log
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.request_clocks import (
    Difference,
    add_clock_rows,
    brokers_with_another_clock,
    differences,
    leaders_by_clock,
)
from fencepost.replay.requests import LATEST_MS, NONE
from fencepost.replay.terms import answered_leaders
from fencepost.replay.unlike_lines import (
    are_shown,
    batches_after_gaps,
    gap_before,
    lost_records,
    unlike_lines,
)
from fencepost.replay.unread_lines import of_request_logs, unread_lines
from fencepost.replay.unreadable import UnreadPiece, damaged_batches, missing_end, unread_by_log

_ENOUGH = 1_000
"""So many transactional ids show whether a broker's lines belong to the log."""


@dataclass
class _Id:
    """One transactional id: its records, its requests, and the pairs of both.

    ``timed_requests``: those of brokers whose request logs show the clock of their records (request_clocks).
    ``state``: the state with its first record, if more is known of that than what compaction left.
    """

    transactional_id: str
    records: list[TransactionRecord] = field(default_factory=list)
    requests: list[RequestRow] = field(default_factory=list)
    timed_requests: list[RequestRow] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    state: IdState = UNKNOWN_ID


class TransactionStateManager:
    """One coordinator's log with the requests of its transactional ids."""

    def __init__(
        self,
        evidence: CoordinatorEvidence,
        metadata: ClusterMetadata,
        coordinator_requests: Sequence[RequestRow],
        connection_epochs: Mapping[str, Mapping[Connection, Sequence[KnownEpoch]]],
        tolerance_ms: int,
        *,
        line_times: LineTimesOfCluster,
        numbering: Numbering,
        operated: Collection[int] = (),
    ) -> None:
        self._tolerance_ms, self._line_times, self._numbering = tolerance_ms, line_times, numbering
        self._operated = operated
        self._incarnation = evidence.incarnation
        self._connection_epochs = connection_epochs
        self._cluster, _, self._partition, partition_key = evidence.key
        self._unread = unread_lines(of_request_logs(evidence.quarantine)).get(self._cluster, {})
        self._producers = producers_connections(coordinator_requests)
        self._ids: dict[str, _Id] = {}
        self._unnamed: list[RequestRow] = []
        for each in coordinator_requests:
            if each.transactional_id is None:
                self._unnamed.append(each)
            else:
                self._id(each.transactional_id).requests.append(each)
        self._states, self._dumped_at = evidence.states, evidence.dumped_at
        self._late_lines = LateLines(tolerance_ms)
        self._clock_differences: list[Difference] = []
        self._coordinator: Coordinator | None = None
        if partition_key is not None and self._partition is not None:
            key = (self._cluster, TRANSACTIONS_TOPIC, self._partition, partition_key)
            self._coordinator = self._load(evidence, key, metadata)

    def _id(self, transactional_id: str) -> _Id:
        return self._ids.setdefault(transactional_id, _Id(transactional_id))

    def _load(self, evidence: CoordinatorEvidence, key: LogKey, metadata: ClusterMetadata) -> Coordinator:
        pieces = unread_by_log(evidence.quarantine).get(key[:3], [])
        incarnation, end = evidence.incarnation, evidence.end
        if end.final is not None:
            # a log that ends before the offset at which it was closed lacks its end
            pieces.append(UnreadPiece(TRANSACTIONS_TOPIC, key[2], end.final - 1, "", 0))
        if incarnation.misses_end_of(key[2]):
            pieces.append(missing_end(TRANSACTIONS_TOPIC, key[2]))
        elif incarnation.is_gone:
            end = LogEnd(int(pc.max(evidence.batches["last_offset"]).as_py()) + 1)
        log = Log(
            Batches.of(evidence.batches),
            damaged=damaged_batches(evidence.records),
            cleaned_to=evidence.cleaned_to,
            unread=pieces,
        )
        records = transaction_records(evidence.records, log)
        is_handed_down = any(log.base and log.base.to + 1 == each.offset for each in self._states.values())
        if not is_handed_down and (trusted := consistent(log, records)) is not log:
            log, records = trusted, transaction_records(evidence.records, trusted)
        for record in records:
            self._id(record.transactional_id).records.append(record)
        for name, state in self._states.items():
            of_id = self._ids.get(name, _Id(name))
            if state.precedes(of_id.records, log):
                self._ids[name], of_id.state = of_id, state
                left = 0 if state.is_expired else 1
                of_id.records[:left] = [each.record for each in state.transitions]
        pairs_without_clock: list[Pair] = []
        for each in self._ids.values():
            pairs_without_clock += granted_pairs(granted_inits(each.requests), each.records, None)
            pairs_without_clock += committed_without_clock(each.requests, each.records)
        compared = compared_times(pairs_without_clock)
        others = brokers_with_another_clock(compared, self._tolerance_ms)
        self._clock_differences = differences(compared, others)
        some = sorted(self._ids)[:_ENOUGH]
        unlike = self._lines_unlike_records(log, some) and self._lines_unlike_records(log, self._ids)
        self._clock_differences += unlike
        others |= {each.broker_id for each in unlike}
        self._late_lines = late_lines_of(pairs_without_clock, others, self._tolerance_ms)
        for each in self._ids.values():
            each.timed_requests = [sent for sent in each.requests if sent.broker_id not in others]
            each.pairs = granted_pairs(granted_inits(each.timed_requests), each.records, self._tolerance_ms)
        pairs = (pair for each in self._ids.values() for pair in each.pairs if pair.sure)
        of_log = (TRANSACTIONS_TOPIC, key[2], incarnation.topic_id)
        elected = metadata.leaders(*of_log)
        answers = ((pair.record.leader_epoch, pair.request.broker_id) for pair in pairs)
        leaders = {**elected, **answered_leaders(answers)}
        return Coordinator(
            key,
            log,
            leaders_by_clock(leaders, log.leader_epoch.tolist(), others),
            past=end.known_past(log),
            replicated=metadata.is_replicated(*of_log),
            clean=metadata.clean_epochs(*of_log),
            kraft_since=min(elected, default=None),
            began=evidence.began,
            incarnation=incarnation,
            unlike=frozenset(each.broker_id for each in unlike),
            gaps=self._note_lost_records(log, leaders, end),
        )

    def _lines_unlike_records(self, log: Log, ids: Iterable[str]) -> list[Difference]:
        of_ids = [self._ids[each] for each in ids]
        asked = [sent for each in of_ids for sent in each.requests]
        times = ([getattr(sent, name) for sent in asked] for name in ("requested_ms", "responded_ms"))
        shown = iter(are_shown(log, *times).tolist())
        found: list[tuple[RequestRow, bool]] = []
        for each in of_ids:
            found += recorded_requests(compress(each.requests, shown), each.records)
        return unlike_lines(
            [each.broker_id for each, _ in found],
            [each.api_key for each, _ in found],
            [each.requested_ms for each, _ in found],
            [is_recorded for _, is_recorded in found],
        )

    def _note_lost_records(
        self, log: Log, leaders: Mapping[int, int | None], end: LogEnd
    ) -> set[tuple[int, int]]:
        """The gaps in which records of accepted requests are gone: from when, and to when."""
        asked = [sent for each in self._ids.values() for sent in each.timed_requests]
        times = ([getattr(sent, name) for sent in asked] for name in ("requested_ms", "responded_ms"))
        # another log has what was accepted after the end of a deleted one
        ended = end.known_past(log).is_final and not self._incarnation.is_gone
        after = batches_after_gaps(log, *times, ended=ended)
        in_gaps = {asked[n].request_id: at for n, at in enumerate(after.tolist()) if at >= 0}
        # of several brokers' clocks one may be behind
        brokers = {leaders.get(epoch) for epoch in set(log.leader_epoch.tolist())}
        late_ms = 0 if len(brokers) == 1 else LATEST_MS
        lost = [
            sent
            for each in (self._ids.values() if in_gaps else ())
            for sent in unrecorded(
                (sent for sent in each.timed_requests if sent.request_id in in_gaps), each.records, late_ms
            )
        ]
        self._clock_differences += lost_records(
            [(sent.broker_id, sent.requested_ms, sent.responded_ms) for sent in lost]
        )
        return {gap_before(log, at) for at in {in_gaps[sent.request_id] for sent in lost}}

    def add_to(self, rows: CoordinatorRows, forgotten: Forgotten) -> None:
        """Replay every transactional id, and add its rows. ``forgotten``: what the deleted logs of the
        partition knew; if this log was deleted, it gets what this one knew.
        """
        if self._coordinator is not None:
            log = self._coordinator.log
            log_coverage(rows.coverage, (*self._coordinator.key, None), log)
            cluster, *place = self._coordinator.key
            add_clock_rows(rows.clocks, cluster, self._partition, self._clock_differences)
            rows.account_rows[account.COORDINATOR].add(
                cluster,
                None,
                *place,
                *self._coordinator.how_far(self._coordinator.known_from()),
            )
        if self._coordinator is not None:
            self._add_unlogged(rows, self._coordinator)
        for _, each in sorted(self._ids.items()):
            transitions = self._replay(each)
            transactions_of_id = transactions(transitions, each.state.transaction)
            requests = [sent for sent in each.timed_requests if self._is_timed(sent)]
            accepted = [
                *each.pairs,
                *ended_pairs(requests, transitions, self._tolerance_ms, self._late_lines),
                *added_pairs(requests, transitions, self._late_lines),
                *self._committed_meanwhile(each),
            ]
            given = given_epochs(transitions, accepted, giving_answers(each.requests), each.state.given)
            pairs = [*accepted, *_aborting_inits(transitions)]
            states = States(transitions, self._late_lines)
            unlike = frozenset[int]() if self._coordinator is None else self._coordinator.unlike
            believed = [sent for sent in each.requests if sent.broker_id not in unlike]
            witnesses = Witnesses(believed, self._unread, self._tolerance_ms)
            waiting = verified_during(each.requests, self._tolerance_ms)
            met_states = MetStates(states, self._coordinator, pairs, witnesses, waiting)
            if self._coordinator is not None:
                asked = (sent for sent in requests if sent.producer_id in self._operated)
                verified = verified_transactions(asked, met_states, transactions_of_id, self._line_times)
                history = (transitions, transactions_of_id)
                self._add_history(rows, self._coordinator, each, *history, given=given, verified=verified)
            self._add_decided(rows, each, met_states, accepted, given)
            open_transactions = OpenTransactions(
                transactions_of_id, None if self._coordinator is None else self._coordinator.log
            )
            self._add_fencings(rows, each, met_states, open_transactions, forgotten)
            if self._incarnation.is_gone:
                is_torn = self._incarnation.misses_end_of(self._partition)
                forgotten.note(self._incarnation, each.records, None if is_torn else open_transactions)
        for refusal in refusals(self._unnamed, self._connection_epochs.get("", {}), self._tolerance_ms):
            add_idempotent(rows.account_rows[account.FENCING], self._cluster, refusal)

    def _add_unlogged(self, rows: CoordinatorRows, coordinator: Coordinator) -> None:
        unlogged = UnloggedEnds(coordinator, self._tolerance_ms)
        for _, each in sorted(self._ids.items()):
            for broker, end in unlogged.of(each.records, each.timed_requests):
                # of a time that passed twice nothing tells what came first
                if self._line_times.is_steady(broker, end.timestamp_ms, end.timestamp_ms):
                    own = (end.transactional_id, end.producer_id, end.producer_epoch, end.offset, broker)
                    rows.unlogged.add(*coordinator.key, *own, end.timestamp_ms)

    def _add_history(
        self,
        rows: CoordinatorRows,
        coordinator: Coordinator,
        each: _Id,
        transitions: Sequence[Transition],
        transactions_of_id: Sequence[Transaction],
        *,
        given: GivenEpochs,
        verified: Verified,
    ) -> None:
        """Add the states and transactions of an id, what the last step must know of it, and its state where
        that is dumped.
        """
        log = coordinator.log
        cluster, *place = coordinator.key
        compacted = _compacted_epochs(transitions, each.state)
        known_from = _known_from(coordinator, transitions, transactions_of_id, self._tolerance_ms)
        state = UNKNOWN_ID
        if self._dumped_at is not None:
            state = state_at(self._dumped_at, log, transitions, transactions_of_id, compacted, given=given)
        if state.newest is not None:
            rows.states.add(cluster, *place[1:], each.transactional_id, dump_id(state))
        add_history(
            rows,
            coordinator,
            transitions,
            transactions_of_id,
            is_counted=each.state.counted_from is not None,
            dumped=state,
            verified=verified,
        )
        if log.base is not None:
            answered = rows.account_rows[account.ANSWERED_TRANSACTION]
            for name, producer_id, *counts in count_answered_transactions(each.requests, self._tolerance_ms):
                answered.add(cluster, producer_id, name, *counts)
        coverage = (*place, *coordinator.how_far(known_from))
        for producer_id, epoch in compacted.items():
            is_newest = state.newest is not None and state.newest.record.producer_id == producer_id
            counted_from = state.counted_from if is_newest else None
            rows.account_rows[account.NAMED_PRODUCER].add(
                cluster, producer_id, *coverage, each.transactional_id, epoch, counted_from
            )

    def _replay(self, each: _Id) -> list[Transition]:
        epoch_requests = [
            request
            for request in each.timed_requests
            if request.api_key in (INIT, END) and self._is_timed(request)
        ]
        initialisers = Initialisers(each.requests, each.records, self._producers)
        metadata = TransactionMetadata(
            Enders(epoch_requests, self._tolerance_ms),
            initialisers,
            MissingLines(each.timed_requests, self._numbering, self._tolerance_ms),
            each.state.newest,
        )
        inits = {pair.record.offset: pair.request for pair in each.pairs if pair.sure}
        replayed = each.state.transitions
        for record in each.records[len(replayed) :]:
            replayed.append(metadata.replay(record, None if record.based else inits.get(record.offset)))
        return replayed

    def _is_timed(self, request: RequestRow) -> bool:
        """Whether the times of a request did not pass twice, so that a record of then may be its own."""
        return self._line_times.is_steady(request.broker_id, request.requested_ms, request.responded_ms)

    def _committed_meanwhile(self, each: _Id) -> list[Pair]:
        """The EndTxn requests of times that passed twice, each with the record that has its content."""
        pairs = committed_without_clock(each.requests, each.records)
        return [pair for pair in pairs if not self._is_timed(pair.request)]

    def _add_decided(
        self,
        rows: CoordinatorRows,
        each: _Id,
        met_states: MetStates,
        accepted: Iterable[Pair],
        given: GivenEpochs,
    ) -> None:
        written = {pair.request.request_id: pair.record.offset for pair in accepted if pair.sure}
        for request in select_decided(each.requests):
            ends = request.api_key == END and request.error == NONE
            rows.decided.add(
                request,
                met_states,
                written,
                self._cluster,
                self._partition,
                numbering=self._numbering,
                given=given.get((request.producer_id, request.producer_epoch), ()) if ends else (),
                untold=self._incarnation is UNKNOWN,
            )

    def _add_fencings(
        self,
        rows: CoordinatorRows,
        each: _Id,
        met_states: MetStates,
        open_transactions: OpenTransactions,
        forgotten: Forgotten,
    ) -> None:
        connection_epochs = self._connection_epochs.get(each.transactional_id, {})
        refused_requests = refusals(each.requests, connection_epochs, self._tolerance_ms)
        if not refused_requests:
            return
        history = Fences(met_states, each.requests, self._tolerance_ms)
        for refusal in refused_requests:
            fencing, deletion = history.of(refusal), forgotten.of(refusal)
            if deletion is not None and (fencing is None or fencing.fence is None):
                add_forgotten(rows.account_rows[account.FENCING], self._cluster, refusal, deletion)
            elif fencing is not None:
                add_fencing(rows.account_rows[account.FENCING], self._cluster, fencing, open_transactions)


def _compacted_epochs(transitions: Iterable[Transition], before: IdState) -> dict[int, int]:
    """The producer ids that an id had, each with the newest epoch of which compaction may have removed
    transactions: that of a compacted record, unless they were counted ``before``.
    """
    newest_epochs: dict[int, int] = {}
    for record in (each.record for each in transitions):
        if record.producer_id is not None:
            epoch = NO_EPOCH if record.producer_epoch is None or not record.based else record.producer_epoch
            if record.based and before.counted_from is not None:
                epoch = before.counted_from - 1
            newest_epochs[record.producer_id] = max(newest_epochs.get(record.producer_id, NO_EPOCH), epoch)
    return dict(sorted(newest_epochs.items()))


def _known_from(
    coordinator: Coordinator,
    transitions: Sequence[Transition],
    transactions_of_id: Iterable[Transaction],
    tolerance_ms: int,
) -> tuple[int | None, int | None]:
    """Coordinator.known_from for one transactional id.

    If compaction left a Prepare record, the epoch of its transaction is not known, and
    ``transactions_of_id`` does not have it. A Produce of that transaction may have been answered after the
    time of the compacted records. So the history of the id is known only from the completion of that
    transaction on; that time may be of another clock than the times of markers.
    """
    compacted = [each.record for each in transitions if each.record.based]
    if (
        not compacted
        or not compacted[-1].prepares
        or any(each.prepare == compacted[-1] for each in transactions_of_id)
    ):
        return coordinator.known_from()
    later_records = (each.record for each in transitions[len(compacted) :])
    complete = next((record for record in later_records if record.completes), None)
    if complete is None:
        return FOREVER, None
    _, led_by = coordinator.known_from()
    same_clock = coordinator.leaders.get(complete.leader_epoch) == led_by
    return complete.timestamp_ms + tolerance_ms, led_by if same_clock else None


def _aborting_inits(transitions: Iterable[Transition]) -> list[Pair]:
    """The InitProducerId requests that made a Prepare record.

    They are answered CONCURRENT_TRANSACTIONS once the record is written.
    """
    return [
        Pair(each.request, each.record, sure=True)
        for each in transitions
        if each.record.prepares and each.request is not None and each.request.api_key == INIT
    ]
