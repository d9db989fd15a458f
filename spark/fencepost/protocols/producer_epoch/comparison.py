"""The last step: it compares the logs of partitions with those of coordinators, by producer id and partition.

It counts the transactions with the partition that the coordinator completed, and the markers that the
partition holds. That needs no clock; only whether the coordinator's log is known past a batch may depend on
times, which then are of one broker's clock. It works on columns, since it sees every transaction of every
partition.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.account import Account, Replayed
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, Flags, Longs, longs, nullable, table_of
from fencepost.protocols.producer_epoch.compared_rows import Comparison
from fencepost.protocols.producer_epoch.counts import dumped_counts
from fencepost.protocols.producer_epoch.facts import Facts
from fencepost.protocols.producer_epoch.in_flight import producer_fencings
from fencepost.protocols.producer_epoch.later_transactions import later_transactions
from fencepost.protocols.producer_epoch.listing_reasons import why_unknown
from fencepost.protocols.producer_epoch.markers_due import (
    newest_of,
    transaction_markers,
)
from fencepost.protocols.producer_epoch.matched_markers import partitions_whole
from fencepost.protocols.producer_epoch.moments import Moments
from fencepost.protocols.producer_epoch.tables import (
    COUNTS,
    PARTITION_TRANSACTIONS,
    PRODUCER_FENCINGS,
    TRANSACTION_MARKERS,
)
from fencepost.replay.log_ends import FOREVER

_TIMESTAMP = pa.timestamp("us", tz="UTC")


def newest_markers(accounts: Account, counts: pa.Table, facts: Facts, tolerance_ms: int) -> pa.Table:
    """NEWEST of some producer ids: all that a task of the last step must know of the producers of other
    tasks.

    ``accounts``, ``counts``: theirs, as in ``compare_logs``. The tables of several tasks are concatenated.
    """
    due = Comparison(accounts, counts, facts, tolerance_ms).due
    markers = nullable(due.completing(), pa.int64())
    with_marker = due.rows.append_column("marker_position", markers).filter(pa.array(due.due_count > 0))
    return newest_of([with_marker])


def compare_logs(
    accounts: Account, counts: pa.Table, facts: Facts, newest: pa.Table, tolerance_ms: int
) -> Replayed:
    """silver.partition_transactions, silver.transaction_markers and silver.producer_fencings; and COUNTS.

    ``accounts``: every row of the accounts about some (cluster, producer id); rows without a producer id
    count as one of these. Rows of the kinds LOG and COORDINATOR are ignored. ``counts``: rows of COUNTS about
    the same, from before what is read. ``newest``: newest_markers of all producer ids.
    """
    comparison, newest = Comparison(accounts, counts, facts, tolerance_ms), newest_of([newest])
    due = comparison.due
    interrupted, repeated = (
        due.markers.filter(pa.array(each)) for each in (due.wrong.interrupts, due.repeats)
    )
    return Replayed(
        {
            COUNTS.name: dumped_counts(
                accounts, comparison.still_counted(), comparison.known, interrupted, repeated
            ),
            PARTITION_TRANSACTIONS.name: _partition_transactions(comparison, facts, newest, tolerance_ms),
            TRANSACTION_MARKERS.name: transaction_markers(
                due, newest, comparison.past_completion(facts), facts
            ),
            PRODUCER_FENCINGS.name: producer_fencings(accounts, comparison.transactions, facts),
        }
    )


def _partition_transactions(
    comparison: Comparison, facts: Facts, newest: pa.Table, tolerance_ms: int
) -> pa.Table:
    """``silver.partition_transactions``: the transactions in partitions, and whether the coordinator lists
    them.

    With one producer id and epoch, a partition has at most as many closed transactions as the coordinator
    completed with that partition: if it has one more, that one was never part of a coordinator's
    transaction. A transaction that was closed at an epoch at which the coordinator prepared none was closed
    by the marker of another transaction, or by an operator: it was listed if it is a part of the
    coordinator's one and ended as that did. An open one is listed as long as the coordinator has a
    transaction whose marker has yet to come in the partition, or one of a later epoch (later_transactions).
    If that was open when the coordinator's log was deleted, no coordinator has it. Where compaction removed
    records of the coordinator, answers may show the transactions, unless they were counted before. It leaves
    the newest record of each id: what is open and listed in none of these, the coordinator has ended.
    What was open when the topic was deleted was not listed if no coordinator ever had it, and it was if the
    coordinator had it from before the deletion until after it.
    """
    rows, keys = comparison.transactions, comparison.transaction_keys
    moments = Moments(rows, comparison.known, facts, newest, tolerance_ms)
    open_ = longs(rows["open"])
    by_coordinator = longs(rows["marker_coordinator_epoch"]) >= 0
    # what ended in the compacted part of the coordinator's log is counted neither there nor here
    is_counted = moments.ends_since
    before = comparison.before
    key_count = max(
        (int(each.max()) + 1 for each in (keys, comparison.listed_keys, before.at) if len(each)), default=0
    )
    is_other, none_unknown = _epochs_of_others(comparison, key_count, keys, longs(rows["marker_epoch"]))
    closed_by_another, may_be_of_another = by_coordinator & is_other & none_unknown, is_other & ~none_unknown
    sent_by_operator = longs(rows["by_operator"]) == 1
    by_coordinator &= closed_by_another | ~sent_by_operator
    has_own_marker = (open_ == 0) & by_coordinator & ~closed_by_another
    had_own_marker = ~_closed_by_another(comparison, key_count, before.at, before.prepared)
    ended_before, listed_before = (
        np.bincount(before.at, each, key_count).astype(np.int64)[keys]
        for each in (had_own_marker * before.ended_whole, before.listed_whole)
    )
    closed, ever_closed = (
        np.bincount(keys[each], minlength=key_count)[keys] + ended_before
        for each in (has_own_marker & is_counted, has_own_marker)
    )
    listings = np.bincount(comparison.listed_keys, minlength=key_count)[keys] + listed_before
    completed, may_be_hidden = longs(comparison.listed["completed_position"]), longs(comparison.listed["cut"])
    # a transaction that a hole follows may have been completed in the hole
    # where it has written its marker, the coordinator writes no other, unless it starts again
    is_open_at_coordinator = (completed == UNKNOWN) & (may_be_hidden == 0) & ~comparison.has_marker()
    unfinished = np.bincount(comparison.listed_keys[is_open_at_coordinator], minlength=key_count)[keys]
    begins_since, known_past = moments.begins_since, moments.known_past
    left = comparison.left(has_own_marker & is_counted, listings - ended_before, moments.created_once)
    later = later_transactions(comparison, facts)
    completions = _Completions(comparison, key_count)
    # nor will what a deleted log of the coordinator had open
    was_lost = np.bincount(comparison.listed_keys[longs(comparison.listed["lost"]) == 1], minlength=key_count)
    # what is complete will have no marker any more
    are_past = completions.are_past(rows, keys, facts)
    is_over = (are_past & completions.are_of_one[keys]) | (
        known_past & (are_past | (left <= 0) | (was_lost[keys] > 0))
    )
    is_compacted = ~is_over & _ended_where_compacted(rows, moments, facts, are_past | (listings == 0))
    # a marker of an older epoch than the newest batch is refused
    behind = longs(rows["newest_epoch"]) - longs(rows["producer_epoch"])
    will_end, may_end = (
        (unfinished > 0) & (behind == step) | flags for step, flags in ((0, later.will), (1, later.may))
    )
    is_listed_while_open = np.where(will_end, 1, np.where((is_over | is_compacted) & ~may_end, 0, UNKNOWN))
    # a name tells of which incarnation of the topic it is if there was only one
    was_listed = (will_end & moments.created_once) | comparison.listed_when_removed(facts)
    never_listed = (left <= 0) & known_past & ~will_end & ~may_end
    was_listed = np.where(never_listed, 0, np.where(was_listed, 1, UNKNOWN))
    is_gone = (open_ != 0) & (moments.ended_ms != UNKNOWN)
    is_listed_while_open = np.where(is_gone, was_listed, is_listed_while_open)
    # if the coordinator lists as many as were ever closed, it does not matter what compaction removed
    has_enough = ((listings >= closed) & begins_since) | (listings >= ever_closed)
    # where a hole hides at which epoch one was prepared, an operator may have sent the marker
    has_enough &= ~may_be_of_another | (longs(rows["by_operator"]) != UNKNOWN)
    was_ended = np.where(has_enough, 1, np.where(known_past & (listings == 0), 0, UNKNOWN))
    # a transaction that a hole in the partition's log hides may be the one that the coordinator lists
    none_hidden = partitions_whole(rows, facts)
    by_operator = np.where(
        (left > 0) & begins_since & none_hidden, 1, np.where((left <= 0) & known_past, 0, UNKNOWN)
    )
    by_operator = np.where(may_be_of_another & sent_by_operator & (by_operator == 1), UNKNOWN, by_operator)
    ends_part = comparison.ends_part()
    by_operator = np.where((ends_part == UNKNOWN) & (by_operator == 0), UNKNOWN, by_operator)
    was_ended = np.where(
        closed_by_another,
        completions.ended_by_another(keys, longs(rows["aborted"]), ends_part, known_past),
        was_ended,
    )
    was_ended[(was_ended == UNKNOWN) & _shown_by_answers(comparison, (open_ == 0) & by_coordinator)] = 1
    is_listed_when_closed = np.where(by_coordinator, was_ended, np.where(ends_part == 1, 1, by_operator))
    listed = np.where(open_ == 1, is_listed_while_open, np.where(open_ == 0, is_listed_when_closed, UNKNOWN))
    outcome = pc.if_else(
        pa.array(left > 0), pc.coalesce(later.outcome, completions.outcomes(keys, none_hidden)), later.outcome
    )
    columns = {
        **{name: rows[name] for name in rows.schema.names},
        "transactional_id": moments.transactional_id,
        "listed": nullable(listed, pa.bool_()),
        **why_unknown(listed, open_, left, moments),
        **_of_dangling(
            (open_ == 1) & (listed == 0),
            pc.if_else(pa.array(is_compacted), "unknown", outcome),
            was_lost[keys] > 0,
        ),
        "from_position": rows["first_offset"],
        "to_position": rows["ended_position"],
        "from_time": nullable(moments.began_ms, _TIMESTAMP),
        "to_time": nullable(
            np.where(is_gone, np.maximum(moments.ended_ms, moments.began_ms), moments.ended_ms), _TIMESTAMP
        ),
    }
    return table_of(PARTITION_TRANSACTIONS.arrow_schema, columns)


def _ended_where_compacted(rows: pa.Table, moments: Moments, facts: Facts, known_ended: Flags) -> Flags:
    """Which open transactions of partitions may have begun in the compacted part of their coordinator's log,
    which is known past them, and lie in a log that was captured later than all that may have ended there.
    ``known_ended``: nor later than what the log still has of their epochs.

    The newest record of an id that the log still names is not of a later time than that part, or is behind
    it. Of one that is gone, the time is not known.
    """
    ended: Flags = known_ended & moments.reached & ~moments.begins_since & (longs(rows["open"]) == 1)
    ended &= ~moments.handed_down
    places = np.flatnonzero(ended)
    columns = (rows[name].take(pa.array(places)).to_pylist() for name in ("cluster", "name"))
    is_named = moments.transactional_id.is_valid().to_numpy(zero_copy_only=False)
    for at, cluster, name in zip(places.tolist(), *columns, strict=True):
        until_ms = int(moments.compacted_ms[at]) if is_named[at] else FOREVER - 1
        ended[at] = facts.is_known_past((cluster, name), until_ms)
    return ended


def _of_dangling(dangling: Flags, outcome: pa.Array, was_lost: Flags) -> dict[str, pa.Array]:
    """What is said of the coordinator's transactions only where it lists none that is open."""
    return {
        "coordinator_outcome": pc.if_else(pa.array(dangling), outcome, None),
        "log_deleted": pa.array(was_lost, mask=~dangling),
    }


class _Completions:
    """The coordinator's transactions with the epoch of each key: whether and how all of them ended.

    ``are_of_one``: whether a key can have no other than one transaction, because its end moved the epoch.
    """

    def __init__(self, comparison: Comparison, key_count: int) -> None:
        listed, before = comparison.listed, comparison.before
        was_listed = before.listed_whole > 0
        at = np.concatenate([comparison.listed_keys, before.at[was_listed]])
        completed_ms = np.concatenate([longs(listed["completed_ms"]), before.completed_ms[was_listed]])
        prepared = np.concatenate([longs(listed["prepared_epoch"]), before.prepared[was_listed]])
        epochs = np.concatenate([longs(listed["producer_epoch"]), before.epochs[was_listed]])
        types = np.array([*listed["due_type"].to_pylist(), *before.due_type], dtype=object)
        types = np.concatenate(
            [types[: len(comparison.listed_keys)], types[len(comparison.listed_keys) :][was_listed]]
        )
        self._newest_ms = np.full(key_count, UNKNOWN)
        np.maximum.at(self._newest_ms, at, completed_ms)
        self._newest_ms[at[completed_ms == UNKNOWN]] = UNKNOWN
        self._commits, self._aborts = (
            np.bincount(at[types == each], minlength=key_count) for each in ("COMMIT", "ABORT")
        )
        self.are_of_one = np.bincount(at, minlength=key_count) == 1
        self.are_of_one[at[(prepared == UNKNOWN) | (prepared == epochs)]] = False

    def are_past(self, rows: pa.Table, keys: Longs, facts: Facts) -> Flags:
        """Which open transactions of partitions lie in a log that was captured later than all these ended."""
        past = np.zeros(len(keys), dtype=np.bool_)
        newest_ms = self._newest_ms[keys]
        candidates = np.flatnonzero((longs(rows["open"]) == 1) & (newest_ms != UNKNOWN))
        columns = (rows[name].take(pa.array(candidates)).to_pylist() for name in ("cluster", "name"))
        for at, *place in zip(candidates.tolist(), *columns, strict=True):
            past[at] = facts.is_known_past((place[0], place[1]), int(newest_ms[at]))
        return past

    def ended_by_another(self, keys: Longs, aborted: Longs, ends_part: Longs, known_past: Flags) -> Longs:
        """Whether what another marker than the due one ended was listed, and ended as it was prepared: 1 if
        it is a part of one of these transactions, and all of them ended alike; UNKNOWN if it may be.
        """
        of_other_type = np.where(aborted == 1, self._commits[keys], self._aborts[keys])
        is_alike = (aborted != UNKNOWN) & (of_other_type == 0) & ((self._commits + self._aborts)[keys] > 0)
        return np.where(is_alike & (ends_part != 0), ends_part, np.where(known_past, 0, UNKNOWN))

    def outcomes(self, keys: Longs, none_hidden: Flags) -> pa.Array:
        """How the transactions of these keys ended: committed, aborted, or unknown if not all alike. Null if
        none of them did, as where the coordinator's log was deleted before.

        ``none_hidden``: whether the partition's log has no hole. One that a hole hides may be what the
        coordinator completed, and what is open none of its transactions.
        """
        alike = np.where(self._aborts == 0, "committed", np.where(self._commits == 0, "aborted", "unknown"))
        told = np.where(none_hidden | self.are_of_one[keys], alike[keys], "unknown")
        return pa.array(told, pa.string(), mask=(self._aborts + self._commits == 0)[keys])


def _shown_by_answers(comparison: Comparison, closed: Flags) -> Flags:
    """Which transactions of partitions were closed at an epoch for which answers show at least as many
    transactions of the coordinator.
    """
    marker_epoch, answered_epoch = (
        longs(comparison.transactions["marker_epoch"]),
        longs(comparison.answered["prepared_epoch"]),
    )
    span = 1 + max(0, *(int(each.max(initial=0)) for each in (marker_epoch, answered_epoch)))
    closed = closed & (marker_epoch != UNKNOWN)
    transaction_codes, answered_codes = (
        comparison.transaction_keys * span + marker_epoch,
        comparison.answered_keys * span + answered_epoch,
    )
    places, numbers = np.unique(np.concatenate([transaction_codes, answered_codes]), return_inverse=True)
    ends, answered = np.split(numbers, [len(transaction_codes)])
    count = np.zeros(len(places), dtype=np.int64)
    np.add.at(count, answered, longs(comparison.answered["transactions"]))
    has_enough = count >= np.bincount(ends[closed], minlength=len(places))
    return np.asarray(closed & (count[ends] > 0) & has_enough[ends])


def _closed_by_another(comparison: Comparison, key_count: int, keys: Longs, marker_epochs: Longs) -> Flags:
    """Which transactions of partitions have a marker of an epoch at which the coordinator prepared none."""
    is_other, none_unknown = _epochs_of_others(comparison, key_count, keys, marker_epochs)
    return np.asarray(is_other & none_unknown)


def _epochs_of_others(
    comparison: Comparison, key_count: int, keys: Longs, marker_epochs: Longs
) -> tuple[Flags, Flags]:
    """For each transaction of a partition: the coordinator is known to have prepared none at the epoch of its
    marker; the epochs of all that it prepared are known.
    """
    before = comparison.before
    was_listed = before.listed_whole > 0
    prepared = np.concatenate([longs(comparison.listed["prepared_epoch"]), before.prepared[was_listed]])
    listed_at = np.concatenate([comparison.listed_keys, before.at[was_listed]])
    unknown_epochs = np.bincount(listed_at[prepared == UNKNOWN], minlength=key_count)[keys]
    span = 1 + max(0, *(int(each.max(initial=0)) for each in (prepared, marker_epochs)))
    has_own_marker = np.isin(keys * span + marker_epochs, listed_at * span + prepared)
    return (marker_epochs != UNKNOWN) & ~has_own_marker, unknown_epochs == 0
