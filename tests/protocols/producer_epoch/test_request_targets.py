"""Requests of producers as brokers of several releases log them."""

from __future__ import annotations

from typing import Any

import pytest

from fencepost.protocols.producer_epoch.request_targets import ADD_PARTITIONS, READERS, RequestTarget

_SENT = {"producerId": 13, "producerEpoch": 1, "topics": [{"name": "orders", "partitions": [2, 3]}]}
_ADDED = {"transactionalId": "payments", **_SENT}
# as brokers up to 3.4, and from 3.5 on, call the fields of the same request
_UP_TO_3_4 = (
    _ADDED,
    {
        "results": [
            {
                "name": "orders",
                "results": [{"partitionIndex": 2, "errorCode": 0}, {"partitionIndex": 3, "errorCode": 47}],
            }
        ]
    },
)
_SINCE_3_5 = (
    {f"v3AndBelow{name[0].upper()}{name[1:]}": value for name, value in _ADDED.items()},
    {
        "resultsByTopicV3AndBelow": [
            {
                "name": "orders",
                "resultsByPartition": [
                    {"partitionIndex": 2, "partitionErrorCode": 0},
                    {"partitionIndex": 3, "partitionErrorCode": 47},
                ],
            }
        ]
    },
)


@pytest.mark.parametrize(("sent", "answer"), [_UP_TO_3_4, _SINCE_3_5])
def test_partitions_added_to_a_transaction_are_read_from_any_release(
    sent: dict[str, Any], answer: dict[str, Any]
) -> None:
    of_producer = RequestTarget(
        transactional_id="payments", producer_id=13, producer_epoch=1, verify_only=False, topic="orders"
    )
    assert list(READERS[ADD_PARTITIONS](sent, answer, 3)) == [
        of_producer._replace(partition=2, error_code=0),
        of_producer._replace(partition=3, error_code=47),
    ]
