"""The scenario ``streams``: real applications that start, stop, move tasks and clean their directories."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from brokers import NOISE, Plan
from commits import release
from lab_client import LabClient
from partition_requests import produce
from scenario import Scenario, Stage, prepare
from streams_apps import DETAILS, PATIENCE_S, Directories, Instance, Layout, Settings, start, until
from streams_oracle import assignments, lag_reports
from truth import Partition

TOPICS = {"logged": 2, "unlogged": 2, "mixed": 2, "stateless": 1}
"""One subtopology each; of which ``stateless`` has no store."""

ISO = "%d{yyyy-MM-dd'T'HH:mm:ss,SSS} [%t] %-5p %c - %m%n"
SPRING = "%d{yyyy-MM-dd HH:mm:ss.SSS}  %5p 4711 --- [%15.15t] %-40.40c{1.} : %m%n"
"""Layouts as applications have them; the last one is that of Spring Boot, which cuts long names."""

RACE = Settings("race", cleanup_ms=1500, layout=Layout(None, DETAILS, "America/Bogota"))
STEADY = Settings("steady", standbys=1, layout=Layout(SPRING, None, "Europe/Madrid"))
FIXED = Settings("fixed", cleanup_ms=2000, is_static=True, session_timeout_ms=20_000)
FLOW = Settings("flow", standbys=1, cleanup_ms=1500, protocol="streams", layout=Layout(ISO))

_TASKS = sum(TOPICS.values())
_RECORDS = 40
_REST_S = 4.0


class Writer:
    """Writes records into every topic of the applications."""

    def __init__(self, stage: Stage) -> None:
        self._client = LabClient(stage.cluster, stage.truth, "writer", "streams")

    def write(self, slow: int = 0, topics: Mapping[str, int] = TOPICS) -> None:
        """Some more records in every partition, in different numbers; the last ones take long to process."""
        for topic, partitions in topics.items():
            for index in range(partitions):
                place: Partition = (topic, index)
                values = self._client.values(_RECORDS + 7 * index)
                values += [value + b"-slow" for value in self._client.values(slow)]
                ask = produce(place, values, -1)
                self._client.collect(self._client.post(1, ask), unless="NONE")

    def close(self) -> None:
        """Close its connection."""
        self._client.close()


def play(stage: Stage) -> None:
    """Two applications at a time."""
    play_beside(stage, TOPICS, lambda writer: _case(stage, "race", lambda: race(stage, writer)), _others)


def play_beside(
    stage: Stage,
    topics: Mapping[str, int],
    first: Callable[[Writer], None],
    others: Callable[[Stage], None],
) -> None:
    """One application, and others beside it; then their user data, decoded by Kafka's classes.

    ``topics``: those of all of them, with their partitions; ``first`` has who wrote into them.
    """
    prepare(stage, topics)
    for topic, partitions in topics.items():
        for index in range(partitions):
            stage.cluster.leader(topic, index)
    writer = Writer(stage)
    writer.write()
    with Directories(stage), ThreadPoolExecutor(1) as pool:
        other = pool.submit(others, stage)
        first(writer)
        other.result()
    writer.close()
    recording, version = stage.clients.folder.parent, stage.cluster.plan.version
    classes = stage.clients.folder / "classes"
    stage.truth.oracles["lag_reports.json"] = lag_reports(recording, version, classes)
    stage.truth.oracles["assignments.json"] = assignments(recording, version, classes)


def _others(stage: Stage) -> None:
    _case(stage, "steady", lambda: steady(stage))
    _case(stage, "fixed", lambda: fixed(stage))
    if release(stage.cluster.plan.version) >= (4, 2):
        _case(stage, "flow", lambda: flow(stage))


def _case(stage: Stage, name: str, play_it: Callable[[], None]) -> None:
    stage.say(name)
    play_it()


def race(stage: Stage, writer: Writer) -> None:
    """Tasks move to a second instance, back, and again; the cleaner runs soon after a release."""
    a = start(stage, RACE, "a")
    settled(a)
    for again in range(2):
        b = start(stage, RACE, "b", again)
        settled(a, b)
        time.sleep(_REST_S)
        writer.write()
        b.stop()
        settled(a)
        time.sleep(_REST_S)
    a.stop()


def steady(stage: Stage) -> None:
    """With standby tasks and the cleaner's default delay; one instance is restarted, one killed."""
    a, b = start(stage, STEADY, "a"), start(stage, STEADY, "b")
    settled(a, b)
    time.sleep(_REST_S)
    b.stop()
    b = start(stage, STEADY, "b", 1)
    time.sleep(STEADY.session_timeout_ms / 1000)
    settled(a, b)
    b.crash()
    time.sleep(_REST_S)
    settled(a)
    a.stop()


def fixed(stage: Stage) -> None:
    """Static members: one is restarted within its session."""
    a, b = start(stage, FIXED, "a"), start(stage, FIXED, "b")
    settled(a, b)
    time.sleep(_REST_S)
    b.stop()
    b = start(stage, FIXED, "b", 1)
    settled(a, b)
    time.sleep(_REST_S)
    for each in (a, b):
        each.stop()


def flow(stage: Stage) -> None:
    """The streams protocol: no lag report, no temporary locks; one instance is restarted."""
    a = start(stage, FLOW, "a")
    settled(a)
    for again in range(2):
        b = start(stage, FLOW, "b", again)
        settled(a, b)
        time.sleep(_REST_S)
        b.stop()
        settled(a)
        time.sleep(_REST_S)
    a.stop()


def settled(*instances: Instance, tasks: int = _TASKS, patience_s: float = PATIENCE_S) -> None:
    """Wait until all instances run and every task is assigned, for a while."""

    def so() -> bool:
        active = [task for each in instances for task in each.tasks()["active"]]
        return all(each.is_running() for each in instances) and len(active) == len(set(active)) == tasks

    def lasting() -> bool:
        if not so() or not all(each.tasks()["active"] for each in instances):
            return False
        time.sleep(1.0)
        return so()

    until(f"{[each.name for each in instances]} share {tasks} tasks", lasting, patience_s)


def plan(version: str) -> Plan:
    """One broker; clients' lookups are not in its request log."""
    settings: dict[str, object] = {"group.min.session.timeout.ms": 1000}
    if release(version) >= (4, 2):
        settings |= {
            "group.streams.heartbeat.interval.ms": 500,
            "group.streams.min.heartbeat.interval.ms": 100,
            "group.streams.session.timeout.ms": 6000,
            "group.streams.min.session.timeout.ms": 1000,
            "group.streams.num.standby.replicas": 1,
            "group.streams.initial.rebalance.delay.ms": 0,
        }
    looked_up = ("METADATA", "API_VERSIONS", "LIST_OFFSETS", "FIND_COORDINATOR", "DESCRIBE_CONFIGS")
    return Plan(
        version,
        timezone="Asia/Tehran" if version == "4.3.1" else "UTC",
        roll_bytes=80_000,
        unlogged=(*NOISE, *looked_up, "DELETE_RECORDS"),
        settings=settings,
    )


SCENARIO = Scenario(plan, play)
