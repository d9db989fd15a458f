"""The steps in which the evidence about producers is replayed: see the functions, in order.

Evidence comes as pyarrow Tables with the columns of bronze, of as many clusters and logs as a task is given;
what counts is that a log, or a producer id, is never cut in two.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.arrow import Longs, longs, rows_of, split
from fencepost.protocols.producer_epoch.coverage import LogKey, is_whole, log_coverage
from fencepost.protocols.producer_epoch.partition_log import PartitionEvidence, PartitionLog
from fencepost.protocols.producer_epoch.snapshots import producer_snapshots
from fencepost.replay.columns import Columns, arrow_schema
from fencepost.replay.keys import METADATA_TOPIC, TRANSACTIONS_TOPIC, topic_key
from fencepost.replay.logs import UnreadPiece, unread_pieces
from fencepost.tables import LOG_COVERAGE, PRODUCER_SNAPSHOTS, PRODUCER_STATES


@dataclass(frozen=True)
class Replayed:
    """What a step gives: rows of silver by table name, and what the next step needs (account.SCHEMA)."""

    tables: dict[str, pa.Table] = field(default_factory=dict)
    account: pa.Table = field(default_factory=lambda: account.SCHEMA.empty_table())


@dataclass(frozen=True)
class Partitions:
    """What bronze and the request log hold of some partitions' logs.

    Rows of ``bronze.batches``, ``.records`` (control records), ``.producer_snapshots``,
    ``.aborted_transactions``, ``.quarantine``; ``answers``: rows of ``silver.producer_requests`` that have a
    ``base_offset``.
    """

    batches: pa.Table
    records: pa.Table
    snapshots: pa.Table
    aborted: pa.Table
    quarantine: pa.Table
    answers: pa.Table


def replay_partitions(given: Partitions, asking: Collection[str] = ()) -> Replayed:
    """The first step: each partition that producers write to, from its own log.

    Gives silver.producer_states, silver.log_coverage and silver.producer_snapshots of these logs. A log is
    given whole (its key: cluster, topic, partition). ``asking``: the connections that were refused a Produce (``asking_connections``).
    """
    found: dict[str, list[pa.Table]] = {PRODUCER_STATES.name: []}
    told: list[pa.Table] = []
    coverage, snapshots = Columns(LOG_COVERAGE), Columns(PRODUCER_SNAPSHOTS)
    for evidence, answers in _partitions(given):
        replayed = PartitionLog(evidence)
        states = replayed.producer_states()
        found[PRODUCER_STATES.name].append(states)
        producer_snapshots(snapshots, evidence.key, replayed.log, evidence.snapshots, states)
        if replayed.has_producers:
            log_coverage(coverage, evidence.key, replayed.log)
        told += _told(replayed, answers, pa.array(sorted(asking), pa.string()))
    tables = {LOG_COVERAGE.name: coverage.to_arrow(), PRODUCER_SNAPSHOTS.name: snapshots.to_arrow()}
    empty = arrow_schema(PRODUCER_STATES).empty_table()
    tables[PRODUCER_STATES.name] = pa.concat_tables([empty, *found[PRODUCER_STATES.name]])
    return Replayed(tables, pa.concat_tables([account.SCHEMA.empty_table(), *told]))


def _told(replayed: PartitionLog, answers: pa.Table, asking: pa.Array) -> Iterator[pa.Table]:
    """What the partition's log says to the last step."""
    cluster, topic, partition, partition_key = replayed.key
    if replayed.has_producers or replayed.evidence.snapshots.num_rows:
        yield account.pack(account.HELD, replayed.held(answers))
        yield account.pack(account.MARKER, replayed.markers())
        yield account.pack(account.EPOCH, replayed.idempotent_epochs())
        of_asking = answers.filter(pc.is_in(answers["connection"], asking))
        yield account.pack(account.WROTE, replayed.wrote(of_asking))
    if len(replayed.log):
        (only, *others) = replayed.log.stretches
        whole = not others and only.number == 0 and only.to_offset is None
        key = {"cluster": cluster, "topic": topic, "partition": partition, "partition_key": partition_key}
        yield account.pack(
            account.LOG, rows_of(account.schema_of(account.LOG), 1, {**key, "whole": whole})
        )


_INCARNATION = ("cluster", "topic", "partition", "topic_id")
_PARTITION = ("cluster", "topic", "partition")


def _partitions(given: Partitions) -> Iterator[tuple[PartitionEvidence, pa.Table]]:
    """The evidence of each log, with the answers to Produce there."""
    of_producers = pc.invert(pc.is_in(given.batches["topic"], pa.array([METADATA_TOPIC, TRANSACTIONS_TOPIC])))
    batches = dict(split(given.batches.filter(of_producers), _INCARNATION))
    records = dict(split(given.records.filter(given.records["is_control"]), _INCARNATION))
    snapshots = dict(split(_once(given.snapshots), _INCARNATION))
    aborted = dict(split(given.aborted, _INCARNATION))
    answers = dict(split(given.answers, _PARTITION))
    unread = _unread(given.quarantine)
    for key in sorted(batches.keys() | snapshots.keys(), key=str):
        cluster, topic, partition, topic_id = key
        evidence = PartitionEvidence(
            (cluster, topic, partition, topic_key(topic_id, topic, partition)),
            batches.get(key, given.batches.slice(0, 0)),
            records.get(key, given.records.slice(0, 0)),
            snapshots.get(key, given.snapshots.slice(0, 0)),
            aborted.get(key, given.aborted.slice(0, 0)),
            unread.get(key[:3], ()),
        )
        yield evidence, answers.get(key[:3], given.answers.slice(0, 0))


def _unread(quarantine: pa.Table) -> dict[tuple[object, ...], list[UnreadPiece]]:
    found: dict[tuple[object, ...], list[UnreadPiece]] = {}
    for (cluster,), rows in split(quarantine, ("cluster",)):
        for piece in unread_pieces(rows):
            found.setdefault((cluster, piece.topic, piece.partition), []).append(piece)
    return found


def _once(entries: pa.Table) -> pa.Table:
    """Entries of snapshots, once for all replicas: as the first broker has it."""
    order = [(name, "ascending") for name in (*_INCARNATION, "snapshot_offset", "producer_id", "broker_id")]
    rows = entries.sort_by([*order, ("file", "ascending")])
    if not rows.num_rows:
        return rows
    keys = [rows[name].combine_chunks() for name in (*_INCARNATION, "snapshot_offset", "producer_id")]
    codes = np.stack([_ranks(key) for key in keys])
    first = np.concatenate([[True], (codes[:, 1:] != codes[:, :-1]).any(axis=0)])
    return rows.filter(pa.array(first))


def _ranks(column: pa.Array) -> Longs:
    return longs(column.dictionary_encode(null_encoding="encode").indices)
