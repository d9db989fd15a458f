"""What one coordinator's log says to all of its transactional ids: who led it when, how far it is known."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from fencepost.protocols.producer_epoch.facts import FOREVER
from fencepost.replay.coverage import LogKey, begins
from fencepost.replay.logs import Log, Term


@dataclass(frozen=True)
class BrokersTerms:
    """The terms of a coordinator's log that one broker led, or may have, with what lies between them."""

    terms: Sequence[Term]
    after_hole: Sequence[bool]
    before_hole: Sequence[bool]
    followed_ms: Sequence[int]
    preceded_ms: Sequence[int]

    @classmethod
    def of(cls, log: Log, terms: Iterable[Term], broker_id: int) -> BrokersTerms:
        """Of all ``terms`` of ``log``, the broker's."""
        own = [term for term in terms if term.led_by in (None, broker_id)]
        last = log.stretches[-1]
        end = last.number + (last.to_offset is not None)
        before = [0, *(term.stretch for term in own)]
        after = [*(term.stretch for term in own[1:]), end]
        # when the broker's next term had begun, at the earliest, and its one before went on, at the latest
        followed = list(accumulate((term.first_ms for term in reversed(own)), min))[::-1]
        preceded = list(accumulate((term.last_ms for term in own), max))
        return cls(
            own,
            [stretch != term.stretch for stretch, term in zip(before, own, strict=False)],
            [stretch != term.stretch for stretch, term in zip(after, own, strict=True)] if own else [],
            followed[1:],
            preceded[:-1],
        )

    def during(self, start_ms: int, end_ms: int) -> Sequence[Term]:
        """Every term in which a request may have been decided.

        A term is out when the broker's next one had begun before the request, or the one before went on after
        it. None is given when a hole beside a term may hold another term, or records, that the request met.
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
    """What one coordinator's log says to all of its transactional ids: who led it when."""

    def __init__(
        self,
        key: LogKey,
        log: Log,
        leaders: Mapping[int, int | None],
        *,
        complete: bool = False,
        replicated: bool = False,
        began: tuple[int, int] | None = None,
    ) -> None:
        """``leaders``: broker ids by leader epoch; ``complete``: coverage.is_complete; ``replicated``: the
        coordinator waits for other brokers to have a record before it goes by it; ``began``: from where to
        where an earlier chapter knew the log.
        """
        self.key = key
        self.replicated = replicated
        self.log = log
        self.leaders = leaders
        self.complete = complete
        self._terms = log.terms(leaders)
        self._of_broker: dict[int, BrokersTerms] = {}
        self._last = self._terms[-1] if self._terms else None
        self.begins = {stretch.number: begins(log, stretch) for stretch in log.stretches}
        if log.base is not None and began is not None and began[1] > log.base.to:
            self.begins = dict.fromkeys(self.begins, began[0])

    def goes_on_past(self, term: Term, ms: int) -> bool:
        """Whether a term is known past a moment: after its newest record the log's end may be missing."""
        return self.complete or term is not self._last or ms <= term.last_ms

    def known_to(self) -> tuple[int, int | None]:
        """How far the log goes: the newest time of its last term, by the clock of the broker that led it."""
        if self.complete:
            return FOREVER, None
        last = self.log.leader_epoch == self.log.leader_epoch.max()
        return int(self.log.max_timestamp_ms[last].max()), self.leaders.get(int(self.log.leader_epoch.max()))

    def known_from(self) -> tuple[int | None, int | None]:
        """Until when the log was compacted, by the clock of the broker that led it all that time; None for a
        log that was not.
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
