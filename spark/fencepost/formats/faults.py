"""Evidence that could not be read, as every reader of this package reports it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A stretch of a file that was set aside.

    ``position`` and ``length`` are bytes in the file; ``reason`` is one word of ``bronze.quarantine``;
    ``detail`` says what it is and what to do.
    """

    position: int
    length: int
    reason: str
    detail: str
