"""How far logs were compacted before a chapter, for the compaction before the next one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from fencepost.conditions import Condition
from fencepost.replay.cuts import COMPACTED, LOG, Cuts


@dataclass(frozen=True)
class EarlierCompaction:
    """``cuts``: how far each log was compacted, and the time from which on the rows after it are dated.
    ``others``: clusters without compacted logs.
    """

    cuts: Cuts
    others: frozenset[str] = frozenset()

    def condition(self, dated_by: str) -> list[Condition]:
        """A condition that the rows of coordinators' logs meet that were not compacted, and few
        other rows.
        """
        since: list[Condition] = [
            each for cluster in self.cuts.since_ms for each in self.cuts.condition(cluster, dated_by)
        ]
        since += [{"cluster": cluster} for cluster in self.others]
        return [{"topic": COMPACTED, **each} for each in since]

    def followed_by(self, rows: pa.Table) -> pa.Table:
        """The rows of coordinators' logs that were not compacted."""
        return self.cuts.inside(rows, uncut=True)


def compaction_of_chapters(logs: pa.Table, clusters: Iterable[str]) -> EarlierCompaction:
    """The earlier compaction before chapters of these clusters, from rows of COMPACTED_LOGS."""
    rows = logs.to_pylist()
    offsets = {tuple(row[each] for each in LOG): row["compacted_to"] for row in rows}
    since = {row["cluster"]: row["since_ms"] for row in rows}
    return EarlierCompaction(Cuts(offsets, {}, since), frozenset(clusters) - frozenset(since))
