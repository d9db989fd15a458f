"""The scenario ``makers``: ordinary clients of four more makers: franz-go, sarama, kafka-go, kafkajs.

Members come and go, sleep past their session, take too long for a record, are killed; transactions are
committed, aborted, interrupted by a kill, fenced by a later instance; a topic is deleted and created again
under its consumers; the broker is restarted. Nothing is made by hand: the ground truth is what the scenario
did.
"""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path

from brokers import LabError, Plan
from clients import Client
from scenario import Scenario, Stage, make_another, prepare, restart

_PROGRAMS = Path(__file__).parent

_KAFKAJS = "kafkajs"
PLATFORMATIC = "platformatic"


class Makers:
    """Starts clients of any maker. Raises ``LabError`` where Go or Node is needed and missing."""

    def __init__(self, stage: Stage) -> None:
        self._stage = stage
        self._home = stage.clients.folder.parent

    def start(self, maker: str, role: str, name: str, **settings: object) -> Client:
        """Start a client of this name; it ends with the scenario."""
        if maker in (_KAFKAJS, PLATFORMATIC):
            program = ["node", str(self._node / f"{maker}.js")]
        else:
            program = [str(self._go)]
        first = self._stage.cluster.bootstrap.split(",")[0]
        settings |= {"bootstrap": first, "client": settings.get("client", name)}
        flags = [
            each for key, value in settings.items() for each in (f"-{key.replace('_', '-')}", str(value))
        ]
        log = self._stage.clients.folder / f"{name}.log"
        return self._stage.clients.run(Client(name, log, [*program, maker, role, *flags]))

    @cached_property
    def _go(self) -> Path:
        _need("go")
        program = self._home / "makers"
        subprocess.run(["go", "build", "-o", str(program), "."], cwd=_PROGRAMS / "go", check=True)
        return program

    @cached_property
    def _node(self) -> Path:
        _need("npm")
        folder = self._home / "node"
        shutil.copytree(_PROGRAMS / "node", folder)
        subprocess.run(["npm", "ci", "--silent"], cwd=folder, check=True)
        return folder

    def member(self, maker: str, name: str, group: str, **settings: object) -> Client:
        """Start a member of a group."""
        if settings.get("assignor") == "server":
            self._stage.cluster.set_group_config(group, "consumer.session.timeout.ms", "6000")
        return self.start(maker, "consume", name, group=group, topics="orders,audit", **settings)


def play(stage: Stage) -> None:
    """All clients at once; then another topic of the same name, and a restart."""
    prepare(stage, {"orders": 4, "shipped": 2, "audit": 2})
    stage.cluster.coordinator("any", transaction=True)
    makers = Makers(stage)
    casts = [each for cast in CASTS.values() for each in cast(makers)]
    time.sleep(8)
    stage.say("some fall asleep, some leave")
    for cast in casts:
        for client in cast.sleepers:
            client.pause()
        for client in cast.leavers:
            client.ask_to_stop()
    time.sleep(4)
    stage.say("some are killed")
    for cast in casts:
        for client in cast.victims:
            client.kill()
    time.sleep(4)
    stage.say("they wake up; others come in place of those who are gone")
    for cast in casts:
        for client in cast.sleepers:
            client.resume()
        cast.replace()
    time.sleep(6)
    make_another(stage, "audit", 2)
    time.sleep(4)
    restart(stage)
    time.sleep(9)


def _need(program: str) -> None:
    if shutil.which(program) is None:
        raise LabError(f"clients of these makers need {program}")


@dataclass
class Cast:
    """The clients of one maker: which of them sleep past their session, are killed, leave, or come later."""

    sleepers: list[Client] = field(default_factory=list)
    victims: list[Client] = field(default_factory=list)
    leavers: list[Client] = field(default_factory=list)
    replace: Callable[[], object] = lambda: None


def trio(makers: Makers, maker: str, group: str, leaves: bool = False, **settings: object) -> Cast:
    """Three members of a group: one stays, one sleeps, one is killed or leaves."""
    _, sleeper, third = (makers.member(maker, f"{group}-{number}", group, **settings) for number in (1, 2, 3))
    return Cast([sleeper], [] if leaves else [third], [third] if leaves else [])


def static(makers: Makers, maker: str, group: str, **settings: object) -> Cast:
    """Two static members; one is killed and comes back within its session."""
    _, second = (
        makers.member(maker, f"{group}-{number}", group, instance=f"s{number}", session=12_000, **settings)
        for number in (1, 2)
    )
    again = partial(
        makers.member, maker, f"{group}-2-again", group, instance="s2", session=12_000, **settings
    )
    return Cast(victims=[second], replace=again)


def _transfers(makers: Makers, maker: str) -> Cast:
    """Two producers in transactions: one is killed, one fenced by another with its transactional id."""
    group = f"{maker}-eos"

    def start(name: str, number: int) -> Client:
        return makers.start(
            maker, "transfer", name, group=group, transactional_id=f"{maker}-tx-{number}", work=900
        )

    killed = start(f"{maker}-tx-1", 1)
    start(f"{maker}-tx-2", 2)
    return Cast(victims=[killed], replace=lambda: start(f"{maker}-tx-2-next", 2))


def _of_any(makers: Makers, maker: str) -> None:
    makers.start(maker, "produce", f"{maker}-producer", topics="orders,audit", work=1500)


def franz(makers: Makers) -> list[Cast]:
    """franz-go: classic groups and, with the assignor ``server``, those of KIP-848."""
    _of_any(makers, "franz")
    casts = [
        trio(makers, "franz", f"franz-{assignor}-{commit}", assignor=assignor, commit=commit)
        for assignor, commit in (
            ("cooperative-sticky", "auto"),
            ("server", "manual"),
            ("range", "late"),
        )
    ]
    casts += [
        static(makers, "franz", f"franz-static-{assignor}", assignor=assignor, commit="manual")
        for assignor in ("sticky", "server")
    ]
    return [*casts, _transfers(makers, "franz")]


def sarama(makers: Makers) -> list[Cast]:
    """sarama: in the group of ``late`` a record takes longer than a rebalance."""
    _of_any(makers, "sarama")
    casts = [
        trio(makers, "sarama", "sarama-cooperative", assignor="cooperative-sticky", commit="auto"),
        trio(makers, "sarama", "sarama-late", commit="late", work=4000, rebalance=2500),
        static(makers, "sarama", "sarama-static", assignor="sticky", commit="manual"),
    ]
    return [*casts, _transfers(makers, "sarama")]


def segmentio(makers: Makers) -> list[Cast]:
    """kafka-go: its producer has no id, and it commits offsets of partitions that it may no longer own."""
    _of_any(makers, "segmentio")
    return [
        trio(makers, "segmentio", "segmentio-auto", leaves=True, commit="auto"),
        trio(makers, "segmentio", "segmentio-late", commit="manual", work=4000, rebalance=2500),
    ]


def kafkajs(makers: Makers) -> list[Cast]:
    """kafkajs: in the group of ``late`` a record takes longer than a rebalance."""
    _of_any(makers, _KAFKAJS)
    casts = [
        trio(makers, _KAFKAJS, "kafkajs-auto", leaves=True, commit="auto"),
        trio(makers, _KAFKAJS, "kafkajs-late", commit="manual", work=4000, rebalance=2500),
    ]
    return [*casts, _transfers(makers, _KAFKAJS)]


CASTS = {"franz": franz, "sarama": sarama, "segmentio": segmentio, _KAFKAJS: kafkajs}
"""The clients of each maker."""


def plan(version: str) -> Plan:
    """One broker that looks for transactions past their timeout often."""
    return Plan(
        version,
        offsets_partitions=2,
        roll_bytes=300_000,
        settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": 2000},
    )


SCENARIO = Scenario(plan, play)
