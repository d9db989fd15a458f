"""Offsets that outlive their topic: it is created again while no broker coordinates their groups.

The coordinator deletes the offsets of deleted topics when it learns of the deletion. A coordinator that is
elected later never does, so a consumer that had stopped returns to an offset of the earlier incarnation.
"""

from __future__ import annotations

from incarnation_bench import Bench
from partition_requests import Row

TOPIC, STRAY = "survivor", "stray"
PLACE = (TOPIC, 0)
JAVA = "survivor-java"
"""The group to which a real consumer comes back."""

_OFFSETS = {"survivor-named": 30, "survivor-short": 10, JAVA: 12}


class Survivors:
    """Three groups whose topic is created again behind their coordinator's back."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._writer = bench.client(TOPIC, "writer")
        self._replicas = [[bench.brokers[2], bench.brokers[1]]]
        self._commits: list[Row] = []
        self._earlier = self._live = ""

    def prepare(self) -> None:
        """Commit the offsets that are to survive; create a topic that is to be deleted while a replica is
        down.
        """
        bench = self._bench
        self._earlier = bench.operator.create(TOPIC, self._replicas)
        bench.write(self._writer, PLACE, 40)
        for group_id, offset in _OFFSETS.items():
            row = bench.commit(self._writer, group_id, PLACE, offset, leader_epoch=0)
            self._commits.append(row)
        row = bench.commit(self._writer, "survivor-id", PLACE, 20, leader_epoch=0, topic_id=self._earlier)
        self._commits.append(row)
        bench.operator.create(STRAY, bench.replicas())
        bench.write(self._writer, (STRAY, 0), 5)

    def recreate(self) -> None:
        """Before another coordinator is elected."""
        self._live = self._bench.operator.recreate(TOPIC, self._replicas)
        self._bench.operator.delete(STRAY)
        self._bench.write(self._writer, PLACE, 25)

    def come_back(self) -> None:
        """The consumers, one of them a real one."""
        bench = self._bench
        bench.stage.cluster.coordinator(JAVA)
        real = bench.stage.clients.consumer("survivor-back", JAVA, TOPIC, protocol="CLASSIC")
        for row in self._commits:
            group_id = row["asked"]["group_id"]
            client = None if group_id == JAVA else bench.client(TOPIC, f"back-{group_id}")
            bench.orphan("coordinator_away", row, self._earlier, self._live, client)
        real.await_event("records_consumed")
        real.await_event("offsets_committed")
        real.ask_to_stop()
        real.wait()
