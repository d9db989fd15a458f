"""Offsets stored outside Kafka: what is read of them, and whether they are safe to seek to."""

from __future__ import annotations

import base64
import datetime as dt
import json
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from pyspark.sql import SparkSession

from fencepost import lake
from fencepost.opening import ensure, open_lake
from fencepost.protocols.base import UsageError
from fencepost.protocols.leader_epoch import tables
from fencepost.protocols.leader_epoch.offset_epoch import OffsetEpoch, encode
from fencepost.protocols.leader_epoch.stored.command import run
from fencepost.protocols.leader_epoch.stored.lives import PartitionLife, TopicLife, lives
from fencepost.protocols.leader_epoch.stored.offsets import StoredOffset, stored_offsets
from fencepost.protocols.leader_epoch.stored.seek import judge
from fencepost.reading import LakeError
from fencepost.reading.spark import SparkReader
from fencepost.settings import Settings
from fencepost.tables import Table

ID, OLD_ID = "PSvpru7T6iKzcADdw-lUwQ", "OLDpru7T6iKzcADdw-lUwQ"
NOON = dt.datetime(2026, 1, 2, 12)
HOUR = dt.timedelta(hours=1)
# epoch 3 was unclean: what epoch 1 wrote from 50 on is lost
LOG = PartitionLife(
    partition_epoch=9,
    leader_epoch=4,
    epochs=((0, 0), (1, 20), (3, 50)),
    covered=((10, 90),),
    log_start=10,
    lost_from=50,
    loses=True,
    known_at=NOON + HOUR,
)
TOPIC = TopicLife(ID, live=True, is_first=False, created_at=NOON - HOUR, partitions=1, of_partition={0: LOG})
OF_ID = StoredOffset("orders", 0, 30, OffsetEpoch(1, -1), ID, None)


def told(stored: StoredOffset, life: TopicLife | None = TOPIC) -> tuple[bool | None, str | None]:
    safe, reason, detail = judge(stored, {} if life is None else {"orders": life})
    assert (safe is True) == (reason is None) == (detail is None)
    assert detail is None or len(detail.split()) > 4
    return safe, reason


def of_log(**changed: Any) -> TopicLife:
    return replace(TOPIC, of_partition={0: replace(LOG, **changed)})


@pytest.mark.parametrize(
    ("offset", "epoch", "expected"),
    [
        (30, 1, (True, None)),
        (50, 1, (True, None)),
        (51, 1, (False, "past_truncation")),
        (51, 2, (False, "past_truncation")),
        (51, 3, (True, None)),
        (90, 3, (True, None)),
        (90, 4, (True, None)),
        (91, 4, (None, "above_log_end")),
        (91, 1, (False, "past_truncation")),
        (21, 0, (False, "past_truncation")),
        (20, 0, (True, None)),
        (9, 0, (False, "below_log_start")),
        (10, 0, (True, None)),
        (30, 5, (None, "epoch_unknown")),
        (50, -1, (True, None)),
        (51, -1, (None, "epoch_unknown")),
    ],
)
def test_places_in_the_live_log(offset: int, epoch: int, expected: tuple[bool | None, str | None]) -> None:
    assert told(replace(OF_ID, offset=offset, epochs=OffsetEpoch(epoch, -1))) == expected


def test_where_evidence_is_missing_nothing_is_called_safe() -> None:
    without_epoch = replace(OF_ID, epochs=OffsetEpoch(-1, -1))
    assert told(without_epoch, of_log(loses=False, lost_from=None)) == (True, None)
    assert told(without_epoch, of_log(loses=None, lost_from=None)) == (None, "epoch_unknown")
    assert told(without_epoch, of_log(loses=None)) == (None, "epoch_unknown")
    assert told(OF_ID, of_log(covered=((10, 25), (40, 90)))) == (None, "not_covered")
    assert told(OF_ID, of_log(covered=(), log_start=None)) == (None, "not_covered")
    assert told(replace(OF_ID, offset=5), of_log(log_start=None)) == (None, "not_covered")
    # what was stored long before the newest batch was written, and is behind it, cannot come any more
    late = replace(OF_ID, offset=95, epochs=OffsetEpoch(4, -1), stored_at=NOON)
    assert told(late) == (False, "above_log_end")
    assert told(late, of_log(known_at=None)) == (None, "above_log_end")
    assert told(replace(late, stored_at=NOON + HOUR)) == (None, "above_log_end")


@pytest.mark.parametrize(
    ("topic_id", "partition_epoch", "stored_at", "expected"),
    [
        (ID, -1, None, (True, None)),
        (OLD_ID, -1, None, (False, "another_incarnation")),
        (OLD_ID, 9, None, (False, "another_incarnation")),
        (None, 9, None, (True, None)),
        (None, 8, None, (False, "another_incarnation")),
        (None, 10, None, (None, "incarnation_unknown")),
        (ID, 8, None, (None, "incarnation_unknown")),
        (None, -1, NOON - 2 * HOUR, (False, "another_incarnation")),
        (None, -1, NOON, (True, None)),
        (None, -1, NOON - HOUR + dt.timedelta(seconds=30), (None, "incarnation_unknown")),
        (None, -1, None, (None, "incarnation_unknown")),
    ],
)
def test_whose_incarnation_an_offset_is(
    topic_id: str | None, partition_epoch: int, stored_at: Any, expected: tuple[bool | None, str | None]
) -> None:
    epochs = OffsetEpoch(1, partition_epoch)
    assert told(StoredOffset("orders", 0, 30, epochs, topic_id, stored_at)) == expected


def test_topics_that_do_not_live() -> None:
    assert told(OF_ID, None) == (None, "topic_unknown")
    assert told(OF_ID, replace(TOPIC, live=None)) == (None, "topic_unknown")
    assert told(OF_ID, replace(TOPIC, live=False)) == (False, "topic_deleted")
    assert told(replace(OF_ID, partition=1)) == (False, "no_such_partition")
    assert told(replace(OF_ID, partition=1), replace(TOPIC, partitions=None)) == (None, "partition_unknown")
    by_name = replace(OF_ID, topic_id=None)
    assert told(by_name, replace(TOPIC, is_first=True)) == (True, None)
    unknown = replace(of_log(partition_epoch=None), created_at=None)
    assert told(replace(by_name, epochs=OffsetEpoch(1, 9)), unknown) == (None, "incarnation_unknown")


EPOCH_BYTES = encode(1, 9)
ROWS: list[dict[str, Any]] = [
    {"topic": "orders", "partition": 0, "offset": 30, "offset_epoch": EPOCH_BYTES, "stored_at": NOON},
    {"topic": 'a"b,\n☃', "partition": 7, "offset": 2**63 - 1, "topic_id": ID, "leader_epoch": -1},
]
STORED = [
    StoredOffset("orders", 0, 30, OffsetEpoch(1, 9), None, NOON),
    StoredOffset('a"b,\n☃', 7, 2**63 - 1, OffsetEpoch(-1, -1), ID, None),
]


def no_lake() -> Any:
    """A file is read without one."""
    return None


@pytest.mark.parametrize("text", [EPOCH_BYTES.hex(), base64.b64encode(EPOCH_BYTES).decode()])
def test_every_form_of_a_file_is_read_alike(tmp_path: Path, text: str) -> None:
    table, lines, comma = tmp_path / "o.parquet", tmp_path / "o.jsonl", tmp_path / "o.csv"
    parquet.write_table(
        pa.Table.from_pylist([dict.fromkeys({**ROWS[0], **ROWS[1]}) | row for row in ROWS]), table
    )
    as_text = [{**ROWS[0], "offset_epoch": text, "stored_at": "2026-01-02T13:00:00+01:00"}, ROWS[1]]
    lines.write_text("".join(json.dumps(row) + "\n\n" for row in as_text))
    comma.write_text(
        "stored_at,topic,partition,offset,offset_epoch,topic_id,leader_epoch,note\n"
        f"2026-01-02T12:00:00Z,orders,0,30,{text},,,x\n"
        f',"a""b,\n☃",7,{2**63 - 1},,{ID},-1,\n'
    )
    for file in (table, lines, comma):
        assert stored_offsets(no_lake(), str(file)) == STORED, file


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("o.csv", "topic,partition\nt,0\n", "o.csv, line 2: offset is missing"),
        ("o.csv", "topic,partition,offset\nt,0,1\nt,0,1,5\n", "line 3: more fields"),
        ("o.csv", "topic,partition,offset\nt,zero,1\n", "line 2: partition 'zero' is no whole number"),
        ("o.csv", "topic;partition;offset\nt;0;1\n", "line 2: topic, partition, offset are missing"),
        ("o.csv", "topic,partition,offset\nt,0,-1\n", "line 2: offset -1 is no whole number"),
        ("o.csv", 'topic,partition,offset\n"t', "line 2: unexpected end of data"),
        ("o.csv", b"topic,partition,offset\n\xff,0,1\n", "no UTF-8 at byte"),
        ("o.jsonl", '{"topic":"t","partition":0,"offset":1}\n{"topic"\n', "line 2: no JSON"),
        ("o.json", '[{"topic":"t"}]\n', "line 1: no JSON object"),
        ("o.jsonl", '{"topic":"t","partition":0,"offset":true}', "line 1: offset True"),
        ("o.jsonl", '{"topic":["t"],"partition":0,"offset":1}', "line 1: topic \\['t'\\] is no text"),
        ("o.jsonl", '{"topic":"t","partition":0,"offset":1,"topic_id":"x"}', "line 1: topic_id 'x'"),
        ("o.jsonl", '{"topic":"t","partition":0,"offset":1,"stored_at":"soon"}', "line 1: stored_at 'soon'"),
        ("o.jsonl", '{"topic":"t","partition":0,"offset":1,"offset_epoch":"A?"}', "neither base64"),
        (
            "o.jsonl",
            '{"topic":"t","partition":0,"offset":1,"offset_epoch":"AQ=="}',
            "line 1: offsetEpoch of version 1",
        ),
        (
            "o.jsonl",
            '{"topic":"t","partition":0,"offset":1,"leader_epoch":2,"offset_epoch":"000000000100000009"}',
            "line 1: leader_epoch 2 is not that in offset_epoch, 1",
        ),
        ("o.parquet", "PAR1", "no Parquet"),
        ("o.txt", "", "no table"),
        ("o.csv", None, "No such file"),
    ],
)
def test_bad_input_is_named_with_its_line(tmp_path: Path, name: str, content: Any, said: str) -> None:
    file = tmp_path / name
    if content is not None:
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UsageError, match=said):
        stored_offsets(no_lake(), str(file))


def fill(settings: Settings) -> None:
    """LOG and TOPIC as rows of silver, behind an incarnation that is gone."""
    catalog = ensure(settings.lake)
    of = {"cluster": "c", "topic": "orders", "topic_id": ID, "partition": 0, "partition_key": f"{ID}:0"}

    def put(table: Table, *values: dict[str, Any]) -> None:
        rows = [{name: {**of, **each}.get(name) for name in table.columns} for each in values]
        lake.append(catalog, table, pa.Table.from_pylist(rows, table.arrow_schema))

    gone = {"topic_id": OLD_ID, "incarnation": 1, "live": False, "from_position": 5}
    lives = {"incarnation": 2, "live": True, "created_at": NOON - HOUR, "partitions": 1, "from_position": 80}
    put(tables.TOPIC_INCARNATIONS, lives, gone)
    put(
        tables.PARTITIONS,
        *({"partition_epoch": 9, "leader_epoch": epoch, "from_position": epoch} for epoch in range(5)),
    )
    put(
        tables.LEADER_EPOCHS,
        *(
            {"leader_epoch": epoch, "start_offset": start, "records_lost": 0}
            for epoch, start in LOG.epochs[:2]
        ),
        {"leader_epoch": 2, "records_lost": 0},
        {"leader_epoch": 3, "start_offset": 50, "records_lost": 7, "lost_from": 50},
    )
    put(
        tables.METADATA_COVERAGE,
        {"covered": True, "from_position": 10, "last_position": 90, "last_time": NOON + HOUR},
        {"covered": False, "from_position": 90},
    )
    put(
        tables.LEADER_EPOCH_ENTRIES,
        *(
            {"log_state": "live", "broker_id": 1, "captured_at": NOON, "start_offset": at}
            for at in (10, 20, 50)
        ),
        {"log_state": "delete", "broker_id": 2, "captured_at": NOON, "start_offset": 60},
    )


def test_a_table_is_judged_by_what_the_lake_holds(
    new_lake: Callable[[], tuple[SparkSession, Settings]],
) -> None:
    session, settings = new_lake()
    fill(settings)
    session.sql("CREATE SCHEMA kept")
    session.sql(
        "CREATE TABLE kept.offsets AS SELECT 'orders' AS topic, 0 AS `partition`, o AS `offset`, "
        "offset_epoch(e, 9) AS offset_epoch FROM VALUES (30L, 1), (51L, 1), (5L, 0), (30L, 5) AS t(o, e)"
    )
    arguments = Namespace(stored="kept.offsets", cluster=None)
    expected = [(30, True, None), (51, False, "past_truncation"), (5, False, "below_log_start")]
    expected.append((30, None, "epoch_unknown"))
    with open_lake(settings, "duckdb") as reader:
        for each in (reader, SparkReader(session)):
            found = lives(each, "c")["orders"]
            assert found == replace(
                TOPIC, of_partition={0: replace(LOG, epochs=list(LOG.epochs), covered=[(10, 90)])}
            )
            table, good, _ = run(each, arguments)
            judged = {(row["offset"], row["safe"], row["reason"]) for row in table.to_pylist()}
            assert (judged, good) == (set(expected), False)
        with pytest.raises(UsageError, match="--cluster d: name one of the lake's clusters: c"):
            run(reader, Namespace(stored="kept.offsets", cluster="d"))
        with pytest.raises(LakeError, match=r"kept\.nothing"):
            run(reader, Namespace(stored="kept.nothing", cluster="c"))
