"""The leader terms of a coordinator's log: finds the terms in which a request may have been decided."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

import numpy as np

from fencepost.replay.entities import first_of_each, numbered_rows
from fencepost.replay.log_ends import FOREVER, NEVER, KnownPast
from fencepost.replay.logs import COMPACTED, Longs, Stretch, Term
from fencepost.replay.requests import LATEST_MS


@dataclass(slots=True)
class _LedTerms:
    """The terms that one broker led, or may have led, in offset order."""

    terms: list[Term] = field(default_factory=list)
    known_from: list[int] = field(default_factory=list)  # an earlier request may have met what a hole hides
    known_to: list[int] = field(default_factory=list)  # a later request may have met what a hole hides
    preceded: list[int] = field(default_factory=list)  # newest end of any term before
    followed: list[int] = field(default_factory=list)  # earliest begin of any term after

    def around(self, start_ms: int, end_ms: int) -> slice:
        """The places of the terms in which a request of this time may have been decided."""
        return slice(bisect_left(self.followed, start_ms), bisect_right(self.preceded, end_ms))


class Terms:
    """The terms of one coordinator's log, by the broker that led them.

    Times are compared only if both are by one broker's clock: those of a request are compared with the terms
    of the broker that answered it (but see _known_to).
    """

    def __init__(
        self,
        terms: Sequence[Term],
        stretches: Sequence[Stretch],
        *,
        begun: bool,
        past: KnownPast,
        replicated: bool = True,
    ) -> None:
        """``begun``: Incarnation.has_begun; else a hole precedes the first record: the log of an incarnation
        that nothing tells of. ``past``: LogEnd.known_past; behind that a hole follows: the log may have gone
        on after it was copied. ``replicated``: the log has several replicas, so an election may remove the
        end of a term.
        """
        self._terms = terms
        self._first_stretch = 0 if begun else COMPACTED - 1
        self._replicated = replicated
        self.numbers = {(term.stretch, term.leader_epoch): number for number, term in enumerate(terms)}
        """(stretch, leader epoch) -> the number of the term, in offset order."""
        newest = max(stretches, key=lambda stretch: stretch.number, default=None)
        self._newest = newest.number if newest is not None else 0
        self._past = past
        self._of_broker: dict[int, _LedTerms] = {}

    def led_by(self, broker_id: int) -> list[Term]:
        """Every term that the broker led, or may have led."""
        return self._led(broker_id).terms

    def of(self, broker_id: int, start_ms: int, end_ms: int) -> list[Term]:
        """Every term of the broker in which a request of this time may have been decided.

        A term is excluded if the broker's next one had begun before the request, or if the one before was
        still going on after it. The list is empty if a hole in the log, beside one of the terms, may hide
        another term or records that the request met.
        """
        led = self._led(broker_id)
        around = led.around(start_ms, end_ms)
        known = zip(led.known_from[around], led.known_to[around], strict=True)
        if any(from_ms >= start_ms or to_ms <= end_ms for from_ms, to_ms in known):
            return []
        return led.terms[around]

    def around(self, broker_id: int, start_ms: int, end_ms: int) -> list[Term]:
        """The terms of ``of`` that are known, even if a hole may hide others."""
        led = self._led(broker_id)
        return led.terms[led.around(start_ms, end_ms)]

    def are_before(self, first: Sequence[Term], second: Sequence[Term]) -> bool:
        """Whether each of some terms came before each of others; false if there are none."""
        ends, begins = (
            [self.numbers[term.stretch, term.leader_epoch] for term in terms] for terms in (first, second)
        )
        return bool(ends and begins) and max(ends) < min(begins)

    def may_be_lost(self, broker_id: int, start_ms: int, end_ms: int) -> bool:
        """Whether a request of this time may have met records that no other replica got.

        A coordinator applies a record as soon as it has written it, and refuses requests by it without
        waiting for the replicas (CoordinatorRuntime). If it loses its leadership before they have the
        record, nothing is left of the record, not even a hole.
        """
        return self._replicated and any(
            term.last_ms < end_ms and term is not self._terms[-1]
            for term in self.of(broker_id, start_ms, end_ms)
        )

    def only(self, broker_id: int, start_ms: Longs, end_ms: Longs) -> Longs:
        """For each time the number of the only term in which the broker may have decided a request; -1 if
        there may be another, or if the term may have lost its end.
        """
        led = self._led(broker_id)
        if not led.terms:
            return np.full(len(start_ms), -1)
        first = np.searchsorted(np.array(led.followed), start_ms)
        count = np.searchsorted(np.array(led.preceded), end_ms, side="right") - first
        at = np.minimum(first, len(led.terms) - 1)
        last_ms = np.array([term.last_ms for term in led.terms])[at]
        torn = (np.array(led.known_from)[at] >= start_ms) | (np.array(led.known_to)[at] <= end_ms)
        number = np.array([self.numbers[term.stretch, term.leader_epoch] for term in led.terms])[at]
        # records that an unclean election removed from the end of a term leave no hole
        lasts = (last_ms >= end_ms) | (number == len(self._terms) - 1)
        return np.where((count == 1) & ~torn & lasts, number, -1)

    def numbers_at(self, stretches: Longs, leader_epochs: Longs) -> Longs:
        """The numbers of the terms with these stretches and leader epochs, one for each; -2 for none."""
        place = numbered_rows(stretches, leader_epochs)
        first = first_of_each(place)
        places = zip(stretches[first].tolist(), leader_epochs[first].tolist(), strict=True)
        return np.array([self.numbers.get(each, -2) for each in places], dtype=np.int64)[place]

    def _led(self, broker_id: int) -> _LedTerms:
        led = self._of_broker.get(broker_id)
        if led is None:
            led = self._of_broker[broker_id] = self._led_by(broker_id)
        return led

    def _led_by(self, broker_id: int) -> _LedTerms:
        terms = [term for term in self._terms if term.led_by in (None, broker_id)]
        if not terms:
            return _LedTerms()
        stretches = [term.stretch for term in terms]
        before, after = [self._first_stretch, *stretches[:-1]], [*stretches[1:], self._newest + 1]
        ends = accumulate((term.last_ms for term in terms), max)
        begins = list(accumulate((term.first_ms for term in reversed(terms)), min))[::-1]
        return _LedTerms(
            terms,
            [self._known_from(*each) for each in zip(terms, before, strict=True)],
            [self._known_to(broker_id, *each) for each in zip(terms, after, strict=True)],
            [NEVER, *list(ends)[:-1]],
            [*begins[1:], FOREVER],
        )

    def _known_from(self, term: Term, stretch_before: int) -> int:
        """The time up to which a hole may hide records that the term's broker wrote before it.
        ``stretch_before``: that of the broker's last term; for its first one, that of the first record, or of
        what may precede it.
        """
        if stretch_before == term.stretch:
            return NEVER
        if term.stretch != 0:
            return term.first_ms
        # as in _known_to
        return min(term.first_ms, self._terms[0].first_ms + LATEST_MS)

    def _known_to(self, broker_id: int, term: Term, stretch_after: int) -> int:
        """The time from which on a hole may hide records that the term's broker wrote after it.
        ``stretch_after``: that of the broker's next term; for its last one, that of the newest record, or of
        what may follow it.
        """
        if stretch_after == term.stretch:
            return FOREVER
        if term.stretch != self._newest:
            return term.last_ms
        # behind the newest record this broker may lead again; while another one led it did not, and no two
        # brokers' clocks differ by as much as a line may be late
        return max(term.last_ms, self._terms[-1].last_ms - LATEST_MS, self._past.ms(broker_id))


def answered_leaders(answers: Iterable[tuple[int, int]]) -> dict[int, int]:
    """The leader of a log by leader epoch: the broker that answered requests whose records have that epoch.
    ``answers``: leader epochs of records with the brokers that answered. An epoch for which two brokers
    answered is left out.
    """
    brokers: dict[int, set[int]] = {}
    for epoch, broker_id in answers:
        brokers.setdefault(epoch, set()).add(broker_id)
    return {epoch: min(each) for epoch, each in brokers.items() if len(each) == 1}
