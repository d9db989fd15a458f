"""The scenario ``platformatic``: ordinary clients of @platformatic/kafka, which is no other's code.

Members come and go and sleep past their session. The first transactional id of the cluster is given producer
id 0, which is what this client says that it has before it is given any: one instance after another takes it
over. A topic is deleted and created again under its consumers. Nothing is made by hand.
"""

from __future__ import annotations

import time

from clients import Client
from makers import PLATFORMATIC, Makers, plan, trio
from scenario import Scenario, Stage, make_another, prepare

_SERVER = {"assignor": "server"}


def play(stage: Stage) -> None:
    """Who writes first is given no producer id, so that the transactional id is given 0."""
    prepare(stage, {"orders": 4, "shipped": 2, "audit": 2})
    stage.cluster.coordinator("any", transaction=True)
    makers = Makers(stage)

    def transfer(number: int, instance: str, **settings: object) -> Client:
        group = f"platformatic-tx-{number}"
        name = f"{group}-{instance}"
        return makers.start(
            PLATFORMATIC, "transfer", name, group=group, transactional_id=group, work=600, **settings
        )

    makers.start(PLATFORMATIC, "produce", "platformatic-producer", topics="orders,audit", work=300)
    transfer(1, "a").await_event("begun", 3)
    casts = [
        trio(makers, PLATFORMATIC, "platformatic-auto", leaves=True, commit="auto"),
        trio(makers, PLATFORMATIC, "platformatic-server", **_SERVER, commit="manual"),
    ]
    transfer(2, "a", **_SERVER).await_event("begun", 2)
    for cast in casts:
        for client in (*cast.sleepers, *cast.leavers, *cast.victims):
            client.await_event("assigned")
    time.sleep(4)
    stage.say("some fall asleep, one leaves, one is killed")
    for cast in casts:
        for client in cast.sleepers:
            client.pause()
        for client in cast.leavers:
            client.ask_to_stop()
        for client in cast.victims:
            client.kill()
    stage.say("other instances of the transactional ids")
    transfer(1, "b").await_event("begun", 3)
    transfer(2, "b", **_SERVER).await_event("refused")
    time.sleep(4)
    stage.say("they wake up, and a third instance comes")
    for cast in casts:
        for client in cast.sleepers:
            client.resume()
    transfer(1, "c").await_event("begun", 3)
    time.sleep(3)
    make_another(stage, "audit", 2)
    time.sleep(5)


SCENARIO = Scenario(plan, play)
