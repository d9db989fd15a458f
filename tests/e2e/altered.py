"""Captures with evidence taken away or clocks set wrong, made from a whole capture."""

from __future__ import annotations

import datetime as dt
import gzip
import re
import shutil
import struct
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.formats.batches import records, walk
from fencepost.formats.classify import classify
from fencepost.formats.crc32c import crc32c
from fencepost.formats.decode import decode
from fencepost.replay.keys import TRANSACTIONS_TOPIC

_STAMP = re.compile(rb"^\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d),(\d{3})\]", re.MULTILINE)
_NO_CHANGE = -2


def without_a_segment_and_a_log(whole: Path, folder: Path) -> None:
    """Without the second segment of ``__consumer_offsets-0`` and one of the request logs."""
    shutil.copytree(whole, folder)
    segments = sorted((folder / "broker-1" / "log_dir").glob("__consumer_offsets-0/*.log"))
    logs = sorted((folder / "broker-1").glob("kafka-request.log*"))
    assert len(segments) > 2
    assert len(logs) > 2
    segments[1].unlink()
    logs[2].unlink()


def without_a_coordinators_segment(whole: Path, folder: Path) -> None:
    """Without the third segment of ``__transaction_state-0``, and the first of a partition of data."""
    shutil.copytree(whole, folder)
    segments = sorted((folder / "broker-1" / "log_dir").glob("__transaction_state-0/*.log"))
    assert len(segments) > 3
    segments[2].unlink()
    min((folder / "broker-1" / "log_dir").glob("healthy-0/*.log")).unlink()


def without_the_coordinators_end(whole: Path, folder: Path) -> None:
    """Without the last three segments of ``__transaction_state-0``: nothing tells that they were there."""
    shutil.copytree(whole, folder)
    log_dir = folder / "broker-1" / "log_dir"
    segments = sorted(log_dir.glob("__transaction_state-0/*.log"))
    snapshots = log_dir.glob("__transaction_state-0/*.snapshot")
    checkpoints = log_dir.glob("re*-offset-checkpoint")
    later = (each for each in snapshots if each.stem > segments[-3].stem)
    for file in (*segments[-3:], *later, *checkpoints):
        file.unlink()


def without_the_coordinators_last_segment(whole: Path, folder: Path) -> None:
    """Without the last segment of ``__transaction_state-0``: a .snapshot tells that it was there."""
    shutil.copytree(whole, folder)
    max((folder / "broker-1" / "log_dir").glob("__transaction_state-0/*.log")).unlink()


def without_the_groups_last_segments(whole: Path, folder: Path) -> None:
    """Without the last segment of each partition of ``__consumer_offsets``: the checkpoints tell that they
    were there.
    """
    shutil.copytree(whole, folder)
    for partition in (folder / "broker-1" / "log_dir").glob("__consumer_offsets-*"):
        max(partition.glob("*.log")).unlink()


def with_the_coordinators_log_cleaned(whole: Path, folder: Path) -> None:
    """As the log cleaner leaves ``__transaction_state-0``: below the active segment the last record of each
    key.
    """
    shutil.copytree(whole, folder)
    log_dir = folder / "broker-1" / "log_dir"
    *dirty, active = sorted(log_dir.glob(f"{TRANSACTIONS_TOPIC}-0/*.log"))
    newest: dict[bytes, int] = {}
    for segment in dirty:
        rows = _records_of(segment)
        newest |= dict(zip(rows["key"].to_pylist(), rows["record_offset"].to_pylist(), strict=True))
    for segment in dirty:
        data = segment.read_bytes()
        batches = walk(data).batches
        places = zip(
            *(batches[name].to_pylist() for name in ("base_offset", "position", "size")), strict=True
        )
        # coordinators write each record as a batch of its own
        kept = [data[at : at + size] for base, at, size in places if base in newest.values()]
        segment.write_bytes(b"".join(kept))
    checkpoint = f"0\n1\n{TRANSACTIONS_TOPIC} 0 {int(active.stem)}\n"
    (log_dir / "cleaner-offset-checkpoint").write_text(checkpoint, encoding="utf-8")


def _records_of(segment: Path) -> pa.Table:
    data = segment.read_bytes()
    return records(data, walk(data)).records


def with_half_a_request_log(whole: Path, folder: Path) -> None:
    """With every other minute-long piece of the request logs' lines: what is left is whole lines."""
    shutil.copytree(whole, folder)
    for log in folder.glob("broker-*/kafka-request.log*"):
        _rewrite(log, lambda text: b"".join(_every_other(text.splitlines(keepends=True))))


def _every_other(lines: list[bytes], run: int = 7) -> Iterator[bytes]:
    for at, line in enumerate(lines):
        if at // run % 2:
            yield line


def with_a_fast_clock(whole: Path, folder: Path, broker: int, ms: int) -> None:
    """As if a broker's clock were ``ms`` ahead: its request log, and whatever it wrote as a leader.

    Who led is read from the metadata log. Timestamps in batches are shifted on every replica; those of data
    are the producers' own.
    """
    shutil.copytree(whole, folder)
    led = _led_by(folder, broker)
    assert led
    for segment in folder.glob("broker-*/log_dir/*-*/*.log"):
        topic, partition = segment.parent.name.rsplit("-", 1)
        if topic != "__cluster_metadata":
            here = {epoch for name, at, epoch in led if (name, at) == (topic, int(partition))}
            segment.write_bytes(_shifted(bytearray(segment.read_bytes()), here, ms, topic.startswith("__")))
    for log in folder.glob(f"broker-{broker}/kafka-request.log*"):
        _rewrite(log, lambda text: _STAMP.sub(lambda found: _later(found, ms), text))


def with_a_clock_set_back(whole: Path, folder: Path, ms: int) -> None:
    """As if the clock of the only node had been set back by ``ms`` in the middle of its time: its logs, and
    whatever it dated as a leader and as a controller. Timestamps in batches of data are the producers' own.
    """
    shutil.copytree(whole, folder)
    logs = [*folder.glob("broker-1/kafka-request.log*"), *folder.glob("broker-1/server.log*")]
    times = sorted(_millis(found) for log in logs for found in _STAMP.finditer(_read(log)))
    since = times[len(times) // 2]

    def set_back(found: re.Match[bytes]) -> bytes:
        return _later(found, -ms if _millis(found) >= since else 0)

    for log in logs:
        _rewrite(log, lambda text: _STAMP.sub(set_back, text))
    for segment in folder.glob("broker-1/log_dir/*-*/*.log"):
        data = bytearray(segment.read_bytes())
        for each in walk(bytes(data)).batches.to_pylist():
            internal = segment.parent.name.startswith("__") or each["is_control"]
            if internal and each["max_timestamp_ms"] >= since:
                _shift(data, each["position"], each["size"], -ms)
        segment.write_bytes(bytes(data))


def _millis(found: re.Match[bytes]) -> int:
    at = dt.datetime.strptime(found[1].decode(), "%Y-%m-%d %H:%M:%S").replace(tzinfo=dt.UTC)
    return int(at.timestamp()) * 1000 + int(found[2])


def with_request_log_moved(whole: Path, folder: Path, ms: int) -> None:
    """With other times in the request logs than in what the brokers wrote."""
    shutil.copytree(whole, folder)
    for log in folder.glob("broker-*/kafka-request.log*"):
        _rewrite(log, lambda text: _STAMP.sub(lambda found: _later(found, ms), text))


def _led_by(folder: Path, broker: int) -> set[tuple[str, int, int]]:
    """(topic, partition, leader epoch) that the broker led."""
    names, leaders, led = dict[str, str](), dict[tuple[str, int], int](), set[tuple[str, int, int]]()
    for segment in sorted((folder / "broker-1/log_dir/__cluster_metadata-0").glob("*.log")):
        data = segment.read_bytes()
        rows = records(data, walk(data)).records
        named = classify("__cluster_metadata", rows["key"], rows["value"], rows["is_control"])
        for at, name in enumerate(named["record_name"].to_pylist()):
            if name not in ("TopicRecord", "PartitionRecord", "PartitionChangeRecord"):
                continue
            (value,) = decode(name, "value", rows["value"].slice(at, 1)).values.to_pylist()
            if name == "TopicRecord":
                names[value["topic_id"]] = value["name"]
                continue
            place, leader = (names[value["topic_id"]], value["partition_id"]), value["leader"]
            if name == "PartitionRecord":
                leaders[place] = value["leader_epoch"]
            elif leader != _NO_CHANGE:
                leaders[place] += 1
            if leader == broker:
                led.add((*place, leaders[place]))
    return led


def _shifted(data: bytearray, led: set[int], ms: int, all_of_it: bool) -> bytes:
    """The segment with the batches of these leader epochs ``ms`` later: all, or those that are control's."""
    batches = walk(bytes(data)).batches
    for position, size, epoch, control in zip(
        *(batches[name].to_pylist() for name in ("position", "size", "leader_epoch", "is_control")),
        strict=True,
    ):
        if epoch in led and (all_of_it or control):
            _shift(data, position, size, ms)
    assert pc.all(pc.greater(walk(bytes(data)).batches["size"], 0)).as_py() is not False
    return bytes(data)


def _shift(data: bytearray, position: int, size: int, ms: int) -> None:
    """Make the timestamps of the batch at this position ``ms`` later."""
    base, newest = struct.unpack_from(">qq", data, position + 27)
    struct.pack_into(">qq", data, position + 27, base + ms, newest + ms)
    crc = crc32c(np.frombuffer(bytes(data), dtype=np.uint8), position + 21, position + size)
    struct.pack_into(">I", data, position + 17, int(crc))


def _later(found: re.Match[bytes], ms: int) -> bytes:
    at = dt.datetime.strptime(found[1].decode(), "%Y-%m-%d %H:%M:%S") + dt.timedelta(
        milliseconds=int(found[2]) + ms
    )
    return f"[{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}]".encode()


def _read(log: Path) -> bytes:
    return gzip.decompress(log.read_bytes()) if log.suffix == ".gz" else log.read_bytes()


def in_whole_seconds(whole: Path, folder: Path) -> None:
    """Request logs whose times have no fractions."""
    shutil.copytree(whole, folder)
    for log in folder.glob("broker-*/kafka-request.log*"):
        _rewrite(log, lambda lines: _STAMP.sub(rb"[\1,000]", lines))


def _rewrite(log: Path, change: Callable[[bytes], bytes]) -> None:
    if log.suffix == ".gz":
        log.write_bytes(gzip.compress(change(gzip.decompress(log.read_bytes()))))
    else:
        log.write_bytes(change(log.read_bytes()))


Alteration = Callable[[Path, Path], None]


def of_one_broker_with_kraft(source: Path, target: Path) -> None:
    """One broker has moved to KRaft, and the metadata log, which there is now, was not captured."""
    shutil.copytree(source, target)
    file = target / "broker-2" / "log_dir" / "meta.properties"
    file.write_text(file.read_text().replace("version=0", "version=1").replace("broker.id", "node.id"))


ALTERED: dict[str, tuple[str, Alteration]] = {
    "damaged": ("troubled-4.3.1", without_a_segment_and_a_log),
    "ended": ("groups-4.3.1", without_the_groups_last_segments),
    "half": ("groups-4.3.1", with_half_a_request_log),
    "set-back": ("groups-4.3.1", partial(with_a_clock_set_back, ms=5_000)),
    "seconds": ("groups-4.3.1", in_whole_seconds),
    "skewed": ("failover-4.3.1", partial(with_a_fast_clock, broker=2, ms=5_000)),
    "migrating": ("zookeeper-3.9.2", of_one_broker_with_kraft),
}
"""Clusters with evidence taken away or a clock set wrong: the capture they are made of, and how."""

ALTERED_PRODUCERS: dict[str, tuple[str, Alteration]] = {
    "fewer-segments": ("producers-4.3.1", without_a_coordinators_segment),
    "torn": ("producers-4.3.1", without_the_coordinators_last_segment),
    "shorter": ("producers-tv1-4.3.1", without_the_coordinators_end),
    "fewer-lines": ("producers-3.9.2", with_half_a_request_log),
    "cleaned": ("producers-4.3.1", with_the_coordinators_log_cleaned),
    "cleaned-tv1": ("producers-tv1-4.3.1", with_the_coordinators_log_cleaned),
    "set-back-cleaned": ("natural-4.3.1", partial(with_a_clock_set_back, ms=2_000)),
    "later": ("producers-failover-4.3.1", partial(with_a_fast_clock, broker=2, ms=5_000)),
}
"""The same, of captures about producers."""
