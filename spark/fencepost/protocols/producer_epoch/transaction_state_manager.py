"""One coordinator: the transactional ids of one partition of ``__transaction_state``, and their requests.

After org.apache.kafka.coordinator.transaction.TransactionStateManager, which loads one partition's log when
its broker becomes the leader.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.answered_transactions import count_answered_transactions
from fencepost.protocols.producer_epoch.causes import Enders, Pair, granted_pairs, other_clocks
from fencepost.protocols.producer_epoch.coordinator import Coordinator
from fencepost.protocols.producer_epoch.coordinator_evidence import CoordinatorEvidence
from fencepost.protocols.producer_epoch.coordinator_rows import CoordinatorRows, add_history
from fencepost.protocols.producer_epoch.decided_requests import select_decided
from fencepost.protocols.producer_epoch.endings import added_pairs, ended_pairs
from fencepost.protocols.producer_epoch.facts import FOREVER, NO_EPOCH
from fencepost.protocols.producer_epoch.fenced_rows import OpenTransactions, add_fencing, add_idempotent
from fencepost.protocols.producer_epoch.fencings import Fences
from fencepost.protocols.producer_epoch.handed_down_ids import HandedDownId, hand_down_id
from fencepost.protocols.producer_epoch.refusals import Connection, KnownEpoch, refusals
from fencepost.protocols.producer_epoch.request_rows import RequestRow, granted
from fencepost.protocols.producer_epoch.request_targets import END, INIT
from fencepost.protocols.producer_epoch.states_met import MetStates, States
from fencepost.protocols.producer_epoch.transaction_log import TransactionRecord, transaction_records
from fencepost.protocols.producer_epoch.transaction_metadata import TransactionMetadata, Transition
from fencepost.protocols.producer_epoch.transactions import Transaction, transactions
from fencepost.protocols.producer_epoch.verifications import verified_during
from fencepost.protocols.producer_epoch.witnesses import Witnesses, unread_lines
from fencepost.replay.coverage import LogKey, is_complete, is_whole, log_coverage
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.logs import Batches, Log
from fencepost.replay.metadata import ClusterMetadata
from fencepost.replay.request_clocks import leaders_by_clock
from fencepost.replay.unreadable import UnreadPiece, damaged_batches, unread_pieces


@dataclass
class _Id:
    """One transactional id: its records, and what was asked for it; ``timed``: less what shows another clock
    than the records (request_clocks).
    """

    records: list[TransactionRecord] = field(default_factory=list)
    asked: list[RequestRow] = field(default_factory=list)
    timed: list[RequestRow] = field(default_factory=list)
    pairs: list[Pair] = field(default_factory=list)
    before: HandedDownId | None = None


class TransactionStateManager:
    """One coordinator's log with the requests of its transactional ids."""

    def __init__(
        self,
        evidence: CoordinatorEvidence,
        metadata: ClusterMetadata,
        sent: Sequence[RequestRow],
        wrote: Mapping[str, Mapping[Connection, Sequence[KnownEpoch]]],
        tolerance_ms: int,
    ) -> None:
        self._tolerance_ms = tolerance_ms
        self._wrote = wrote
        self._unread = unread_lines(evidence.quarantine)
        self._cluster, _, self._partition, partition_key = evidence.key
        self._ids: dict[str, _Id] = {}
        self._unnamed: list[RequestRow] = []
        for each in sent:
            if each.transactional_id is None:
                self._unnamed.append(each)
            else:
                self._ids.setdefault(each.transactional_id, _Id()).asked.append(each)
        self._before, self._cut = evidence.before, evidence.cut_of_next()
        self._coordinator: Coordinator | None = None
        if partition_key is not None and self._partition is not None:
            key = (self._cluster, TRANSACTIONS_TOPIC, self._partition, partition_key)
            self._coordinator = self._load(evidence, key, metadata)
        self._fencing: dict[str, Pair] = {}

    def _load(self, evidence: CoordinatorEvidence, key: LogKey, metadata: ClusterMetadata) -> Coordinator:
        pieces = [
            piece
            for piece in unread_pieces(evidence.quarantine)
            if (piece.topic, piece.partition) == (TRANSACTIONS_TOPIC, key[2])
        ]
        if evidence.end is not None:
            # a log that ends before that lacks its end
            pieces.append(UnreadPiece(TRANSACTIONS_TOPIC, key[2], evidence.end - 1, "", 0))
        log = Log(
            Batches.of(evidence.batches),
            damaged=damaged_batches(evidence.records),
            cleaned_to=evidence.cleaned_to,
            unread=pieces,
        )
        for record in transaction_records(evidence.records, log):
            self._ids.setdefault(record.transactional_id, _Id()).records.append(record)
        of_all_times: list[Pair] = []
        for transactional_id, each in self._ids.items():
            self._go_on(transactional_id, each, log)
            of_all_times += granted_pairs(granted(each.asked), each.records, None)
        others = other_clocks(of_all_times, self._tolerance_ms)
        for each in self._ids.values():
            each.timed = [sent for sent in each.asked if sent.broker_id not in others]
            each.pairs = granted_pairs(granted(each.timed), each.records, self._tolerance_ms)
        pairs = (pair for each in self._ids.values() for pair in each.pairs)
        leaders = _leaders(metadata.leaders(TRANSACTIONS_TOPIC, key[2]), pairs)
        return Coordinator(
            key,
            log,
            leaders_by_clock(leaders, log.leader_epoch.tolist(), others),
            complete=is_complete(log, evidence.end),
            replicated=metadata.is_replicated(TRANSACTIONS_TOPIC, key[2]),
            began=evidence.began,
        )

    def add_to(self, rows: CoordinatorRows) -> None:
        """Replay every transactional id, and add what comes of it."""
        coordinator = self._coordinator
        if coordinator is not None:
            log = coordinator.log
            log_coverage(rows.coverage, coordinator.key, log)
            cluster, *place = coordinator.key
            whole, known_to = is_whole(log), coordinator.known_to()
            rows.told[account.COORDINATOR].add(
                cluster, None, *place, whole, *coordinator.known_from(), *known_to
            )
        for transactional_id, each in sorted(self._ids.items()):
            transitions = self._replay(each)
            going_on = each.before.begun(each.records[0]) if each.before is not None else None
            found = transactions(transitions, going_on)
            if coordinator is not None:
                compacted = _compacted_epochs(transitions, each.before)
                told_from = _known_from(coordinator, transitions, found, self._tolerance_ms)
                at_cut, past = None, set[int]()
                if self._cut is not None:
                    at_cut = hand_down_id(log, self._cut, transitions, found, compacted)
                if self._cut is not None and at_cut is not None:
                    past = at_cut.past(found, self._cut)
                    rows.before.add(cluster, *place[1:], self._cut, transactional_id, at_cut.packed())
                begun = each.before is not None and each.before.counted_from is not None
                add_history(rows, coordinator, transitions, found, begun=begun, past=past)
                if log.base is not None:
                    for name, producer_id, *counted in count_answered_transactions(
                        each.asked, self._tolerance_ms
                    ):
                        rows.told[account.TOLD].add(self._cluster, producer_id, name, *counted)
                for producer_id, epoch in compacted.items():
                    goes_on = at_cut is not None and at_cut.record.producer_id == producer_id
                    known = (transactional_id, epoch, at_cut.counted_from if at_cut and goes_on else None)
                    fact = (*place, whole, *told_from, *known_to)
                    rows.told[account.KNOWN].add(self._cluster, producer_id, *fact, *known)
            accepted = [
                *each.pairs,
                *ended_pairs(each.timed, transitions, self._tolerance_ms),
                *added_pairs(each.timed, transitions, self._tolerance_ms),
            ]
            pairs = [*accepted, *_fencing(transitions)]
            states = States(transitions, self._tolerance_ms)
            witnesses = Witnesses(each.asked, self._unread, self._tolerance_ms)
            verified = verified_during(each.asked, self._tolerance_ms)
            met = MetStates(states, self._coordinator, pairs, witnesses, verified)
            self._add_decided(rows, each, met, accepted)
            self._add_fencings(rows, transactional_id, each, met, found)
        for refusal in refusals(self._unnamed, self._wrote.get("", {}), self._tolerance_ms):
            add_idempotent(rows.told[account.FENCED], self._cluster, refusal)

    def _go_on(self, transactional_id: str, each: _Id, log: Log) -> None:
        """Go on from what an earlier chapter knew of an id, if compaction left the log where that ends."""
        position, known = self._before.get(transactional_id, (None, None))
        if known is None or log.base is None or log.base.to + 1 != position:
            return
        if each.records and known.is_left(each.records[0]):
            each.before = known
            each.records[0] = known.placed(each.records[0])

    def _replay(self, each: _Id) -> list[Transition]:
        moves = [sent for sent in each.timed if sent.api_key in (INIT, END)]
        metadata = TransactionMetadata(Enders(moves, self._tolerance_ms))
        inits = {pair.record.offset: pair.asked for pair in each.pairs if pair.sure}
        replayed = [
            metadata.replay(record, None if record.based else inits.get(record.offset))
            for record in each.records[:1]
        ]
        if each.before is not None:
            replayed = [metadata.go_on(each.before.goes_on(replayed[0]))]
        following = (metadata.replay(record, inits.get(record.offset)) for record in each.records[1:])
        return [*replayed, *following]

    def _add_decided(
        self, rows: CoordinatorRows, each: _Id, met: MetStates, accepted: Iterable[Pair]
    ) -> None:
        written = {pair.asked.request_id: pair.record.offset for pair in accepted if pair.sure}
        for asked in select_decided(each.asked):
            rows.decided.add(asked, met, written, self._cluster, self._partition)

    def _add_fencings(
        self,
        rows: CoordinatorRows,
        transactional_id: str,
        each: _Id,
        met: MetStates,
        found: Sequence[Transaction],
    ) -> None:
        wrote = self._wrote.get(transactional_id, {})
        refused = refusals(each.asked, wrote, self._tolerance_ms)
        if not refused:
            return
        log = None if self._coordinator is None else self._coordinator.log
        history, flying = Fences(met, self._tolerance_ms), OpenTransactions(found, log)
        for refusal in refused:
            fencing = history.of(refusal)
            if fencing is not None:
                add_fencing(rows.told[account.FENCED], self._cluster, fencing, flying)


def _compacted_epochs(transitions: Iterable[Transition], before: HandedDownId | None) -> dict[int, int]:
    """The producer ids that an id had, each with the newest epoch of which compaction may have taken
    transactions: that of a record which it left, if chapters ``before`` have not counted them.
    """
    found: dict[int, int] = {}
    for record in (each.record for each in transitions):
        if record.producer_id is not None:
            epoch = NO_EPOCH if record.producer_epoch is None or not record.based else record.producer_epoch
            if record.based and before is not None and before.counted_from is not None:
                epoch = before.counted_from - 1
            found[record.producer_id] = max(found.get(record.producer_id, NO_EPOCH), epoch)
    return dict(sorted(found.items()))


def _known_from(
    coordinator: Coordinator,
    transitions: Sequence[Transition],
    found: Iterable[Transaction],
    tolerance_ms: int,
) -> tuple[int | None, int | None]:
    """Coordinator.known_from for one transactional id.

    Of a Prepare record that compaction left the transaction is not ``found``, since its epoch is not known: a
    batch of it may be answered for after all that was compacted. So what is known of the id begins when that
    transaction was complete, by a clock that may not be the markers'.
    """
    left = [each.record for each in transitions if each.record.based]
    if not left or not left[-1].prepares or any(each.prepare is left[-1] for each in found):
        return coordinator.known_from()
    following = (each.record for each in transitions[len(left) :])
    complete = next((record for record in following if record.completes), None)
    if complete is None:
        return FOREVER, None
    _, led_by = coordinator.known_from()
    same = coordinator.leaders.get(complete.leader_epoch) == led_by
    return complete.timestamp_ms + tolerance_ms, led_by if same else None


def _leaders(elected: Mapping[int, int], pairs: Iterable[Pair]) -> dict[int, int | None]:
    """Who led the log, by leader epoch: whoever answered a request whose record is in it, else as elected."""
    answered: dict[int, set[int]] = {}
    for pair in pairs:
        if pair.sure:
            answered.setdefault(pair.record.leader_epoch, set()).add(pair.asked.broker_id)
    found: dict[int, int | None] = dict(elected)
    found.update({epoch: next(iter(each)) for epoch, each in answered.items() if len(each) == 1})
    return found


def _fencing(transitions: Iterable[Transition]) -> list[Pair]:
    """The InitProducerId requests that made a Prepare record.

    They are answered CONCURRENT_TRANSACTIONS once the record is written.
    """
    return [
        Pair(each.by, each.record, sure=True)
        for each in transitions
        if each.record.prepares and each.by is not None and each.by.api_key == INIT
    ]
