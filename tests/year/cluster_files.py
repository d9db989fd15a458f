"""The files of the brokers of a history at a moment: what is written, rolled, packed, deleted."""

from __future__ import annotations

import gzip
import os
import shutil
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path

import encoding
from calendar_of import BEGIN_MS, DAY_MS, HOUR_MS
from encoding import uuid_text
from history import COORDINATOR, History, Log

SEGMENT_MS, RETENTION_MS = DAY_MS, 7 * DAY_MS
PACKED_MS, LINES_KEPT_MS = DAY_MS, 3 * DAY_MS
REQUESTS = "kafka-request.log"
_DISK = b"\7" * 16


class Brokers:
    """``folder`` has a folder for each broker."""

    def __init__(self, history: History, folder: Path) -> None:
        self._history, self.folder = history, folder
        self._partitions = [_Partition(log) for log in history.logs.values()]
        self._line = 0
        self._known: set[int] = set()
        self._hour: dict[int, int] = {}
        self.now_ms = BEGIN_MS
        self._advance_brokers()

    def advance(self, until_ms: int, *, deletes: bool = True) -> None:
        """Write what happens until a moment; nothing is deleted while all is to be kept."""
        self.now_ms = until_ms
        self._advance_brokers()
        for each in self._partitions:
            each.advance(until_ms, self._dirs(each.log, until_ms))
        self._write_lines(until_ms)
        begins, ends = self._history.calendar.all_kept_ms
        # runs begin again a moment later
        if deletes and not begins <= until_ms <= ends + HOUR_MS * 24:
            self._delete_old(until_ms)

    # --- partitions -----------------------------------------------------------------------------------------

    def _dirs(self, log: Log, ms: int) -> list[Path]:
        """The log directories with its replicas."""
        ids = self._history.brokers(ms) if log.everywhere else [COORDINATOR]
        return [self._dir(broker_id) for broker_id in ids]

    def _dir(self, broker_id: int) -> Path:
        return self.folder / f"broker-{broker_id}" / "log_dir"

    def _advance_brokers(self) -> None:
        ids = set(self._history.brokers(self.now_ms))
        for broker_id in ids - self._known:
            log_dir = self._dir(broker_id)
            log_dir.mkdir(parents=True, exist_ok=True)
            (log_dir / "meta.properties").write_text(
                f"#\nnode.id={broker_id}\ndirectory.id={uuid_text(bytes([broker_id]) * 16)}\nversion=1\n"
                f"cluster.id={uuid_text(_DISK)}\n"
            )
            (log_dir.parent / REQUESTS).touch()
        for broker_id in self._known - ids:
            shutil.rmtree(self._dir(broker_id).parent)
            for each in self._partitions:
                each.copy(self._dir(broker_id), self._dir(max(ids)))
        self._known = ids

    def _delete_old(self, ms: int) -> None:
        for each in self._partitions:
            if each.log.everywhere or each.log.topic.startswith("payments"):
                each.delete_before(ms - RETENTION_MS)
        for file in self.folder.glob(f"broker-*/{REQUESTS}.*"):
            until = _hour_of(file) + HOUR_MS
            if until < ms - LINES_KEPT_MS:
                file.unlink()
            elif until < ms - PACKED_MS and file.suffix != ".gz":
                packed = file.with_name(f"{file.name}.gz")
                with gzip.open(packed, "wb", compresslevel=1) as out:
                    out.write(file.read_bytes())
                os.utime(packed, (until / 1000, until / 1000))
                file.unlink()

    # --- lines ----------------------------------------------------------------------------------------------

    def _write_lines(self, until_ms: int) -> None:
        lines = self._history.lines
        by_hour: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
        while self._line < len(lines) and lines[self._line][0] < until_ms:
            ms, broker_id, text = lines[self._line]
            by_hour[broker_id, ms - ms % HOUR_MS].append(text)
            self._line += 1
        for (broker_id, hour), texts in by_hour.items():
            home = self._dir(broker_id).parent
            if not home.exists():
                continue
            before = self._hour.get(broker_id)
            if before is not None and before != hour:
                # log4j rolls when the next line is written
                (home / REQUESTS).rename(home / f"{REQUESTS}.{_stamp(before)}")
            self._hour[broker_id] = hour
            with (home / REQUESTS).open("a") as file:
                file.writelines(texts)


class _Partition:
    """The files of the replicas of one partition, which all have the same segments."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self._next, self._offset, self._is_gone = 0, 0, False
        self._dirs: list[Path] = []
        self._segments: list[tuple[int, int]] = []  # base offset, begin
        self._epochs: dict[int, int] = {}

    def advance(self, until_ms: int, dirs: list[Path]) -> None:
        """Write batches."""
        log = self.log
        if self._is_gone:
            return
        if log.deleted_ms is not None and log.deleted_ms < until_ms:
            # another incarnation may have the same folder later
            for each in dirs:
                shutil.rmtree(each / log.folder, ignore_errors=True)
            self._is_gone = True
            return
        data: dict[int, bytearray] = {}
        while self._next < len(log.batches) and log.batches[self._next][0] < until_ms:
            ms, epoch, records, batch = log.batches[self._next]
            self._epochs.setdefault(epoch, self._offset)
            if not self._segments or ms - self._segments[-1][1] >= SEGMENT_MS:
                self._segments.append((self._offset, ms - ms % SEGMENT_MS))
            data.setdefault(self._segments[-1][0], bytearray()).extend(encoding.placed(self._offset, batch))
            self._offset += records
            self._next += 1
        for log_dir in dirs if data else ():
            folder = log_dir / log.folder
            folder.mkdir(exist_ok=True)
            for base, written in data.items():
                with (folder / f"{base:020}.log").open("ab") as file:
                    file.write(written)
            (folder / "partition.metadata").write_text(f"version: 0\ntopic_id: {uuid_text(log.raw_id)}")
        self._dirs = dirs
        if data:
            self._write_epochs()

    def _write_epochs(self) -> None:
        """The leader epochs from the begin of the log on (LeaderEpochFileCache.truncateFromStart)."""
        begin = self._segments[0][0]
        first = max((epoch for epoch, start in self._epochs.items() if start <= begin), default=0)
        entries = [(epoch, max(start, begin)) for epoch, start in self._epochs.items() if epoch >= first]
        text = "".join(f"{epoch} {start}\n" for epoch, start in entries)
        for log_dir in self._dirs:
            file = log_dir / self.log.folder / "leader-epoch-checkpoint"
            file.write_text(f"0\n{len(entries)}\n{text}")

    def copy(self, old: Path, new: Path) -> None:
        """A new broker copies what another replica has."""
        others = [each / self.log.folder for each in self._dirs if each not in (old, new)]
        if self.log.everywhere and not self._is_gone and others and others[0].is_dir():
            shutil.copytree(others[0], new / self.log.folder, dirs_exist_ok=True)

    def delete_before(self, ms: int) -> None:
        """Delete the segments whose records are all older; never the last one."""
        while not self._is_gone and len(self._segments) > 1 and self._segments[1][1] < ms:
            base, _ = self._segments.pop(0)
            for log_dir in self._dirs:
                (log_dir / self.log.folder / f"{base:020}.log").unlink(missing_ok=True)
            self._write_epochs()


def _stamp(ms: int) -> str:
    return f"{datetime.fromtimestamp(ms // 1000, UTC):%Y-%m-%d-%H}"


def _hour_of(file: Path) -> int:
    name = file.name.removesuffix(".gz").removeprefix(f"{REQUESTS}.")
    return int(datetime.strptime(name, "%Y-%m-%d-%H").replace(tzinfo=UTC).timestamp() * 1000)
