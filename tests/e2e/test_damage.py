"""Wrong clocks and damaged bytes make verdicts unknown: none is flipped, and none appears."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

import pytest
from altered import with_request_log_moved
from altered_files import segments

from fencepost import lake
from fencepost.capture import capture
from fencepost.engines.tasks import TaskEngine
from fencepost.judge import judge
from fencepost.opening import ensure
from fencepost.protocols import protocols
from fencepost.replay.run import rebuild
from fencepost.settings import Lake, load
from fencepost.tables import DECISIONS, EPISODES, QUARANTINE, VERDICT_COVERAGE

PARTLY = {"holds_partly", "unknown"}
Alteration = Callable[[Path, Path], None]
Rows = list[dict[str, Any]]

_OFFSET_BYTE, _EPOCH_BYTE, _LOW_EPOCH_BYTE = 6, 12, 15
"""In a batch, whose first eight bytes are its base offset, and bytes 12 to 15 its leader epoch: no checksum
covers them.
"""


def _in_another_zone(whole: Path, folder: Path, zone: str) -> None:
    """The logs' local times are read as those of another zone."""
    shutil.copytree(whole, folder)
    config = folder / "fencepost.toml"
    config.write_text(re.sub(r'(?m)^timezone = "[^"]+"', f'timezone = "{zone}"', config.read_text()))


def _with_a_flipped_bit(whole: Path, folder: Path, partition: str, at: int) -> None:
    """One bit of a header in the middle of a log's first segment."""
    shutil.copytree(whole, folder)
    first = segments(folder, partition)[0]
    first.data[first.batches[len(first.batches) // 2]["position"] + at] ^= 1
    first.file.write_bytes(first.data)


def _without_request_logs_of(whole: Path, folder: Path, broker: int) -> None:
    """As if the logs of one broker were not mounted."""
    shutil.copytree(whole, folder)
    for log in folder.glob(f"broker-{broker}/kafka-request.log*"):
        log.unlink()


def _with_lines_of_a_former_cluster(whole: Path, folder: Path) -> None:
    """All disks were formatted again after a day, and the files of logs stayed."""
    with_request_log_moved(whole, folder / "former", -86_400_000)
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    for log in folder.glob("former/broker-*/kafka-request.log"):
        text = log.read_text().replace('"connection":"127.0.0.1', '"connection":"127.0.0.2')
        (folder / log.parent.name / "kafka-request.log.before").write_text(text)


_FORMER = "former-cluster"
ALTERED: Mapping[str, tuple[str, Alteration]] = {
    _FORMER: ("ends-4.3.1", _with_lines_of_a_former_cluster),
    "one-broker-less": ("failover-4.3.1", partial(_without_request_logs_of, broker=3)),
    "half-past-five": ("troubled-4.3.1", partial(_in_another_zone, zone="Asia/Kolkata")),
    "producers-in-another-zone": ("producers-4.3.1", partial(_in_another_zone, zone="Etc/GMT-1")),
    "ten-seconds-behind": ("rebalances-4.3.1", partial(with_request_log_moved, ms=-10_000)),
    "leader-epoch": (
        "groups-4.3.1",
        partial(_with_a_flipped_bit, partition="__consumer_offsets-1", at=_EPOCH_BYTE),
    ),
    "older-leader-epoch": (
        "groups-4.3.1",
        partial(_with_a_flipped_bit, partition="__consumer_offsets-2", at=_LOW_EPOCH_BYTE),
    ),
    "base-offset": (
        "producers-4.3.1",
        partial(_with_a_flipped_bit, partition="__transaction_state-0", at=_OFFSET_BYTE),
    ),
}
"""The capture that is altered, and how."""


@dataclasses.dataclass(frozen=True)
class Found:
    """What a lake holds of each cluster."""

    decisions: Mapping[str, Mapping[tuple[Any, ...], str | None]]
    violated: Mapping[str, set[tuple[Any, ...]]]
    coverage: Mapping[str, Mapping[str, str]]
    set_aside: Mapping[str, set[str]]


@pytest.fixture(scope="module")
def found(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Found:
    """One audit of the captures, whole and altered, in this process."""
    home = tmp_path_factory.mktemp("damage")
    folders = {name: captures / name for name, _ in ALTERED.values()}
    for name, (whole, alter) in ALTERED.items():
        folders[name] = home / name
        alter(captures / whole, home / name)
    read = {name: load(folder / "fencepost.toml") for name, folder in folders.items()}
    settings = dataclasses.replace(
        next(iter(read.values())),
        lake=Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}"),
        clusters=tuple(dataclasses.replace(each.clusters[0], name=name) for name, each in read.items()),
    )
    catalog = ensure(settings.lake)
    here = TaskEngine(catalog)
    capture(settings, catalog, lambda *_: here, "run", lambda line: None)
    rebuild(settings, catalog, lambda *_: here)
    judge(settings, catalog, lambda *_: here)
    names = _names_of_requests(catalog)
    decisions: dict[str, dict[tuple[Any, ...], str | None]] = defaultdict(dict)
    for row in lake.scan(catalog, DECISIONS).to_pylist():
        if subject := names.get((row["cluster"], row["subject"])):
            decisions[row["cluster"]][row["decision"], *subject] = row["outcome"]
    violated: dict[str, set[tuple[Any, ...]]] = defaultdict(set)
    for row in lake.scan(catalog, EPISODES).to_pylist():
        if row["verdict"] == "violated":
            ids = json.loads(row["witness"]).values()
            subjects = (names.get((row["cluster"], each)) for each in ids if isinstance(each, str))
            violated[row["cluster"]].add((row["invariant"], *subjects))
    coverage: dict[str, dict[str, str]] = defaultdict(dict)
    for row in lake.scan(catalog, VERDICT_COVERAGE).to_pylist():
        coverage[row["cluster"]][row["invariant"]] = row["status"]
    set_aside: dict[str, set[str]] = defaultdict(set)
    for row in lake.scan(catalog, QUARANTINE).to_pylist():
        set_aside[row["cluster"]].add(row["reason"])
    return Found(decisions, violated, coverage, set_aside)


def _no_spark(**_: bool) -> NoReturn:
    raise AssertionError("captures are small: this process does it")


def _names_of_requests(catalog: Any) -> dict[tuple[str, str], tuple[Any, ...]]:
    """What a request, or a commit of it, is whatever its line says of the time: by cluster and id."""
    of_line = ("client_id", "connection", "correlation_id", "api_key", "transactional_id", "member_id")
    names = {}
    for table in (table for protocol in protocols() for table in protocol.tables):
        if {"client_id", "correlation_id"} <= set(table.columns) and len(table.key) == 2:
            columns = [name for name in (*of_line, "topic", "partition") if name in table.columns]
            for row in lake.scan(catalog, table, ("cluster", table.key[1], *columns)).to_pylist():
                names[row["cluster"], row[table.key[1]]] = (table.name, *(row[name] for name in columns))
    return names


@pytest.mark.parametrize("name", sorted(ALTERED.keys() - {_FORMER}))
def test_no_decision_is_another_one(found: Found, name: str) -> None:
    whole, left = found.decisions[ALTERED[name][0]], found.decisions[name]
    known = {of: outcome for of, outcome in left.items() if outcome is not None and whole.get(of) is not None}
    assert {of: (whole[of], outcome) for of, outcome in known.items() if whole[of] != outcome} == {}
    # the alteration took something
    assert len(known) < sum(outcome is not None for outcome in whole.values())


@pytest.mark.parametrize("name", ALTERED)
def test_nothing_is_violated_or_green_that_was_not(found: Found, name: str) -> None:
    whole = ALTERED[name][0]
    assert found.violated[name] - found.violated[whole] == set()
    for green, before in (("holds", {"holds", *PARTLY}), ("holds_partly", {"holds", *PARTLY, "violated"})):
        names = {each for each, status in found.coverage[name].items() if status == green}
        assert {found.coverage[whole][each] for each in names} <= before


def test_a_violation_that_only_missing_lines_show_is_unknown(found: Found) -> None:
    whole, left = found.coverage["failover-4.3.1"], found.coverage["one-broker-less"]
    assert found.set_aside["one-broker-less"] == {"missing"}
    assert whole["no_commit_after_revocation"] == "violated"
    assert left["no_commit_after_revocation"] in PARTLY
    # every protocol reads request logs
    assert "holds" in whole.values() and "holds" not in left.values()


def test_what_no_checksum_covers_is_named(found: Found) -> None:
    for name in ("leader-epoch", "older-leader-epoch", "base-offset"):
        assert "out_of_order" in found.set_aside[name] - found.set_aside[ALTERED[name][0]]
