"""Facts about each cluster that the replay of groups needs: how far the metadata log was when offsets were
committed, and which incarnations of topics lived then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster_evidence import ClusterEvidence
from fencepost.protocols.leader_epoch.commit_lines import CommitLine
from fencepost.protocols.leader_epoch.live_partitions import candidates
from fencepost.protocols.leader_epoch.states import columns_of
from fencepost.protocols.leader_epoch.unheard_deletions import UnheardDeletions
from fencepost.replay.entities import first_of_each, numbered_rows, numbered_values, tuples
from fencepost.replay.logs import Longs, longs

Leaders = Mapping[str, Mapping[tuple[str | None, int, int], int]]
_KEPT = 1 << 14
"""How many results of a lookup are cached."""


@dataclass(frozen=True)
class Groups:
    """The evidence about the clusters of all groups. ``leaders``: by cluster, the id of the leader by (topic
    id of ``__consumer_offsets``, partition, leader epoch). ``administered``: by cluster, the groups of which
    somebody removed offsets by a request.
    """

    known: Mapping[str, ClusterEvidence]
    leaders: Leaders
    administered: Mapping[str, Collection[str]]
    tolerance_ms: int


class ClusterFacts:
    """Looks up which incarnations lived in one cluster when offsets were committed. Many commits need the
    same result, so results are cached.
    """

    def __init__(self, groups: Groups, name: str) -> None:
        self.name, self.tolerance_ms = name, groups.tolerance_ms
        self._known, self._leaders = groups.known[name], groups.leaders.get(name, {})
        administered = groups.administered.get(name, ())
        self._unheard = UnheardDeletions(self._known.history, self._known.moments, administered)
        self.partition_epoch = lru_cache(maxsize=_KEPT)(self._partition_epoch)

    def windows(self, stored: pa.Table) -> tuple[Longs, Longs]:
        """The lowest and the highest offset at which the metadata log may have ended when each offset was
        stored, or up to which its coordinator had applied the log where a deletion was news to it.
        ``stored``: rows of STORED, in the order of their logs.
        """
        ms = longs(stored["ms"])
        lowest, highest = np.empty_like(ms), np.empty_like(ms)
        terms = stored.select(["log_topic_id", "commit_partition", "coordinator_epoch"])
        number = numbered_rows(*(numbered_values(column)[0] for column in terms.columns))
        first = first_of_each(number)
        leaders = [self._leaders.get(term, -1) for term in tuples(terms.take(pa.array(first)))]
        leader = np.array(leaders, dtype=np.int64)[number]
        for broker_id in sorted(set(leaders)):
            own = leader == broker_id
            lowest[own], highest[own] = self._known.moments.windows(broker_id, ms[own])
        self._unheard.narrow(stored, leader, lowest, highest)
        return lowest, highest

    def window_of(self, line: CommitLine) -> Window:
        """The offsets at which the metadata log may have ended while a request was handled."""
        return self._known.moments.window(line.broker_id, line.requested_ms, line.responded_ms)

    def live_columns(
        self, window: Window, topic: str, partition: int, topic_id: str | None = None
    ) -> tuple[tuple[Any, ...], tuple[list[Any], ...]]:
        """The columns of what may have lived in a window, and their lists (states.columns_of)."""
        return columns_of(candidates(self._known.history, window, topic, partition, topic_id))

    def only_incarnation(self, window: Window, topic: str, live_topic_id: str | None) -> str | None:
        """The topic id of the only incarnation that a name had until then (ClusterHistory)."""
        return self._known.history.only_incarnation(topic, window.highest, live_topic_id)

    def _partition_epoch(self, topic_id: str | None, partition: int) -> int | None:
        life = self._known.history.partition(topic_id, partition)
        return None if life is None else life.partition_epoch
