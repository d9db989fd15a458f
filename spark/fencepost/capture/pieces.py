"""The pieces of a segment, from which the rows of its tables are made."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from fencepost.formats.batches import Records, Walk
from fencepost.formats.faults import Fault


@dataclass(frozen=True)
class Piece(ABC):
    """Some consecutive batches. Their positions count from ``position``; ``final``: no batches follow."""

    position: int
    walk: Walk
    final: bool

    @abstractmethod
    def records(self) -> Records:
        """The records that are read of these batches; ``batch_index`` is a row of the walk."""

    @abstractmethod
    def sample(self, fault: Fault) -> bytes | None:
        """The first bytes of a fault; None if they must not be stored."""
