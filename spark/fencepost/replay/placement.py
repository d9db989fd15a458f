"""Computes the partition of a coordinators' topic in which a group or a transactional id has its records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fencepost.replay.broker_configs import Registration, processes
from fencepost.replay.coordinator_logs import UNDECIDED, CoordinatorLogs
from fencepost.replay.cuts import SLACK_MS
from fencepost.replay.keys import coordinator_partition
from fencepost.replay.metadata import ClusterMetadata, Growth

UNTOLD = "?"
"""Stands for the topic id of a request of which time cannot tell which incarnation decided it."""

Log = tuple[str, str | None]
"""A cluster and a topic id."""

Places = dict[tuple[str, str | None, str, int], int]
"""(cluster, topic id, key, partition) -> the newest timestamp of records with the key in that log."""


class Home(NamedTuple):
    """The partition that has a key, None if it is not known. ``topic_id`` is None if the topic has one
    incarnation, and UNTOLD if it is not known which incarnation decided.
    """

    partition: int | None
    topic_id: str | None = None


@dataclass(frozen=True)
class Counts:
    """With how many partitions brokers reckon of a topic that got more of them. A broker counts them when it
    starts, and not again (``GroupCoordinatorService.startup``, ``TransactionCoordinator.startup``).

    ``last``: how many there are at the end. ``starts``: the processes of each broker, none if one may be
    missing between them; ``are_all``: none is missing before them.
    """

    growths: tuple[Growth, ...]
    last: int
    starts: Mapping[int, Sequence[Registration]]
    are_all: bool

    def at(self, broker_id: int, requested_ms: int, responded_ms: int) -> set[int]:
        """The counts with which a broker may have answered a request: its clock may differ from that of the
        controller, which dates starts and growths.
        """
        if responded_ms + SLACK_MS < self.growths[0].earliest_ms:
            return {self.growths[0].before}
        starts = [each for each in self.starts.get(broker_id, ()) if each.from_ms <= responded_ms + SLACK_MS]
        begun = [each for each in starts if each.from_ms < requested_ms - SLACK_MS]
        if not starts or not (begun or self.are_all):
            return {each.before for each in self.growths} | {self.last}
        of_starts = starts[max(0, len(begun) - 1) :]
        return set().union(*(self._counted(each) for each in of_starts))

    def places(self, key: str) -> set[int]:
        """All partitions in which a key may have been."""
        counts = {each.before for each in self.growths} | {self.last}
        return {coordinator_partition(key, each) for each in counts}

    def _counted(self, start: Registration) -> set[int]:
        """Successive counts, from the one at the earliest start of the process to the one when it was ready:
        it counts once it has loaded its logs.
        """
        afters = [each.before for each in self.growths[1:]] + [self.last]
        earliest_ms = start.from_ms if start.is_dated else 0
        first = sum(each.latest_ms <= earliest_ms for each in self.growths)
        end = sum(start.ready_ms is None or each.earliest_ms <= start.ready_ms for each in self.growths)
        return set([self.growths[0].before, *afters][first : end + 1])


class Seen(NamedTuple):
    """The partition with the newest records of a key; ``moved_ms``: until when another one had some."""

    partition: int
    moved_ms: int | None = None


@dataclass(frozen=True)
class Placement:
    """The partition of each key in all clusters.

    ``seen``: (cluster, topic id, key) -> the partition that has records of the key, only if Kafka would
    choose another one, or if several have; the topic id is None for a cluster whose topic has one
    incarnation. ``partitions``: cluster -> how many partitions the topic has, if known. ``logs``: cluster ->
    the incarnations of the topic, if there are several. ``grown``: (cluster, topic id) -> how brokers
    reckoned, if it got more partitions. ``unsettled``: the cluster and the key of those that have another
    place since.
    """

    partitions: Mapping[str, int] = field(default_factory=dict)
    seen: Mapping[tuple[str, str | None, str], Seen] = field(default_factory=dict)
    logs: Mapping[str, CoordinatorLogs] = field(default_factory=dict)
    grown: Mapping[Log, Counts] = field(default_factory=dict)
    unsettled: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(
        cls,
        topic: str,
        metadata: Mapping[str, ClusterMetadata],
        places: Iterable[Places],
        logs: Mapping[str, CoordinatorLogs] | None = None,
    ) -> Placement:
        """The placement of a coordinators' topic from the places of several parts of the evidence; ``logs``:
        of all clusters.
        """
        partitions = {
            cluster: each.partition_counts[topic]
            for cluster, each in metadata.items()
            if topic in each.partition_counts
        }
        several = {cluster: each for cluster, each in (logs or {}).items() if each.are_several}
        found: defaultdict[tuple[str, str | None, str], dict[int, int]] = defaultdict(dict)
        for part in places:
            for (cluster, topic_id, key, partition), ms in part.items():
                newest = found[cluster, topic_id if cluster in several else None, key]
                newest[partition] = max(newest.get(partition, ms), ms)
        counts: dict[Log, int | None] = {(cluster, None): count for cluster, count in partitions.items()}
        for cluster, each in several.items():
            counts |= {(cluster, one.topic_id): one.partitions for one in each.incarnations}
        seen = {}
        for of, newest in found.items():
            *others, (ms, partition) = sorted((ms, partition) for partition, ms in newest.items())
            # every task gets this: places that Kafka would choose anyway are left out
            if others or _chosen(of[2], counts.get(of[:2])) != partition:
                seen[of] = Seen(partition, others[-1][0] if others else None)
        grown = {
            (cluster, one.topic_id if cluster in several else None): Counts(
                one.growths,
                one.partitions,
                {}
                if each.has_holes
                else {broker: processes(starts) for broker, starts in each.registrations.items()},
                each.from_beginning,
            )
            for cluster, each in metadata.items()
            for one in each.coordinators.get(topic, ())
            if one.growths and one.partitions is not None
        }
        unsettled = frozenset(
            (of[0], of[2]) for of in found if of[:2] in grown and len(grown[of[:2]].places(of[2])) > 1
        )
        return cls(partitions, seen, several, grown, unsettled)

    def moved(self, cluster: str) -> frozenset[str]:
        """The keys of which several partitions of one incarnation have records, or may get some."""
        seen = ((name, key) for (name, _, key), each in self.seen.items() if each.moved_ms is not None)
        return frozenset(key for name, key in {*seen, *self.unsettled} if name == cluster)

    @property
    def timed(self) -> frozenset[str]:
        """The clusters in which the home of some key depends on the broker and the time of a request."""
        moved = (cluster for (cluster, _, _), seen in self.seen.items() if seen.moved_ms is not None)
        return frozenset([*self.logs, *moved, *(cluster for cluster, _ in self.grown)])

    def home_of(
        self, cluster: str, key: str, broker_id: int = -1, requested_ms: int = 0, responded_ms: int = 0
    ) -> Home:
        """The log whose coordinator decided a request about a key. Times are of the answering broker's clock;
        they are needed in ``timed`` clusters.
        """
        logs = self.logs.get(cluster)
        if logs is None:
            count = self.partitions.get(cluster)
            return Home(
                self._partition_of((cluster, None, key), count, broker_id, requested_ms, responded_ms)
            )
        partitions = tuple(
            self._partition_of(
                (cluster, each.topic_id, key), each.partitions, broker_id, requested_ms, responded_ms
            )
            for each in logs.incarnations
        )
        number = logs.deciding(partitions, broker_id, requested_ms, responded_ms)
        if number == UNDECIDED:
            return Home(None, UNTOLD)
        return Home(partitions[number], logs.incarnations[number].topic_id)

    def _partition_of(
        self,
        of: tuple[str, str | None, str],
        count: int | None,
        broker_id: int,
        requested_ms: int,
        responded_ms: int,
    ) -> int | None:
        """A coordinator that was started with another number of partitions has a key elsewhere."""
        if of[:2] in self.grown:
            counts = self.grown[of[:2]].at(broker_id, requested_ms, responded_ms)
            chosen = {_chosen(of[2], each) for each in counts}
            return chosen.pop() if len(chosen) == 1 else None
        seen = self.seen.get(of)
        if seen is None:
            return _chosen(of[2], count)
        is_certain = seen.moved_ms is None or requested_ms > seen.moved_ms + SLACK_MS
        return seen.partition if is_certain else None


def _chosen(key: str, count: int | None) -> int | None:
    return None if count is None else coordinator_partition(key, count)
