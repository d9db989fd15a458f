"""Reads the small text files in a partition's folder: ``leader-epoch-checkpoint`` and
``partition.metadata``.
"""

from __future__ import annotations

import re

import pyarrow as pa

from fencepost.formats.faults import Fault
from fencepost.formats.producer_state import Entries

ENTRY_SCHEMA = pa.schema(
    [("position", pa.int64()), ("leader_epoch", pa.int32()), ("start_offset", pa.int64())]
)

# Kafka's CheckpointFile, version 0: the version, how many entries follow, a line for each.
_VERSION = b"0"
_NUMBER = re.compile(rb"\d{1,10}")
_ENTRY = re.compile(rb"(\d{1,10}) (\d{1,19})")
_INT32, _INT64 = 1 << 31, 1 << 63
# Kafka's PartitionMetadataFile
_TOPIC_ID = re.compile(rb"^topic_id:\s*([\w-]{22})\s*$", re.MULTILINE | re.ASCII)
_REPLACED = "the broker replaces the file when an epoch begins: it is read again"


def read_leader_epochs(data: bytes) -> Entries:
    """The entries of a ``leader-epoch-checkpoint`` as rows of ENTRY_SCHEMA, all or none.

    A file that is refused is not consumed: it may still be in the process of being copied.
    """
    version, *lines = data.removesuffix(b"\n").split(b"\n")
    if not data.strip():
        return _blank(data)
    if version != _VERSION:
        detail = f"checkpoints of version {_shown(version)} are not known here: update Fencepost"
        return _refused(data, 0, "unreadable", detail)
    if not lines or not _NUMBER.fullmatch(lines[0]) or int(lines[0]) > len(lines) - 1:
        detail = f"the checkpoint has fewer entries than it says: {_REPLACED}"
        return _refused(data, 0, "truncated", detail)
    count, *entries = lines
    position, rows = len(version) + len(count) + 2, []
    for number, line in enumerate(entries):
        match = _ENTRY.fullmatch(line)
        if number >= int(count) or match is None:
            detail = f"{_shown(line)} is no leader epoch with its first offset: {_REPLACED}"
            return _refused(data, position, "bad_record", detail)
        epoch, offset = int(match[1]), int(match[2])
        if epoch >= _INT32 or offset >= _INT64:
            detail = f"{_shown(line)} is larger than an epoch or an offset can be: {_REPLACED}"
            return _refused(data, position, "bad_record", detail)
        rows.append({"position": position, "leader_epoch": epoch, "start_offset": offset})
        position += len(line) + 1
    return Entries(pa.RecordBatch.from_pylist(rows, ENTRY_SCHEMA), (), len(data))


def _blank(data: bytes) -> Entries:
    """A file without a byte is not damaged: CheckpointFile creates it empty, and reads it as no entries."""
    if data:
        return _refused(data, 0, "truncated", f"the checkpoint has lines, and no version: {_REPLACED}")
    return Entries(pa.RecordBatch.from_pylist([], ENTRY_SCHEMA), (), 0)


def topic_id_in(data: bytes) -> str | None:
    """The topic id that a ``partition.metadata`` names; None where it names none."""
    match = _TOPIC_ID.search(data)
    return match[1].decode() if match else None


def _refused(data: bytes, position: int, reason: str, detail: str) -> Entries:
    fault = Fault(position, len(data) - position, reason, detail)
    return Entries(pa.RecordBatch.from_pylist([], ENTRY_SCHEMA), (fault,), 0)


def _shown(text: bytes) -> str:
    return repr(text[:40].decode("ascii", "replace"))
