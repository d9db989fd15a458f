"""A segment piece by piece: what the rows of every table are made of."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from fencepost.formats.batches import Records, Walk
from fencepost.formats.faults import Fault


@dataclass(frozen=True)
class Piece(ABC):
    """Some batches in a row: their positions count from ``position``; ``final`` when none follow."""

    position: int
    walk: Walk
    final: bool

    @abstractmethod
    def records(self) -> Records:
        """The records that are read of these batches; ``batch_index`` is a row of the walk."""

    @abstractmethod
    def sample(self, fault: Fault) -> bytes | None:
        """The first bytes of a fault, where they may be kept."""
