"""Dynamic configurations of brokers, from ConfigRecords of the metadata log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

from fencepost.replay.metadata_log import Hole, MetadataLog, Piece
from fencepost.replay.metadata_records import CONFIG

_BROKER = 4
"""org.apache.kafka.common.config.ConfigResource.Type."""
_ALL = ""
"""The resource name of the cluster-wide default, for brokers without a value of their own."""
_APPLIED_MS = 60_000
"""A broker may apply a change so much earlier or later, by its clock, than the controller's clock
dates it.
"""


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of one configuration from ``from_ms`` on, by resource name; None: no value.

    ``whole``: all values are known, so a broker that is not listed has no value of its own.
    """

    from_ms: int
    values: Mapping[str, str | None]
    whole: bool

    def of(self, broker_id: int) -> str | None:
        own = self.values.get(str(broker_id))
        if own is not None:
            return own
        return self.values.get(_ALL) if self.whole or str(broker_id) in self.values else None


@dataclass(frozen=True)
class BrokerConfigs:
    """The dynamic configurations of a cluster's brokers.

    A broker without a dynamic value has that of its server.properties, which no log has: it is unknown here.
    ``history``: for each configuration its values, in the order of time. ``known_ms``: the newest time of the
    metadata log.
    """

    history: Mapping[str, tuple[_Values, ...]] = field(default_factory=dict)
    known_ms: int | None = None

    @classmethod
    def of(cls, log: MetadataLog) -> BrokerConfigs:
        """From the metadata log."""
        history: dict[str, list[_Values]] = {}
        whole = log.from_beginning
        for piece in log.pieces:
            if isinstance(piece, Hole) or piece.is_snapshot:
                # a snapshot without a time cannot be placed: as if nothing were known after it
                whole = not isinstance(piece, Hole) and piece.ms is not None
                for each in history.values():
                    each.append(_Values(piece.ms or 0, {}, whole))
            if piece.ms is None:
                continue
            for name, resource, value in _changes(piece):
                states = history.setdefault(name, [_Values(0, {}, whole)])
                states.append(_Values(piece.ms, {**states[-1].values, resource: value}, whole))
        return cls({name: tuple(states) for name, states in history.items()}, log.known_ms)

    def between(self, name: str, broker_id: int, from_ms: int, to_ms: int) -> tuple[str, ...] | None:
        """Every value that the broker may have had from one time to another; None if any of them
        is unknown.
        """
        if self.known_ms is None or to_ms > self.known_ms + _APPLIED_MS:
            return None
        states = self.history.get(name, ())
        ends = (each.from_ms + _APPLIED_MS for each in states[1:])
        values = [
            each.of(broker_id)
            for each, end in zip_longest(states, ends)
            if each.from_ms - _APPLIED_MS <= to_ms and (end is None or from_ms <= end)
        ]
        known = tuple(value for value in values if value is not None)
        return known if known and len(known) == len(values) else None


def _changes(piece: Piece) -> Iterator[tuple[str, str, str | None]]:
    if isinstance(piece, Hole):
        return
    for record in piece.records:
        if record.type == CONFIG and record.fields["resource_type"] == _BROKER:
            yield record.fields["name"], record.fields["resource_name"], record.fields["value"]
