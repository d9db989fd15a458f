"""The files of a generated cluster of producers, with the truth about its transactions.

``truth/`` has a file for each table of silver that is compared, with some of its columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, BinaryIO, Self, TextIO

import encoding
import pyarrow as pa
import pyarrow.parquet as pq
from encoding import Record, uuid_text
from generate import OFFSETS_PARTITIONS

START_MS = 1_767_225_600_000
TOPICS = {f"payments.{number}": 10 for number in range(10)}
"""Topics of applications, each with its number of partitions."""
STATE_TOPIC = "__transaction_state"
_COUNTS = {STATE_TOPIC: OFFSETS_PARTITIONS, **TOPICS}
_IDS = {name: (number + 2).to_bytes(16, "big") for number, name in enumerate(_COUNTS)}
_METADATA_ID, _DISK = b"\0" * 15 + b"\1", b"\0" * 15 + b"\7"
_SEGMENT_BYTES = 64 << 20
_ROWS_AT_ONCE = 50_000
_CONFIGURATION = """\
[[clusters]]
name = "generated-producers"

[[clusters.brokers]]
id = 1
log_dirs = ["broker-1/log_dir"]
request_logs = ["broker-1/kafka-request.log*"]
timezone = "UTC"
"""


@dataclass(frozen=True)
class Made:
    """The numbers of what was generated."""

    transactions: int
    fencings: int
    requests: int
    bytes: int


def topic_id(topic: str) -> str:
    """A topic's id, as text."""
    return uuid_text(_IDS[topic])


class Files:
    """Writes the files. A context manager."""

    requests: TextIO

    def __init__(self, folder: Path) -> None:
        self._folder, self._log_dir = folder, folder / "broker-1" / "log_dir"
        self._stack = ExitStack()
        self._logs: dict[tuple[str, int], _Log] = {}
        self._truth: dict[str, _Truth] = {}

    def __enter__(self) -> Self:
        self._log_dir.mkdir(parents=True)
        (self._folder / "truth").mkdir()
        (self._folder / "fencepost.toml").write_text(_CONFIGURATION)
        self.requests = self._stack.enter_context((self._folder / "broker-1" / "kafka-request.log").open("w"))
        self._write_metadata()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @property
    def bytes(self) -> int:
        """Of the logs."""
        return sum(log.bytes for log in self._logs.values())

    def append(self, topic: str, partition: int, batch: bytes, records: int) -> int:
        """Write a batch; returns its offset."""
        return self._log(topic, partition).append(batch, records)

    def append_record(self, topic: str, partition: int, record: Record, ms: int) -> int:
        """Write a coordinator's batch of one record; returns its offset."""
        return self.append(topic, partition, encoding.batch([record], ms, sequence=-1), 1)

    def next_offset(self, topic: str, partition: int) -> int:
        """The offset of the next batch."""
        return self._log(topic, partition).next_offset

    def expect_row(self, table: str, row: Mapping[str, Any]) -> None:
        """Add a row that silver must have."""
        if table not in self._truth:
            path = self._folder / "truth" / f"{table}.parquet"
            self._truth[table] = self._stack.enter_context(_Truth(path))
        self._truth[table].add(row)

    def _log(self, topic: str, partition: int) -> _Log:
        log = self._logs.get((topic, partition))
        if log is None:
            place = _partition(self._log_dir, f"{topic}-{partition}", _IDS[topic])
            log = self._logs[topic, partition] = self._stack.enter_context(_Log(place))
        return log

    def _write_metadata(self) -> None:
        """One node is broker and controller; its metadata log has the topics."""
        ms = START_MS - 10_000
        batches: list[tuple[list[Record], bool]] = [
            ([encoding.leader_change()], True),
            (
                [
                    encoding.feature_level("metadata.version", 30),
                    encoding.feature_level("transaction.version", 2),
                ],
                False,
            ),
            ([encoding.register_broker(4, b"\0" * 15 + b"\3", 3, 30, _DISK)], False),
        ]
        for name, count in _COUNTS.items():
            records = [encoding.topic(name, _IDS[name])]
            records += [encoding.partition(_IDS[name], number, _DISK) for number in range(count)]
            batches.append((records, False))
        with _Log(_partition(self._log_dir, "__cluster_metadata-0", _METADATA_ID)) as log:
            for records, control in batches:
                log.append(encoding.batch(records, ms, control=control), len(records))
        (self._log_dir / "meta.properties").write_text(
            f"#\nnode.id=1\ndirectory.id={uuid_text(_DISK)}\nversion=1\n"
            f"cluster.id={uuid_text(Random(1).randbytes(16))}\n"
        )


def _partition(log_dir: Path, name: str, of_topic: bytes) -> Path:
    folder = log_dir / name
    folder.mkdir()
    (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_text(of_topic)}")
    (folder / "leader-epoch-checkpoint").write_text("0\n1\n0 0\n")
    return folder


class _Log:
    """The segments of a partition."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: BinaryIO | None = None
        self._size = 0
        self.bytes = self.next_offset = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._file is not None:
            self._file.close()

    def append(self, batch: bytes, records: int) -> int:
        """Write the next batch; returns its offset."""
        if self._file is None or self._size > _SEGMENT_BYTES:
            self.__exit__()
            self._file, self._size = (self._folder / f"{self.next_offset:020}.log").open("wb"), 0
        offset, data = self.next_offset, encoding.placed(self.next_offset, batch)
        self._file.write(data)
        self.next_offset += records
        self._size += len(data)
        self.bytes += len(data)
        return offset


class _Truth:
    """The rows of one table; only few are kept in memory."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rows: list[Mapping[str, Any]] = []
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._flush()
        if self._writer is not None:
            self._writer.close()

    def add(self, row: Mapping[str, Any]) -> None:
        self._rows.append(row)
        if len(self._rows) >= _ROWS_AT_ONCE:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            rows = pa.Table.from_pylist(self._rows)
            if self._writer is None:
                self._writer = pq.ParquetWriter(self._path, rows.schema)
            self._writer.write_table(rows)
            self._rows = []
