"""What the metadata log tells of brokers' dynamic configurations, and what it does not."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from fencepost.capture.plan import SEGMENT, Source
from fencepost.capture.readers import read_all
from fencepost.replay.dynamic_configs import DynamicConfigs
from fencepost.replay.metadata_log import Commit, Hole, MetadataLog, metadata_log
from fencepost.replay.metadata_records import CONFIG, MetadataRecord
from fencepost.tables import BATCHES, QUARANTINE, RECORDS

NAME = "producer.id.expiration.ms"
MINUTE, HOUR = 60_000, 3_600_000


def _told(ms: int, resource: str, value: str | None, kind: int = 4) -> MetadataRecord:
    fields = {"resource_type": kind, "resource_name": resource, "name": NAME, "value": value}
    return MetadataRecord(ms, ms, CONFIG, fields)


def test_a_broker_has_its_own_value_or_that_of_all() -> None:
    log = MetadataLog.of_records(
        [
            _told(HOUR, "", "10"),
            _told(2 * HOUR, "1", "20"),
            _told(3 * HOUR, "1", None),
            _told(4 * HOUR, "", None),
            _told(5 * HOUR, "orders", "99", kind=2),
        ]
    )
    known = DynamicConfigs.of(log)

    def at(broker_id: int, hours: float) -> tuple[str, ...] | None:
        ms = round(hours * HOUR)
        return known.between(NAME, broker_id, ms, ms)

    # before anybody was told, and when it was taken back, the file of the broker stands, which nobody reads
    assert [at(1, hours) for hours in (0.5, 1.5, 2.5, 3.5, 4.5)] == [None, ("10",), ("20",), ("10",), None]
    assert [at(2, hours) for hours in (0.5, 1.5, 2.5, 3.5, 4.5)] == [None, ("10",), ("10",), ("10",), None]
    assert known.between(NAME, 1, round(1.5 * HOUR), round(2.5 * HOUR)) == ("10", "20")
    # a broker hears of it a while after it was written, and its clock is another
    assert known.between(NAME, 1, 2 * HOUR + MINUTE, 2 * HOUR + MINUTE) == ("10", "20")
    assert known.between(NAME, 1, HOUR - MINUTE, HOUR - MINUTE) is None
    assert known.between("log.retention.ms", 1, 0, HOUR) is None


def test_nothing_is_known_of_what_comes_after_the_log() -> None:
    known = DynamicConfigs.of(MetadataLog.of_records([_told(0, "", "10")]))
    assert known.between(NAME, 1, HOUR, HOUR) is None
    assert DynamicConfigs().between(NAME, 1, 0, 0) is None


def test_after_a_hole_a_broker_may_have_a_value_that_nobody_saw() -> None:
    commits = [
        Commit(n, n * HOUR, (_told(n * HOUR, *told),)) for n, told in ((1, ("", "10")), (3, ("", "30")))
    ]
    own = Commit(5, 5 * HOUR, (_told(5 * HOUR, "1", "50"),))
    image = Commit(7, 7 * HOUR, (_told(0, "", "70"),), is_snapshot=True)
    pieces = (commits[0], Hole(2, 2 * HOUR), commits[1], own, Hole(6, 6 * HOUR), image)
    known = DynamicConfigs.of(MetadataLog(pieces, (), 8, 8 * HOUR, True))
    values = [known.between(NAME, 1, ms, ms) for ms in (n * HOUR + HOUR // 2 for n in range(1, 8))]
    assert values == [("10",), None, None, None, ("50",), None, ("70",)]


def test_a_real_broker_was_told_while_it_ran(captures: Path) -> None:
    """``idempotent-4.3.1``: two seconds for a while, then a day."""
    found: dict[str, list[pa.RecordBatch]] = {}
    for file in (captures / "idempotent-4.3.1/broker-1/log_dir").glob("__cluster_metadata-0/*.log"):
        place = {"topic": "__cluster_metadata", "partition": 0, "end": file.stat().st_size}
        for table, rows in read_all([Source("c", 1, SEGMENT, str(file), **place)]):
            found.setdefault(table.name, []).append(rows)
    batches, records = (pa.Table.from_batches(found[each.name]) for each in (BATCHES, RECORDS))
    log = metadata_log(batches, records, QUARANTINE.arrow_schema.empty_table())
    known = DynamicConfigs.of(log)
    assert [values.of("1") for values in known.history[NAME]] == [None, "2000", "86400000"]
    # a minute has not gone by since
    assert log.known_ms is not None
    assert known.between(NAME, 1, log.known_ms, log.known_ms) is None
