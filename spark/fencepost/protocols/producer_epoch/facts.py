"""What every task of the last step needs to know of all logs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.account import Account, rows_of
from fencepost.protocols.producer_epoch.arrow import UNKNOWN, longs
from fencepost.replay.keys import TRANSACTIONS_TOPIC
from fencepost.replay.metadata import ClusterMetadata


@dataclass(frozen=True, slots=True)
class Known:
    """How much of what coordinators know of a producer id is known.

    ``whole``: the log has no hole, from its beginning or from where it was compacted on; ``whole_ms`` is when
    that was (UNKNOWN for the beginning), ``known_ms`` how far it goes. ``transactional_id`` is None where no
    coordinator's log names the producer id.
    """

    transactional_id: str | None
    whole: bool
    whole_ms: int
    known_ms: int


NOTHING = Known(None, False, UNKNOWN, UNKNOWN)


@dataclass(frozen=True)
class Facts:
    """What every task of the last step needs of all logs; small, and picklable.

    ``whole``: by cluster and name of a partition ('topic:partition'): it is known from its beginning on,
    without a hole, and was never made again. ``unbroken``: the same, but its beginning may be gone.
    ``others``: by cluster, what holds for a producer id that no coordinator's log names: any of them might
    know it.
    """

    whole: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    unbroken: Mapping[tuple[str, str], bool] = field(default_factory=dict)
    others: Mapping[str, Known] = field(default_factory=dict)


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
    return Facts(whole, unbroken, _others(told, files, metadata))


def _others(told: Account, files: pa.Table, metadata: Mapping[str, ClusterMetadata]) -> dict[str, Known]:
    captured: dict[str, set[str]] = {}
    segment = re.compile(rf"{TRANSACTIONS_TOPIC}-(\d+)/\d{{20}}\.log")
    for cluster, file in zip(files["cluster"].to_pylist(), files["file"].to_pylist(), strict=True):
        name = segment.search(file)
        if name:
            captured.setdefault(cluster, set()).add(name[1])
    found: dict[str, Known] = {}
    logs = rows_of(told, account.COORDINATOR)
    whole = logs["whole"].to_pylist()
    times = (longs(logs[name]).tolist() for name in ("whole_ms", "known_ms"))
    for cluster, is_whole, whole_ms, known_ms in zip(logs["cluster"].to_pylist(), whole, *times, strict=True):
        counts = metadata.get(cluster, ClusterMetadata()).partition_counts
        # every coordinator must have been captured
        every = counts.get(TRANSACTIONS_TOPIC) == len(captured.get(cluster, ()))
        before = found.get(cluster, Known(None, every, UNKNOWN, known_ms))
        found[cluster] = Known(
            None,
            before.whole and is_whole,
            max(before.whole_ms, whole_ms),
            min(before.known_ms, known_ms),
        )
    return found


def known_producers(told: Account) -> dict[tuple[str, int], Known]:
    """What is known of each producer id that a coordinator's log names: the least of all that name it."""
    found: dict[tuple[str, int], Known] = {}
    rows = rows_of(told, account.KNOWN)
    columns = (rows[name].to_pylist() for name in ("cluster", "producer_id", "transactional_id", "whole"))
    times = (longs(rows[name]).tolist() for name in ("whole_ms", "known_ms"))
    for cluster, producer_id, transactional_id, whole, whole_ms, known_ms in zip(
        *columns, *times, strict=True
    ):
        one = Known(transactional_id, whole, whole_ms, known_ms)
        other = found.setdefault((cluster, producer_id), one)
        if other != one:
            found[cluster, producer_id] = Known(
                min(other.transactional_id or "", transactional_id),
                other.whole and whole,
                max(other.whole_ms, whole_ms),
                min(other.known_ms, known_ms),
            )
    return found
