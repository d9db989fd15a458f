"""KIP-232's ``offsetEpoch``: opaque bytes with both epochs of an offset, to store beside it outside Kafka.

No broker and no client has them yet, so the layout is our own: nine bytes, big-endian.

========  ======  ==============================================================================
position  type    what
========  ======  ==============================================================================
0         int8    version, 0
1         int32   leader epoch: the largest of the records before the offset; -1 for none
5         int32   partition epoch: of the partition's incarnation that was read; -1 for none
========  ======  ==============================================================================
"""

from __future__ import annotations

import struct
from typing import NamedTuple

VERSION = 0
_LAYOUT = struct.Struct(">bii")
_LARGEST = (1 << 31) - 1


class OffsetEpoch(NamedTuple):
    """Both epochs; -1 where there is none."""

    leader_epoch: int
    partition_epoch: int


class OffsetEpochError(ValueError):
    """Bytes that are no offsetEpoch, or numbers that are no epochs; the message says why."""


def encode(leader_epoch: int, partition_epoch: int) -> bytes:
    """The bytes to store beside an offset. Raises OffsetEpochError."""
    for name, epoch in (("leader", leader_epoch), ("partition", partition_epoch)):
        if not -1 <= epoch <= _LARGEST:
            raise OffsetEpochError(f"{epoch} is no {name} epoch: it is -1 for none, or from 0 to {_LARGEST}")
    return _LAYOUT.pack(VERSION, leader_epoch, partition_epoch)


def decode(data: bytes) -> OffsetEpoch:
    """The epochs in bytes that ``encode`` made. Raises OffsetEpochError; KIP-232 has seek() refuse such
    bytes.
    """
    if not data:
        raise OffsetEpochError("an offsetEpoch is not empty: store the bytes as they were given")
    if data[0] != VERSION:
        raise OffsetEpochError(
            f"offsetEpoch of version {data[0]} ({_shown(data)}): only version {VERSION} is known here"
        )
    if len(data) != _LAYOUT.size:
        raise OffsetEpochError(
            f"an offsetEpoch of version {VERSION} has {_LAYOUT.size} bytes, not {len(data)} ({_shown(data)})"
        )
    _, leader_epoch, partition_epoch = _LAYOUT.unpack(data)
    if min(leader_epoch, partition_epoch) < -1:
        raise OffsetEpochError(f"an epoch in an offsetEpoch is below -1 ({_shown(data)})")
    return OffsetEpoch(leader_epoch, partition_epoch)


def leader_epoch_of(data: bytes) -> int:
    """The leader epoch in an offsetEpoch. Raises OffsetEpochError."""
    return decode(data).leader_epoch


def partition_epoch_of(data: bytes) -> int:
    """The partition epoch in an offsetEpoch. Raises OffsetEpochError."""
    return decode(data).partition_epoch


def _shown(data: bytes) -> str:
    return data[:16].hex() + ("..." if len(data) > 16 else "")
