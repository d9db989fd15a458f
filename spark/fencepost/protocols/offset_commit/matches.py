"""What is known of the records that accepted commits wrote."""

from __future__ import annotations

import numpy as np

from fencepost.protocols.offset_commit.commit_records import CommitRecords
from fencepost.replay.logs import Longs

Options = dict[int, list[int]]
"""Commits with the records that each may have written, all by their numbers."""


class Matches:
    """Which of the ``records`` of a log commits wrote. Commits are named by their numbers.

    ``record``: of each commit the number of its own record, -1 where none is sure. ``doubtful``: the records
    that one without a sure one may have written. Of the others ``competing`` have records in time, but fewer
    than there are commits, and ``late`` only records with their content from before. ``other_clocks``: the
    brokers whose commits no time places (request_clocks).
    """

    def __init__(self, records: CommitRecords, commits: int) -> None:
        """``commits``: how many there are."""
        self.records = records
        self.record: Longs = np.full(commits, -1)
        self.doubtful: Options = {}
        self.competing: set[int] = set()
        self.late: set[int] = set()
        self.other_clocks: frozenset[int] = frozenset()

    def sure(self) -> tuple[Longs, Longs]:
        """The commits whose record is sure, and these records."""
        commits = np.flatnonzero(self.record >= 0)
        return commits, self.record[commits]
