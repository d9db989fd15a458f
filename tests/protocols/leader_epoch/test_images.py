"""Kafka's own MetadataBatchLoader and MetadataImage as the oracle of our replay of metadata logs.

Of every stored capture, batch for batch and of every replica and checkpoint; of a real log that begins with
each of its checkpoints; and of one that is bracketed with transactions (KIP-868), which begin, end and are
aborted anywhere, as controllers that die leave them.
"""

from __future__ import annotations

import dataclasses
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.compute as pc
import pytest
from images import Image, image_at, images_of
from segments import encoded

from fencepost import lake
from fencepost.capture.run import capture
from fencepost.engines.tasks import TaskEngine
from fencepost.formats.batches import records, walk
from fencepost.opening import ensure
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.cluster_replay import replay
from fencepost.replay.keys import METADATA_TOPIC
from fencepost.replay.metadata_log import metadata_log
from fencepost.replay.metadata_records import snapshots
from fencepost.settings import Broker, Cluster, Lake, Settings, load
from fencepost.tables import BATCHES, METADATA_SNAPSHOTS, QUARANTINE, RECORDS

CAPTURES = Path(__file__).parents[2] / "captures"
LOG = f"{METADATA_TOPIC}-0"
STORED = tuple(
    sorted(
        path.parent.name
        for path in CAPTURES.glob("*/fencepost.toml")
        if list(path.parent.glob(f"*/log_dir/{LOG}"))
    )
)
"""The captures with a metadata log."""
THREE_BROKERS = CAPTURES / "incarnations-4.3.1"
LATE = tuple(
    f"from-{int(path.name.split('-')[0])}"
    for path in sorted(THREE_BROKERS.glob("broker-1/log_dir/*/*.checkpoint"))
)
BRACKETED = tuple(f"bracketed-{seed}" for seed in range(12))
# frame version 1, the apiKey, version 0, no tagged field
BEGIN, END, ABORT = (bytes([1, key, 0, 0]) for key in (23, 24, 25))


class Replayed(NamedTuple):
    """What became of one cluster's log: our history, and Kafka's images of each of its files."""

    history: ClusterHistory
    images: dict[Path, list[tuple[int, Image]]]
    ends: list[int]


def _values(log: Path) -> list[bytes]:
    """The records of a log behind its bootstrap records, which are a transaction already."""
    data = log.read_bytes()
    rows = records(data, walk(data, closed=True)).records
    values = rows.filter(pc.invert(rows["is_control"]))["value"].to_pylist()
    return values[values.index(END) + 1 :]


def _bracketed(values: list[bytes], chance: random.Random) -> Iterator[bytes]:
    """The records with transactions: what one was aborted with is written again, as a new controller does."""
    at = 0
    while at < len(values):
        run = values[at : at + chance.randint(1, 12)]
        kind = chance.choice(("plain", "ended", "aborted"))
        if kind == "aborted":
            yield from (BEGIN, *run[: chance.randint(0, len(run))], ABORT)
            continue
        yield from (BEGIN, *run, END) if kind == "ended" else run
        at += len(run)
    # the last controller died, and nobody has ended its transaction
    yield from (BEGIN, *values[:2])


def _write(folder: Path, values: list[bytes], chance: random.Random) -> None:
    """A log of one replica, its records in batches of any size.

    An abort ends its batch: what was aborted is nothing to a controller (OffsetControlManager), whatever
    follows, but MetadataBatchLoader takes it along with what follows in the same batch.
    """
    folder.mkdir(parents=True)
    data, at = b"", 0
    while at < len(values):
        some = values[at : at + chance.randint(1, 9)]
        some = some[: some.index(ABORT) + 1] if ABORT in some else some
        data += encoded(some, at, leader_epoch=1, ms=1_700_000_000_000 + at)
        at += len(some)
    (folder / "00000000000000000000.log").write_bytes(data)


def _cut(whole: Path, first: int, folder: Path) -> None:
    """The log from a checkpoint on, as it is when its retention has deleted what is before."""
    folder.mkdir(parents=True)
    (checkpoint,) = whole.parent.glob(f"{first:020}-*.checkpoint")
    shutil.copy(checkpoint, folder)
    data = whole.read_bytes()
    found = walk(data, closed=True).batches
    (at,) = found.filter(pc.equal(found["base_offset"], first))["position"].to_pylist()
    (folder / f"{first:020}.log").write_bytes(data[at:])


def _clusters(home: Path) -> Iterator[Cluster]:
    """Nothing but metadata logs."""
    for name in STORED:
        (cluster,) = load(CAPTURES / name / "fencepost.toml").clusters
        brokers = []
        for broker in cluster.brokers:
            folder = home / name / f"broker-{broker.id}"
            shutil.copytree(CAPTURES / name / f"broker-{broker.id}" / "log_dir" / LOG, folder / LOG)
            brokers.append(Broker(broker.id, log_dirs=(str(folder),)))
        yield Cluster(name, tuple(brokers))
    whole = THREE_BROKERS / "broker-1" / "log_dir" / LOG / f"{0:020}.log"
    for name in LATE:
        _cut(whole, int(name.removeprefix("from-")), home / name / LOG)
        yield Cluster(name, (Broker(1, log_dirs=(str(home / name),)),))
    values = _values(whole)
    for seed, name in enumerate(BRACKETED):
        chance = random.Random(seed)
        _write(home / name / LOG, list(_bracketed(values, chance)), chance)
        yield Cluster(name, (Broker(1, log_dirs=(str(home / name),)),))


@pytest.fixture(scope="module")
def replayed(jars: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Replayed]:
    home = tmp_path_factory.mktemp("metadata-logs")
    settings = dataclasses.replace(
        load(CAPTURES / STORED[0] / "fencepost.toml"),
        lake=Lake(str(home / "warehouse"), f"sqlite:///{home / 'catalog.db'}"),
        clusters=tuple(_clusters(home)),
    )
    bronze = _bronze(settings)
    folders = sorted(home.glob(f"**/{LOG}"))
    files = [*folders, *sorted(home.glob("**/*.checkpoint"))]
    images = images_of(jars, files)
    found = {}
    for cluster in settings.clusters:
        name = cluster.name
        of = [rows.filter(pc.equal(rows["cluster"], name)) for rows in bronze]
        log = metadata_log(*of[:3], snapshots(of[3]))
        mine = {file: told for file, told in images.items() if file.relative_to(home).parts[0] == name}
        found[name] = Replayed(replay(log), mine, sorted(set(of[0]["last_offset"].to_pylist())))
    return found


def _bronze(settings: Settings) -> list[object]:
    catalog = ensure(settings.lake)
    capture(settings, catalog, lambda size, what: TaskEngine(catalog), "test")
    return [lake.scan(catalog, table) for table in (BATCHES, RECORDS, QUARANTINE, METADATA_SNAPSHOTS)]


@pytest.mark.parametrize("name", [*STORED, *LATE, *BRACKETED])
def test_every_image_is_kafkas(replayed: dict[str, Replayed], name: str) -> None:
    """Topics with their ids, partitions with all their epochs, and brokers, behind every batch."""
    history, images, ends = replayed[name]
    compared = 0
    for file, told in images.items():
        first, last = told[0][0], told[-1][0]
        # a checkpoint is one image; a replica's log may end before the others
        behind = [end for end in ends if first <= end <= min(each for each in ends if each >= last)]
        kafkas, left = Image({}, {}, {}), list(told)
        for end in [last] if file.suffix == ".checkpoint" else behind:
            while left and left[0][0] <= end:
                kafkas = left.pop(0)[1]
            assert image_at(history, end) == kafkas, (file, end)
            compared += 1
        assert not left
    assert compared


@pytest.mark.parametrize("name", [*STORED, *BRACKETED])
def test_every_leader_epoch_is_kafkas(replayed: dict[str, Replayed], name: str) -> None:
    """Who led each partition of each incarnation in which epoch."""
    history, images, _ = replayed[name]
    elected: dict[str, dict[int | None, int | None]] = {}
    for _, partition in history.partitions():
        of = elected.setdefault(":".join(map(str, partition.id)), {})
        assert len(of) == 0
        of.update((election.leader_epoch, election.leader) for election in partition.elections)
        # an epoch that another follows in the same batch is in no image
        assert sorted(of) == list(range(max(of) + 1))
    led: dict[str, dict[int, int]] = {}
    for told in images.values():
        for _, image in told:
            for place, now in image.partitions.items():
                led.setdefault(place, {})[now["leader_epoch"]] = now["leader"]
    assert led
    for place, leaders in led.items():
        assert max(leaders) == max(elected[place])
        assert leaders.items() <= elected[place].items()


@pytest.mark.parametrize("name", STORED)
def test_the_counter_of_partition_epochs_is_what_kafkas_images_give(
    replayed: dict[str, Replayed], name: str
) -> None:
    """KIP-232's counter: one for each partition that appears, one for each topic that goes."""
    history, images, _ = replayed[name]
    for file, told in images.items():
        seen, gone, before = set[str](), 0, set[str]()
        for offset, image in () if file.suffix == ".checkpoint" else told:
            seen |= set(image.partitions)
            gone += len(before - set(image.names))
            before = set(image.names)
            assert history.max_partition_epoch(offset) == len(seen) + gone
