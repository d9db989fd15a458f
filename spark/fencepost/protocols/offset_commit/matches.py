"""What is known of the records that accepted commits wrote."""

from __future__ import annotations

from dataclasses import dataclass, field

from fencepost.protocols.offset_commit.requests import Commit
from fencepost.replay.group_coordinator.records import OffsetCommitRecord

Options = dict[Commit, list[OffsetCommitRecord]]
"""Commits with the records that each may have written, in offset order."""


@dataclass(slots=True)
class Matches:
    """``sure``: a commit's own record. ``doubtful``: the records that one without a sure one may have
    written. Of the others ``competing`` have records in time, but fewer than there are commits, and ``late``
    only records with their content from before.
    """

    sure: dict[Commit, OffsetCommitRecord] = field(default_factory=dict)
    doubtful: Options = field(default_factory=dict)
    competing: set[Commit] = field(default_factory=set)
    late: set[Commit] = field(default_factory=set)
