"""What the report says of producers, of one and of several."""

from __future__ import annotations

from typing import Any, cast

import duckdb
import pyarrow as pa
import pytest
import sqlglot

from fencepost.protocols.producer_epoch import report
from fencepost.protocols.producer_epoch.report import Producers
from fencepost.reading import Reader

ONE = """Lines are missing in the request logs of 2 brokers: there is none of 1 committed transaction from
1 transaction: 1 committed, 0 aborted, 0 open (0 of them past their timeout).
1 EndTxn request, 0 of them refused. The shipped rule decides 0 of them otherwise than KIP-890
1 request of a fenced producer was refused: 1 by a new instance.
1 transactional id expired.
1 transactional id was removed while a transaction was open, as no coordinator does.
1 transactional id was lost with its coordinator's log.
1 transactional id is taken by clients from each other in turn. Most often t: 1 time by a and b.
1 batch was refused: 1 of a fenced producer.
1 local bump of 1 producer without transactional id; it wrote 1 record twice. For 1 bump that is not known.
Producers waited 1 time for a transaction of theirs to be complete (CONCURRENT_TRANSACTIONS).
Consumers waited 1 time for offsets that a transaction held (UNSTABLE_OFFSET_COMMIT).
1 partition holds back what read_committed consumers see: 1 may be aborted, 0 not, and of 0 that is
1 dangling transaction holds back what read_committed consumers see; the oldest:"""
MANY = """there is none of 2,000 committed transactions from
2,000 transactions: 1 committed, 0 aborted, 0 open (0 of them past their timeout).
2,000 EndTxn requests, 0 of them refused. The shipped rule decides 0 of them otherwise than KIP-890
2,000 requests of fenced producers were refused: 2,000 by a new instance.
2,000 transactional ids expired.
2,000 transactional ids were removed while a transaction was open, as no coordinator does.
2,000 transactional ids were lost with their coordinator's log.
2,000 transactional ids are taken by clients from each other in turn. Most often t: 2,000 times by a and b.
2,000 batches were refused: 2,000 of a fenced producer.
2,000 local bumps of 2,000 producers without transactional id; they wrote 2,000 records twice.
For 2,000 bumps that is not known.
Producers waited 2,000 times for a transaction of theirs to be complete
Consumers waited 2,000 times for offsets that a transaction held (UNSTABLE_OFFSET_COMMIT).
2,000 partitions hold back what read_committed consumers see: 1 may be aborted, 0 not, and of 0 that is
2 dangling transactions hold back what read_committed consumers see; the oldest:"""


class _Marts:
    """A reader of a lake in which everything happened so many times."""

    def __init__(self, number: int) -> None:
        named = {"cluster": "c", "transactional_id": "t", "group_id": "g", "contenders": "a and b"}
        waits = {"waited_ms": 5, "awaited_partition": None, "broker_id": None, "waited_for": None}
        ends = {"all": number, "committed": 1, "aborted": 0, "open": 0, "late": 0}
        some = dict.fromkeys(
            ("bumps", "producers", "again", "expired", "removed", "deleted", "contended"), number
        )
        missing = {"number": number, "brokers": 2, "first_at": None, "last_at": None}
        row = {**named, **waits, **some, **missing, "turns": number, "episodes": number, "answers": number}
        self._rows = {
            report._ENDS: [named | ends],
            report._REFUSED: [named | {"requests": number, "refused": 0, "unlike": 0, "unknown": 0}],
            report._CAUSES: [named | {"cause": "new_instance", "times": number}],
            report._PRODUCES: [named | {"reason": "epoch_is_over", "times": number}],
            report._BUMPED: [row | {"unknown": number}],
            report._HELD: [named | {"held": number, "yes": 1, "no": 0, "unknown": 0}],
            report._DANGLING: [named | {"remedy": "abort it"}] * min(number, 2),
        }
        self._row = row

    def query(self, sql: str) -> pa.Table:
        return pa.Table.from_pylist(self._rows.get(sql, [self._row]))


@pytest.mark.parametrize(("number", "said"), [(1, ONE), (2000, MANY)])
def test_numbers_and_nouns_agree(number: int, said: str) -> None:
    lines = Producers(cast(Reader, cast(Any, _Marts(number))))("c")
    text = " ".join(" ".join(lines).split())
    for sentence in said.splitlines():
        assert sentence in text, text


def test_batches_that_came_too_early_are_no_fault_of_the_client() -> None:
    """A batch that comes before the last transaction is complete is refused, and so is the one behind it."""
    marts = _Marts(1)
    with duckdb.connect() as database:
        database.execute("""
            CREATE SCHEMA marts;
            CREATE TABLE marts.fct_refused_produces AS SELECT 'c' AS cluster, NULL AS fencing_cause, *
            FROM (VALUES
                ('CONCURRENT_TRANSACTIONS', 'not_in_transaction', 'NONE'),
                ('OUT_OF_ORDER_SEQUENCE_NUMBER', 'out_of_sequence', 'CONCURRENT_TRANSACTIONS'),
                ('OUT_OF_ORDER_SEQUENCE_NUMBER', 'out_of_sequence', 'NONE'),
                ('OUT_OF_ORDER_SEQUENCE_NUMBER', 'out_of_sequence', NULL),
                ('INVALID_TXN_STATE', 'not_in_transaction', 'NONE'),
                ('INVALID_TXN_STATE', 'not_in_transaction', 'NONE'),
                ('INVALID_TXN_STATE', 'not_in_transaction', 'NONE')
            ) AS t (error, reason, error_before)
        """)
        (sql,) = sqlglot.transpile(report._PRODUCES, read="spark", write="duckdb")
        marts._rows[report._PRODUCES] = database.sql(sql).to_arrow_table().to_pylist()
    lines = Producers(cast(Reader, cast(Any, marts)))("c")
    assert (
        "7 batches were refused: 3 outside a transaction, 2 out of sequence, though the broker had lost "
        "nothing that is known, 1 behind one that had been refused, 1 while the coordinator was busy with a "
        "transaction of theirs."
    ) in " ".join(" ".join(lines).split())


def test_nobody_is_said_to_have_fenced_a_producer_whose_id_had_expired() -> None:
    marts = _Marts(1)
    with duckdb.connect() as database:
        database.execute("""
            CREATE SCHEMA marts;
            CREATE TABLE marts.fct_refused_produces AS
            SELECT 'c' AS cluster, 'epoch_is_over' AS reason, 'NONE' AS error_before, * FROM (VALUES
                ('INVALID_PRODUCER_ID_MAPPING', 'expired'),
                ('INVALID_PRODUCER_ID_MAPPING', 'expired'),
                ('INVALID_PRODUCER_ID_MAPPING', 'new_instance'),
                ('INVALID_PRODUCER_EPOCH', NULL)
            ) AS t (error, fencing_cause)
        """)
        (sql,) = sqlglot.transpile(report._PRODUCES, read="spark", write="duckdb")
        marts._rows[report._PRODUCES] = database.sql(sql).to_arrow_table().to_pylist()
    lines = Producers(cast(Reader, cast(Any, marts)))("c")
    said = "4 batches were refused: 2 of a fenced producer, 2 of a producer whose id had expired."
    assert said in " ".join(" ".join(lines).split())
