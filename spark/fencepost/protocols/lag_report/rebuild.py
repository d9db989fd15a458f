"""The rebuild of Kafka Streams: every application by itself, on any engine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial

import pyarrow as pa

from fencepost.engines import Rows
from fencepost.protocols.lag_report.lag_reports import lag_reports
from fencepost.protocols.lag_report.messages import APIS, GROUP_METADATA, MESSAGES, of_lines, of_records
from fencepost.protocols.lag_report.tables import LAG_REPORTS, TABLES
from fencepost.replay.entities import bucket_of, with_entity
from fencepost.replay.evidence import Evidence
from fencepost.replay.keys import OFFSETS_TOPIC
from fencepost.tables import RECORDS, REQUESTS, Table

_MESSAGES = "messages"
_BUCKETS_PER_PART = 4


def rebuild(given: Evidence) -> Mapping[str, Rows]:
    """The rows of TABLES, by the table's name."""
    engine = given.engine
    records = engine.scan(RECORDS, where=[{"topic": OFFSETS_TOPIC, "record_type": GROUP_METADATA}])
    requests = engine.scan(REQUESTS, where=[{"api_key": frozenset(APIS)}])
    said = [
        engine.map(records, of_records, MESSAGES.arrow_schema),
        engine.map(requests, of_lines, MESSAGES.arrow_schema),
    ]
    bucket = partial(bucket_of, MESSAGES.key, engine.parallelism * _BUCKETS_PER_PART)
    evidence = {_MESSAGES: [with_entity(engine, MESSAGES, each, bucket) for each in said]}
    return engine.replay(evidence, _replay, TABLES)


def _replay(_: str, evidence: Mapping[str, pa.Table]) -> Iterable[tuple[Table, pa.Table]]:
    yield LAG_REPORTS, lag_reports(evidence[_MESSAGES])
