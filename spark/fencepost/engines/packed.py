"""What travels to the tasks of other processes."""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any

from pyspark.cloudpickle import CloudPickler

from fencepost.engines.backends import R
from fencepost.engines.parts import Shared


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
