"""The scenario ``lags``: the leaders' requests about changelogs, warm-up tasks, and a thread that comes late.

The request log has the lookups, so also the answers to the leader of an application about its changelogs'
ends.
"""

from __future__ import annotations

from dataclasses import replace

from brokers import NOISE, Plan
from scenario import Scenario, Stage
from streams_apps import CONFIGURED, Layout, Settings, start, until
from streams_runs import TOPICS, Writer, play_beside, settled
from streams_runs import plan as plan_of_streams

LATE = Settings(
    "late",
    cleanup_ms=10_000,
    session_timeout_ms=15_000,
    threads=2,
    topic="late",
    # one record per poll: a thread that is slow with a record gets its assignment late
    more=(("main.consumer.max.poll.records", 1),),
)
_IMPATIENT = (("acceptable.recovery.lag", 10), ("probing.rebalance.interval.ms", 60_000))
WARM = Settings("warm", more=_IMPATIENT, layout=Layout(loggers=CONFIGURED))
BOTH = replace(WARM, application_id="both", standbys=1)
STATEFUL = {"0_0", "0_1", "2_0", "2_1"}
"""Tasks that are assigned by their lags."""

TOPIC = {"late": 4}
_ROUNDS = 4
_SLOW = 4


def play(stage: Stage) -> None:
    """Three applications."""
    play_beside(stage, TOPICS | TOPIC, lambda writer: late(stage, writer), _others)


def _others(stage: Stage) -> None:
    warm(stage, WARM)
    warm(stage, BOTH)


def late(stage: Stage, writer: Writer) -> None:
    """Tasks move to a second instance, which is killed at once. The second thread of the first instance is
    late.

    The first thread releases the directories that it reported when it has its assignment. The cleaner may
    delete one before the second thread has its own assignment, and the task may be assigned to that thread.
    """
    stage.say("late")
    (tasks,) = TOPIC.values()
    a = start(stage, LATE, "a")
    settled(a, tasks=tasks)
    for again in range(_ROUNDS):
        writer.write(topics=TOPIC)
        b = start(stage, replace(LATE, session_timeout_ms=3000), "b", again)
        settled(a, b, tasks=tasks)
        b.crash()
        writer.write(slow=_SLOW, topics=TOPIC)
        settled(a, tasks=tasks, patience_s=180)
    a.stop()


def warm(stage: Stage, settings: Settings) -> None:
    """A second instance has no state: tasks are warmed up there, and move with a later rebalance."""
    stage.say(settings.application_id)
    a = start(stage, settings, "a")
    settled(a)
    b = start(stage, settings, "b")
    until("a warm task moves", lambda: bool(STATEFUL & set(b.tasks()["active"])), patience_s=180)
    settled(a, b)
    for each in (a, b):
        each.stop()


def plan(version: str) -> Plan:
    """As of ``streams``, with lookups."""
    return replace(plan_of_streams(version), timezone="UTC", unlogged=(*NOISE, "METADATA", "API_VERSIONS"))


SCENARIO = Scenario(plan, play)
