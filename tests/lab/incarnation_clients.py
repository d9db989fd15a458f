"""Real Java clients of the scenario ``incarnations``: their topic is deleted and created again under them."""

from __future__ import annotations

from clients import Client
from commits import release
from incarnation_bench import Bench

TOPIC = "payments.eu-1"
_DEBUG = "org.apache.kafka.clients.Metadata"
"""The logger in which a consumer reports the metadata that it accepts and refuses."""


class RealClients:
    """A producer, a live consumer of each protocol, and one that has stopped and returns."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._stage = bench.stage
        bench.operator.create(TOPIC, bench.replicas(2))
        self.producer = self._stage.clients.producer("payments-producer", TOPIC, 3)
        self.live = [
            self._consumer(f"payments-{protocol.lower()}", protocol) for protocol in self._protocols()
        ]
        self.night = self._consumer("payments-night", "CLASSIC")

    def recreate(self) -> None:
        """The topic is created again while two consumers are running, and one has stopped."""
        for client in (*self.live, self.night):
            client.await_event("offsets_committed", 3)
        self.night.ask_to_stop()
        self.night.wait()
        seen = [client.events("records_consumed") for client in self.live]
        self._bench.operator.recreate(TOPIC, self._bench.replicas(2))
        for client, before in zip(self.live, seen, strict=True):
            client.await_event("records_consumed", before + 4)
        self.live.append(self._consumer("payments-night-back", "CLASSIC", "payments-night"))
        self.live[-1].await_event("offsets_committed", 2)

    def stop(self) -> None:
        """End the clients cleanly."""
        for client in (*self.live, self.producer):
            client.ask_to_stop()
        for client in (*self.live, self.producer):
            client.wait()

    def _protocols(self) -> list[str]:
        newer = release(self._stage.cluster.plan.version) >= (4,)
        return ["CONSUMER", "CLASSIC"] if newer else ["CLASSIC"]

    def _consumer(self, name: str, protocol: str, group_id: str | None = None) -> Client:
        return self._stage.clients.consumer(name, group_id or name, TOPIC, protocol=protocol, debug=_DEBUG)
