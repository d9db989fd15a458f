"""Facts about all logs that every task of the last step needs: how much of each log is known."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Account, rows_of
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, longs
from fencepost.protocols.producer_epoch.first_segments import first_segments
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.log_ends import FOREVER, ends_of_stopped_clusters
from fencepost.replay.metadata import CLOCKS_DIFFER_MS, ClusterMetadata

_SENT_AGAIN_MS = 300_000
"""A line may be written late, and what it says may be a batch that was sent before: no earlier than this."""

NO_EPOCH, ANY_EPOCH = -1, 2**15 - 1
"""Values of ``compacted_epoch``: compaction removed transactions of no epoch, or may have of every epoch."""


@dataclass(frozen=True, slots=True)
class CoordinatorCoverage:
    """How much of a coordinator's log about one producer id is known.

    ``whole``: the log has no hole, from its beginning or from the end of compaction on, and no unclean
    election may have taken records of it (``cut``). Its replay may have begun with dumped states
    (``handed_down``). ``whole_ms`` is the time of that (UNKNOWN for the
    beginning), ``known_ms`` the time at which the log ends (FOREVER: nothing was written afterwards), by the
    clocks of the brokers ``whole_by`` and ``known_by`` (UNKNOWN where several brokers, or none, may have
    dated it). Compaction removed no transaction of an epoch above ``compacted_epoch``; where states are
    dumped, all transactions of epochs from ``counted_from`` on have been counted (UNKNOWN: of no epoch).
    ``log`` is the partition_key of the coordinator's log that names the producer id; if no log names it,
    ``transactional_id`` is None.
    """

    transactional_id: str | None
    log: str | None
    compacted_epoch: int
    whole: bool
    whole_ms: int
    whole_by: int
    known_ms: int
    known_by: int
    cut: bool = False
    handed_down: bool = False
    counted_from: int = UNKNOWN

    def merge(self, other: CoordinatorCoverage) -> CoordinatorCoverage:
        """The coverage that is certain if either of two logs may be that of the producer id's coordinator."""
        names = {each.transactional_id for each in (self, other) if each.transactional_id is not None}
        return CoordinatorCoverage(
            min(names, default=None),
            self.log if self.log == other.log else None,
            max(self.compacted_epoch, other.compacted_epoch),
            self.whole and other.whole,
            max(self.whole_ms, other.whole_ms),
            self.whole_by if self.whole_by == other.whole_by else UNKNOWN,
            min(self.known_ms, other.known_ms),
            self.known_by if self.known_by == other.known_by else UNKNOWN,
            self.cut or other.cut,
            self.handed_down or other.handed_down,
            # neither of two transactional ids has counted all transactions of the producer id
            UNKNOWN,
        )


NO_COVERAGE = CoordinatorCoverage(None, None, ANY_EPOCH, False, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)


@dataclass(frozen=True)
class Facts:
    """What every task of the last step needs of all logs; small, and picklable.

    ``whole``: by cluster and name of a partition ('topic:partition'), whether its log is known from its
    beginning on, without a hole, and the name has had one incarnation only. ``unbroken``: the same, but the
    beginning of the log may be gone; ``shortened``: cluster and name of those where retention or
    DeleteRecords removed it, ``made_again``: of those with several incarnations. ``unnamed``: by cluster, the
    coverage of a producer id that no coordinator's log names: any of these logs might have had it.
    ``created_once``: cluster and name of the topics that were created only once. ``known_to``: by cluster and
    name, the time up to which a log is known to have all that was appended: FOREVER if it was captured to its
    final end. ``removals``: by cluster and id of a topic that was deleted, two times: what any broker dated
    before the first came before the deletion, and what it dated after the second came after it.
    ``removed_once``: cluster and name of topics that were created once, and deleted.
    ``in_zookeeper``: clusters without a metadata log.
    """

    whole: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    unbroken: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    shortened: frozenset[tuple[str, str]] = frozenset()
    made_again: frozenset[tuple[str, str]] = frozenset()
    unnamed: Mapping[str, CoordinatorCoverage] = field(default_factory=dict)
    created_once: frozenset[tuple[str, str]] = frozenset()
    known_to: Mapping[tuple[str, str], int] = field(default_factory=dict)
    removals: Mapping[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    in_zookeeper: frozenset[str] = frozenset()
    removed_once: frozenset[tuple[str, str]] = frozenset()

    def is_known_past(self, partition: tuple[str, str], ms: int) -> bool:
        """Whether the log of a partition (cluster and name) was captured later than a time by the clock of
        another broker: a marker that was written before is in it.
        """
        return ms != UNKNOWN and self.known_to.get(partition, UNKNOWN) > ms


def collect_facts(
    accounts: Account,
    files: pa.Table,
    metadata: Mapping[str, ClusterMetadata],
    log_ends: pa.Table,
    in_zookeeper: frozenset[str] = frozenset(),
) -> Facts:
    """The facts in the accounts of the first two steps (their rows of the kinds LOG and COORDINATOR).

    ``files``, ``log_ends``: rows of ``bronze.files`` and ``bronze.log_ends``.
    """
    created = _creations(metadata)
    whole: dict[tuple[str, str], bool] = {}
    unbroken: dict[tuple[str, str], bool] = {}
    shortened: set[tuple[str, str]] = set()
    made_again: set[tuple[str, str]] = set()
    logs = rows_of(accounts, account.LOG)
    names = ("cluster", "topic", "partition", "shortened", "whole", "unbroken")
    for cluster, topic, partition, is_shortened, *known in zip(
        *(logs[name].to_pylist() for name in names), strict=True
    ):
        key = (cluster, f"{topic}:{partition}")
        # with two incarnations of a topic, neither log is the whole history of the name, even if only one of
        # them was captured
        is_only = key not in whole and created[cluster, topic] <= 1
        whole[key], unbroken[key] = (each and is_only for each in known)
        if not is_only:
            made_again.add(key)
        elif is_shortened:
            shortened.add(key)
    for (cluster, topic, partition), begin in first_segments(files).items():
        key = (cluster, f"{topic}:{partition}")
        if begin > 0 and created[cluster, topic] <= 1 and unbroken.get(key, True) and not whole.get(key):
            shortened.add(key)
    created_once = _once(created)
    known_to = _known_to(logs, created_once, metadata, log_ends)
    unnamed = _unnamed_producers(accounts, files, metadata)
    shortened -= made_again
    return Facts(
        whole,
        unbroken,
        frozenset(shortened),
        frozenset(made_again),
        unnamed,
        created_once,
        known_to,
        _removals(metadata),
        in_zookeeper,
        created_once & _removed(metadata),
    )


def topics_created_once(metadata: Mapping[str, ClusterMetadata]) -> frozenset[tuple[str, str]]:
    """Cluster and name of the topics that were created only once."""
    return _once(_creations(metadata))


def _once(created: Counter[tuple[str, str]]) -> frozenset[tuple[str, str]]:
    return frozenset(topic for topic, count in created.items() if count == 1)


def _creations(metadata: Mapping[str, ClusterMetadata]) -> Counter[tuple[str, str]]:
    """How often each topic (cluster and name) was created."""
    return Counter(
        (cluster, each.topic) for cluster, known in metadata.items() for each in known.topics.incarnations()
    )


def _known_to(
    logs: pa.Table,
    created_once: Collection[tuple[str, str]],
    metadata: Mapping[str, ClusterMetadata],
    log_ends: pa.Table,
) -> dict[tuple[str, str], int]:
    """Facts.known_to. ``logs``: rows of the kind LOG. The name of a topic that was created several times
    tells of none of its logs.
    """
    final_ends = ends_of_stopped_clusters(log_ends, metadata)
    known_to: dict[tuple[str, str], int] = {}
    names = ("cluster", "topic", "partition", "end_offset", "dated_ms", "asked_ms")
    for cluster, topic, partition, end, dated_ms, asked_ms in zip(
        *(logs[name].to_pylist() for name in names), strict=True
    ):
        if (cluster, topic) not in created_once:
            continue
        is_one_clock = len(metadata[cluster].registrations) == 1
        times = [
            None if dated_ms is None else dated_ms - (0 if is_one_clock else CLOCKS_DIFFER_MS),
            None if asked_ms is None else asked_ms - _SENT_AGAIN_MS,
        ]
        final_end = final_ends.get((cluster, topic, partition))
        is_final = final_end is not None and end >= final_end
        known = [FOREVER] if is_final else [ms for ms in times if ms is not None]
        if known:
            known_to[cluster, f"{topic}:{partition}"] = max(known)
    return known_to


def _removals(metadata: Mapping[str, ClusterMetadata]) -> dict[tuple[str, str], tuple[int, int]]:
    """Facts.removals. The clock of a controller is that of all brokers where the only broker is one, too."""
    removals: dict[tuple[str, str], tuple[int, int]] = {}
    for cluster, known in metadata.items():
        for topic_id, (ms, node_id) in known.removed.items():
            differ_ms = 0 if known.registrations.keys() == {node_id} else CLOCKS_DIFFER_MS
            removals[cluster, topic_id] = ms - differ_ms, ms + differ_ms
    return removals


def _removed(metadata: Mapping[str, ClusterMetadata]) -> frozenset[tuple[str, str]]:
    """Cluster and name of the topics of which an incarnation was deleted."""
    return frozenset(
        (cluster, each.topic)
        for cluster, known in metadata.items()
        for each in known.topics.incarnations()
        if each.topic_id in known.removed
    )


def _unnamed_producers(
    accounts: Account, files: pa.Table, metadata: Mapping[str, ClusterMetadata]
) -> dict[str, CoordinatorCoverage]:
    captured: dict[tuple[str, str | None], set[str]] = {}
    segment = re.compile(rf"{TRANSACTIONS_TOPIC}-(\d+)(\.[0-9a-f]{{32}}-\w+)?/\d{{20}}\.log")
    columns = (files[name].to_pylist() for name in ("cluster", "file", "topic_id"))
    for cluster, file, topic_id in zip(*columns, strict=True):
        if name := segment.search(file):
            captured.setdefault((cluster, topic_id), set()).add(name[1])
            if name[2] is None:
                captured.setdefault((cluster, None), set()).add(name[1])
    coverage: dict[str, CoordinatorCoverage] = {}
    logs = rows_of(accounts, account.COORDINATOR)
    names = (logs[name].to_pylist() for name in ("cluster", "partition_key"))
    for cluster, log, how_far in zip(*names, _how_far(logs), strict=True):
        # compaction may have removed everything of a producer id
        one = CoordinatorCoverage(None, log, ANY_EPOCH, *how_far)
        coverage[cluster] = coverage.get(cluster, one).merge(one)
    for cluster, each in coverage.items():
        known = metadata.get(cluster, ClusterMetadata())
        incarnations = known.coordinators.get(TRANSACTIONS_TOPIC, ())
        # every coordinator must have been captured, also those whose logs were deleted
        every = known.partition_counts.get(TRANSACTIONS_TOPIC) == len(captured.get((cluster, None), ()))
        every &= all(
            of.partitions == len(captured.get((cluster, of.topic_id), ())) for of in incarnations[:-1]
        )
        every &= known.from_beginning or all(of.created is None for of in incarnations[:1])
        coverage[cluster] = replace(each, whole=each.whole and every)
    return coverage


def _how_far(rows: pa.Table) -> Iterator[tuple[bool, int, int, int, int, bool, bool]]:
    """``whole`` to ``handed_down`` of rows of the kinds COORDINATOR and KNOWN."""
    times = (longs(rows[name]).tolist() for name in ("whole_ms", "whole_by", "known_ms", "known_by"))
    flags = (rows[name].to_pylist() for name in ("cut", "handed_down"))
    return zip(rows["whole"].to_pylist(), *times, *flags, strict=True)


def named_producers(accounts: Account) -> dict[tuple[str, int], CoordinatorCoverage]:
    """The coverage of each producer id that a coordinator's log names, merged over all logs that name it."""
    coverage: dict[tuple[str, int], CoordinatorCoverage] = {}
    rows = rows_of(accounts, account.NAMED_PRODUCER)
    names = ("cluster", "producer_id", "transactional_id", "partition_key", "compacted_epoch")
    columns = (rows[name].to_pylist() for name in names)
    counted_from = longs(rows["counted_from"]).tolist()
    for cluster, producer_id, transactional_id, log, epoch, how_far, since in zip(
        *columns, _how_far(rows), counted_from, strict=True
    ):
        key, one = (cluster, producer_id), CoordinatorCoverage(transactional_id, log, epoch, *how_far)
        one = replace(one, counted_from=since)
        coverage[key] = coverage[key].merge(one) if key in coverage else one
    return coverage
