"""Dynamic configurations of brokers and of groups, from ConfigRecords of the metadata log."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import zip_longest

from fencepost.replay.metadata_log import Hole, MetadataLog, Piece
from fencepost.replay.metadata_records import CONFIG

BROKER, GROUP = 4, 32
"""org.apache.kafka.common.config.ConfigResource.Type."""
_ALL = ""
"""The resource name of the cluster-wide default, for brokers without a value of their own."""
APPLIED_MS = 60_000
"""A broker may apply a change so much earlier or later, by its clock, than the controller's clock
dates it.
"""


@dataclass(frozen=True, slots=True)
class Values:
    """The values of one configuration from ``from_ms`` on, by resource name; None: no value.

    ``whole``: all values are known, so a broker that is not listed has no value of its own.
    """

    from_ms: int
    values: Mapping[str, str | None]
    whole: bool

    def of(self, resource: str) -> str | None:
        own = self.values.get(resource)
        if own is not None:
            return own
        # it may have a value of its own that nobody saw
        return self.values.get(_ALL) if self.whole or resource in self.values else None

    def is_unset(self, resource: str) -> bool:
        """Whether the resource is known to have neither a value of its own nor that of all."""
        return self.of(resource) is None and (self.whole or (resource in self.values and _ALL in self.values))


@dataclass(frozen=True)
class DynamicConfigs:
    """The dynamic configurations of a cluster's brokers, or of its groups.

    A broker without a dynamic value has that of its server.properties (``broker_configs``). A group without a
    value of its own has that of its coordinator's broker.
    ``history``: for each configuration its values, in the order of time. ``never_set``: the same for all
    others. ``known_ms``: the newest time of the metadata log.
    """

    history: Mapping[str, tuple[Values, ...]] = field(default_factory=dict)
    never_set: tuple[Values, ...] = ()
    known_ms: int | None = None

    @classmethod
    def of(cls, log: MetadataLog, kind: int = BROKER) -> DynamicConfigs:
        """From the metadata log; ``kind``: of resources."""
        history: dict[str, list[Values]] = {}
        never_set = [Values(0, {}, log.from_beginning)]
        for piece in log.pieces:
            if isinstance(piece, Hole) or piece.is_snapshot:
                # a snapshot without a time cannot be placed: as if nothing were known after it
                whole = not isinstance(piece, Hole) and piece.ms is not None
                for each in (never_set, *history.values()):
                    each.append(Values(piece.ms or 0, {}, whole))
            if piece.ms is None:
                continue
            for name, resource, value in _changes(piece, kind):
                states = history.setdefault(name, [*never_set])
                states.append(Values(piece.ms, {**states[-1].values, resource: value}, states[-1].whole))
        return cls({name: tuple(states) for name, states in history.items()}, tuple(never_set), log.known_ms)

    def between(self, name: str, resource: int | str, from_ms: int, to_ms: int) -> tuple[str, ...] | None:
        """Every value that a resource, by its broker's id or its group's name, may have had from one time to
        another; None if any of them is unknown.
        """
        values = [each.of(str(resource)) for each in self.in_effect(name, from_ms, to_ms)]
        known = tuple(value for value in values if value is not None)
        return known if known and len(known) == len(values) else None

    def is_unset(self, name: str, resource: str, from_ms: int, to_ms: int) -> bool:
        """Whether a resource is known to have had no value of its own from one time to another."""
        states = self.in_effect(name, from_ms, to_ms)
        return bool(states) and all(each.is_unset(resource) for each in states)

    def _tells_until(self, ms: int) -> bool:
        return self.known_ms is not None and ms <= self.known_ms + APPLIED_MS

    def in_effect(self, name: str, from_ms: int, to_ms: int) -> list[Values]:
        """The values that may have been in effect; none if the metadata log ends before."""
        states = self.history.get(name, self.never_set) if self._tells_until(to_ms) else ()
        ends = (each.from_ms + APPLIED_MS for each in states[1:])
        return [
            each
            for each, end in zip_longest(states, ends)
            if each.from_ms - APPLIED_MS <= to_ms and (end is None or from_ms <= end)
        ]


def _changes(piece: Piece, kind: int) -> Iterator[tuple[str, str, str | None]]:
    if isinstance(piece, Hole):
        return
    for record in piece.records:
        if record.type == CONFIG and record.fields["resource_type"] == kind:
            yield record.fields["name"], record.fields["resource_name"], record.fields["value"]
