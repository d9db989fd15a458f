"""Times of which lines of a request log are missing: told where clients' numbers show it, else not."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, cast

import pyarrow as pa
import pytest

from fencepost.formats.request_ids import RequestIds
from fencepost.formats.request_log import parse_lines
from fencepost.replay.evidence import Evidence
from fencepost.replay.silences import silences
from fencepost.tables import Table

EVERY_MS = 500
END_MS = 60_000
OFF = range(20_000, 40_000)
JAVA, LIBRDKAFKA = "apache-kafka-java", "librdkafka"

Line = tuple[int, int, str]
"""When it was logged, its correlation id, and its connection."""


class Rows:
    """An engine that has rows of two tables."""

    def __init__(self, **of: list[dict[str, Any]]) -> None:
        self._of = of

    def scan(self, table: Table, columns: Sequence[str] = ()) -> pa.Table:
        rows = pa.Table.from_pylist(self._of[table.name.partition(".")[2]], table.arrow_schema)
        return rows.select(list(columns or table.columns))

    def map(self, rows: pa.Table, change: Any, schema: pa.Schema) -> pa.Table:
        return change(rows).cast(schema)

    def collect(self, rows: pa.Table) -> pa.Table:
        return rows


def connection(number: int) -> str:
    return f"127.0.0.1:9092-127.0.0.1:{number}-0-1"


def ticks(times: Iterable[int] = range(0, END_MS, EVERY_MS), at: int = 41) -> list[Line]:
    """A request each half second on one connection."""
    return [(ms, number, connection(at)) for number, ms in enumerate(times)]


def logged(lines: Iterable[Line], broker: int = 1, software: str = JAVA) -> list[dict[str, Any]]:
    """The rows of ``bronze.request_ids`` of a log with these lines."""
    ids = RequestIds()
    texts = []
    for ms, number, place in sorted(lines):
        body = {
            "isForwarded": False,
            "requestHeader": {
                "requestApiKey": 78, "requestApiVersion": 1, "correlationId": number, "clientId": "c",
                "requestApiKeyName": "SHARE_FETCH",
            },
            "request": {}, "response": {}, "connection": place, "totalTimeMs": 1.0,
            "clientInformation": {"softwareName": software, "softwareVersion": "4.3.1"},
        }  # fmt: skip
        text = json.dumps(body, separators=(",", ":"))
        time = f"2026-11-20 22:{ms // 60_000:02}:{ms // 1000 % 60:02},{ms % 1000:03}"
        texts.append(f"[{time}] DEBUG Completed request:{text} (kafka.request.logger)\n")
    parse_lines("".join(texts).encode(), {}, ids=ids)
    return [{"cluster": "c", "broker_id": broker, "file": f"log-{broker}", **row} for row in ids.take()]


def found(
    *rows: Mapping[str, Any], brokers: Iterable[int] = (1,), unread: Iterable[str] = ()
) -> list[tuple[int, int]]:
    """The seconds in their hour of the times of which lines of broker 1 are missing."""
    metadata = SimpleNamespace(registrations=dict.fromkeys(brokers, ()))
    evidence = SimpleNamespace(
        engine=Rows(request_ids=[dict(each) for each in rows]), metadata={"c": metadata}
    )
    told = silences(cast(Evidence, evidence), {"c": {file: [7] for file in unread}})
    assert {each.broker for each in told} <= {("c", 1)}
    return [(each.first_ms % 3_600_000 // 1000, each.last_ms % 3_600_000 // 1000) for each in told]


def on(lines: Iterable[Line]) -> list[Line]:
    """Those of the lines that a logger writes that is off for a while."""
    return [each for each in lines if each[0] not in OFF]


@pytest.mark.parametrize("software", [JAVA, LIBRDKAFKA])
def test_numbers_that_go_on_after_a_time_without_lines_show_that_some_are_missing(software: str) -> None:
    assert found(*logged(on(ticks()), software=software)) == [(19, 40)]
    assert found(*logged(ticks(), software=software)) == []


def test_nothing_is_missing_where_nobody_spoke() -> None:
    awake = [ms for ms in range(0, END_MS, EVERY_MS) if ms not in OFF]
    assert found(*logged(ticks(awake))) == []
    # but for the metadata that an idle client asks for, which a filter leaves out
    asked = [(ms, number + (ms >= OFF.stop), place) for ms, number, place in ticks(awake)]
    assert found(*logged(asked)) == []


def test_a_log_without_some_apis_tells_nothing() -> None:
    assert found(*logged([each for each in on(ticks()) if each[1] % 3])) == []
    # commits that follow each other for a moment, after long fetches that are not logged
    commits = [(ms + number, ms // 100 + number, connection(41))
               for ms in (5_000, 25_000, 45_000) for number in range(50)]  # fmt: skip
    assert found(*logged(commits)) == []


def test_one_counter_for_all_brokers_tells_only_with_all_logs() -> None:
    """A Java client may have spoken to the other broker meanwhile; others count for each connection."""
    own, elsewhere = on(ticks()), [each for each in ticks(at=42) if each[0] in OFF]
    assert found(*logged(own), brokers=(1, 2)) == []
    assert found(*logged(own), brokers=()) == []
    assert found(*logged(own), *logged(elsewhere, broker=2), brokers=(1, 2)) == []
    assert found(*logged(own), *logged(ticks(at=42)[:1], broker=2), brokers=(1, 2)) == [(19, 40)]
    assert found(*logged(own, software=LIBRDKAFKA), brokers=()) == [(19, 40)]


def test_connections_of_a_java_client_are_seen_together() -> None:
    heartbeats = [(ms, number, connection(40 + (number % 5 == 0))) for ms, number, _ in on(ticks())]
    assert found(*logged(heartbeats)) == [(19, 40)]


def test_lines_that_could_not_be_read_are_not_missing() -> None:
    assert found(*logged(on(ticks())), unread=["log-1"]) == []


def test_each_time_of_several_is_told() -> None:
    twice = [each for each in ticks(range(0, 2 * END_MS, EVERY_MS)) if each[0] % END_MS not in OFF]
    assert found(*logged(twice)) == [(19, 40), (79, 100)]
