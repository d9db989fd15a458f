"""Faults: the form in which all readers of this package report evidence that they could not read."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A piece of a file that could not be read, and goes to ``bronze.quarantine``.

    ``position`` and ``length`` are in bytes; ``reason`` is a word of ``bronze.quarantine``; ``detail`` says
    what is wrong and what to do.
    """

    position: int
    length: int
    reason: str
    detail: str
