"""The back end on this machine's cores: processes that are forked with the modules that tasks need."""

from __future__ import annotations

import atexit
import logging
import multiprocessing
import os
import pickle
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from functools import cached_property
from multiprocessing import forkserver, resource_tracker
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO
from uuid import uuid4

from pyspark import cloudpickle

from fencepost.engines import available_cores
from fencepost.engines.backends import R, T
from fencepost.engines.errors import CarriedError, TaskError, carried, carrying, new_key
from fencepost.engines.interrupts import starting_deaf
from fencepost.engines.packed import Packed
from fencepost.engines.progress import Progress

PRELOADED = "fencepost.engines.forked"
_LONGEST_FOLDER = 70
"""The path of a socket has at most 107 bytes, of which multiprocessing's own names take some 35."""

_log = logging.getLogger(__name__)


class Processes:
    """See :class:`fencepost.engines.backends.Backend`. Rows are shuffled through temporary files."""

    name = "processes"
    is_here = False

    def __init__(self, cores: int | None = None) -> None:
        self.cores = cores or available_cores()
        self._key = new_key()

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
        with self._folder_of_job() as folder:

            def store(numbered: tuple[int, bytes]) -> Counter[int]:
                number, item = numbered
                values = Counter[int]()
                folder.mkdir(exist_ok=True)
                with ExitStack() as files:
                    of_bucket: dict[int, BinaryIO] = {}
                    for bucket, value in spread_item(item):
                        if bucket not in of_bucket:
                            of_bucket[bucket] = files.enter_context(
                                (folder / f"{bucket}-{number}").open("wb")
                            )
                        pickle.dump(value, of_bucket[bucket])
                        values[bucket] += 1
                return values

            stored = self._all(f"{what}: shuffle", list(enumerate(packed.items)), store)

            def values(bucket: int) -> Iterator[Any]:
                for number, values in enumerate(stored):
                    if values[bucket]:
                        with (folder / f"{bucket}-{number}").open("rb") as file:
                            yield from (pickle.load(file) for _ in range(values[bucket]))

            return self._all(what, list(range(buckets)), lambda bucket: work(values(bucket)))

    def stop(self) -> None:
        """End all processes, whatever they do."""
        self._end_processes()
        shutil.rmtree(self._folder, ignore_errors=True)

    @cached_property
    def _pool(self) -> ProcessPoolExecutor:
        _shorten_sockets()
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([PRELOADED])
        _start_fork_server()
        folder = (str(self._folder),)
        return ProcessPoolExecutor(self.cores, mp_context=context, initializer=_prepare, initargs=folder)

    @cached_property
    def _folder(self) -> Path:
        """For temporary files. The processes make it, since they remove it if the driver is killed."""
        return Path(tempfile.gettempdir()) / f"fencepost-{uuid4().hex}"

    @contextmanager
    def _folder_of_job(self) -> Iterator[Path]:
        folder = self._folder / uuid4().hex
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def _all(self, what: str, items: Sequence[T], work: Callable[[T], R]) -> list[R]:
        pickled: bytes = cloudpickle.dumps(work)  # type: ignore[no-untyped-call]
        found: dict[int, R] = {}
        with Progress(what, len(items), lambda: len(found)):
            try:
                self._find(found, pickled, items)
            except BrokenProcessPool:
                _log.warning("%s: a process was killed; its tasks are run again", what)
                try:
                    self._find(found, pickled, items)
                except BrokenProcessPool:
                    raise TaskError(
                        f"{what}: a process was killed, and so was the one that ran its tasks again. If the "
                        'system lacks memory: [engine] run_on = "process" needs the least.'
                    ) from None
        return [found[number] for number in range(len(items))]

    def _find(self, found: dict[int, R], work: bytes, items: Sequence[T]) -> None:
        """Find the results that are not found yet. After an error no task runs any more."""
        missing = {number: item for number, item in enumerate(items) if number not in found}
        try:
            # Ctrl-C stops this thread alone: it would leave behind a process that the pool has started, and
            # has not noted yet
            with ThreadPoolExecutor(1) as submitting:
                waiting = submitting.submit(self._submit, work, missing).result()
            for each in as_completed(waiting):
                found[waiting[each]] = each.result()
        except CarriedError as error:
            self._end_processes()
            raise carried(str(error), self._key) or error from None
        except BaseException:
            self._end_processes()
            raise

    def _submit(self, work: bytes, items: Mapping[int, Any]) -> dict[Future[Any], int]:
        return {self._pool.submit(_call, self._key, work, item): number for number, item in items.items()}

    def _end_processes(self) -> None:
        if "_pool" in self.__dict__:
            pool: ProcessPoolExecutor = self.__dict__.pop("_pool")
            for each in list((pool._processes or {}).values()):
                each.terminate()
            pool.shutdown(cancel_futures=True)


def _start_fork_server() -> None:
    """Start the process that the others are forked from, which first imports what tasks need."""
    resource_tracker.ensure_running()  # It unblocks Ctrl-C when it starts.
    with starting_deaf():
        forkserver.ensure_running()


def _shorten_sockets() -> None:
    """Have multiprocessing put its sockets where their paths are not too long for the system.

    Python 3.11 puts them into the folder for temporary files, whatever the length of its name. To be removed
    when Python 3.14 is the oldest that is supported: it does not.
    """
    if len(os.fsencode(tempfile.gettempdir())) > _LONGEST_FOLDER:
        folder = tempfile.mkdtemp(prefix="pymp-", dir="/tmp")
        _sockets().setdefault("tempdir", folder)
        atexit.register(shutil.rmtree, folder, ignore_errors=True)


def _sockets() -> dict[str, Any]:
    """Where multiprocessing notes the folder of its sockets, as ``tempdir``; forked processes know it."""
    noted: dict[str, Any] = multiprocessing.current_process()._config  # type: ignore[attr-defined]
    return noted


def _prepare(folder: str) -> None:
    """Prepare a process for tasks: it ends with the driver, also if that is killed, and so do its temporary
    files.
    """
    tempfile.tempdir = folder
    Path(folder).mkdir(mode=0o700, exist_ok=True)
    Thread(target=_end_with_driver, args=(folder,), daemon=True).start()


def _end_with_driver(folder: str) -> None:
    driver = multiprocessing.parent_process()
    assert driver is not None
    driver.join()
    shutil.rmtree(_sockets().get("tempdir", folder), ignore_errors=True)
    for _ in range(50):  # as long as the task goes on, it may write another file
        shutil.rmtree(folder, ignore_errors=True)
        if not Path(folder).exists():
            break
        time.sleep(0.1)
    os._exit(1)


def _call(key: str, work: bytes, item: Any) -> Any:
    with carrying(key):
        return pickle.loads(work)(item)
