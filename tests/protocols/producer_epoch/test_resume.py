"""A replay can be resumed anywhere from the state that it carries over."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from fencepost.protocols.producer_epoch import partitions
from fencepost.protocols.producer_epoch.causes import Enders
from fencepost.protocols.producer_epoch.given_epochs import GivenEpoch
from fencepost.protocols.producer_epoch.id_state import UNKNOWN_ID, IdState
from fencepost.protocols.producer_epoch.log_state import (
    ANSWERED,
    BUMPED,
    Carried,
    KnownStretch,
    LogState,
    empty,
)
from fencepost.protocols.producer_epoch.partition_log import PartitionEvidence
from fencepost.protocols.producer_epoch.partition_slice import PartitionSlice
from fencepost.protocols.producer_epoch.sliced_log import SlicedLog
from fencepost.protocols.producer_epoch.state import dump_id, dump_log, load_ids, load_logs
from fencepost.protocols.producer_epoch.tables import ID_STATES, LOG_STATES
from fencepost.protocols.producer_epoch.transaction_log import TransactionRecord
from fencepost.protocols.producer_epoch.transaction_metadata import TransactionMetadata
from fencepost.protocols.producer_epoch.transactions import Transaction
from fencepost.replay.logs import COMPACTED, Batches, Log

Rows = dict[str, list[dict[str, Any]]]


_OF_ID = {"cluster": ["c"], "partition": [0], "partition_key": ["0"], "transactional_id": ["tx"]}
_OF_LOG = {"cluster": ["c"], "topic": ["t"], "topic_id": [None], "partition": [0]}


def _stored(carried: Carried) -> Carried:
    """The state of producers, dumped and loaded."""
    transactions = len(carried.transactions.first_row)
    answered = {name: np.zeros(transactions, dtype=np.int64) for name in ANSWERED}
    dumped = dump_log(LogState(KnownStretch(), carried, answered, empty(BUMPED)))
    rows = pa.table({**_OF_LOG, "state": [dumped]}, schema=LOG_STATES.arrow_schema)
    return load_logs(rows)["c", "t", 0, None].carried


class _Stored(SlicedLog):
    """A log whose carried state is dumped and loaded after every few batches."""

    rows = 1

    def __init__(self, evidence: PartitionEvidence) -> None:
        super().__init__(evidence, self.rows)

    def slices(self) -> Iterator[PartitionSlice]:
        for each in super().slices():
            each.carried = _stored(each.carried)
            yield each


def _rows(clusters: dict[str, Rows]) -> dict[tuple[str, str], Counter[str]]:
    return {
        (cluster, table): Counter(repr(sorted(row.items())) for row in rows)
        for cluster, tables in clusters.items()
        for table, rows in tables.items()
    }


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_slices_of_a_partitions_log_give_the_rows_of_the_whole_log(
    rows: int,
    cases: dict[str, Any],
    replayed: Callable[..., dict[str, Rows]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = _rows(replayed(cases))
    monkeypatch.setattr(_Stored, "rows", rows)
    monkeypatch.setattr(partitions, "SlicedLog", _Stored)
    monkeypatch.setattr(partitions, "PIECE_ROWS", 2)
    assert _rows(replayed(cases)) == whole


def _record(offset: int, status: str, epoch: int, stretch: int = 0) -> TransactionRecord:
    return TransactionRecord(
        offset, 100 * offset, 0, stretch, False, "tx", False, status, 7, epoch, -1, -1, 60_000, (), None, 2
    )


def test_a_transactional_id_is_resumed_from_its_stored_state() -> None:
    records = [
        _record(0, "Empty", 0),
        _record(1, "Ongoing", 0),
        _record(2, "PrepareCommit", 1),
        _record(3, "CompleteCommit", 1),
        _record(9, "Ongoing", 1, stretch=1),
        _record(10, "PrepareCommit", 2, stretch=1),
    ]
    whole = TransactionMetadata(Enders([], 5))
    expected = [whole.replay(record, None) for record in records]
    state, transitions = UNKNOWN_ID, []
    for record in records:
        dumped = pa.table({**_OF_ID, "state": [dump_id(state)]}, schema=ID_STATES.arrow_schema)
        state = load_ids(dumped)["c", "0"]["tx"]
        transition = TransactionMetadata(Enders([], 5), newest=state.newest).replay(record, None)
        state = state._replace(newest=transition, transaction=Transaction(0, record, record))
        transitions.append(transition)
    assert transitions == expected
    assert [each.last_epoch for each in transitions] == [-1, -1, 0, 0, None, 1]
    remembered = [each.remembered_epoch for each in transitions]
    assert [each and each.epoch for each in remembered] == [-1, -1, 0, 0, None, 1]


@pytest.mark.parametrize("name", ['"', "\x00", "\\u0000", "\u202e é \U0001f600", "null", "1"])
def test_a_state_keeps_any_name(name: str) -> None:
    record = _record(2, "Ongoing", 0)._replace(transactional_id=name, partitions=(f"{name}:0",))
    transition = TransactionMetadata(Enders([], 5)).replay(record, None)
    given = (GivenEpoch(2, 7, 0, 1, name, None),)
    state = IdState(3, transition, Transaction(0, record, record), 0, given)
    dumped = pa.table({**_OF_ID, "state": [dump_id(state)]}, schema=ID_STATES.arrow_schema)
    assert load_ids(dumped)["c", "0"]["tx"] == state


def test_a_state_counts_only_for_the_record_that_compaction_left() -> None:
    # all before offset 7 is compacted
    columns = ((7, 8), (7, 9), (0, 0), (1, 2), (700, 900), (0, 0), (0, 8))
    batches = Batches(*(np.array(each, dtype=np.int64) for each in columns), files=("log",))
    log = Log(batches, cleaned_to=[8])
    record = _record(3, "Ongoing", 1)
    transition = TransactionMetadata(Enders([], 5)).replay(record, None)
    left = record._replace(offset=7, based=True, stretch=COMPACTED)
    state = UNKNOWN_ID._replace(offset=8, newest=transition)
    assert state.precedes([left, _record(9, "PrepareCommit", 2)], log)
    assert not UNKNOWN_ID.precedes([left], log)
    # another record was left, or the log is compacted up to another offset
    assert not state.precedes([left._replace(producer_epoch=2)], log)
    assert not state.precedes([], log)
    assert not state._replace(offset=7).precedes([left], log)
    # of an expired id nothing is left
    expired = state._replace(newest=transition._replace(record=record._replace(tombstone=True)))
    assert expired.precedes([_record(9, "Empty", 2)], log)
    assert not expired.precedes([left], log)
