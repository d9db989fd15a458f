"""The scenario ``days``: ordinary clients of four makers, four times over midnight.

Between two nights the clock of all processes advances by a day. A member of each protocol sleeps through
every other day (SIGSTOP) and wakes up with its old state; a topic is deleted and created again within a
second, so that classic groups do not notice. Nothing is made by hand, so there is no ground truth: the audit
must report no violation.
"""

from __future__ import annotations

import time

from brokers import Plan
from clock import Clock
from natural import start_clients
from scenario import Scenario, Stage, prepare

_NIGHTS = 4
_BEFORE_S, _AFTER_S = 6, 8
"""The seconds of the scenario before each midnight, and after it."""


def play(stage: Stage) -> None:
    """All clients at once, night after night; then all sleeping members wake up."""
    home = stage.cluster.brokers[0].home
    with Clock(home) as clock:
        stage.cluster.stop_broker(1)
        stage.cluster.start_broker(1)
        prepare(stage, {"orders": 3, "shipped": 2, "audit": 2})
        stage.cluster.coordinator("any", transaction=True)
        clock.advance_to_midnight(_BEFORE_S)
        others = start_clients(stage, _NIGHTS * (_BEFORE_S + _AFTER_S))
        stage.clients.consumer("java-consumer", "java-consumer", "orders", autocommit=True)
        sleepers = [
            stage.clients.consumer("java-sleeper", "java-consumer", "orders", autocommit=True),
            stage.clients.consumer(
                "java-classic", "java-classic", "orders", autocommit=True, protocol="CLASSIC"
            ),
        ]
        for night in range(_NIGHTS):
            stage.say(f"night {night + 1}")
            if night:
                clock.advance_to_midnight(_BEFORE_S)
            time.sleep(_BEFORE_S)
            for sleeper in sleepers:
                if night % 2:
                    sleeper.resume()
            time.sleep(_AFTER_S)
            if night == 1:
                stage.say("another topic of the same name")
                stage.cluster.delete_topic("audit")
                time.sleep(1)
                stage.cluster.create_topic("audit", 2)
            for sleeper in sleepers:
                if not night % 2:
                    sleeper.pause()
        for each in others:
            each.wait(60)


def plan(version: str) -> Plan:
    """One broker that deletes no records."""
    return Plan(version, offsets_partitions=2, roll_bytes=150_000)


SCENARIO = Scenario(plan, play)
