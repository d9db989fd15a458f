"""``make mutations``: real files of brokers and clients with random faults, read as capture reads them.

A *mutation* is a file of a capture (a piece of it, where it is large) in which bytes were changed, lost,
repeated or come from another file. Whatever it is, reading it must end, soon and with little memory; rows
must fit their tables; what was before the first changed byte must be read as before; and batches that are
lost must be a fault that is counted. What fails is kept in ``--out``, and printed.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import pyarrow as pa

from fencepost.capture import checkpoints, log_ends, readers
from fencepost.capture.identities import meta_properties
from fencepost.capture.plan import REQUEST_LOG, Source, is_text
from fencepost.capture.rows import OUTCOME
from fencepost.settings import load
from fencepost.tables import BATCHES, TOPIC_ANSWERS, TOPIC_LISTS

CAPTURES = Path(__file__).resolve().parents[1] / "captures"
_CHOSEN = (
    "compacted-4.3.1", "exhausted-4.3.1", "expired-4.3.1", "groups-3.9.2", "idempotent-4.3.1", "lags-4.3.1",
    "makers-4.3.1", "natural-4.3.1", "rebalances-4.3.1", "share-4.3.1", "tiered-4.3.1", "unclean-4.3.1",
)  # fmt: skip
"""Captures that together have files of each kind."""
_LARGEST = 48 << 10
_HEADER = 61
_MOST_SECONDS, _MOST_BYTES = 20, 1 << 30
_TOLD = 50_000
"""After so many mutations a process says how far it is."""
_LINE_KINDS = (b"\n", b'"', b",", b":", b"{", b"[", b" ")
_NUMBERS = (0, 1, -1, 2**7, 2**15, 2**31 - 1, -(2**31), 2**31, 2**63 - 1, -(2**63), 61, 49)
_TEXTS = (
    b"", b"null", b"true", b"-1", b"9" * 25, b"1e999", b"NaN", b"[]", b"{}", b'"\\ud800"', b"\xff", b"\0",
    b"[" * 300, b"\xe2\x80\xa8", b"4294967296", b"9223372036854775808", b"0.1", b'"', b"\\", b"\r\n",
)  # fmt: skip


class File(NamedTuple):
    """A file that is mutated: ``source`` for kinds of evidence, else the name of what reads it."""

    path: Path
    source: Source | None
    content: bytes


class HangError(Exception):
    """Reading took too long."""


def files() -> list[File]:
    """Every file of the chosen captures that capture reads, by the functions that find them."""
    found: dict[str, File] = {}
    for name in _CHOSEN:
        settings = load(CAPTURES / name / "fencepost.toml")
        for cluster in settings.clusters:
            for find in readers.finds():
                for source in find(cluster)[0]:
                    path = Path(source.file)
                    found[f"{source.kind}:{path}"] = File(path, source, path.read_bytes())
            for path in sorted((CAPTURES / name).glob("*/log_dir*/*")):
                if path.name in _WHOLE:
                    found[str(path)] = File(path, None, path.read_bytes())
    return list(found.values())


def _entries(path: Path) -> object:
    return checkpoints.entries(str(path))


_WHOLE: dict[str, Callable[[Path], object]] = {
    **dict.fromkeys(checkpoints.CHECKPOINTS, _entries),
    checkpoints.CLEAN_SHUTDOWN: lambda path: log_ends.closed_by(str(path)),
    "meta.properties": lambda path: meta_properties(str(path.parent)),
}
"""Files of a log directory, and what reads them."""


def piece(rng: random.Random, file: File) -> bytes:
    """Some of a file that is not too long, from the begin of a line for one in text."""
    content = file.content
    if len(content) <= _LARGEST:
        return content
    if file.source is None or not is_text(file.source.kind) or not content.isascii():
        return content[:_LARGEST]
    begin = content.find(b"\n", rng.randrange(len(content) - _LARGEST)) + 1
    return content[begin : begin + _LARGEST]


Fault = Callable[[random.Random, bytearray, bytes, int, int], None]


def _number(rng: random.Random, data: bytearray, other: bytes, at: int, length: int) -> None:
    width = rng.choice((1, 2, 4, 8))
    number = rng.choice(_NUMBERS) & ((1 << 8 * width) - 1)
    data[at : at + width] = number.to_bytes(width, rng.choice(("big", "little")))


def _text(rng: random.Random, data: bytearray, other: bytes, at: int, length: int) -> None:
    chosen = rng.choice(_TEXTS)
    data[at : at + (length if rng.random() < 0.3 else len(chosen))] = chosen


def _from_other(rng: random.Random, data: bytearray, other: bytes, at: int, length: int) -> None:
    start = rng.randrange(len(other) + 1)
    data[at : at + length] = other[start : start + length]


def _put(of: Callable[[random.Random, bytes], bytes]) -> Fault:
    """A fault that puts something in the place of a part."""

    def fault(rng: random.Random, data: bytearray, other: bytes, at: int, length: int) -> None:
        data[at : at + length] = of(rng, bytes(data[at : at + length]))

    return fault


FAULTS: tuple[Fault, ...] = (
    _number,
    _text,
    _from_other,
    _put(lambda rng, part: bytes([rng.randrange(256)]) + part[1:]),
    _put(lambda rng, part: bytes([part[0] ^ (1 << rng.randrange(8))]) + part[1:] if part else part),
    _put(lambda rng, part: b""),
    _put(lambda rng, part: part + part),
    _put(lambda rng, part: bytes(len(part))),
    lambda rng, data, other, at, length: data.__delitem__(slice(at, None)),
)


def mutate(rng: random.Random, content: bytes, other: bytes, *, text: bool) -> bytes:
    """The content with one to four faults; of a text half of them begin where a word does."""
    data = bytearray(content)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        if text and rng.random() < 0.5:
            at = max(0, data.find(rng.choice(_LINE_KINDS), at) + 1)
        length = min(len(data) - at, int(2 ** rng.uniform(0, 12)))
        rng.choice(FAULTS)(rng, data, other, at, length)
    return bytes(data)


Read = list[tuple[str, pa.RecordBatch]]


def read(file: File, path: Path) -> Read:
    """What capture reads from a file: batches of rows by the names of their tables."""
    if file.source is None:
        _WHOLE[file.path.name](path)
        return []
    source = dataclasses.replace(file.source, file=str(path), end=path.stat().st_size)
    return [(table.name, batch) for table, batch in readers.kinds()[source.kind].rows(source)]


def check(file: File, before: bytes, after: bytes, place: Path) -> None:
    """Raises what reading the mutated file raises, or AssertionError."""
    path = place / file.path.parent.name / file.path.name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(after)
    found = read(file, path)
    for name, batch in found:
        batch.validate(full=True)
        assert all(len(text) < len(after) + 4096 for text in _details(name, batch)), "a fault without an end"
    if file.source is None or before == after:
        return
    same = next((at for at, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), None)
    first = min(len(before), len(after)) if same is None else same
    path.write_bytes(before)
    unchanged = read(file, path)
    if _has_positions(file):
        boundary = _whole_before(file, unchanged, before, first)
        aside = _out_of_order(found)
        lost = _keys(unchanged, boundary, aside) - _keys(found, boundary, aside)
        assert not lost, f"evidence before byte {boundary} is not read: {sorted(map(str, lost))[:3]}"
    if file.source.kind == "segment":
        assert _batches(found) >= _batches(unchanged) or _faults(found) or _ends_there(after, found), (
            "batches are lost without a fault"
        )


def _details(name: str, batch: pa.RecordBatch) -> list[str]:
    return [text for text in batch["detail"].to_pylist() if text] if name == OUTCOME.name else []


def _has_positions(file: File) -> bool:
    assert file.source is not None
    packed = file.path.suffix in (".gz", ".zst")
    return not packed and (is_text(file.source.kind) or file.source.kind == "segment")


def _is_placed(name: str, batch: pa.RecordBatch) -> bool:
    """Whether these are rows of which each has its own place. Texts about topics have that of one line."""
    return "position" in batch.schema.names and name not in (
        OUTCOME.name,
        TOPIC_LISTS.name,
        TOPIC_ANSWERS.name,
    )


def _out_of_order(found: Read) -> set[int]:
    """Where batches begin that others behind them contradict: a batch may be whole, and be set aside."""
    return {
        row["position"]
        for name, batch in found
        if name == OUTCOME.name
        for row in batch.to_pylist()
        if row["reason"] == "out_of_order"
    }


def _keys(found: Read, before: int, aside: set[int]) -> Counter[tuple[object, ...]]:
    """Rows at positions before a byte and not ``aside``, without the columns that name the file."""
    rows: Counter[tuple[object, ...]] = Counter()
    for name, batch in found:
        if not _is_placed(name, batch):
            continue
        columns = [each for each in batch.schema.names if each not in ("file", "file_begins")]
        for row in batch.select(columns).to_pylist():
            if row["position"] < before and row["position"] not in aside:
                rows[name, *map(str, row.values())] += 1
    return rows


def _whole_before(file: File, found: Read, content: bytes, first: int) -> int:
    """What is before this byte stays as it was, if ``first`` is the first byte that is not.

    A line of a request log and a batch are whole by themselves. An entry of another log goes on if the next
    line begins none.
    """
    assert file.source is not None
    in_text = is_text(file.source.kind)
    begins = sorted(
        position
        for name, batch in found
        if _is_placed(name, batch)
        for position in batch["position"].to_pylist()
    )
    end = content.rfind(b"\n", 0, first) + 1 if in_text else first + 1
    last = max((each for each in begins if each < end), default=0)
    return end if file.source.kind == REQUEST_LOG else last


def _batches(found: Read) -> int:
    return sum(batch.num_rows for name, batch in found if name == BATCHES.name)


def _faults(found: Read) -> int:
    return sum(batch.num_rows - batch["reason"].null_count for name, batch in found if name == OUTCOME.name)


def _ends_there(after: bytes, found: Read) -> bool:
    """Whether the file ends after its last batch, or goes on with a header of zeros, as preallocated ones do:
    nothing shows that there was more.
    """
    ends = [
        row["position"] + row["size"]
        for name, batch in found
        if name == BATCHES.name
        for row in batch.to_pylist()
    ]
    return not after[max(ends, default=0) :][:_HEADER].strip(b"\0")


def _hang(number: int, frame: FrameType | None) -> None:
    raise HangError(f"it took more than {_MOST_SECONDS} CPU s")


def play(seed: int, count: int, seconds: float, out: Path) -> tuple[int, Counter[str]]:
    """So many mutations, or as many as there are seconds for. Returns their number, and what failed."""
    rng = random.Random(seed)
    chosen, done, failed = _by_kind(files()), 0, Counter[str]()
    signal.signal(signal.SIGPROF, _hang)
    until = time.monotonic() + seconds
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 + _MOST_BYTES
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        while done < count and time.monotonic() < until:
            file = rng.choice(chosen[rng.choice(sorted(chosen))])
            before = piece(rng, file)
            other = rng.choice(chosen[rng.choice(sorted(chosen))]).content
            text = file.source is None or is_text(file.source.kind)
            after = mutate(rng, before, other, text=text)
            done += 1
            # of its own CPU: on a busy machine a process may wait longer for a core
            signal.setitimer(signal.ITIMER_PROF, _MOST_SECONDS)
            try:
                check(file, before, after, Path(folder))
                assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 < most, (
                    "it takes much memory"
                )
            except Exception as error:  # whatever it is, it is what is looked for
                signal.setitimer(signal.ITIMER_PROF, 0)
                name = _name(error, file)
                failed[name] += 1
                if failed[name] == 1:
                    _keep(out, name, file, before, after)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
            if done % _TOLD == 0:
                print(f"{done:,} of {count:,} in one of the processes, {failed.total():,} failed", flush=True)
    return done, failed


def _by_kind(found: Sequence[File]) -> dict[str, list[File]]:
    kinds: dict[str, list[File]] = {}
    for each in found:
        kinds.setdefault(each.source.kind if each.source else each.path.name, []).append(each)
    return kinds


def _name(error: Exception, file: File) -> str:
    """The same for the same fault: its kind of file, error and line."""
    *_, last = traceback.extract_tb(error.__traceback__)
    kind = file.source.kind if file.source else file.path.name
    about = f" {str(error)[:40]}" if isinstance(error, AssertionError) else ""
    return f"{kind}: {type(error).__name__} in {Path(last.filename).name}:{last.lineno}{about}"


def _keep(out: Path, name: str, file: File, before: bytes, after: bytes) -> None:
    folder = out / "".join(char if char.isalnum() else "-" for char in name)[:80]
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "before").write_bytes(before)
    (folder / "after").write_bytes(after)
    (folder / "why.txt").write_text(f"{name}\n{file.path.relative_to(CAPTURES)}\n\n{traceback.format_exc()}")
    print(f"{name}\n  kept in {folder}", flush=True)


def _shares(count: int, processes: int) -> Iterator[int]:
    for each in range(processes):
        yield count // processes + (each < count % processes)


def main() -> int:
    """Mutate in some processes, and say what was found."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    arguments.add_argument("--count", type=int, default=1_000_000)
    arguments.add_argument("--seconds", type=float, default=float("inf"))
    arguments.add_argument("--seed", type=int, default=1)
    arguments.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    arguments.add_argument("--out", type=Path, default=Path(".fencepost/mutations"))
    chosen = arguments.parse_args()
    processes = max(1, min(chosen.processes, chosen.count))
    work = [
        (chosen.seed * 1000 + number, count, chosen.seconds, chosen.out)
        for number, count in enumerate(_shares(chosen.count, processes))
    ]
    with get_context("spawn").Pool(processes) as pool:
        results = pool.starmap(play, work)
    failed = sum((found for _, found in results), Counter[str]())
    for name, times in failed.most_common():
        print(f"{times:8}  {name}")
    done = sum(each for each, _ in results)
    print(f"{done:,} mutations, {sum(failed.values()):,} failed in {len(failed)} ways")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
