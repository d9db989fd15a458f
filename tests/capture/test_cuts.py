"""A large request log is read in parts by several tasks: where it is cut must not show in what is read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost.capture import cuts, readers, run, text
from fencepost.capture.plan import REQUEST_LOG, Source
from fencepost.settings import Broker
from fencepost.tables import FILES, QUARANTINE, REQUEST_IDS, REQUESTS, TOPIC_ANSWERS, TOPIC_LISTS

if TYPE_CHECKING:
    from conftest import Site

TABLES = (FILES, QUARANTINE, REQUESTS, REQUEST_IDS, TOPIC_LISTS, TOPIC_ANSWERS)


def _cut_at(patch: pytest.MonkeyPatch, chunk: int) -> None:
    for module in (text, cuts):
        patch.setattr(module, "CHUNK", chunk)
    patch.setattr(cuts, "PART", 2 * chunk)


def _source(file: Path, timezone: str = "UTC") -> Source:
    return Source("c", 1, REQUEST_LOG, str(file), 0, file.stat().st_size, timezone=timezone)


def _rows(site: Site) -> dict[str, Counter[str]]:
    of_run = {"cluster", "captured_at", "run_id"}
    return {
        table.name: Counter(
            repr([row[name] for name in table.columns if name not in of_run]) for row in site.rows(table)
        )
        for table in TABLES
    }


@pytest.mark.parametrize("tail", [b"", b"[2026-11-20 22:02:40,024] DEBUG half a l", b"\x01\xff" * 90_000])
def test_parts_of_a_log_make_the_rows_of_the_whole(
    site: Site, captures: Path, monkeypatch: pytest.MonkeyPatch, tail: bytes
) -> None:
    log = site.folder / "kafka-request.log"
    whole = (captures / "healthy-4.2.1" / "broker-1" / "kafka-request.log").read_bytes()
    damaged = whole[:300_000] + b"no line of any log\n" + whole[300_000:]
    log.write_bytes(damaged + tail)
    broker = Broker(1, request_logs=site.glob(log.name))
    found = []
    for is_cut in (False, True):
        site.cluster = f"{site.folder} {is_cut}"
        with monkeypatch.context() as patch:
            # the pieces of a log, of which request_ids has rows, are the same
            _cut_at(patch, 40_000)
            if not is_cut:
                patch.setattr(run, "cut", lambda source: [source])
            assert len(run.cut(_source(log))) > 3 or not is_cut
            site.capture(broker)
            found.append(_rows(site))
            # all is noted as read
            assert site.capture(broker).added["bronze.requests"] == 0
    assert found[0] == found[1]
    assert all(found[0][table.name] for table in (FILES, QUARANTINE, REQUESTS, REQUEST_IDS, TOPIC_LISTS))


def test_a_log_is_noted_when_all_its_parts_were_read(
    site: Site, captures: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = site.folder / "kafka-request.log"
    log.write_bytes((captures / "groups-3.9.2" / "broker-1" / "kafka-request.log").read_bytes())
    broker = Broker(1, request_logs=site.glob(log.name))
    _cut_at(monkeypatch, 40_000)
    read = dict(readers.kinds())
    fails = dict.fromkeys([run.cut(_source(log))[1].start], True)

    def rows(source: Source) -> Iterator[object]:
        if fails.pop(source.start, False):
            raise OSError(5, "the disk is ill")
        yield from read[REQUEST_LOG].rows(source)

    ill = {**read, REQUEST_LOG: replace(read[REQUEST_LOG], rows=rows)}
    monkeypatch.setattr(readers, "kinds", lambda: ill)
    site.capture(broker)
    assert not site.rows(FILES)
    (fault,) = site.rows(QUARANTINE)
    assert "the disk is ill" in fault["detail"]
    site.capture(broker)
    (file,) = site.rows(FILES)
    assert (file["consumed_to"], site.rows(QUARANTINE)) == (log.stat().st_size, [])


def test_a_log_is_not_cut_where_a_clock_shows_an_hour_twice(
    captures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _cut_at(monkeypatch, 40_000)
    lines = (captures / "groups-3.9.2" / "broker-1" / "kafka-request.log").read_bytes()
    for day, is_cut in ((b"2026-10-24", False), (b"2026-10-25", False), (b"2026-10-28", True)):
        log = tmp_path / day.decode()
        log.write_bytes(re.sub(rb"^\[\d{4}-\d\d-\d\d \d\d", b"[%s 12" % day, lines, flags=re.MULTILINE))
        assert (len(cuts.cut(_source(log, "Europe/Berlin"))) > 1) is is_cut
        assert len(cuts.cut(_source(log, "+01:00"))) > 1
