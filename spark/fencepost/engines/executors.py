"""The back end on Spark: tasks run on its executors, on this machine or on others.

Jobs are of bytes. No SQL is planned, and rows pass a JVM only where they are shuffled. Nothing is kept on
executors but what Spark's lineage makes again, so they may be lost at any moment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark import RDD, SparkContext
from pyspark.errors import PySparkException

from fencepost.engines.backends import R, T
from fencepost.engines.errors import TaskError, carried, carrying, new_key
from fencepost.engines.packed import Packed
from fencepost.engines.progress import Progress


class Executors:
    """See :class:`fencepost.engines.backends.Backend`; ``open_context`` starts Spark when the first job needs
    it.
    """

    name = "spark"
    is_here = False

    def __init__(self, open_context: Callable[[], SparkContext]) -> None:
        self._open_context = open_context
        self._key = new_key()

    @cached_property
    def _context(self) -> SparkContext:
        return self._open_context()

    @property
    def cores(self) -> int:
        """How many tasks run at once: also before executors have told how many cores they have."""
        with _in_one_sentence("Spark", self._key):
            conf = self._context.getConf()
            wanted = int(conf.get("spark.executor.instances", "0")) * int(
                conf.get("spark.executor.cores", "1")
            )
            return max(self._context.defaultParallelism, wanted)

    def run(self, what: str, items: Sequence[T], work: Callable[[T], R]) -> list[R]:
        """The results of a task for each item: a job of one stage."""
        packed = Packed(items)
        work_on, key = packed.loading(work), self._key

        def done(item: bytes) -> R:
            with carrying(key):
                return work_on(item)

        with _in_one_sentence(what, key):
            return self._collected(what, self._spread(packed).map(done), len(items))

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
        spread_item, key = packed.loading(spread), self._key

        def pairs(item: bytes) -> Iterator[tuple[int, Any]]:
            with carrying(key):
                yield from spread_item(item)

        def done(pairs: Iterable[tuple[int, Any]]) -> Iterator[R]:
            with carrying(key):
                yield work(value for _, value in pairs)

        with _in_one_sentence(what, key):
            shuffled = self._spread(packed).flatMap(pairs).partitionBy(buckets, int).mapPartitions(done)
            return self._collected(what, shuffled, len(items) + buckets)

    def stop(self) -> None:
        """Whoever opened the context stops it."""

    def _spread(self, packed: Packed) -> RDD[bytes]:
        return self._context.parallelize(packed.items, max(1, len(packed.items)))

    def _collected(self, what: str, rows: Any, tasks: int) -> list[Any]:
        self._context.setJobDescription(what)
        tracker = self._context.statusTracker()

        def done() -> int:
            stages = [tracker.getStageInfo(each) for each in _stages(tracker)]
            return sum(each.numCompletedTasks for each in stages if each)

        with Progress(what, tasks, done):
            found: list[Any] = rows.collect()
        return found


@contextmanager
def _in_one_sentence(what: str, key: str) -> Iterator[None]:
    """What Spark and its JVM raise becomes the error of the task, or one sentence."""
    try:
        yield
    except (Py4JJavaError, PySparkException) as error:
        told = str(error)
        raise carried(told, key) or TaskError(f"{what}: {_reason(told)}") from None
    except (Py4JError, ConnectionError, EOFError):
        raise TaskError(
            f"{what}: Spark's JVM has ended. If the system lacks memory, it has killed it: lower "
            "spark.driver.memory or the number of cores. Otherwise its log, spark.log, ends with the reason."
        ) from None
    except OSError as error:
        raise TaskError(f"{what}: the driver could not talk with Spark's JVM: {error}") from None


def _reason(told: str) -> str:
    """Why Spark gave a job up, without the stacks of the JVM and of Python."""
    failure = told.partition("Driver stacktrace:")[0]
    _, _, in_python = failure.partition("Traceback (most recent call last):")
    # a stack is indented, and its error is behind it
    errors = [line for line in in_python.splitlines() if line and not line[0].isspace()]
    # py4j says first which function it has called
    raised = failure.partition("\n: ")[2].rpartition("most recent failure: ")[2].splitlines()
    return f"Spark gave the job up: {[*errors, *raised, 'it does not say why'][0]}"


def _stages(tracker: Any) -> list[int]:
    """The stages of the jobs that run now."""
    jobs = [tracker.getJobInfo(each) for each in tracker.getActiveJobsIds()]
    return [stage for each in jobs if each for stage in each.stageIds]
