"""The result of matching: which record each accepted commit wrote, or may have written."""

from __future__ import annotations

import numpy as np

from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.replay.logs import Longs

Options = dict[int, list[int]]
"""Commit -> the records that it may have written, all by their numbers."""


class Matches:
    """Which of the ``records`` of a log each commit wrote. Commits and records are given by their numbers.

    ``record``: for each commit the number of its own record, -1 if none is sure. ``doubtful``: for commits
    without a sure record the records that they may have written. Of the remaining commits, those in
    ``competing`` have records at the right time, but fewer records than commits; those in ``late`` have only
    earlier records with their content. ``other_clocks``: the brokers whose commits cannot be placed by time,
    because their request logs have another clock than their records (request_clocks), ``unlike``: those whose
    request logs do not belong to the records (replay.unlike_lines).
    """

    def __init__(self, records: CommitRecords, commits: int) -> None:
        """``commits``: the number of commits."""
        self.records = records
        self.record: Longs = np.full(commits, -1)
        self.doubtful: Options = {}
        self.competing: set[int] = set()
        self.late: set[int] = set()
        self.other_clocks: frozenset[int] = frozenset()
        self.unlike: frozenset[int] = frozenset()

    def sure(self) -> tuple[Longs, Longs]:
        """The commits whose record is sure, and the records of these."""
        commits = np.flatnonzero(self.record >= 0)
        return commits, self.record[commits]
