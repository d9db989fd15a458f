"""One coordinator's log, as far as it concerns all of its transactional ids: which broker led it when, and
how much of it is known.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate, pairwise

from fencepost.protocols.producer_epoch.facts import FOREVER
from fencepost.replay.coordinator_logs import ONLY, Incarnation
from fencepost.replay.coverage import LogKey, begins
from fencepost.replay.logs import Log, Term


@dataclass(frozen=True)
class BrokersTerms:
    """The terms of a coordinator's log that one broker led or may have led, in order.

    ``after_hole``, ``before_hole``: whether a hole lies directly before or after each term. ``followed_ms``:
    the earliest time at which a later term of the broker began; ``preceded_ms``: the latest time at which an
    earlier one ended.
    """

    terms: Sequence[Term]
    after_hole: Sequence[bool]
    before_hole: Sequence[bool]
    followed_ms: Sequence[int]
    preceded_ms: Sequence[int]

    @classmethod
    def of(cls, log: Log, terms: Iterable[Term], broker_id: int) -> BrokersTerms:
        """The terms of a broker among all ``terms`` of ``log``."""
        broker_terms = [term for term in terms if term.led_by in (None, broker_id)]
        last = log.stretches[-1]
        end = last.number + (last.to_offset is not None)
        before = [0, *(term.stretch for term in broker_terms)]
        after = [*(term.stretch for term in broker_terms[1:]), end]
        # a clock may have been set back: so the earliest begin of all later terms, the latest end of all
        # earlier
        followed = list(accumulate((term.first_ms for term in reversed(broker_terms)), min))[::-1]
        preceded = list(accumulate((term.last_ms for term in broker_terms), max))
        return cls(
            broker_terms,
            [stretch != term.stretch for stretch, term in zip(before, broker_terms, strict=False)],
            [stretch != term.stretch for stretch, term in zip(after, broker_terms, strict=True)]
            if broker_terms
            else [],
            followed[1:],
            preceded[:-1],
        )

    def during(self, start_ms: int, end_ms: int) -> Sequence[Term]:
        """Every term in which a request, which took from ``start_ms`` to ``end_ms``, may have been decided.

        A term is excluded if the broker's next term had begun before the request, or its previous term still
        lasted after it. No term is returned if a hole beside a term may hide another term, or records, that
        the request met.
        """
        first = bisect_left(self.followed_ms, start_ms)
        last = bisect_right(self.preceded_ms, end_ms)
        for at in range(first, min(last + 1, len(self.terms))):
            term = self.terms[at]
            if self.after_hole[at] and term.first_ms >= start_ms:
                return ()
            if self.before_hole[at] and term.last_ms <= end_ms:
                return ()
        return self.terms[first : last + 1]


class Coordinator:
    """One coordinator's log: which broker led it when, and how much of it is known."""

    def __init__(
        self,
        key: LogKey,
        log: Log,
        leaders: Mapping[int, int | None],
        *,
        complete: bool = False,
        replicated: bool = False,
        clean: Set[int] = frozenset(),
        kraft_since: int | None = None,
        began: tuple[int, int] | None = None,
        incarnation: Incarnation = ONLY,
    ) -> None:
        """``leaders``: broker ids by leader epoch; ``complete``: coverage.is_complete; ``replicated``:
        whether a record takes effect only after other brokers have it; ``clean``: the leader epochs that are
        known to have begun without an unclean election; ``kraft_since``: the first one that the metadata log
        has; ``began``: the offsets from and to which the log was known before it was compacted;
        ``incarnation``: the one of ``__transaction_state`` whose log it is.
        """
        self.key = key
        self.replicated = replicated
        self.log = log
        self.leaders = leaders
        self.complete = complete
        self.incarnation = incarnation
        self._terms = log.terms(leaders)
        self._of_broker: dict[int, BrokersTerms] = {}
        self._last = self._terms[-1] if self._terms else None
        self._cut = self._cut_terms(clean)
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

    def _cut_terms(self, clean: Set[int]) -> set[tuple[int, int]]:
        """The terms, as stretch and leader epoch, whose last records an unclean election may have removed."""
        if not self.replicated:
            return set()
        cut = set()
        for term, following in pairwise(self._terms):
            # counted, not listed: no checksum covers a leader epoch, so a damaged one may be any number
            elections = following.leader_epoch - term.leader_epoch
            if sum(term.leader_epoch < each <= following.leader_epoch for each in clean) < elections:
                cut.add((term.stretch, term.leader_epoch))
        return cut

    def may_have_lost(self, term: Term, ms: int) -> bool:
        """Whether records that a term had before ``ms`` may have been lost in an unclean election, which
        leaves no hole.
        """
        return ms > term.last_ms and (term.stretch, term.leader_epoch) in self._cut

    def goes_on_past(self, term: Term, ms: int) -> bool:
        """Whether all records of a term up to ``ms`` are known: behind its newest record the end of the log
        may be missing.
        """
        return self.complete or term is not self._last or ms <= term.last_ms

    def known_to(self) -> tuple[int, int | None]:
        """The time at which the log ends: the newest of its last term, and the broker by whose clock that
        is.
        """
        if self.complete:
            return FOREVER, None
        last = self.log.leader_epoch == self.log.leader_epoch.max()
        return int(self.log.max_timestamp_ms[last].max()), self.leaders.get(int(self.log.leader_epoch.max()))

    def known_from(self) -> tuple[int | None, int | None]:
        """The time until which the log was compacted, and the broker by whose clock that is, if one broker
        led it all that time; None for a log that was not compacted.
        """
        if self.log.base is None:
            return None, None
        led_by = {self.leaders.get(epoch) for epoch in set(self.log.leader_epoch[: self.log.based].tolist())}
        return self.log.base.ms, led_by.pop() if len(led_by) == 1 else None

    def terms(self, broker_id: int) -> BrokersTerms:
        """The terms of a broker."""
        if broker_id not in self._of_broker:
            self._of_broker[broker_id] = BrokersTerms.of(self.log, self._terms, broker_id)
        return self._of_broker[broker_id]
