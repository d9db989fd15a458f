"""Brokers that are restarted, paused or killed: leaders change, records are lost, answers are stale."""

from __future__ import annotations

import time
from collections.abc import Callable

from brokers import LabError
from incarnation_bench import Bench
from incarnation_cases import epochs
from lab_client import LabClient, Posted, note
from partition_requests import (
    LATEST,
    WITHOUT_IDS,
    Row,
    describe,
    epoch_end,
    fetch,
    list_offsets,
    metadata,
    produce,
)
from truth import Partition

UNCLEAN = {"unclean.leader.election.enable": "true", "min.insync.replicas": "1"}
OFFSETS = ("__consumer_offsets", 0)
STALE, DEPOSED, UNCLEANLY, FINALLY = ("stale", 0), ("deposed", 0), ("unclean", 0), ("unclean-final", 0)
_LIVE_PARTITIONS = 2
_LINE_S = 0.5
"""A request is answered before its line is in the log."""
_WITNESSED = (STALE[0], DEPOSED[0], UNCLEANLY[0])


def leaders(bench: Bench) -> None:
    """The case ``epochs`` where leaders change by election; then the partition leaves a broker."""
    first, second, third = bench.brokers
    place = ("epochs", 0)
    bench.operator.create("epochs", [[first, second, third]])

    def elect() -> None:
        bench.operator.reassign(place, [second, first, third])
        bench.operator.elect(place, second)

    epochs(bench, elect)
    bench.operator.reassign(place, [second, third])
    bench.operator.reassign(OFFSETS, [first, third, second])
    bench.operator.elect(OFFSETS, first)


def restart(bench: Bench) -> None:
    """The case ``epochs`` on one broker, which is stopped and started again."""
    (only,) = bench.brokers
    bench.operator.create("epochs", [[only]])

    def stop_and_start() -> None:
        _stop(bench, only)
        _start(bench, only)

    epochs(bench, stop_and_start)


class Overtaken:
    """A broker is paused until others have taken its place, and goes on with what it believed.

    At that moment the leader of a partition, of which it is the only other replica, is killed;
    ``after_kill`` comes before the killed broker's session is over.
    """

    def __init__(self, bench: Bench, after_kill: Callable[[], None]) -> None:
        self._bench = bench
        self._after_kill = after_kill
        self._killed, self._paused, self._active = bench.brokers
        self._witness = bench.client("stale", "witness")
        self._older = bench.client("stale", "older")
        self._reader = bench.client("stale", "reader")
        self._writer = bench.client("deposed", "writer")
        self._ids: dict[str, str] = {}

    def play(self) -> None:
        """Pause, overtake, kill, resume."""
        self._prepare()
        posted = self._pause()
        current = self._overtake()
        first, last = self._write_what_is_lost()
        _kill(self._bench, self._killed)
        _resume(self._bench, self._paused)
        for client, request in posted:
            rows = client.collect(request)
            for row in rows:
                self._judge(row, current, sum(r["topic"] == row["topic"] for r in rows))
        self._after_kill()
        self._after_unclean_election(first, last)

    def _prepare(self) -> None:
        bench, operator = self._bench, self._bench.operator
        self._ids["stale"] = operator.create("stale", [[self._active, self._killed]])
        self._ids["deposed"] = operator.create("deposed", [[self._paused, self._active, self._killed]])
        self._ids["unclean"] = operator.create("unclean", [[self._killed, self._paused]], UNCLEAN)
        for place, records in ((STALE, 6), (DEPOSED, 10), (UNCLEANLY, 25)):
            bench.write(self._writer, place, records)
        for broker_id in bench.brokers:
            self._look(broker_id)

    def _look(self, broker_id: int) -> None:
        """Two clients learn what a broker believes; the answers of the older one have no ids."""
        self._witness.ask(broker_id, metadata(*_WITNESSED))
        self._older.ask(broker_id, metadata(*_WITNESSED, version=WITHOUT_IDS))

    def _pause(self) -> list[tuple[LabClient, Posted]]:
        """Requests that wait in the paused broker's sockets."""
        bench, paused = self._bench, self._paused
        bench.operator.did("paused", paused)
        bench.stage.cluster.pause_broker(paused)
        bench.operator.paused = frozenset({paused})
        asked = [
            (self._witness, metadata(*_WITNESSED)),
            (self._witness, describe(*_WITNESSED)),
            (self._older, metadata(*_WITNESSED, version=WITHOUT_IDS)),
            (self._writer, produce(DEPOSED, self._writer.values(4), acks=1)),
            (self._reader, fetch(DEPOSED, 0, leader_epoch=0)),
            (self._reader, fetch(DEPOSED, 0, leader_epoch=1)),
            (self._reader, list_offsets(DEPOSED, LATEST, 1)),
            (self._reader, epoch_end(DEPOSED, 0, 1)),
        ]
        return [(client, client.post(paused, ask)) for client, ask in asked]

    def _overtake(self) -> dict[str, tuple[str, int]]:
        """The id and leader epoch of every topic once the paused broker is fenced."""
        bench, operator = self._bench, self._bench.operator
        self._ids["stale"] = operator.recreate("stale", [[self._active, self._killed]] * _LIVE_PARTITIONS)
        bench.write(self._writer, STALE, 3)
        for broker_id in (self._active, self._killed):
            self._look(broker_id)
        operator.await_partition(DEPOSED, lambda told: told["LeaderId"] not in (-1, self._paused))
        operator.await_partition(UNCLEANLY, lambda told: told["IsrNodes"] == [self._killed])
        operator.did("fenced", self._paused)
        self._look(self._active)
        bench.write(self._writer, DEPOSED, 6)
        return {name: (self._ids[name], bench.leader((name, 0))[1]) for name in _WITNESSED}

    def _write_what_is_lost(self) -> tuple[int, int]:
        bench = self._bench
        written = bench.write(self._writer, UNCLEANLY, 15)
        bench.read(self._reader, UNCLEANLY, 0)
        bench.commit(self._reader, "unclean-before", UNCLEANLY, 20, leader_epoch=0)
        bench.commit(self._reader, "unclean-past", UNCLEANLY, 40, leader_epoch=0)
        return written

    def _judge(self, row: Row, current: dict[str, tuple[str, int]], partitions: int) -> None:
        """Note an answer that was stale, and records that were accepted by a leader of before.

        Without ids the number of ``partitions`` tells the incarnations of a topic apart.
        """
        if row["api"] == "Produce" and row["error"] == "NONE":
            first = int(row["told"]["base_offset"])
            lost(self._bench, DEPOSED, self._ids["deposed"], (first, first + 3), acks=1)
        if row["api"] not in ("Metadata", "DescribeTopicPartitions") or row["error"] != "NONE":
            return
        topic_id, epoch = current[row["topic"]]
        told_id, told_epoch = row["told"]["topic_id"], row["told"]["leader_epoch"]
        is_earlier = row["topic"] == STALE[0] and partitions != _LIVE_PARTITIONS
        if told_id not in (None, topic_id) and not is_earlier:
            raise LabError(f"an incarnation that nobody made: {row}")
        if is_earlier or told_epoch != epoch:
            kept = ("case", "client_id", "correlation_id", "api", "broker_id", "answered_at_ms", "topic")
            note(
                self._bench.stage.truth,
                "stale_answer",
                **{name: row[name] for name in kept},
                partition=row["partition"],
                what="incarnation" if is_earlier else "leader_epoch",
                told_topic_id=told_id,
                told_leader_epoch=told_epoch,
                current_topic_id=topic_id,
                current_leader_epoch=epoch,
            )

    def _after_unclean_election(self, first: int, last: int) -> None:
        bench, operator = self._bench, self._bench.operator
        operator.await_partition(UNCLEANLY, lambda told: told["LeaderId"] == self._paused)
        operator.did("fenced", self._killed)
        self._look(self._paused)
        bench.write(self._writer, UNCLEANLY, 8)
        past_truncation(bench, UNCLEANLY, "unclean-past", last + 1, first)
        # the killed broker cuts them off when it comes back
        lost(bench, UNCLEANLY, self._ids["unclean"], (first, last))


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

    ``survives`` is the broker that alone has them still.
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


def finish(bench: Bench) -> None:
    """The controller goes in good order; then a leader that is alone is killed and does not come back."""
    killed, other, active = bench.brokers
    operator = bench.operator
    writer = bench.client("unclean-final", "writer")
    topic_id = operator.create("unclean-final", [[killed, active]], UNCLEAN)
    bench.write(writer, FINALLY, 10)
    _stop(bench, active)
    operator.home = other
    operator.await_partition(FINALLY, lambda told: told["IsrNodes"] == [killed])
    first, last = bench.write(writer, FINALLY, 7)
    bench.commit(writer, "final-past", FINALLY, last + 1, leader_epoch=0)
    _kill(bench, killed)
    _start(bench, active)
    operator.await_partition(FINALLY, lambda told: told["LeaderId"] == active)
    operator.did("fenced", killed)
    bench.write(writer, FINALLY, 2)
    past_truncation(bench, FINALLY, "final-past", last + 1, first)
    lost(bench, FINALLY, topic_id, (first, last), survives=killed)


def come_back(bench: Bench, broker_id: int) -> None:
    """A killed broker is started again and in sync."""
    _start(bench, broker_id)
    for place in (UNCLEANLY, OFFSETS, DEPOSED):
        bench.operator.await_partition(place, lambda told: broker_id in told["IsrNodes"])


def _stop(bench: Bench, broker_id: int) -> None:
    bench.operator.did("stopping", broker_id)
    _leave(bench, broker_id)
    bench.stage.cluster.stop_broker(broker_id)
    bench.operator.did("stopped", broker_id)


def _kill(bench: Bench, broker_id: int) -> None:
    time.sleep(_LINE_S)
    bench.operator.did("killed", broker_id)
    bench.stage.cluster.kill_broker(broker_id)
    _leave(bench, broker_id)


def _start(bench: Bench, broker_id: int) -> None:
    bench.operator.did("starting", broker_id)
    bench.stage.cluster.start_broker(broker_id)
    bench.operator.did("started", broker_id)


def _resume(bench: Bench, broker_id: int) -> None:
    bench.operator.did("resumed", broker_id)
    bench.stage.cluster.resume_broker(broker_id)
    bench.operator.paused = frozenset()


def _leave(bench: Bench, broker_id: int) -> None:
    for client in (*bench.clients, bench.operator):
        client.leave(broker_id)
