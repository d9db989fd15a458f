"""The offset commits that one coordinator's log stores, as columns: most of its records are such."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from fencepost.protocols.offset_commit.attributes import Attributes, Texts
from fencepost.replay.logs import Longs


class CommitRecords:
    """Stored commits and their tombstones in offset order; a record's number is its place. They have the
    columns of COMMIT_RECORDS, the ``stretch`` of the log, and ``based``: whether compaction left the record.
    """

    def __init__(self, rows: pa.Table) -> None:
        """``rows`` as ``placed_rows`` returns them."""
        self._of, self._count = Attributes.of(rows), int(rows.num_rows)

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, name: str) -> Longs:
        """A numeric column; UNKNOWN where it is null."""
        return self._of.numbers[name].values

    def texts(self, name: str) -> Texts:
        """A column of texts."""
        return self._of.texts[name]

    def numbers_with(self, name: str) -> Longs:
        """The numbers of the records for which a flag is true."""
        return np.flatnonzero(self[name])

    def in_transaction(self, name: str) -> Longs:
        """A column about producers (id, epoch) for records that a transaction wrote; -1 for others."""
        return np.where(self["is_transactional"] != 0, self[name], -1)

    def by_group(self) -> dict[str, Longs]:
        """The numbers of each group's records."""
        return self.texts("group_id").places()

    def group_of(self, number: int) -> str:
        """The group of one record."""
        return str(self.texts("group_id").value(number))
