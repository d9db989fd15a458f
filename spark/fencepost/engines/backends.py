"""What a back end of the engine does: it runs the tasks of a job somewhere."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

from pyspark.cloudpickle import CloudPickler

from fencepost.engines.parts import Shared

T = TypeVar("T")
R = TypeVar("R")


class Backend(Protocol):
    """Runs jobs. A task may be run twice, also at the same time; the result of one of them counts.

    An error in a task is raised by the job as the same error. Raises TaskError if the tasks cannot be run.
    """

    name: str

    @property
    def cores(self) -> int:
        """How many tasks run at once."""

    def run(self, what: str, items: Sequence[T], work: Callable[[T], R]) -> list[R]:
        """The results of a task for each item, in the order of items; ``what`` names the job in words."""

    def shuffle(
        self,
        what: str,
        items: Sequence[T],
        spread: Callable[[T], Iterable[tuple[int, Any]]],
        work: Callable[[Iterator[Any]], R],
        buckets: int,
    ) -> list[R]:
        """The results of a task for each of ``buckets``. Its task gets all values that ``spread`` yields with
        its number, for any item.
        """

    def stop(self) -> None:
        """End all processes that were started."""


class Packed:
    """The items of a job, pickled one by one. What they share is pickled once."""

    def __init__(self, items: Sequence[Any]) -> None:
        self._shared: list[Shared[Any]] = []
        numbers: dict[int, int] = {}

        class Pickler(CloudPickler):
            def persistent_id(_, each: Any) -> int | None:  # noqa: N805
                if type(each) is not Shared:
                    return None
                if id(each) not in numbers:
                    numbers[id(each)] = len(self._shared)
                    self._shared.append(each)
                return numbers[id(each)]

        self.items = []
        for item in items:
            buffer = io.BytesIO()
            Pickler(buffer).dump(item)  # type: ignore[no-untyped-call]
            self.items.append(buffer.getvalue())

    def loading(self, work: Callable[[Any], R]) -> Callable[[bytes], R]:
        """The work on a pickled item, for tasks."""
        shared = self._shared

        def run(item: bytes) -> R:
            class Unpickler(pickle.Unpickler):
                def persistent_load(_, number: int) -> Shared[Any]:  # noqa: N805
                    return shared[number]

            return work(Unpickler(io.BytesIO(item)).load())

        return run
