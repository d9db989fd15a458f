"""The findings of an audit about rebalances and claims, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from fencepost.protocols.reported import lines_of, row_of_each_cluster
from fencepost.reading import Reader, rows
from fencepost.words import counted, duration, printable, time_of

Row = Mapping[str, Any]

REBALANCES = "marts.fct_rebalances"
CLAIMS = "marts.fct_ownership_claims"
STUCK = "marts.fct_stuck_rebalances"
BOUNCED = "marts.fct_bounced_partitions"
UNOWNED = "marts.fct_unowned_time"
JOINS = "marts.fct_join_decisions"

_COUNTS = f"""
SELECT cluster, count(*) AS rebalances, count(DISTINCT group_id) AS groups, sum(abandoned) AS abandoned,
  sum(unread_members) AS unread
FROM {REBALANCES} WHERE NOT coalesce(is_same_generation, false) GROUP BY cluster
"""
_LONGEST = f"""
SELECT * FROM (
  SELECT cluster, group_id, generation, rebalance_ms, waited_for, waited_ms, reason, stabilized_at,
    row_number() OVER (PARTITION BY cluster ORDER BY rebalance_ms DESC, group_id, generation) AS place
  FROM {REBALANCES} WHERE rebalance_ms IS NOT NULL
) WHERE place = 1
"""
_CLAIMED = f"""
SELECT cluster, sum(rebalances) AS claims, sum(if(standing = 'stale', rebalances, 0)) AS stale,
  sum(if(standing = 'contradicted', rebalances, 0)) AS contradicted,
  sum(if(standing = 'unknown', rebalances, 0)) AS unknown,
  sum(if(is_held AND standing = 'stale' AND outcome IN ('kept', 'both'), rebalances, 0)) AS won,
  sum(if(is_held AND standing = 'valid' AND outcome IN ('given_to_another', 'both'), rebalances, 0))
    AS handed_over
FROM {CLAIMS} GROUP BY cluster
"""
_STUCK = f"""
SELECT cluster, group_id, members, rebalances, abandoned, lasted_ms, began_at, last_reason FROM {STUCK}
ORDER BY rebalances DESC, group_id, first_generation
"""
_BOUNCED = (
    f"SELECT cluster, count(*) AS bounced, count(DISTINCT group_id) AS groups FROM {BOUNCED} GROUP BY cluster"
)
_UNOWNED = f"""
SELECT cluster, count(*) AS times, max(unowned_ms) AS longest_ms, count_if(is_open) AS open
FROM {UNOWNED} WHERE is_known GROUP BY cluster
"""
_JOINS = f"""
SELECT cluster, count(*) AS joins, count_if(is_stale_admitted) AS stale FROM {JOINS} GROUP BY cluster
"""
_MOST = 3


class Rebalances:
    """Rebalances, claims and joins of all clusters; each mart is queried once."""

    def __init__(self, reader: Reader) -> None:
        by_cluster = partial(row_of_each_cluster, reader)
        self._counts, self._longest = by_cluster(_COUNTS), by_cluster(_LONGEST)
        self._claimed, self._bounced = by_cluster(_CLAIMED), by_cluster(_BOUNCED)
        self._unowned, self._joins = by_cluster(_UNOWNED), by_cluster(_JOINS)
        self._stuck = rows(reader.query(_STUCK))

    def __call__(self, cluster: str) -> list[str]:
        """The lines about one cluster; none without rebalances."""
        parts = (self._rebalances, self._stuck_groups, self._claims, self._moves, self._stale_joins)
        return lines_of(parts, cluster)

    def _rebalances(self, cluster: str) -> Iterator[str]:
        counts, longest = self._counts.get(cluster), self._longest.get(cluster)
        if counts is None:
            return
        abandoned = counts["abandoned"]
        more = f"; {abandoned} more began and never had an assignment" if abandoned else ""
        groups = counted(counts["groups"], "classic group")
        yield f"{counted(counts['rebalances'], 'rebalance')} of {groups}{more}."
        if longest is not None:
            waited = (
                f", {duration(longest['waited_ms'])} of it for {printable(longest['waited_for'])}"
                if longest["waited_for"] is not None
                else ""
            )
            yield (
                f"The longest took {duration(longest['rebalance_ms'])}{waited}: group "
                f"{printable(longest['group_id'])!r}, generation {longest['generation']}."
            )
        if counts["unread"]:
            yield f"Messages of members could not be read {counted(counts['unread'], 'time')}: {REBALANCES}."

    def _stuck_groups(self, cluster: str) -> Iterator[str]:
        stuck = [row for row in self._stuck if row["cluster"] == cluster]
        if stuck:
            yield f"{counted(len(stuck), 'group')} rebalanced several times in a row without effect:"
        for row in stuck[:_MOST]:
            reason = f": {printable(row['last_reason'])}" if row["last_reason"] is not None else ""
            members, lasted = counted(row["members"], "member"), duration(row["lasted_ms"])
            yield (
                f"    {time_of(row['began_at'])}  {printable(row['group_id'])!r} of {members}, "
                f"{_repeated(row)} in {lasted}{reason}"
            )

    def _claims(self, cluster: str) -> Iterator[str]:
        counts = self._claimed.get(cluster)
        if counts is None or not (counts["stale"] or counts["contradicted"] or counts["handed_over"]):
            return
        yield (
            f"{counted(counts['claims'], 'claim')} of partitions: {counts['stale']} stale "
            f"({counts['won']} won), {counts['contradicted']} contradicted, {counts['unknown']} unknown; "
            f"{counts['handed_over']} valid ones went to another member at once."
        )

    def _moves(self, cluster: str) -> Iterator[str]:
        bounced, unowned = self._bounced.get(cluster), self._unowned.get(cluster)
        if bounced is not None:
            groups = counted(bounced["groups"], "group")
            times = counted(bounced["bounced"], "time")
            yield f"Partitions of {groups} went to another member and back {times}."
        if unowned is not None:
            longest = unowned["longest_ms"]
            longest_text = f", up to {duration(longest)}" if longest is not None else ""
            have = counted(unowned["open"], "still has", "still have")
            still = f"; {have} none, or the topic is gone" if unowned["open"] else ""
            yield f"Partitions had no owner {counted(unowned['times'], 'time')}{longest_text}{still}."

    def _stale_joins(self, cluster: str) -> Iterator[str]:
        joins = self._joins.get(cluster)
        if joins is not None and joins["stale"]:
            yield (
                f"{joins['stale']} of {counted(joins['joins'], 'JoinGroup')} presented an old generation "
                "and were admitted: KIP-792 would have refused them."
            )


def _repeated(stuck: Row) -> str:
    """The rebalances of a run: those with an assignment, and those that never had one."""
    kept, abandoned = stuck["rebalances"], stuck["abandoned"] or 0
    same = f"the same assignment {counted(kept, 'time')}" if kept > 1 else ""
    none = f"{counted(abandoned, 'generation')} without an assignment" if abandoned else ""
    return " and ".join(each for each in (same, none) if each)
