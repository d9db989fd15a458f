"""Failures of brokers in a recording, and their effect on records and offsets of partitions."""

from __future__ import annotations

import time

from incarnation_bench import Bench
from lab_client import note
from partition_requests import epoch_end, fetch, metadata
from truth import Partition

UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
"""The configuration of a topic whose records may be lost."""

_LINE_S = 0.5
"""The time to wait for a request's line, which is logged after the answer."""


def stop_broker(bench: Bench, broker_id: int) -> None:
    """Stop a broker cleanly."""
    bench.operator.did("stopping", broker_id)
    _leave(bench, broker_id)
    bench.stage.cluster.stop_broker(broker_id)
    bench.operator.did("stopped", broker_id)


def kill_broker(bench: Bench, broker_id: int) -> None:
    """Kill a broker."""
    time.sleep(_LINE_S)
    bench.operator.did("killed", broker_id)
    bench.stage.cluster.kill_broker(broker_id)
    _leave(bench, broker_id)


def start_broker(bench: Bench, broker_id: int) -> None:
    """Start a broker again."""
    bench.operator.did("starting", broker_id)
    bench.stage.cluster.start_broker(broker_id)
    bench.operator.did("started", broker_id)


def resume_broker(bench: Bench, broker_id: int) -> None:
    """Resume a paused broker."""
    bench.operator.did("resumed", broker_id)
    bench.stage.cluster.resume_broker(broker_id)
    bench.operator.paused = frozenset()


def pause_broker(bench: Bench, broker_id: int) -> None:
    """Pause a broker."""
    bench.operator.did("paused", broker_id)
    bench.stage.cluster.pause_broker(broker_id)
    bench.operator.paused = frozenset({broker_id})


def _leave(bench: Bench, broker_id: int) -> None:
    for client in (*bench.clients, bench.operator):
        client.leave(broker_id)


def past_truncation(bench: Bench, place: Partition, group_id: str, offset: int, epoch_ended: int) -> None:
    """A consumer comes back to an offset that its log has lost."""
    leader, epoch = bench.leader(place)
    start, end = bench.bounds(place)
    back = bench.client(place[0], "back")
    back.ask(leader, metadata(place[0]))
    back.ask(leader, fetch(place, offset, leader_epoch=0, last_epoch=0))
    back.ask(leader, fetch(place, offset, leader_epoch=epoch, last_epoch=0))
    back.ask(leader, epoch_end(place, 0, epoch))
    note(
        bench.stage.truth,
        "past_truncation",
        case=place[0],
        group_id=group_id,
        topic=place[0],
        partition=place[1],
        committed_offset=offset,
        committed_leader_epoch=0,
        epoch_end_offset=epoch_ended,
        log_start_offset=start,
        log_end_offset=end,
        **bench.come_back(back, group_id, place),
    )


def lost(
    bench: Bench,
    place: Partition,
    topic_id: str,
    offsets: tuple[int, int],
    *,
    acks: int = -1,
    survives: int | None = None,
) -> None:
    """Note acknowledged records of leader epoch 0 that an election lost.

    ``survives`` is the only broker that still has them.
    """
    note(
        bench.stage.truth,
        "lost",
        case=place[0],
        topic=place[0],
        partition=place[1],
        topic_id=topic_id,
        leader_epoch=0,
        first_offset=offsets[0],
        last_offset=offsets[1],
        acks=acks,
        survives_on=survives,
    )
