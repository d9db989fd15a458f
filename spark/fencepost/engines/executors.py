"""The back end on Spark: tasks run on its executors, on this machine or on others.

Jobs are of bytes. No SQL is planned, and rows pass a JVM only where they are shuffled. Nothing is kept on
executors but what Spark's lineage makes again, so they may be lost at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from pyspark import SparkContext

from fencepost.engines.backends import Packed, R, T
from fencepost.engines.progress import Progress


class Executors:
    """See :class:`fencepost.engines.backends.Backend`; ``open_context`` starts Spark when the first job needs
    it.
    """

    name = "spark"

    def __init__(self, open_context: Callable[[], SparkContext]) -> None:
        self._open_context = open_context

    @cached_property
    def _context(self) -> SparkContext:
        return self._open_context()

    @property
    def cores(self) -> int:
        """How many tasks run at once."""
        return int(self._context.defaultParallelism)

    def run(self, what: str, items: Sequence[T], work: Callable[[T], R]) -> list[R]:
        """The results of a task for each item: a job of one stage."""
        packed = Packed(items)
        rows = self._context.parallelize(packed.items, max(1, len(items)))
        return self._collected(what, rows.map(packed.loading(work)), len(items))

    def shuffle(
        self,
        what: str,
        items: Sequence[T],
        spread: Callable[[T], Iterable[tuple[int, Any]]],
        work: Callable[[Iterator[Any]], R],
        buckets: int,
    ) -> list[R]:
        """The results of a task for each bucket: a job of two stages."""
        packed = Packed(items)
        rows = self._context.parallelize(packed.items, max(1, len(items))).flatMap(packed.loading(spread))

        def reduce(pairs: Iterable[tuple[int, Any]]) -> Iterable[R]:
            yield work(value for _, value in pairs)

        shuffled = rows.partitionBy(buckets, int).mapPartitions(reduce)
        return self._collected(what, shuffled, len(items) + buckets)

    def stop(self) -> None:
        """Whoever opened the context stops it."""

    def _collected(self, what: str, rows: Any, tasks: int) -> list[Any]:
        self._context.setJobDescription(what)
        tracker = self._context.statusTracker()

        def done() -> int:
            stages = [tracker.getStageInfo(each) for each in _stages(tracker)]
            return sum(each.numCompletedTasks for each in stages if each)

        with Progress(what, tasks, done):
            found: list[Any] = rows.collect()
        return found


def _stages(tracker: Any) -> list[int]:
    """The stages of the jobs that run now."""
    jobs = [tracker.getJobInfo(each) for each in tracker.getActiveJobsIds()]
    return [stage for each in jobs if each for stage in each.stageIds]
