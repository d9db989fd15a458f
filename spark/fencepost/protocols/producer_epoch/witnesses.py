"""What answers tell of a transactional id: a second witness of its state, where its records are gone.

After org.apache.kafka.coordinator.transaction.TransactionCoordinator: who is answered NONE to
AddPartitionsToTxn or AddOffsetsToTxn has an open transaction, which lasts until EndTxn, InitProducerId or its
timeout ends it. A producer epoch is given once: answered both before and after a request, it was there all
along.

Lines may be lost. So a transaction that is open by what lines tell is said of accepted requests only; against
a broker nothing counts but an epoch that was answered on both sides. Nothing is said across a line that could
not be read, or a file's end.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.capture.plan import REQUEST_LOG
from fencepost.protocols.producer_epoch.answers import (
    Epoch,
    is_accepted_end,
    is_granted_init,
    made_until,
    makes_epoch,
    may_end,
    partition_of,
    shows_open,
    told_after,
)
from fencepost.protocols.producer_epoch.order_of_lines import Lines
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.request_targets import ADD_PARTITIONS, END
from fencepost.protocols.producer_epoch.transaction_log import EMPTY, ONGOING
from fencepost.replay.requests import NONE

UnreadLines = Mapping[str, Sequence[int]]
"""Positions in files of request logs."""


class WitnessedState(NamedTuple):
    """What a request certainly met; ``status`` and ``listed`` (its partition is in the transaction) are None
    where that is not told.
    """

    producer_id: int
    producer_epoch: int
    status: str | None = None
    listed: bool | None = None


def unread_lines(quarantine: pa.Table) -> UnreadLines:
    """Where lines of request logs could not be read, among rows of ``bronze.quarantine`` of one cluster."""
    rows = quarantine.filter(pc.equal(quarantine["kind"], REQUEST_LOG))
    found: dict[str, list[int]] = {}
    for file, position in zip(rows["file"].to_pylist(), rows["position"].to_pylist(), strict=True):
        found.setdefault(file, []).append(position or 0)
    return found


class Witnesses:
    """The answers about one transactional id, as far as they tell what its requests met."""

    def __init__(self, asked: Sequence[RequestRow], unread: UnreadLines, tolerance_ms: int) -> None:
        """``asked``: every line about the id, of all brokers, in the order of answers."""
        self._asked = asked
        self._unread = unread
        self._tolerance_ms = tolerance_ms

    def told(self, asked: RequestRow) -> list[WitnessedState]:
        """The states of which a request met one; none where nothing tells."""
        return self._within(asked) or self._between(asked)

    @cached_property
    def _tellers(self) -> Lines:
        return Lines((each for each in self._asked if told_after(each) is not None), self._tolerance_ms)

    @cached_property
    def _began(self) -> Lines:
        return Lines((each for each in self._asked if is_granted_init(each)), self._tolerance_ms)

    @cached_property
    def _added(self) -> dict[str | None, Lines]:
        """What was added, or verified, by the name of the partition; all of it by None."""
        found: dict[str | None, list[RequestRow]] = {None: []}
        for each in self._asked:
            if shows_open(each):
                found[None].append(each)
                found.setdefault(partition_of(each), []).append(each)
        return {name: Lines(lines, self._tolerance_ms) for name, lines in found.items()}

    @cached_property
    def _enders(self) -> Lines:
        return Lines((each for each in self._asked if may_end(each)), self._tolerance_ms)

    @cached_property
    def _ended_at(self) -> dict[Epoch, set[int]]:
        """The brokers that were asked to end a transaction, by what the request said."""
        found: dict[Epoch, set[int]] = {}
        for each in self._asked:
            if each.api_key == END:
                found.setdefault((each.producer_id, each.producer_epoch), set()).add(each.broker_id)
        return found

    @cached_property
    def _met(self) -> dict[Epoch, Lines]:
        """The lines that certainly met a producer epoch."""
        found: dict[Epoch, list[RequestRow]] = {}
        for each in self._asked:
            if shows_open(each) or (is_accepted_end(each) and each.moves_no_epoch):
                found.setdefault((each.producer_id, each.producer_epoch), []).append(each)
        return {epoch: Lines(lines, self._tolerance_ms) for epoch, lines in found.items()}

    @cached_property
    def _committed(self) -> dict[Epoch, Lines]:
        """Commits that moved the epoch: until then nobody else had ended the transaction of that epoch."""
        found: dict[Epoch, list[RequestRow]] = {}
        for each in self._asked:
            if is_accepted_end(each) and not each.moves_no_epoch and each.result == "COMMIT":
                found.setdefault((each.producer_id, each.producer_epoch), []).append(each)
        return {epoch: Lines(lines, self._tolerance_ms) for epoch, lines in found.items()}

    def _between(self, asked: RequestRow) -> list[WitnessedState]:
        """The epoch that was told before and met afterwards."""
        for before in self._tellers.before(asked):
            told = told_after(before)
            if told is not None and told in self._met and self._met[told].has_after(asked):
                return [WitnessedState(*told)]
        return []

    def _within(self, asked: RequestRow) -> list[WitnessedState]:
        """The open transaction that an accepted request of its epoch is part of."""
        if asked.error != NONE or asked.producer_id is None or asked.producer_epoch is None:
            return []
        said = asked.producer_id, asked.producer_epoch
        if self._ended_at.get(said, set()) - {asked.broker_id} or not self._lasts(asked, said):
            return []
        if asked.api_key == ADD_PARTITIONS and self._is_since(self._added.get(partition_of(asked)), asked):
            return [WitnessedState(*said, ONGOING, listed=True)]
        if self._is_since(self._added[None], asked) or self._ends_what_was_added(asked, said):
            return [WitnessedState(*said, ONGOING)]
        if not asked.verify_only and self._is_since(self._began, asked):
            # what was added since may not have been logged
            return [WitnessedState(*said, EMPTY), WitnessedState(*said, ONGOING)]
        return []

    def _lasts(self, asked: RequestRow, said: Epoch) -> bool:
        """Whether no timeout has ended the transaction of an epoch: it is met later, or was young."""
        met_later = (lines[said] for lines in (self._met, self._committed) if said in lines)
        return any(lines.has_after(asked) for lines in met_later) or self._is_young(asked, said)

    def _is_young(self, asked: RequestRow, said: Epoch) -> bool:
        """Whether a request was answered before any transaction of its epoch could be past its timeout."""
        timeout_ms = self._timeouts.get(said)
        if timeout_ms is None:
            return False
        made = [each for each in self._made.before(asked) if told_after(each) == said]
        if said in self._made_first and self._made_first[said].broker_id == asked.broker_id:
            made.append(self._made_first[said])
        return any(asked.responded_ms < self._made.arrived(each) + timeout_ms for each in made)

    @cached_property
    def _timeouts(self) -> dict[Epoch, int]:
        """transaction.timeout.ms by producer epoch: InitProducerId set it, and only the ends of its own
        transactions have moved the epoch since.
        """
        found: dict[Epoch, int] = {}
        for each in self._asked:
            told = told_after(each)
            if told is not None and is_granted_init(each) and each.transaction_timeout_ms is not None:
                found[told] = min(found.get(told, each.transaction_timeout_ms), each.transaction_timeout_ms)
        ended = (told_after(each) for each in self._asked if is_accepted_end(each))
        for producer_id, epoch in sorted({told for told in ended if told is not None}):
            if (producer_id, epoch - 1) in found:
                found.setdefault((producer_id, epoch), found[producer_id, epoch - 1])
        return found

    @cached_property
    def _made_first(self) -> dict[Epoch, RequestRow]:
        """Of each epoch the first line that tells that it was made."""
        found: dict[Epoch, RequestRow] = {}
        for each in sorted(self._asked, key=lambda line: line.requested_ms):
            if makes_epoch(each):
                found.setdefault(told_after(each) or (None, None), each)
        return found

    @cached_property
    def _made(self) -> Lines:
        """After each of these no transaction was open."""
        return Lines(
            (each for each in self._asked if is_granted_init(each) or is_accepted_end(each)),
            self._tolerance_ms,
        )

    def _is_since(self, lines: Lines | None, asked: RequestRow) -> bool:
        """Whether one of these was answered before with the epoch of a request, and nothing ended since."""
        if lines is None:
            return False
        said = asked.producer_id, asked.producer_epoch
        return any(
            told_after(before) == said and self._is_unbroken(before, asked) for before in lines.before(asked)
        )

    def _ends_what_was_added(self, asked: RequestRow, said: Epoch) -> bool:
        """Whether something was added at the epoch that an EndTxn moved: that was before, for any clock."""
        if not makes_epoch(asked) or told_after(asked) == said or said not in self._met:
            return False
        return any(
            not self._enders.is_before(asked, each) and self._is_unbroken(each, asked)
            for each in self._met[said].ends(asked.broker_id)
        )

    def _is_unbroken(self, before: RequestRow, asked: RequestRow) -> bool:
        """Whether all lines from one request to a later one are there, and none may have ended anything."""
        if before.file != asked.file:
            return False
        first, last = sorted((before.position, asked.position))
        if any(first < at < last for at in self._unread.get(before.file, ())):
            return False
        return all(
            each.request_id in (before.request_id, asked.request_id)
            or made_until(each, asked)
            or self._enders.is_before(each, before)
            or self._enders.is_before(asked, each)
            for each in self._enders.around(before, asked)
        )
