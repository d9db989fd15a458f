"""The stored offset commits of one coordinator's log as columns: they are most of its records."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fencepost.protocols.offset_commit.attributes import Attributes, Texts
from fencepost.replay.logs import Longs


class CommitRecords:
    """Stored commits and their deletions in offset order, each with its number: columns of COMMIT_RECORDS,
    and the ``stretch`` that it is in and whether compaction left it (``based``).
    """

    def __init__(self, rows: pa.Table) -> None:
        """``rows`` as ``placed_rows`` gives them."""
        self._of, self._count = Attributes.of(rows), int(rows.num_rows)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, name: str) -> Longs:
        """A number of all records; UNKNOWN where it is null."""
        return self._of.numbers[name].values

    def texts(self, name: str) -> Texts:
        """A name of all records."""
        return self._of.texts[name]

    def is_so(self, name: str) -> Longs:
        """The numbers of the records for which a flag is true."""
        return np.flatnonzero(self[name])

    def in_transaction(self, name: str) -> Longs:
        """A number of the producer of each record that a transaction wrote; -1 of others."""
        return np.where(self["is_transactional"] != 0, self[name], -1)

    def by_group(self) -> dict[str, Longs]:
        """The numbers of each group's records."""
        return self.texts("group_id").places()

    def group_of(self, number: int) -> str:
        """The group of one record."""
        return str(self.texts("group_id").value(number))
