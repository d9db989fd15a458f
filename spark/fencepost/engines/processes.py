"""The back end on this machine's cores: processes that are forked with the modules that tasks need."""

from __future__ import annotations

import multiprocessing
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

from pyspark import cloudpickle

from fencepost.engines import available_cores
from fencepost.engines.backends import Packed, R, T
from fencepost.engines.progress import Progress

PRELOADED = "fencepost.engines.forked"


class Processes:
    """See :class:`fencepost.engines.backends.Backend`. Rows are shuffled through temporary files."""

    name = "processes"

    def __init__(self, cores: int | None = None) -> None:
        self.cores = cores or available_cores()

    def run(self, what: str, items: Sequence[T], work: Callable[[T], R]) -> list[R]:
        """The results of a task for each item, in their order."""
        packed = Packed(items)
        return self._all(what, packed.items, packed.loading(work))

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
        with tempfile.TemporaryDirectory(dir=self._folder.name) as name:
            folder = Path(name)

            def store(numbered: tuple[int, bytes]) -> None:
                number, item = numbered
                files: dict[int, BinaryIO] = {}
                try:
                    for bucket, value in spread_item(item):
                        if bucket not in files:
                            files[bucket] = (folder / f"{bucket}-{number}").open("wb")
                        pickle.dump(value, files[bucket])
                finally:
                    for file in files.values():
                        file.close()

            def values(bucket: int) -> Iterator[Any]:
                for number in range(len(packed.items)):
                    path = folder / f"{bucket}-{number}"
                    if path.exists():
                        with path.open("rb") as file, suppress(EOFError):
                            while True:
                                yield pickle.load(file)

            self._all(f"{what}: shuffle", list(enumerate(packed.items)), store)
            return self._all(what, list(range(buckets)), lambda bucket: work(values(bucket)))

    def stop(self) -> None:
        """End all processes."""
        if "_pool" in self.__dict__:
            self._pool.shutdown(cancel_futures=True)
        if "_folder" in self.__dict__:
            self._folder.cleanup()

    @cached_property
    def _pool(self) -> ProcessPoolExecutor:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([PRELOADED])
        return ProcessPoolExecutor(self.cores, mp_context=context)

    @cached_property
    def _folder(self) -> tempfile.TemporaryDirectory[str]:
        return tempfile.TemporaryDirectory(prefix="fencepost-")

    def _all(self, what: str, items: Sequence[T], work: Callable[[T], R]) -> list[R]:
        pickled: bytes = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]
        waiting = [self._pool.submit(_call, pickled, each) for each in items]
        with Progress(what, len(items)) as progress:
            for each in waiting:
                each.add_done_callback(progress.count)
            return [each.result() for each in waiting]


def _call(work: bytes, item: Any) -> Any:
    return pickle.loads(work)(item)
