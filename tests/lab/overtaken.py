"""A broker that is overtaken by events: it was paused, and continues with its old state."""

from __future__ import annotations

from collections.abc import Callable

from broker_events import UNCLEAN, kill_broker, lost, past_truncation, pause_broker, resume_broker
from brokers import LabError, jars, java
from clients import Client
from incarnation_bench import Bench
from java_programs import compile_program
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

STALE, DEPOSED, UNCLEANLY = ("stale", 0), ("deposed", 0), ("unclean", 0)
_WITNESSED = (STALE[0], DEPOSED[0], UNCLEANLY[0])
_LIVE_PARTITIONS = 2
_TOLD_BEFORE, _TOLD_MEANWHILE = 40, 24
"""How many metadata answers about the topic bystanders get, from whichever broker they ask."""


class Overtaken:
    """A broker is paused until others have taken its place, and continues with its old state.

    At that moment the leader of a partition, of which it is the only other replica, is killed;
    ``after_kill`` comes before the killed broker's session expires.
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
        bystanders = self._bystanders()
        bystanders.await_event("told", _TOLD_BEFORE)
        bystanders.pause()
        posted = self._pause()
        current = self._overtake()
        bystanders.resume()
        bystanders.await_event("told", bystanders.events("told") + _TOLD_MEANWHILE)
        first, last = self._write_what_is_lost()
        kill_broker(self._bench, self._killed)
        resume_broker(self._bench, self._paused)
        told = bystanders.events("told")
        for client, request in posted:
            rows = client.collect(request)
            for row in rows:
                self._judge(row, current, sum(r["topic"] == row["topic"] for r in rows))
        if not any(row["kind"] == "stale_answer" for row in self._bench.stage.truth.rows):
            raise LabError(f"broker {self._paused} had caught up before it answered")
        bystanders.await_event("told", told + _TOLD_MEANWHILE)
        bystanders.ask_to_stop()
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
        """Two clients get a broker's metadata; the answers to the older client have no ids.

        The other client fetches by the id that it got, which is the only evidence that it keeps the id.
        """
        rows = self._witness.ask(broker_id, metadata(*_WITNESSED))
        for told in (row["told"] for row in rows if (row["topic"], row["partition"]) == STALE):
            ask = fetch(STALE, 0, topic_id=told["topic_id"], leader_epoch=told["leader_epoch"])
            self._witness.ask(self._active, ask)
        self._older.ask(broker_id, metadata(*_WITNESSED, version=WITHOUT_IDS))

    def _bystanders(self) -> Client:
        """Real clients that get answers about the topic, too, and keep nothing of them."""
        cluster, clients = self._bench.stage.cluster, self._bench.stage.clients
        version, program = cluster.plan.version, "Bystanders"
        classes = compile_program(program, f"{jars(version)}/*", clients.folder)
        everywhere = (len(self._bench.brokers), ",".join(map(str, self._bench.brokers)))
        asked = (cluster.bootstrap, STALE[0], "expanded", *map(str, everywhere))
        command = java(version, "96m", program, *asked, classes=classes)
        return clients.run(Client("bystanders", clients.folder / "bystanders.log", command))

    def _pause(self) -> list[tuple[LabClient, Posted]]:
        """Requests that wait in the paused broker's sockets."""
        bench, paused = self._bench, self._paused
        pause_broker(bench, paused)
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
        """Note an answer that was stale, and records that an earlier leader accepted.

        Without ids the number of ``partitions`` distinguishes the incarnations of a topic.
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
        # who asks the same broker again had what it told before
        for broker_id in (self._paused, self._active, self._paused):
            self._look(broker_id)
        bench.write(self._writer, UNCLEANLY, 8)
        past_truncation(bench, UNCLEANLY, "unclean-past", last + 1, first)
        # the killed broker cuts them off when it comes back
        lost(bench, UNCLEANLY, self._ids["unclean"], (first, last))
