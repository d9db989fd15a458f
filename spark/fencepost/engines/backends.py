"""What a back end of the engine does: it runs the tasks of a job somewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, TypeVar

T = TypeVar("T")
R = TypeVar("R")


class Backend(Protocol):
    """Runs jobs. A task may be run twice, also at the same time; the result of one of them counts.

    An error in a task is raised by the job as the same error. Raises TaskError if the tasks cannot be run.
    """

    name: str
    is_here: bool
    """Whether tasks run in the driver's own process, so that nothing is copied on its way to them."""

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
