"""A run that may read no more than so many bytes leaves the newest files to the next ones."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fencepost import lake, pipeline
from fencepost.capture import capture
from fencepost.capture.silent_logs import NO_REQUESTS
from fencepost.iceberg.catalog import open_catalog
from fencepost.settings import Broker, Cluster
from fencepost.tables import QUARANTINE, REQUEST_IDS, REQUESTS

if TYPE_CHECKING:
    from conftest import Site

OLD, FILES = 1_700_000_000, ("kafka-request.log.2", "kafka-request.log.1", "kafka-request.log")


def _captured(site: Site, at_most: int | None) -> int:
    """How many files wait."""
    broker = Broker(1, request_logs=site.glob("kafka-request.log*"))
    settings = replace(site.settings, clusters=(Cluster(site.cluster, (broker,)),))
    run_id = "collect-0123456789ab-1"
    with pipeline.Run(settings, run_id) as run:
        return capture(
            settings, run.catalog, run.engine_for, run_id, lambda line: None, at_most=at_most
        ).waiting


def test_the_oldest_files_are_read_first_and_nothing_twice(site: Site, captures: Path) -> None:
    lines = (captures / "troubled-4.3.1" / "broker-1" / "kafka-request.log").read_bytes().splitlines(True)
    share = len(lines) // len(FILES)
    (site.folder / FILES[0]).write_text("no line of a request\n")
    for number, name in enumerate(FILES[1:]):
        (site.folder / name).write_bytes(b"".join(lines[number * share : (number + 1) * share]))
    for number, name in enumerate(FILES):
        os.utime(site.folder / name, (OLD + number, OLD + number))
    for number in range(len(FILES)):
        assert _captured(site, 1) == len(FILES) - 1 - number
        read = {Path(row["file"]).name for row in site.rows(REQUEST_IDS)}
        assert read == set(FILES[1 : number + 1])
        # a log that waits is not said to be silent
        catalog = open_catalog(site.settings.lake)
        faults = lake.scan(catalog, QUARANTINE, where=[{"cluster": site.cluster}]).to_pylist()
        assert NO_REQUESTS not in {row["reason"] for row in faults}
    before = Counter(row["line_digest"] for row in site.rows(REQUESTS))
    assert _captured(site, None) == 0
    assert Counter(row["line_digest"] for row in site.rows(REQUESTS)) == before
    assert before.total() > 0
