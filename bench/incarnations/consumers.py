"""Consumers of topics that are created again: the answers that they get, the offsets they read and commit.

The cluster does not change during a request, so each answer, and its effect on the client, is known. The
truth about a request is a row of silver's table for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any

from controller import Controller, Incarnation
from request_lines import COMMIT, FETCH, LIST, METADATA, OFFSETS, Line, compact, topics

NONE, NOT_LEADER, FENCED, AHEAD, UNKNOWN_ID = 0, 6, 74, 75, 100
ERRORS = {
    NONE: "NONE", NOT_LEADER: "NOT_LEADER_OR_FOLLOWER", FENCED: "FENCED_LEADER_EPOCH",
    AHEAD: "UNKNOWN_LEADER_EPOCH", UNKNOWN_ID: "UNKNOWN_TOPIC_ID",
}  # fmt: skip
COORDINATOR = 1
"""The broker that leads the only partition of ``__consumer_offsets``."""
Place = tuple[str, int]
Row = dict[str, Any]


@dataclass(frozen=True)
class Mix:
    """The probability of events, for each turn of a client."""

    asks: float = 0.15  # it refreshes its metadata without a reason
    everything: float = 0.0  # of these: for all topics
    behind: float = 0.1  # a broker with older metadata answers, if there is one
    careless: float = 0.5  # share of clients that continue at their offset in the previous topic
    commits: float = 0.4
    seeks: float = 0.02
    restarts: float = 0.005


@dataclass
class Read:
    """A client's position in a partition: its offset belongs to the incarnation ``of``, None if unknown."""

    presented_id: str | None
    offset: int
    of: str | None
    origin: str | None
    request: tuple[int, str, int] | None = None


@dataclass
class Consumer:
    """One client of a group, with the partitions that it reads."""

    number: int
    group: str
    places: list[Place]
    careless: bool
    life: int = 0
    correlation_id: int = 0
    ids: dict[str, str] = field(default_factory=dict)
    ever_cached: set[Place] = field(default_factory=set)
    leader_epochs: dict[Place, int] = field(default_factory=dict)
    leaders: dict[Place, int] = field(default_factory=dict)
    reads: dict[Place, Read] = field(default_factory=dict)

    @property
    def client_id(self) -> str:
        """The client.id."""
        return f"consumer-{self.number:05}"

    @property
    def host(self) -> str:
        """The client's own address."""
        return f"10.1.{self.number // 250}.{self.number % 250 + 1}"

    def connection(self, broker_id: int) -> str:
        """As the broker names it."""
        port = 10_000 + (self.life * 10 + broker_id) % 50_000
        return f"10.0.0.{broker_id}:9092-{self.host}:{port}-0-1"

    def begin_again(self) -> None:
        """A new instance of the client, without any state."""
        self.life, self.correlation_id = self.life + 1, 0
        for each in (self.ids, self.ever_cached, self.leader_epochs, self.leaders, self.reads):
            each.clear()


@dataclass
class Stored:
    """A committed offset, with the time of its record; ``of`` as in Read."""

    ms: int
    group: str
    place: Place
    raw_id: bytes
    offset: int
    leader_epoch: int
    of: str | None


class Consumers:
    """All consumers, in turns; ``truth``: rows by table, ``stored``: the coordinator's records."""

    def __init__(self, clients: list[Consumer], cluster: Controller, rng: Random, mix: Mix) -> None:
        self.lines: list[Line] = []
        self.truth: dict[str, list[Row]] = {
            name: [] for name in ("changes", "positions", "commits", "refused")
        }
        self.stored: list[Stored] = []
        self._clients, self._cluster, self._rng, self._mix = clients, cluster, rng, mix
        self._committed: dict[tuple[str, Place], Stored] = {}
        self._offset = 1_000
        self._ms, self._gap = 0, 0
        self._before: Mapping[str, Incarnation] = {}
        self._behind: int | None = None

    def ask(
        self, requests: int, span: tuple[int, int], before: Mapping[str, Incarnation], behind: int | None
    ) -> None:
        """So many requests in an interval of time; the broker ``behind`` still has the metadata
        ``before``.
        """
        self._ms, end = span
        self._gap = max(1, (end - self._ms) // (requests + 20))
        self._before, self._behind = before, behind
        until = len(self.lines) + requests
        while len(self.lines) < until:
            self._turn(self._rng.choice(self._clients))

    def _turn(self, client: Consumer) -> None:
        rng, mix = self._rng, self._mix
        if client.ids and rng.random() < mix.restarts:
            client.begin_again()
        if not client.ids or rng.random() < mix.asks:
            self._metadata(client)
        place = rng.choice(client.places)
        read = client.reads.get(place)
        if read is None:
            self._start(client, place)
        elif read.presented_id != client.ids[place[0]] and not client.careless:
            self._reset(client, place)
        elif rng.random() < mix.seeks:
            read.offset, read.of, read.origin = read.offset - 10, None, "elsewhere"
        if place not in client.reads:
            return
        if client.leaders[place] == self._cluster.fenced or not self._fetch(client, place):
            self._metadata(client)
        elif rng.random() < mix.commits:
            self._commit(client, place)

    # --- metadata ------------------------------------------------------------------------------------------

    def _metadata(self, client: Consumer) -> None:
        rng, live = self._rng, self._cluster.live
        broker_id = rng.choice([each for each in self._cluster.brokers if each != self._cluster.fenced])
        stale = self._behind is not None and rng.random() < self._mix.behind
        image = live
        if stale and self._behind is not None and self._behind != self._cluster.fenced:
            broker_id, image = self._behind, dict(self._before)
        elif broker_id == self._behind:
            image = dict(self._before)
        everything = rng.random() < self._mix.everything
        names = sorted(image if everything else {topic for topic, _ in client.places})
        line = self._line(client, broker_id, METADATA)
        request = None if everything else [{"name": name} for name in names]
        line.request = compact({"topics": request, "allowAutoTopicCreation": True})
        answered = ",".join(image[name].answer_text() for name in names)
        line.response = f'{{"throttleTimeMs":0,"clusterId":"c","controllerId":1,"topics":[{answered}]}}'
        for name in names:
            self._receive(client, image[name], line)

    def _receive(self, client: Consumer, answered: Incarnation, line: Line) -> None:
        """Metadata.updateLatestMetadata, and the differences from the client's cache."""
        cached = client.ids.get(answered.topic)
        for number, each in enumerate(answered.partitions):
            place = (answered.topic, number)
            last = client.leader_epochs.get(place)
            accepted = last is None or cached != answered.topic_id or each.leader_epoch >= last
            if place in client.ever_cached and (cached != answered.topic_id or last != each.leader_epoch):
                self._tell("changes", line, place, {
                    "cached_topic_id": cached, "cached_leader_epoch": last,
                    "told_topic_id": answered.topic_id, "told_leader_epoch": each.leader_epoch,
                    "told_partition_epoch": each.partition_epoch,
                    "accepted": accepted,
                })  # fmt: skip
            if accepted:
                client.leader_epochs[place], client.leaders[place] = each.leader_epoch, each.leader
            client.ever_cached.add(place)
        client.ids[answered.topic] = answered.topic_id

    # --- offsets -------------------------------------------------------------------------------------------

    def _start(self, client: Consumer, place: Place) -> None:
        committed = self._committed.get((client.group, place))
        if committed is None:
            self._reset(client, place)
            return
        line, (topic, number) = self._line(client, COORDINATOR, OFFSETS), place
        request = {"groupId": client.group, "topics": [{"name": topic, "partitionIndexes": [number]}]}
        answer = {
            "partitionIndex": number, "committedOffset": committed.offset,
            "committedLeaderEpoch": committed.leader_epoch, "errorCode": 0,
        }  # fmt: skip
        answered = {"groupId": client.group, "topics": topics("name", topic, [answer]), "errorCode": 0}
        line.say({"groups": [request]}, {"groups": [answered]})
        self._see(client, place, committed.leader_epoch)
        client.reads[place] = Read(None, committed.offset, committed.of, "committed")

    def _reset(self, client: Consumer, place: Place) -> None:
        of = self._cluster.live[place[0]]
        leader = of.partitions[place[1]]
        if leader.leader == self._cluster.fenced:
            return
        if leader.leader == self._behind and self._before[of.topic].topic_id != of.topic_id:
            return  # the broker does not have this log yet
        line = self._line(client, leader.leader, LIST)
        self._offset += 1_000
        request = {"partitionIndex": place[1], "currentLeaderEpoch": leader.leader_epoch, "timestamp": -1}
        answer = {
            "partitionIndex": place[1], "errorCode": 0, "timestamp": -1, "offset": self._offset,
            "leaderEpoch": leader.leader_epoch,
        }  # fmt: skip
        line.say(
            {"replicaId": -1, "isolationLevel": 0, "topics": topics("name", place[0], [request])},
            {"throttleTimeMs": 0, "topics": topics("name", place[0], [answer])},
        )
        self._see(client, place, leader.leader_epoch)
        client.reads[place] = Read(None, self._offset, of.topic_id, "reset")

    def _see(self, client: Consumer, place: Place, leader_epoch: int) -> None:
        if place in client.leader_epochs:
            client.leader_epochs[place] = max(client.leader_epochs[place], leader_epoch)

    def _fetch(self, client: Consumer, place: Place) -> bool:
        """Continue to read; returns whether the fetch was answered."""
        topic, number = place
        presented_id, broker_id, epoch = client.ids[topic], client.leaders[place], client.leader_epochs[place]
        read, live = client.reads[place], self._cluster.live[topic]
        of = live.partitions[number]
        error = (
            UNKNOWN_ID if presented_id != live.topic_id else NOT_LEADER if broker_id != of.leader else NONE
        )
        if error == NONE and epoch != of.leader_epoch:
            error = FENCED if epoch < of.leader_epoch else AHEAD
        line = self._line(client, broker_id, FETCH)
        request = {
            "partition": number, "currentLeaderEpoch": epoch, "fetchOffset": read.offset,
            "lastFetchedEpoch": -1,
        }  # fmt: skip
        answer = {
            "partitionIndex": number, "errorCode": error, "highWatermark": -1 if error else read.offset + 9,
            "logStartOffset": 0,
        }  # fmt: skip
        line.say(
            {"replicaState": {"replicaId": -1}, "topics": topics("topicId", presented_id, [request])},
            {"errorCode": 0, "responses": topics("topicId", presented_id, [answer])},
        )
        if read.presented_id != presented_id or error or read.origin is not None:
            self._tell("positions", line, place, {
                "asked_topic_id": presented_id, "fetch_offset": read.offset, "current_leader_epoch": epoch,
                "live_topic_id": live.topic_id, "live_partition_epoch": of.partition_epoch,
                "live_leader_epoch": of.leader_epoch, "error": ERRORS[error], "origin": read.origin or "read",
                "origin_topic_id": read.of,
                # a broker with older metadata may refuse by any earlier state: no log shows which
                "live_may_be_unknown": bool(error) and broker_id == self._behind,
            })  # fmt: skip
        if error in (FENCED, AHEAD, UNKNOWN_ID):
            self._tell("refused", line, place, {"error": ERRORS[error]})
        read.presented_id = presented_id
        if error == NONE or read.origin == "elsewhere":
            read.origin = None
        if error == NONE and self._rng.random() < 0.9:
            read.offset, read.of = read.offset + self._rng.randrange(1, 9), presented_id
        return error == NONE

    def _commit(self, client: Consumer, place: Place) -> None:
        (topic, number), read = place, client.reads[place]
        line = self._line(client, COORDINATOR, COMMIT)
        epoch, live = client.leader_epochs[place], self._cluster.live[topic]
        request = {
            "partitionIndex": number, "committedOffset": read.offset, "committedLeaderEpoch": epoch,
        }  # fmt: skip
        group = {"groupId": client.group, "generationIdOrMemberEpoch": 1, "memberId": client.client_id}
        line.say(
            {**group, "topics": topics("name", topic, [request])},
            {"topics": topics("name", topic, [{"partitionIndex": number, "errorCode": 0}])},
        )
        ms = line.done_ms - 1
        stored = Stored(ms, client.group, place, live.raw_id, read.offset, epoch, read.of)
        self._committed[client.group, place] = stored
        self.stored.append(stored)
        of = live.partitions[number]
        self._tell("commits", line, place, {
            "group_id": client.group, "committed_offset": read.offset, "committed_leader_epoch": epoch,
            "committed_topic_id": live.topic_id, "live_topic_id": live.topic_id,
            "live_partition_epoch": of.partition_epoch, "live_leader_epoch": of.leader_epoch,
            "origin_topic_id": read.of,
        })  # fmt: skip

    # --- lines ---------------------------------------------------------------------------------------------

    def _line(self, client: Consumer, broker_id: int, api: tuple[int, str, int]) -> Line:
        self._ms += self._gap
        connection = client.connection(broker_id)
        line = Line(
            broker_id, api, client.correlation_id, client.client_id, connection, self._ms, host=client.host
        )
        client.correlation_id += 1
        self.lines.append(line)
        return line

    def _tell(self, kind: str, line: Line, place: Place, what: Row) -> None:
        request = {
            "client_host": line.host,
            "connection": line.connection,
            "correlation_id": line.correlation_id,
        }
        self.truth[kind].append(
            {**request, "broker_id": line.broker_id, "topic": place[0], "partition": place[1], **what}
        )
