"""A back end in this process, which runs tasks as a bad day would; and what runs leave behind them."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pyiceberg.catalog import Catalog

from fencepost.engines.backends import R, T
from fencepost.engines.packed import Packed
from fencepost.protocols import tables
from fencepost.settings import Settings
from fencepost.tables import Table

_OF_DRIVERS = re.compile(r"\d+-\d+-[0-9a-f-]{36}\.parquet")
"""The names of files that a driver writes: those of tasks have the run's name, too."""


class Inline:
    """Tasks run in any order, and some of them twice; chance says which result counts."""

    name = "inline"
    is_here = False
    cores = 2

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def run(self, what: str, items: Sequence[T], work: Callable[[T], R]) -> list[R]:
        """The results of a task for each item, in their order."""
        packed = Packed(items)
        return self._all(packed.items, packed.loading(work))

    def shuffle(
        self,
        what: str,
        items: Sequence[T],
        spread: Callable[[T], Iterable[tuple[int, Any]]],
        work: Callable[[Iterator[Any]], R],
        buckets: int,
    ) -> list[R]:
        """The results of a task for each bucket."""
        packed = Packed(items)
        spread_item = packed.loading(spread)
        values = defaultdict[int, list[Any]](list)
        for pairs in self._all(packed.items, lambda item: list(spread_item(item))):
            for bucket, value in pairs:
                values[bucket].append(value)
        return self._all(range(buckets), lambda bucket: work(iter(values[bucket])))

    def stop(self) -> None:
        """Nothing was started."""

    def _all(self, items: Sequence[Any], work: Callable[[Any], R]) -> list[R]:
        numbers = [number for number in range(len(items)) for _ in range(self._chance.choice((1, 1, 2)))]
        self._chance.shuffle(numbers)
        found = {number: work(items[number]) for number in numbers}
        return [found[number] for number in range(len(items))]


def left_behind(settings: Settings, catalog: Catalog, of: Sequence[Table] = ()) -> set[Path]:
    """Data files of these tables (of all, if none is named) that tasks wrote and no snapshot names, and
    folders of runs. A driver that is killed between a small file of its own and the commit leaves that file.
    """
    warehouse = Path(settings.lake.warehouse)
    named, data = set[Path](), set[Path]()
    for table in of or tables():
        stored = catalog.load_table(table.name)
        for snapshot in stored.metadata.snapshots:
            for manifest in snapshot.manifests(stored.io):
                entries = manifest.fetch_manifest_entry(stored.io, discard_deleted=False)
                named |= {Path(each.data_file.file_path) for each in entries}
        files = (file for file in Path(stored.location()).rglob("data/**/*") if file.is_file())
        data |= {file for file in files if not _OF_DRIVERS.fullmatch(file.name)}
    assert data or not any(not _OF_DRIVERS.fullmatch(each.name) for each in named)
    return (data - named) | set(warehouse.rglob("runs/*"))
