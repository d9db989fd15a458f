"""The evidence of one group coordinator's log: rows of bronze, and what is decoded from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from fencepost.protocols.offset_commit.records import GroupRecord, Marker, OffsetCommitRecord
from fencepost.protocols.offset_commit.requests import CommitRequest, MemberLine
from fencepost.replay.logs import Log


@dataclass(slots=True)
class ShardRows:
    """What bronze has of one coordinator's log, by table; only the columns that tables of bronze have count.

    ``batches``, ``records`` and ``cleaned`` of one partition of ``__consumer_offsets``, ``quarantine`` of its
    segments (others are ignored), ``requests`` of the groups that live there. ``partition`` is None for the
    groups of which it is not known where they live: only ``requests`` has rows then.
    """

    cluster: str
    partition: int | None
    batches: pa.Table
    records: pa.Table
    requests: pa.Table
    quarantine: pa.Table
    cleaned: pa.Table


@dataclass(slots=True)
class ShardEvidence:
    """The same, decoded: plain objects, in any order. A case written by hand begins here."""

    cluster: str
    partition: int | None
    log: Log
    group_records: Sequence[GroupRecord]
    commit_records: Sequence[OffsetCommitRecord]
    markers: Sequence[Marker]
    requests: Sequence[CommitRequest]
    member_lines: Sequence[MemberLine]
