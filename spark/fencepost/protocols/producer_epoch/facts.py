"""What every task of the last step needs to know of all logs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Account, rows_of
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, longs
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.metadata import ClusterMetadata

FOREVER = 2**63 - 1
"""Stands for a time: up to which a log is known that was ended for good."""

NO_EPOCH, ANY_EPOCH = -1, 2**15 - 1
"""Stand for the newest epoch of which a compacted log tells nothing: none, and every one."""


@dataclass(frozen=True, slots=True)
class CoordinatorCoverage:
    """How much of what coordinators know of a producer id is known.

    ``whole``: the log has no hole, from its beginning or from where it was compacted on; ``whole_ms`` is when
    that was (UNKNOWN for the beginning), ``known_ms`` how far it goes (FOREVER: nothing was written
    afterwards), by the clocks of the brokers ``whole_by`` and ``known_by`` (UNKNOWN where several, or none,
    may have dated it). Of epochs beyond ``compacted_epoch`` compaction took nothing; of those since
    ``counted_from`` the next chapter may count on all transactions (UNKNOWN: of none). ``log`` is the
    partition_key of the coordinator's log that names the producer id; where none does, ``transactional_id``
    is None.
    """

    transactional_id: str | None
    log: str | None
    compacted_epoch: int
    whole: bool
    whole_ms: int
    whole_by: int
    known_ms: int
    known_by: int
    counted_from: int = UNKNOWN

    def merge(self, other: CoordinatorCoverage) -> CoordinatorCoverage:
        """The least of what both know."""
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
            # one of two transactional ids does not tell all
            UNKNOWN,
        )


NOTHING = CoordinatorCoverage(None, None, ANY_EPOCH, False, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN)


@dataclass(frozen=True)
class Facts:
    """What every task of the last step needs of all logs; small, and picklable.

    ``whole``: by cluster and name of a partition ('topic:partition'): it is known from its beginning on,
    without a hole, and was never made again. ``unbroken``: the same, but its beginning may be gone.
    ``others``: by cluster, what holds for a producer id that no coordinator's log names: any of them might
    know it. ``made_once``: cluster and name of the topics of which there was never another one.
    """

    whole: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    unbroken: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    others: Mapping[str, CoordinatorCoverage] = field(default_factory=dict)
    made_once: frozenset[tuple[str, str]] = frozenset()


def facts(told: Account, files: pa.Table, metadata: Mapping[str, ClusterMetadata]) -> Facts:
    """From the rows of kinds LOG and COORDINATOR in the accounts of the first two steps.

    ``files``: rows of ``bronze.files``.
    """
    whole: dict[tuple[str, str], bool] = {}
    unbroken: dict[tuple[str, str], bool] = {}
    logs = rows_of(told, account.LOG)
    names = ("cluster", "topic", "partition", "whole", "unbroken")
    for cluster, topic, partition, *known in zip(*(logs[name].to_pylist() for name in names), strict=True):
        key = (cluster, f"{topic}:{partition}")
        # one of two incarnations of a topic does not tell all
        alone = key not in whole
        whole[key], unbroken[key] = (each and alone for each in known)
    made = Counter(
        (cluster, each.topic) for cluster, known in metadata.items() for each in known.topics.incarnations()
    )
    once = frozenset(topic for topic, count in made.items() if count == 1)
    return Facts(whole, unbroken, _others(told, files, metadata), once)


def _others(
    told: Account, files: pa.Table, metadata: Mapping[str, ClusterMetadata]
) -> dict[str, CoordinatorCoverage]:
    captured: dict[str, set[str]] = {}
    segment = re.compile(rf"{TRANSACTIONS_TOPIC}-(\d+)/\d{{20}}\.log")
    for cluster, file in zip(files["cluster"].to_pylist(), files["file"].to_pylist(), strict=True):
        name = segment.search(file)
        if name:
            captured.setdefault(cluster, set()).add(name[1])
    found: dict[str, CoordinatorCoverage] = {}
    logs = rows_of(told, account.COORDINATOR)
    columns = (logs[name].to_pylist() for name in ("cluster", "partition_key"))
    for cluster, log, how_far in zip(*columns, _how_far(logs), strict=True):
        # what compaction took of a producer id may be all that there was
        one = CoordinatorCoverage(None, log, ANY_EPOCH, *how_far)
        found[cluster] = found.get(cluster, one).merge(one)
    for cluster, each in found.items():
        counts = metadata.get(cluster, ClusterMetadata()).partition_counts
        # every coordinator must have been captured
        every = counts.get(TRANSACTIONS_TOPIC) == len(captured.get(cluster, ()))
        found[cluster] = replace(each, whole=each.whole and every)
    return found


def _how_far(rows: pa.Table) -> Iterator[tuple[bool, int, int, int, int]]:
    """``whole`` to ``known_by`` of rows of the kinds COORDINATOR and KNOWN."""
    times = (longs(rows[name]).tolist() for name in ("whole_ms", "whole_by", "known_ms", "known_by"))
    return zip(rows["whole"].to_pylist(), *times, strict=True)


def known_producers(told: Account) -> dict[tuple[str, int], CoordinatorCoverage]:
    """What is known of each producer id that a coordinator's log names: the least of all that name it."""
    found: dict[tuple[str, int], CoordinatorCoverage] = {}
    rows = rows_of(told, account.KNOWN)
    names = ("cluster", "producer_id", "transactional_id", "partition_key", "compacted_epoch")
    columns = (rows[name].to_pylist() for name in names)
    counted_from = longs(rows["counted_from"]).tolist()
    for cluster, producer_id, transactional_id, log, epoch, how_far, since in zip(
        *columns, _how_far(rows), counted_from, strict=True
    ):
        key, one = (cluster, producer_id), CoordinatorCoverage(transactional_id, log, epoch, *how_far)
        one = replace(one, counted_from=since)
        found[key] = found[key].merge(one) if key in found else one
    return found
