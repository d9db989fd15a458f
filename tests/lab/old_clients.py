"""The scenario ``old-clients``: ordinary Java clients of 2.1.1 and 2.4.1 on a broker of today.

Clients before 2.4 do not name their software, before 2.5 they commit in transactions by the group's id alone,
and members of 2.4 say which partitions they own, but not of which generation. Some sleep past their session,
some are killed, another instance takes over a transactional id. ``clients/NAME.log`` has what each process
was told.
"""

from __future__ import annotations

import time
from pathlib import Path

from brokers import LabError, Plan, jars
from clients import Client
from java_programs import compile_program
from log4j import KAFKAS_PATTERN
from scenario import Scenario, Stage, prepare

RELEASES = ("2.1.1", "2.4.1")
_LOGGING = f"""log4j.rootLogger=WARN, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern={KAFKAS_PATTERN}
log4j.logger.org.apache.kafka.clients.producer=INFO
log4j.logger.org.apache.kafka.clients.consumer.internals=INFO
log4j.logger.org.apache.kafka.clients.producer.ProducerConfig=WARN
"""


class _Release:
    """Starts clients of one release."""

    def __init__(self, stage: Stage, release: str) -> None:
        self._stage, self.release = stage, release
        self._has_static_members = release != "2.1.1"
        folder = jars(stage.cluster.plan.version).with_name(f"clients-{release}")
        if not any(folder.glob("kafka-clients-*.jar")):
            raise LabError(f"{folder} holds no client: run `make jars-clients-{release}`")
        self._jars = f"{folder}/*"

    def start(self, name: str, *clients: str) -> Client:
        """Start a process with these clients; it ends with the scenario."""
        home: Path = self._stage.clients.folder
        logging = home / "old.log4j"
        logging.write_text(_LOGGING)
        # the oldest release's API is in all of them
        program = compile_program("OldClients", self._jars.replace(self.release, RELEASES[0]), home)
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData", "-Xmx64m"]
        command = [
            "java",
            *options,
            f"-Dlog4j.configuration=file:{logging}",
            "-cp",
            f"{program}:{self._jars}",
        ]
        bootstrap = self._stage.cluster.bootstrap
        name = f"{name}-{self.release}"
        return self._stage.clients.run(
            Client(name, home / f"{name}.log", [*command, "OldClients", bootstrap, *clients])
        )

    def member(self, group: str, number: str, more: str = "") -> str:
        """A member of a group."""
        names = f"client.id={group}-{number}-{self.release} group.id={group}-{self.release}"
        return f"consume {names} {more}".strip()

    def transfer(self, number: int, again: str = "") -> str:
        """A producer in transactions, with its consumer."""
        transactional_id = f"tx-{number}-{self.release}"
        return (
            f"transfer client.id={transactional_id}{again} group.id=eos-{self.release} "
            f"transactional.id={transactional_id} transaction.timeout.ms=8000"
        )

    def stay(self) -> Client:
        """Those that stay: two of a group, one of a cooperative group, a producer."""
        clients = [
            f"produce client.id=idempotent-{self.release}",
            self.member("eager", "1", "enable.auto.commit=true"),
        ]
        if self._has_static_members:
            clients.append(self.member("cooperative", "1", _COOPERATIVE))
        return self.start("stay", *clients)

    def sleep(self) -> Client:
        """Those that sleep past their session."""
        return self.start("sleep", self.member("eager", "2"), self.transfer(1))

    def die(self) -> Client:
        """Those that are killed."""
        clients = [self.transfer(2)]
        if self._has_static_members:
            clients += [
                self.member("cooperative", "2", _COOPERATIVE),
                self.member("static", "1", "group.instance.id=s1 session.timeout.ms=15000"),
            ]
        return self.start("die", *clients)

    def replace(self) -> Client:
        """Others in place of those that sleep and are gone."""
        clients = [self.transfer(1, "-again")]
        if self._has_static_members:
            clients.append(self.member("static", "1-again", "group.instance.id=s1 session.timeout.ms=15000"))
        return self.start("replace", *clients)


_COOPERATIVE = "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor"


def play(stage: Stage) -> None:
    """Clients of both releases at once."""
    prepare(stage, {"orders": 3, "shipped": 2})
    stage.cluster.coordinator("any", transaction=True)
    releases = [_Release(stage, release) for release in RELEASES]
    for each in releases:
        each.stay()
    sleepers, victims = [each.sleep() for each in releases], [each.die() for each in releases]
    for client in (*sleepers, *victims):
        client.await_event("begun", 2)
    time.sleep(2)
    stage.say("some fall asleep, some are killed")
    for client in sleepers:
        client.pause()
    for client in victims:
        client.kill()
    time.sleep(1)
    for each in releases:
        each.replace().await_event("begun")
    time.sleep(5)
    stage.say("they wake up")
    for client in sleepers:
        client.resume()
        client.await_event("fenced")
    time.sleep(2)


def plan(version: str) -> Plan:
    """One broker that looks for transactions past their timeout often."""
    return Plan(
        version,
        offsets_partitions=2,
        settings={"transaction.abort.timed.out.transaction.cleanup.interval.ms": 2000},
    )


SCENARIO = Scenario(plan, play)
