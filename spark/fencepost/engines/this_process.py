"""The back end of this process alone: it needs the least memory and CPU, and no copies."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from fencepost.engines.backends import R, T


class ThisProcess:
    """See :class:`fencepost.engines.backends.Backend`."""

    name = "process"
    cores = 1
    is_here = True

    def run(self, what: str, items: Sequence[T], work: Callable[[T], R]) -> list[R]:
        """The results of a task for each item, in their order."""
        return [work(item) for item in items]

    def shuffle(
        self,
        what: str,
        items: Sequence[T],
        spread: Callable[[T], Iterable[tuple[int, Any]]],
        work: Callable[[Iterator[Any]], R],
        buckets: int,
    ) -> list[R]:
        """The results of a task for each bucket."""
        values = defaultdict[int, list[Any]](list)
        for item in items:
            for bucket, value in spread(item):
                values[bucket].append(value)
        return [work(iter(values.pop(bucket, ()))) for bucket in range(buckets)]

    def stop(self) -> None:
        """Nothing was started."""
