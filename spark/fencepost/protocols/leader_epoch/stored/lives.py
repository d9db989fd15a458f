"""The newest incarnation of each topic, and the logs of its partitions, as the lake knows them."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fencepost.reading import Reader, rows

Row = Mapping[str, Any]


@dataclass(frozen=True)
class PartitionLife:
    """A partition of a live topic; fields are None where the evidence does not tell.

    ``epochs``: leader epochs in batches, each with its first offset, in order. ``covered``: pieces of the log
    that are wholly known, ``[from, to)``. ``lost_from``: the lowest offset at which records were lost, as far
    as is known; ``loses``: whether any were. ``known_at``: the time of the newest batch, by a broker's clock.
    """

    partition_epoch: int | None
    leader_epoch: int | None
    epochs: Sequence[tuple[int, int]] = ()
    covered: Sequence[tuple[int, int]] = ()
    log_start: int | None = None
    lost_from: int | None = None
    loses: bool | None = None
    known_at: dt.datetime | None = None

    @property
    def log_end(self) -> int | None:
        """The offset behind the last batch that is known."""
        return max((to for _, to in self.covered), default=None)


@dataclass(frozen=True)
class TopicLife:
    """The newest incarnation of a name. ``live`` is None where a hole may hide its deletion; ``is_first``
    says that no other was before it.
    """

    topic_id: str
    live: bool | None
    is_first: bool
    created_at: dt.datetime | None
    partitions: int | None
    of_partition: Mapping[int, PartitionLife] = field(default_factory=dict)


def lives(reader: Reader, cluster: str) -> dict[str, TopicLife]:
    """The newest incarnation of each topic of a cluster, by name."""
    newest: dict[str, Row] = {}
    for row in _rows(
        reader,
        "SELECT topic, topic_id, incarnation, live, created_at, partitions FROM silver.topic_incarnations "
        "WHERE cluster = :cluster AND topic IS NOT NULL ORDER BY from_position",
        cluster,
    ):
        newest[row["topic"]] = row
    partitions = _partitions(reader, cluster)
    return {
        topic: TopicLife(
            row["topic_id"],
            row["live"],
            row["incarnation"] == 1,
            row["created_at"],
            row["partitions"],
            partitions[row["topic_id"]],
        )
        for topic, row in newest.items()
    }


def _partitions(reader: Reader, cluster: str) -> dict[str, dict[int, PartitionLife]]:
    epochs = _by_key(
        reader,
        "SELECT partition_key, leader_epoch, start_offset, records_lost, lost_from FROM silver.leader_epochs "
        "WHERE cluster = :cluster ORDER BY leader_epoch",
        cluster,
    )
    pieces = _by_key(
        reader,
        "SELECT partition_key, from_position, last_position, last_time FROM silver.metadata_coverage "
        "WHERE cluster = :cluster AND covered AND partition_key IS NOT NULL ORDER BY from_position",
        cluster,
    )
    starts = _by_key(
        reader,
        "SELECT partition_key, max(begins) AS log_start FROM ("
        "SELECT partition_key, min(start_offset) AS begins FROM silver.leader_epoch_entries "
        "WHERE cluster = :cluster AND log_state = 'live' "
        "GROUP BY partition_key, broker_id, captured_at) GROUP BY partition_key",
        cluster,
    )
    by_topic: dict[str, dict[int, PartitionLife]] = defaultdict(dict)
    for row in _rows(
        reader,
        "SELECT topic_id, partition, partition_key, max(partition_epoch) AS partition_epoch, "
        "max(leader_epoch) AS leader_epoch FROM silver.partitions WHERE cluster = :cluster "
        "GROUP BY topic_id, partition, partition_key",
        cluster,
    ):
        key = row["partition_key"]
        lost = [each["records_lost"] for each in epochs[key]]
        by_topic[row["topic_id"]][row["partition"]] = PartitionLife(
            row["partition_epoch"],
            row["leader_epoch"],
            [
                (each["leader_epoch"], each["start_offset"])
                for each in epochs[key]
                if each["start_offset"] is not None
            ],
            [(each["from_position"], each["last_position"]) for each in pieces[key]],
            next((each["log_start"] for each in starts[key]), None),
            min((each["lost_from"] for each in epochs[key] if each["lost_from"] is not None), default=None),
            any(lost) if lost and None not in lost else None,
            max((each["last_time"] for each in pieces[key] if each["last_time"]), default=None),
        )
    return by_topic


def _by_key(reader: Reader, sql: str, cluster: str) -> dict[str, list[Row]]:
    by_key: dict[str, list[Row]] = defaultdict(list)
    for row in _rows(reader, sql, cluster):
        by_key[row["partition_key"]].append(row)
    return by_key


def _rows(reader: Reader, sql: str, cluster: str) -> list[dict[str, Any]]:
    return rows(reader.query(sql, cluster=cluster))
