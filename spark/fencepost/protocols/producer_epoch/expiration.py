"""After how long brokers forget a producer that is silent: ``producer.id.expiration.ms``.

ProducerStateManager.isProducerExpired: a producer with an open transaction is never forgotten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fencepost.replay.broker_configs import BrokerConfigs
from fencepost.replay.metadata import ClusterMetadata

DEFAULT_MS = 86_400_000
_NAME = "producer.id.expiration.ms"


@dataclass(frozen=True)
class Expiration:
    """The configuration of a cluster's brokers."""

    configs: BrokerConfigs = field(default_factory=BrokerConfigs)
    brokers: Sequence[int] = ()

    def of(self, broker_id: int, from_ms: int, to_ms: int) -> tuple[int, int] | None:
        """The least and the greatest value (ms) that a broker may have had between two times; None if not
        known.
        """
        values = self.configs.between(_NAME, broker_id, from_ms, to_ms)
        if values is None or not all(value.isascii() and value.isdecimal() for value in values):
            return None
        return min(map(int, values)), max(map(int, values))

    def least(self, from_ms: int, to_ms: int) -> int | None:
        """The least value (ms) that any broker may have had between two times; None if one is not known."""
        bounds = [self.of(broker_id, from_ms, to_ms) for broker_id in self.brokers]
        known = [each[0] for each in bounds if each is not None]
        return min(known) if known and len(known) == len(bounds) else None


def expirations(metadata: Mapping[str, ClusterMetadata]) -> dict[str, Expiration]:
    """The expiration of producers by cluster."""
    return {
        cluster: Expiration(known.configs, tuple(known.registrations)) for cluster, known in metadata.items()
    }
