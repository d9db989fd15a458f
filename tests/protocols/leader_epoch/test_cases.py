"""Metadata logs written by hand, and what the replay makes of them. Their format: ``cases/README.md``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from fencepost.protocols.leader_epoch.broker_fencings import fenced_brokers
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.cluster_replay import replay
from fencepost.protocols.leader_epoch.metadata_epochs import metadata_epochs
from fencepost.protocols.leader_epoch.metadata_rows import metadata_rows
from fencepost.protocols.leader_epoch.partition_logs import LogPlace
from fencepost.protocols.leader_epoch.shutdowns import Shutdowns
from fencepost.reasons import IN_ZOOKEEPER, NOT_CAPTURED
from fencepost.replay import metadata_log as ml
from fencepost.replay.logs import Batches, Log
from fencepost.replay.metadata_records import NAMES
from fencepost.tables import BATCHES

CASES = {path.stem: path for path in sorted(Path(__file__).with_name("cases").glob("*.json"))}
MARK = ' "expect":'
_TYPES = {name.removesuffix("Record"): number for number, name in NAMES.items()}


def _records(listed: list[Any], offset: int) -> tuple[ml.MetadataRecord, ...]:
    return tuple(
        ml.MetadataRecord(offset + number, offset * 1000, _TYPES[name], fields)
        for number, (name, fields) in enumerate(listed)
    )


def _history(case: Mapping[str, Any]) -> ClusterHistory:
    rows, of_batch, offset = [], {}, 0
    for batch in case["log"]:
        lost = isinstance(batch, dict)
        records = _records(batch["lost"] if lost else batch, offset)
        end = offset + len(records)
        if not lost:
            of_batch[offset, 1] = records
            rows.append(
                {
                    "base_offset": offset, "last_offset": end - 1, "leader_epoch": 1,
                    "record_count": len(records), "max_timestamp_ms": offset * 1000, "file": "log",
                    "position": offset * 100,
                }
            )  # fmt: skip
        offset = end
    schema = pa.schema([field for field in BATCHES.arrow_schema if field.name in rows[0]])
    log = Log(Batches.of(pa.Table.from_pylist(rows, schema=schema)))
    taken = [
        ml.Snapshot(int(at), 1, int(at) * 1000, partial(_records, listed, 0))
        for at, listed in case.get("snapshots", {}).items()
    ]
    return replay(ml.assemble(log, of_batch, taken))


def _span(begin: int, end: int | None) -> str:
    return f"[{begin}, {'' if end is None else end})"


def _or_unknown(value: Any) -> Any:
    return "?" if value is None else value


def _told(history: ClusterHistory, shutdowns: Shutdowns) -> list[str]:
    lines = [f"covered {_span(b.position, e and e.position)}" for b, e in history.covered]
    for life in history.topics.values():
        name = f"{_or_unknown(life.topic)} {life.topic_id}"
        gone = "?" if not life.known else "live" if life.gone is None else f"gone at {life.gone.position}"
        number = f"number {_or_unknown(life.number)}, after {life.previous or '-'}"
        lines.append(f"{name} from {life.begins.position}: {number}, {gone}")
        for partition in life.partitions.values():
            place = f"{name}-{partition.id.partition} #{_or_unknown(partition.partition_epoch)}"
            for now, (begin, end, _, _) in partition.states.between(partition.states.begins[0], None):
                if now is not None:
                    values = (now.leader, now.leader_epoch, now.partition_epoch, now.isr, now.elr)
                    said = " ".join(str(_or_unknown(value)) for value in values)
                    lines.append(
                        f"{place} {_span(begin, end)}: {said}{', recovering' * bool(now.recovering)}"
                    )
            lines += [
                f"{place} elected {each.leader} in {each.leader_epoch} at {each.at.position}: {each.how}"
                f"{f', {each.failed_log_dir} failed' if each.failed_log_dir else ''}"
                for each in partition.elections
            ]
    lines += [
        f"{row['victim']} fenced at {row['caused_position']}: {_or_unknown(row['cause'])}, "
        f"{row['leaders_moved']} leaders moved"
        for row in fenced_brokers("c", history, shutdowns).to_pylist()
    ]
    counter = "the cluster's own" if history.from_beginning else "their order only"
    return [*sorted(lines), f"counted to {_or_unknown(history.counter.newest)}, {counter}"]


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    """What is told is exactly what the case expects."""
    text = CASES[name].read_text(encoding="utf-8")
    case = json.loads(text)
    told = _told(_history(case), {(broker_id, epoch) for broker_id, epoch in case.get("shut_down", ())})
    if os.environ.get("FENCEPOST_UPDATE"):
        expected = json.dumps(told, indent=1, ensure_ascii=False)
        text = f"{text.split(MARK)[0]}{MARK} {expected}\n}}\n"
        CASES[name].write_text(text, encoding="utf-8")
    assert told == json.loads(text)["expect"]


def test_what_was_before_the_migration_to_kraft_was_in_zookeeper() -> None:
    """The leader epoch of ``old`` was 2 when it was copied, and 3 is the first that the log gave."""
    history = _history(json.loads(CASES["migrated"].read_text(encoding="utf-8")))
    given = metadata_epochs(history, LogPlace("c", "old", "O" * 22, 0))
    assert [given.gave(epoch, None) for epoch in (1, 2, 3)] == [None, None, True]
    assert given.why_unknown(1) == IN_ZOOKEEPER
    assert given.why_unknown(4) == NOT_CAPTURED
    rows = metadata_rows("c", history, {}, {})["silver.metadata_coverage"].to_pylist()
    told = [(each["covered"], each["why_uncovered"]) for each in rows]
    assert told == [(False, IN_ZOOKEEPER), (True, None)]
