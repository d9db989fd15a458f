"""Rows of silver about the metadata log itself: partitions, incarnations, brokers, controllers."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.elections import AdminRequest
from fencepost.protocols.leader_epoch.tables import (
    BROKER_STATES,
    CONTROLLERS,
    METADATA_COVERAGE,
    METADATA_LOG,
    METADATA_TOPIC_ID,
    PARTITION_EPOCHS,
    PARTITIONS,
    TOPIC_INCARNATIONS,
)
from fencepost.protocols.leader_epoch.tiered_storage import TieredStorage
from fencepost.reasons import IN_ZOOKEEPER
from fencepost.replay.columns import Columns
from fencepost.replay.histories import History, Interval, Point, State, interval
from fencepost.replay.keys import METADATA_TOPIC, key_of
from fencepost.replay.metadata_image import Brokers

TABLES = (
    METADATA_COVERAGE, PARTITION_EPOCHS, PARTITIONS, TOPIC_INCARNATIONS, BROKER_STATES, CONTROLLERS,
)  # fmt: skip


NO_REQUEST = (None, None, None)


def metadata_rows(
    cluster: str,
    history: ClusterHistory,
    created_by: Mapping[str, AdminRequest],
    removed_by: Mapping[str, AdminRequest],
) -> dict[str, pa.Table]:
    """The rows by table; ``created_by`` and ``removed_by`` are by topic id."""
    scope = (cluster, METADATA_LOG)
    rows = [
        _coverage(scope, history),
        _partition_epochs(scope, history),
        _partitions(scope, history),
        _topics(scope, history, created_by, removed_by),
        _brokers(scope, history),
        _controllers(scope, history),
    ]
    return {each.table.name: each.to_arrow() for each in rows}


Scope = tuple[str, str]


def _coverage(scope: Scope, history: ClusterHistory) -> Columns:
    rows, log = Columns(METADATA_COVERAGE), history.log
    about = (*scope, METADATA_TOPIC, METADATA_TOPIC_ID, 0, f"{METADATA_TOPIC_ID}:0")
    known_to, since = 0, Point(0, None)
    for begin, end in history.covered:
        if begin.position > since.position:
            why = IN_ZOOKEEPER if log.is_migrated and since.position == 0 else None
            rows.add(*about, why, False, *_span(since, begin), begin.position, None)
        known_to = log.known_to if end is None else end.position
        known_ms = log.known_ms if end is None else end.ms
        rows.add(*about, None, True, *_span(begin, end), known_to, known_ms)
        since = end if end is not None else Point(known_to, None)
    if not history.covered or history.covered[-1][1] is not None:
        rows.add(*about, None, False, *_span(since, None), max(log.known_to, since.position), None)
    return rows


def _partition_epochs(scope: Scope, history: ClusterHistory) -> Columns:
    rows = Columns(PARTITION_EPOCHS)
    for state, span in _spans(history.counter):
        rows.add(*scope, state, history.from_beginning, *span)
    return rows


def _partitions(scope: Scope, history: ClusterHistory) -> Columns:
    rows = Columns(PARTITIONS)
    for life, partition in history.partitions():
        topic_id, number = partition.id
        about = (life.topic, topic_id, number, key_of(topic_id, number), partition.partition_epoch)
        for registration, span in _spans(partition.states):
            if registration is None:
                continue
            listed = (_texts(registration.isr), _texts(registration.replicas), _texts(registration.elr))
            max_epoch = history.max_partition_epoch(span[0])
            state = (
                registration.leader,
                registration.leader_epoch,
                registration.partition_epoch,
                *listed,
                registration.recovering,
            )
            rows.add(*scope, *about, max_epoch, *state, *span)
    return rows


def _topics(
    scope: Scope,
    history: ClusterHistory,
    created_by: Mapping[str, AdminRequest],
    removed_by: Mapping[str, AdminRequest],
) -> Columns:
    rows, tiered = Columns(TOPIC_INCARNATIONS), TieredStorage(history.log)
    for life in history.topics.values():
        span = interval(life.begins, history.next_begins(life))
        if span is None:
            # created and replaced in one commit of records: no image ever had it
            span = (life.begins.position, life.begins.position, life.begins.ms, life.begins.ms)
        created, removed = life.created, life.removed
        epochs = [each.partition_epoch for each in life.partitions.values()]
        known = [epoch for epoch in epochs if epoch is not None]
        rows.add(
            *scope,
            life.topic,
            life.topic_id,
            life.number,
            created.offset if created else None,
            created.timestamp_ms if created else None,
            removed.offset if removed else None,
            removed.timestamp_ms if removed else None,
            life.gone is None if life.known else None,
            len(epochs) if life.known else None,
            tiered.of(life.topic, span[0], span[1]),
            min(known, default=None),
            life.max_partition_epoch,
            life.removed_partition_epoch,
            life.previous,
            *created_by.get(life.topic_id, NO_REQUEST),
            *removed_by.get(life.topic_id, NO_REQUEST),
            *span,
        )
    return rows


def _brokers(scope: Scope, history: ClusterHistory) -> Columns:
    rows = Columns(BROKER_STATES)
    for broker_id in sorted(history.brokers):
        for state, span in _spans(history.brokers[broker_id].states):
            if state is None:
                continue
            registration, record_name = state
            rows.add(
                *scope,
                broker_id,
                registration.epoch,
                registration.incarnation_id,
                registration.fenced,
                registration.in_controlled_shutdown,
                registration.metadata_version,
                record_name or None,
                *span,
            )
    return rows


def _controllers(scope: Scope, history: ClusterHistory) -> Columns:
    rows, terms = Columns(CONTROLLERS), history.log.terms
    for before, term, after in zip((None, *terms), terms, (*terms[1:], None), strict=False):
        end = None if after is None else Point(after.position, after.ms)
        span = interval(Point(term.position, term.ms), end)
        whole = before is not None and history.is_covered(before.position, term.position)
        unled_ms = term.ms - before.last_ms if before is not None and whole else None
        if span is not None:
            rows.add(*scope, term.epoch, term.controller_id, unled_ms, *span)
    return rows


def _spans(history: History[State]) -> list[tuple[State, Interval]]:
    return history.between(history.begins[0], None) if history.begins else []


def _span(begin: Point, end: Point | None) -> Interval:
    return (begin.position, None if end is None else end.position, begin.ms, None if end is None else end.ms)


def _texts(brokers: Brokers | None) -> list[str] | None:
    return None if brokers is None else [str(each) for each in brokers]
