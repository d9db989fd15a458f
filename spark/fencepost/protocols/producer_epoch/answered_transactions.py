"""How many transactions with a partition the answers show, where compaction removed the coordinator's
records.

If a partition was added to a transaction (AddPartitionsToTxn, AddOffsetsToTxn) and EndTxn then ended it, the
coordinator had a transaction with that partition. Lost lines make the count smaller, never larger.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from fencepost.protocols.producer_epoch.answers import is_accepted_end, partition_of, shows_open
from fencepost.protocols.producer_epoch.order_of_lines import Lines, turn
from fencepost.protocols.producer_epoch.request_rows import RequestRow


class AnsweredTransactions(NamedTuple):
    """Transactions of one producer epoch with a partition ('topic:partition') that were ended by EndTxn.

    ``prepared_epoch`` is the epoch of their markers.
    """

    name: str
    producer_id: int
    producer_epoch: int
    prepared_epoch: int
    transactions: int


def count_answered_transactions(
    requests: Iterable[RequestRow], tolerance_ms: int
) -> Iterator[AnsweredTransactions]:
    """The transactions that the lines about one transactional id show."""
    added: dict[tuple[int, int], dict[str, list[RequestRow]]] = {}
    ended: dict[tuple[int, int], list[RequestRow]] = {}
    for each in requests:
        if each.producer_id is None or each.producer_epoch is None:
            continue
        presented = each.producer_id, each.producer_epoch
        if shows_open(each) and not each.verify_only:
            added.setdefault(presented, {}).setdefault(partition_of(each), []).append(each)
        elif is_accepted_end(each):
            ended.setdefault(presented, []).append(each)
    for (producer_id, epoch), ends in sorted(ended.items(), key=lambda item: item[0]):
        for name, lines in sorted(added.get((producer_id, epoch), {}).items()):
            moved = {not end.moves_no_epoch for end in ends}
            if moved == {True}:
                # the end of a transaction bumps the epoch: an epoch has only one transaction
                yield AnsweredTransactions(name, producer_id, epoch, epoch + 1, 1)
            elif moved == {False}:
                count = _count_turns(lines, ends, tolerance_ms)
                if count:
                    yield AnsweredTransactions(name, producer_id, epoch, epoch, count)


def _count_turns(added: Sequence[RequestRow], ends: Sequence[RequestRow], tolerance_ms: int) -> int:
    """How often a partition was added and the transaction then ended, at the broker that saw most of that."""
    order = Lines((), tolerance_ms)
    return max(
        _count_turns_at_broker(
            [each for each in added if each.broker_id == broker_id],
            sorted((each for each in ends if each.broker_id == broker_id), key=turn),
            order,
        )
        for broker_id in {each.broker_id for each in ends}
    )


def _count_turns_at_broker(added: Sequence[RequestRow], ends: Sequence[RequestRow], order: Lines) -> int:
    count, at = 0, 0
    newest: RequestRow | None = None
    for each in sorted(added, key=turn):
        if newest is not None and not order.is_before(newest, each):
            continue
        while at < len(ends) and not order.is_before(each, ends[at]):
            at += 1
        if at == len(ends):
            break
        newest, count = ends[at], count + 1
    return count
