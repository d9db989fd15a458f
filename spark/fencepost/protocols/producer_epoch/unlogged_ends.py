"""Finds committed transactions without an EndTxn, in a request log with earlier and later lines of the id."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import accumulate

from fencepost.protocols.producer_epoch.coordinator import Coordinator
from fencepost.protocols.producer_epoch.endings import presented_by_end
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.request_targets import END
from fencepost.protocols.producer_epoch.transaction_log import PREPARE_COMMIT, TransactionRecord
from fencepost.replay.requests import LATEST_MS

_NEVER = 2**63 - 1
_COMMIT = "COMMIT"


class UnloggedEnds:
    """Of one coordinator's log. A PrepareCommit record is written for an EndTxn only: if none can have been
    its own, whatever it was answered, lines are missing.
    """

    def __init__(self, coordinator: Coordinator, tolerance_ms: int) -> None:
        self._coordinator, self._tolerance_ms = coordinator, tolerance_ms
        self._followed_ms: dict[int, int] = {}

    def of(
        self, records: Iterable[TransactionRecord], requests: Iterable[RequestRow]
    ) -> Iterator[tuple[int, TransactionRecord]]:
        """The records of one transactional id without an EndTxn, each with the broker that wrote it.

        ``requests``: lines of the id whose times can be compared with those of records. A line that was
        logged after the broker's term counts for nothing: who is killed does not log what it was about to
        answer.
        """
        by_broker: defaultdict[int, list[RequestRow]] = defaultdict(list)
        for each in requests:
            by_broker[each.broker_id].append(each)
        lines = {broker: _Lines(own) for broker, own in by_broker.items()}
        for record in records:
            if record.status != PREPARE_COMMIT or record.based:
                continue
            broker = self._coordinator.leaders.get(record.leader_epoch)
            if broker is not None and broker in lines and self._is_unlogged(record, lines[broker]):
                yield broker, record

    def _is_unlogged(self, record: TransactionRecord, lines: _Lines) -> bool:
        following = lines.first_after(record.timestamp_ms + self._tolerance_ms)
        return (
            lines.first_answer_ms < record.timestamp_ms
            and following < self._followed(record.leader_epoch)
            and not lines.may_have_ended(record)
        )

    def _followed(self, leader_epoch: int) -> int:
        """When the next leader's first batch was written."""
        if leader_epoch not in self._followed_ms:
            log = self._coordinator.log
            later = log.max_timestamp_ms[log.leader_epoch > leader_epoch]
            self._followed_ms[leader_epoch] = int(later.min(initial=_NEVER))
        return self._followed_ms[leader_epoch]


class _Lines:
    """The lines of one transactional id in the log of one broker."""

    def __init__(self, requests: list[RequestRow]) -> None:
        self.first_answer_ms = min(each.responded_ms for each in requests)
        self._arrived = sorted(each.requested_ms for each in requests)
        ends = [each for each in requests if each.api_key == END and each.result == _COMMIT]
        ends.sort(key=lambda each: each.responded_ms)
        self._answered = [each.responded_ms for each in ends]
        # of the lines from each on, when the first one arrived
        arrived = [each.requested_ms for each in reversed(ends)]
        self._earliest = list(accumulate(arrived, min))[::-1]
        self._presented = {(each.producer_id, each.producer_epoch, _COMMIT) for each in ends}

    def first_after(self, ms: int) -> int:
        """When the first request arrived that did so after ``ms``."""
        at = bisect_right(self._arrived, ms)
        return self._arrived[at] if at < len(self._arrived) else _NEVER

    def may_have_ended(self, record: TransactionRecord) -> bool:
        """Whether an EndTxn may have written a record: from transaction version 2 on the epoch tells it, as
        each transaction has its own; else the time, where lines may be late.
        """
        if record.transaction_version >= 2:
            return presented_by_end(record) in self._presented
        at = bisect_left(self._answered, record.timestamp_ms)
        return at < len(self._answered) and self._earliest[at] - LATEST_MS <= record.timestamp_ms
