"""The driver's account of producer epochs, on histories small enough to check by eye."""

from __future__ import annotations

import pytest
from brokers import LabError
from epochs import Epochs
from truth import GroundTruth

ID, PLACE = "tx", ("t", 0)


@pytest.fixture
def truth() -> GroundTruth:
    return GroundTruth()


@pytest.fixture
def epochs(truth: GroundTruth) -> Epochs:
    """Epoch 1 by the end of a transaction; a new instance comes into the next one."""
    account = Epochs(truth)
    account.moved(ID, (5, 0), "new_instance")
    account.wrote(ID, "case", (5, 0), PLACE, range(0, 3))
    account.ended(ID, "committed")
    account.moved(ID, (5, 1), "end_txn")
    account.wrote(ID, "case", (5, 1), PLACE, range(4, 6))
    account.wrote(ID, "case", (5, 1), ("t", 1), range(0))
    account.moved(ID, (5, 3), "new_instance")
    return account


def test_who_is_left_behind(epochs: Epochs) -> None:
    fenced = epochs.verdict(ID, (5, 1), "PRODUCER_FENCED")
    held = [{"topic": "t", "partition": 0, "records": 2}, {"topic": "t", "partition": 1, "records": 0}]
    assert fenced == {
        "victim": True,
        "cause": "new_instance",
        "current_producer_id": 5,
        "current_epoch": 3,
        "in_flight": held,
    }
    assert epochs.verdict(ID, (5, 0), "INVALID_PRODUCER_EPOCH")["cause"] == "end_txn"


@pytest.mark.parametrize(
    ("presented", "error"),
    [
        ((5, 3), "PRODUCER_FENCED"),  # current
        ((5, 1), "NONE"),
        ((5, 1), "CONCURRENT_TRANSACTIONS"),
        ((6, 1), "PRODUCER_FENCED"),  # never given to anybody
        ((5, 0), "INVALID_TXN_STATE"),  # its own EndTxn once more, with the other outcome
    ],
)
def test_who_is_not(epochs: Epochs, presented: tuple[int, int], error: str) -> None:
    assert not epochs.verdict(ID, presented, error)["victim"]


def test_transactions_are_written_down(epochs: Epochs, truth: GroundTruth) -> None:
    epochs.wrote(ID, "case", (5, 3), PLACE, range(8, 9))
    epochs.end_of_recording()
    told = [(row["producer_epoch"], row["outcome"], row["abort_cause"]) for row in truth.rows]
    assert told == [(0, "committed", None), (1, "aborted", "new_instance"), (3, "open", None)]
    assert truth.rows[0]["partitions"] == [
        {"topic": "t", "partition": 0, "records": 3, "first_offset": 0, "last_offset": 2}
    ]


def test_a_transaction_has_one_epoch(epochs: Epochs) -> None:
    epochs.wrote(ID, "case", (5, 3), PLACE, range(8, 9))
    with pytest.raises(LabError, match="has a transaction of"):
        epochs.wrote(ID, "case", (5, 1), PLACE, range(9, 10))
