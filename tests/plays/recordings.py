"""Performances that are kept in the repository, and judged again by every test run."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

from plays.stage import Performance

FOLDER = Path(__file__).parent / "recorded"
# indexes are preallocated and rebuilt from the segments; locks are of the running process
_LEFT_OUT = shutil.ignore_patterns("*.index", "*.timeindex", ".lock")
_LOGS = ("kafka-request.log", "server.log")


def store(performance: Performance, name: str) -> Path:
    """Copy a performance into ``recorded/NAME``: script, facts, and what an audit reads of its brokers.

    Logs are kept as logrotate leaves them: rolled and gzipped.
    """
    folder = FOLDER / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in ("script.jsonl", "facts.jsonl"):
        _zip((performance.home / file).read_bytes(), folder / f"{file}.gz")
    for broker in sorted(performance.home.glob("broker-*")):
        target = folder / broker.name
        shutil.copytree(broker / "log_dir", target / "log_dir", ignore=_LEFT_OUT)
        for log in _LOGS:
            text = (broker / log).read_bytes().replace(str(broker).encode(), b"/var/lib/kafka")
            _zip(text, target / f"{log}.1.gz")
            (target / log).touch()
    return folder


def recorded(home: Path) -> list[Performance]:
    """Every stored performance: script and facts unpacked into ``home``, links to its brokers' files."""
    found = []
    for folder in sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        place = home / folder.name
        place.mkdir(parents=True)
        for file in ("script.jsonl", "facts.jsonl"):
            (place / file).write_bytes(gzip.decompress((folder / f"{file}.gz").read_bytes()))
        for broker in folder.glob("broker-*"):
            (place / broker.name).symlink_to(broker)
        found.append(Performance(place))
    return found


def _zip(data: bytes, target: Path) -> None:
    target.write_bytes(gzip.compress(data, mtime=0))
