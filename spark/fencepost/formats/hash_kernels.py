"""A hash of each text of an Arrow column."""

from __future__ import annotations

from fencepost.formats import memory
from fencepost.formats.jit import kernel
from fencepost.formats.memory import Bytes, Longs

_PRIME = 0x100000001B3


@kernel
def hash_texts(data: Bytes, offsets: Longs, hashes: Longs) -> None:
    """Write the hash of each text: FNV-1a, over eight bytes at a time while there are as many.

    ``offsets``: where the texts begin in ``data``, and where the last one ends; ``hashes``: one for each.
    """
    for number in range(len(hashes)):
        at, end = memory.get(offsets, number), memory.get(offsets, number + 1)
        found = end - at
        while at + 8 <= end:
            found = (found ^ memory.int64(data, at)) * _PRIME
            found ^= (found >> 32) & 0xFFFFFFFF
            at += 8
        while at < end:
            found = (found ^ memory.byte(data, at)) * _PRIME
            at += 1
        memory.put(hashes, number, found)
