"""What commits of one cluster meet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster_evidence import ClusterEvidence
from fencepost.protocols.leader_epoch.commit_lines import CommitLine
from fencepost.protocols.leader_epoch.live_partitions import candidates
from fencepost.protocols.leader_epoch.states import columns_of
from fencepost.replay.logs import Longs

Leaders = Mapping[str, Mapping[tuple[int, int], int]]
_KEPT = 1 << 14
"""How many answers of each kind are kept."""


@dataclass(frozen=True)
class Groups:
    """What is known of all groups; ``leaders``: by cluster, broker ids by (partition of
    ``__consumer_offsets``, leader epoch).
    """

    known: Mapping[str, ClusterEvidence]
    leaders: Leaders
    tolerance_ms: int


class ClusterFacts:
    """What commits of one cluster meet. Many meet the same: it is looked at once."""

    def __init__(self, groups: Groups, name: str) -> None:
        self.name, self.tolerance_ms = name, groups.tolerance_ms
        self._known, self._leaders = groups.known[name], groups.leaders.get(name, {})
        self.partition_epoch = lru_cache(maxsize=_KEPT)(self._partition_epoch)

    def windows(self, partitions: Longs, leader_epochs: Longs, ms: Longs) -> tuple[Longs, Longs]:
        """Where the metadata log was when coordinators wrote records, from offset to offset: by the
        partitions of their topic, their leader epochs and times.
        """
        lowest, highest = np.empty_like(ms), np.empty_like(ms)
        terms, number = np.unique(np.stack([partitions, leader_epochs]), axis=1, return_inverse=True)
        leaders = [self._leaders.get((partition, epoch), -1) for partition, epoch in terms.T.tolist()]
        leader = np.array(leaders, dtype=np.int64)[number]
        for broker_id in sorted(set(leaders)):
            own = leader == broker_id
            lowest[own], highest[own] = self._known.moments.windows(broker_id, ms[own])
        return lowest, highest

    def asked_in(self, line: CommitLine) -> Window:
        """Where the metadata log was while a request was handled."""
        return self._known.moments.window(line.broker_id, line.requested_ms, line.responded_ms)

    def met(
        self, window: Window, topic: str, partition: int, topic_id: str | None = None
    ) -> tuple[tuple[Any, ...], tuple[list[Any], ...]]:
        """The columns of what lived in a window, and their lists (states.columns_of)."""
        return columns_of(candidates(self._known.history, window, topic, partition, topic_id))

    def _partition_epoch(self, topic_id: str | None, partition: int) -> int | None:
        life = self._known.history.partition(topic_id, partition)
        return None if life is None else life.partition_epoch
