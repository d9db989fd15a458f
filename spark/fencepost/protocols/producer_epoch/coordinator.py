"""One coordinator's log, as far as it concerns all of its transactional ids: which broker led it when, and
how much of it is known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import pairwise

from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.reasons import LOST_IN_ELECTION, RECORDS_LOST, Unknown
from fencepost.replay.coordinator_logs import ONLY, Incarnation
from fencepost.replay.coverage import LogKey, begins, is_whole
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.log_ends import FOREVER, NEVER, NOT_PAST, KnownPast
from fencepost.replay.logs import Log, Term
from fencepost.replay.terms import Terms
from fencepost.replay.unlike_lines import is_in_gap


class Coordinator:
    """One coordinator's log: which broker led it when, and how much of it is known."""

    def __init__(
        self,
        key: LogKey,
        log: Log,
        leaders: Mapping[int, int | None],
        *,
        past: KnownPast = NOT_PAST,
        replicated: bool = False,
        clean: Set[int] = frozenset(),
        kraft_since: int | None = None,
        began: tuple[int, int] | None = None,
        incarnation: Incarnation = ONLY,
        unlike: Set[int] = frozenset(),
        gaps: Set[tuple[int, int]] = frozenset(),
    ) -> None:
        """``leaders``: broker ids by leader epoch; ``past``: LogEnd.known_past; ``replicated``: whether
        a record takes effect only after other brokers have it; ``clean``: the leader epochs that are
        known to have begun without an unclean election; ``kraft_since``: the first one that the metadata log
        has; ``began``: the offsets from and to which the log was known before it was compacted;
        ``incarnation``: the one of ``__transaction_state`` whose log it is; ``unlike``: the brokers whose
        request logs do not belong to it (replay.unlike_lines); ``gaps``: the times from and to which
        records of accepted requests are gone.
        """
        self.key = key
        self.replicated = replicated
        self.log = log
        self.leaders = leaders
        self.past = past
        self.complete = past.is_final and is_whole(log)
        self.incarnation = incarnation
        self.unlike = unlike
        terms = log.terms(leaders)
        self.terms = Terms(terms, log.stretches, begun=incarnation.has_begun, past=past)
        self._cut = _cut_terms(terms, clean) if replicated else set()
        self._gaps = gaps
        self._is_handed_down = began is not None
        self._kraft_since = kraft_since
        self.begins = {stretch.number: begins(log, stretch) for stretch in log.stretches}
        if log.base is not None and began is not None and began[1] > log.base.to:
            self.begins = dict.fromkeys(self.begins, began[0])

    def epoch_of_markers(self, leader_epoch: int) -> int | None:
        """The coordinator epoch in the markers of the coordinator that wrote records at a leader epoch; None
        if it is not known.

        With ZooKeeper a leader epoch also begins when a follower leaves the ISR. The coordinator is not
        loaded anew for that (ReplicaManager.makeLeaders), so its markers have the epoch of its election.
        """
        kraft = self._kraft_since is not None and leader_epoch >= self._kraft_since
        return leader_epoch if kraft or leader_epoch == 0 else None

    def may_have_lost(self, term: Term, ms: int) -> bool:
        """Whether records that a term had before ``ms`` may have been lost in an unclean election, which
        leaves no hole.
        """
        return ms > term.last_ms and (term.stretch, term.leader_epoch) in self._cut

    def is_in_gap(self, request: RequestRow) -> bool:
        """Whether a request came while records were written that are gone, without a hole."""
        return is_in_gap(self._gaps, request.requested_ms, request.responded_ms)

    def why_lost(self, request: RequestRow) -> Unknown | None:
        """Why records from around a request may be gone without a hole; None if they are not."""
        log, to_ms = f"{TRANSACTIONS_TOPIC}-{self.key[2]}", request.responded_ms
        around = self.terms.around(request.broker_id, request.requested_ms, to_ms)
        if any(self.may_have_lost(term, to_ms) for term in around):
            return Unknown(
                LOST_IN_ELECTION,
                f"an unclean election may have taken records of {log} from around this request",
            )
        if self.is_in_gap(request):
            return Unknown(
                RECORDS_LOST,
                f"records lost: {log} has nothing of what its broker accepted around this request",
            )
        return None

    def how_far(self, known_from: tuple[int | None, int | None]) -> tuple[object, ...]:
        """``whole`` to ``handed_down`` of account.COORDINATOR. ``known_from``: as the method gives it."""
        is_cut = bool(self._cut or self._gaps)
        return (
            is_whole(self.log) and not is_cut,
            *known_from,
            *self.known_to(),
            is_cut,
            self._is_handed_down,
        )

    def known_to(self) -> tuple[int, int | None]:
        """The time up to which the log is known: at least the newest of its last term, and the broker by
        whose clock that is.
        """
        if self.complete:
            return FOREVER, None
        last_epoch = int(self.log.leader_epoch.max())
        newest_ms = int(self.log.max_timestamp_ms[self.log.leader_epoch == last_epoch].max())
        leader = self.leaders.get(last_epoch)
        return max(newest_ms, NEVER if leader is None else self.past.until.get(leader, NEVER)), leader

    def known_from(self) -> tuple[int | None, int | None]:
        """The time until which the log was compacted, and the broker by whose clock that is, if one broker
        led it all that time; None for a log that was not compacted.
        """
        if self.log.base is None:
            return None, None
        led_by = {self.leaders.get(epoch) for epoch in set(self.log.leader_epoch[: self.log.based].tolist())}
        return self.log.base.ms, led_by.pop() if len(led_by) == 1 else None


def _cut_terms(terms: Sequence[Term], clean: Set[int]) -> set[tuple[int, int]]:
    """The terms, as stretch and leader epoch, whose last records an unclean election may have removed."""
    cut = set()
    for term, following in pairwise(terms):
        # counted, not listed: no checksum covers a leader epoch, so a damaged one may be any number
        elections = following.leader_epoch - term.leader_epoch
        if sum(term.leader_epoch < each <= following.leader_epoch for each in clean) < elections:
            cut.add((term.stretch, term.leader_epoch))
    return cut
