"""A capture's files as they were before the last run: cut, named otherwise, not yet there.

A tree says of each file what it holds; paths are relative to the capture's folder. Every function gives a
tree that could have been there before the whole one: files have grown, were rolled, renamed and packed, and
replicas, partitions and logs were found since.
"""

from __future__ import annotations

import gzip
import random
import re
import shutil
import struct
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import takewhile
from pathlib import Path

Tree = Mapping[str, bytes]
Cut = Callable[[Tree, random.Random], list[Tree]]
"""The trees before the whole one, in order."""

_SEGMENT = re.compile(r"(?P<folder>.*/log_dir/[^/]+)/(?P<offset>\d{20})\.log(\.deleted)?")
_DELETED = re.compile(r"(?P<folder>.*/log_dir/[^/]+-\d+)\.[0-9a-f]{32}-delete/.*")
_STATE = re.compile(
    r"(?P<folder>.*/log_dir/[^/]+)/(?P<offset>\d{20})(-\d{10})?\.(snapshot|txnindex|checkpoint)"
)
_LOG = re.compile(r"(?P<stem>.*/(?:kafka-request|server)\.log)(?:\.(?P<number>\d+)(?P<packed>\.gz)?)?")
_CLIENT = re.compile(r"clients/.*\.log")
_WRITTEN_AT_THE_END = ("/.kafka_cleanshutdown", "-checkpoint")
_DATE = re.compile(rb"^\[(\d{4}-\d\d-\d\d \S+),\d{3}\]", re.MULTILINE)
_LINE = re.compile(rb"^\[(\S+ \S+),(\d{3})\] DEBUG Completed request", re.MULTILINE)


def tree_of(folder: Path) -> Tree:
    """All of a capture's files."""
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def span_ms(tree: Tree) -> int:
    """Of how much time a capture's segments tell, and its request logs, too."""
    times = _times(tree)
    return min(times[-1] - times[0], *_lines_span_ms(tree))


def put(tree: Tree, folder: Path) -> None:
    """Make a folder hold this tree, and nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in tree.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def grown(tree: Tree, rng: random.Random) -> list[Tree]:
    """Each log was shorter: all of a broker's by one share of its time, anywhere in a line or a batch."""
    times = sorted(rng.random() for _ in range(rng.randint(1, 4)))
    ascends = rng.random() < 0.5
    return [_at(tree, share, rng, ascends=ascends) for share in times]


def grown_line_by_line(tree: Tree, rng: random.Random) -> list[Tree]:
    """The same, but every log had been written up to the end of a line or a batch."""
    return [_at(tree, rng.random(), rng, ascends=True, whole=True)]


def cut_anywhere(tree: Tree, rng: random.Random) -> list[Tree]:
    """Each file by itself ended somewhere, or was not there."""
    cut = {name: data[: rng.randint(0, len(data))] for name, data in tree.items() if rng.random() < 0.8}
    return [{name: tree[name] if _is_written_at_once(name) else data for name, data in cut.items()}]


def late_segments(tree: Tree, rng: random.Random) -> list[Tree]:
    """Some partitions had not been found, or only their newest or oldest segments."""
    segments = sorted(name for name in tree if _SEGMENT.fullmatch(name))
    late = {name for name in segments if rng.random() < 0.5}
    folders = {name.rpartition("/")[0] for name in late if rng.random() < 0.5}
    return [{n: data for n, data in tree.items() if n not in late and n.rpartition("/")[0] not in folders}]


def late_logs(tree: Tree, rng: random.Random) -> list[Tree]:
    """Segments came first; then request logs and clients' logs file by file, in any order."""
    logs = [name for name in tree if _LOG.fullmatch(name) or _CLIENT.fullmatch(name)]
    rng.shuffle(logs)
    keep = rng.randint(0, max(0, len(logs) - 1))
    first = {name: data for name, data in tree.items() if name not in logs}
    return [first, {**first, **{name: tree[name] for name in logs[:keep]}}]


def late_brokers(tree: Tree, rng: random.Random) -> list[Tree]:
    """One broker's files after another's; of a cluster of one, its partitions after one another."""
    brokers = sorted({name.partition("/")[0] for name in tree if name.startswith("broker-")})
    if len(brokers) == 1:
        return late_segments(tree, rng)
    rng.shuffle(brokers)
    return [
        {name: data for name, data in tree.items() if name.partition("/")[0] not in brokers[number:]}
        for number in range(1, len(brokers))
    ]


def renamed(tree: Tree, rng: random.Random) -> list[Tree]:
    """Every file was there, under another name or not packed."""
    ascends = rng.random() < 0.5
    before = {}
    for name, data in tree.items():
        log = _LOG.fullmatch(name)
        if log and log["number"] and rng.random() < 0.7:
            number = int(log["number"]) + (0 if ascends else 40)
            unpacked = gzip.decompress(data) if log["packed"] else data
            before[f"{log['stem']}.{number}"] = unpacked
        else:
            before[name] = data
    return [before]


def there_twice(tree: Tree, rng: random.Random) -> list[Tree]:
    """A log was copied, and not emptied yet (logrotate's copytruncate); others are being packed, beside the
    originals. Of some there is only a part.
    """

    def part(data: bytes) -> bytes:
        return data[: rng.randint(0, len(data))] if rng.random() < 0.5 else data

    before = dict(tree)
    for stem, files in _logs(tree).items():
        for name, data in files:
            if name.endswith(".gz"):
                before |= {name.removesuffix(".gz"): gzip.decompress(data), name: part(data)}
        if len(files) > 1 and rng.random() < 0.7:
            newest = files[-2][0].removesuffix(".gz")
            before |= {stem: before[newest], newest: part(before[newest])}
            before.pop(f"{newest}.gz", None)
    return [before]


def found_later(tree: Tree, rng: random.Random) -> list[Tree]:
    """Some logs, or the folders of some partitions, were found when what came after them had been audited."""
    places = {name for name in tree if _LOG.fullmatch(name) or _CLIENT.fullmatch(name)}
    places |= {found["folder"] for name in tree if (found := _SEGMENT.fullmatch(name))}
    late = set(rng.sample(sorted(places), rng.randint(1, 1 + len(places) // 4)))
    times = sorted(rng.random() for _ in range(rng.randint(1, 2)))
    trees = [*(_at(tree, share, rng, ascends=True) for share in times), tree]
    return [
        {name: data for name, data in each.items() if not {name, name.rpartition("/")[0]} & late}
        for each in trees
    ]


def until(tree: Tree, moment: datetime) -> Tree:
    """The tree at a moment by the clock of the brokers, whose request logs and segments end then."""
    ms, times = moment.timestamp() * 1000, _times(tree)
    share = sum(each <= ms for each in times) / len(times)
    found = dict(_at(tree, share, random.Random(), ascends=True, whole=True))
    for stem, files in _logs(tree).items():
        for name, data in files:
            found.pop(name, None)
            text = gzip.decompress(data) if name.endswith(".gz") else data
            end = next((at for at, day in _dates(text) if day > moment), None)
            if end is not None:
                found[stem] = text[:end]
                break
            found[name] = data
    return found


def _dates(text: bytes) -> Iterator[tuple[int, datetime]]:
    for each in _DATE.finditer(text):
        yield each.start(), datetime.fromisoformat(f"{each[1].decode()}+00:00")


CUTS: Mapping[str, Cut] = {
    cut.__name__: cut
    for cut in (
        grown, grown_line_by_line, cut_anywhere, late_segments, late_logs, late_brokers, found_later, renamed,
        there_twice,
    )
}  # fmt: skip


def _at(tree: Tree, share: float, rng: random.Random, *, ascends: bool, whole: bool = False) -> Tree:
    """The tree after this share of the time its segments and logs tell of."""
    found, ends = _segments_at(tree, share, rng, whole=whole)
    for name, data in tree.items():
        if _SEGMENT.fullmatch(name) or _LOG.fullmatch(name) or name.endswith(_WRITTEN_AT_THE_END):
            continue
        state = _STATE.fullmatch(name)
        if state and int(state["offset"]) > ends.get(state["folder"], 0):
            continue
        if not _CLIENT.fullmatch(name):
            found[name] = data
        elif shorter := _shorter(data, share, whole=whole):
            found[name] = shorter
    for stem, files in _logs(tree).items():
        found |= _rolled(stem, files, share, ascends=ascends, whole=whole)
    return _before_deletion(tree, found)


def _before_deletion(tree: Tree, found: dict[str, bytes]) -> dict[str, bytes]:
    """The files with the folder of each log that had not been deleted yet under the partition's name: such as
    the newest of which anything is found.
    """
    for name in sorted({deleted["folder"] for each in tree if (deleted := _DELETED.fullmatch(each))}):
        folders = {each.rpartition("/")[0] for each in tree if each.startswith((f"{name}/", f"{name}."))}
        begun = {
            folder: min(
                (ms for each in tree if each.startswith(f"{folder}/") for *_, ms in _batches_of(tree, each)),
                default=0,
            )
            for folder in folders
        }
        newest = max(
            (folder for folder in folders if any(each.startswith(f"{folder}/0") for each in found)),
            key=begun.__getitem__,
            default=None,
        )
        later = {folder for folder in folders if newest is None or begun[folder] >= begun[newest]}
        moved = {
            each.replace(str(newest), name): data
            for each, data in found.items()
            if each.rpartition("/")[0] == newest
        }
        found = {each: data for each, data in found.items() if each.rpartition("/")[0] not in later} | moved
    return found


def _batches_of(tree: Tree, name: str) -> list[tuple[int, int, int]]:
    return _batches(tree[name]) if _SEGMENT.fullmatch(name) else []


def _segments_at(
    tree: Tree, share: float, rng: random.Random, *, whole: bool
) -> tuple[dict[str, bytes], dict[str, int]]:
    """The segments after a share of their time, and the end of each log by its folder."""
    every = _times(tree)
    until_ms = every[int(share * (len(every) - 1))] if every else 0
    found: dict[str, bytes] = {}
    ends: dict[str, int] = {}
    for name in filter(_SEGMENT.fullmatch, tree):
        there = list(takewhile(lambda batch: batch[2] <= until_ms, _batches(tree[name])))
        if not there:
            continue
        size, last_offset, _ = there[-1]
        if not whole and rng.random() < 0.5:
            size = rng.randint(size, len(tree[name]))
        found[name] = tree[name][:size]
        folder = name.rpartition("/")[0]
        ends[folder] = max(ends.get(folder, 0), last_offset + 1)
    return found, ends


def _times(tree: Tree) -> list[int]:
    """The newest timestamp of each batch, in order."""
    segments = (data for name, data in tree.items() if _SEGMENT.fullmatch(name))
    return sorted(ms for data in segments for _, _, ms in _batches(data) if ms > 0)


def _lines_span_ms(tree: Tree) -> Iterator[int]:
    """Of how much time each broker's request log tells."""
    for files in _logs(tree).values():
        text = b"".join(gzip.decompress(data) if name.endswith(".gz") else data for name, data in files)
        if found := _LINE.findall(text):
            first, last = (
                datetime.fromisoformat(f"{day.decode()}.{ms.decode()}") for day, ms in (found[0], found[-1])
            )
            yield (last - first) // timedelta(milliseconds=1)


def _batches(data: bytes) -> list[tuple[int, int, int]]:
    """(end, last offset, newest timestamp) of each batch of a segment, read the plain way."""
    found, position = [], 0
    while position + 61 <= len(data):
        base, length = struct.unpack_from(">qi", data, position)
        delta, ms = struct.unpack_from(">i8xq", data, position + 23)
        position += length + 12
        found.append((position, base + delta, ms))
    return found


def _logs(tree: Tree) -> dict[str, list[tuple[str, bytes]]]:
    """The files of each log in text by the name of the one that is written, oldest first."""
    found: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for name in tree:
        if log := _LOG.fullmatch(name):
            found[log["stem"]].append((int(log["number"] or 1 << 30), name))
    return {stem: [(name, tree[name]) for _, name in sorted(files)] for stem, files in found.items()}


def _rolled(
    stem: str, files: list[tuple[str, bytes]], share: float, *, ascends: bool, whole: bool
) -> Iterator[tuple[str, bytes]]:
    """The files of a log after a share of its bytes: the one that was written then had the log's own name."""
    texts = [gzip.decompress(data) if name.endswith(".gz") else data for name, data in files]
    upto = int(share * sum(map(len, texts)))
    for number, ((name, data), text) in enumerate(zip(files, texts, strict=True)):
        if upto < len(text) or number == len(files) - 1:
            if rest := _shorter(text, min(1.0, upto / max(1, len(text))), whole=whole):
                yield stem, rest
            return
        upto -= len(text)
        if ascends:
            yield name, data
        else:
            yield name.replace(stem, f"{stem}.old", 1), data


def _shorter(data: bytes, share: float, *, whole: bool) -> bytes:
    cut = data[: int(share * len(data))]
    return cut[: cut.rfind(b"\n") + 1] if whole else cut


def _is_written_at_once(name: str) -> bool:
    return not (_SEGMENT.fullmatch(name) or name.endswith((".log", ".gz")))
