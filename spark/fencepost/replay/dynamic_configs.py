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

    def of(self, resource: str) -> str | None:
        own = self.values.get(resource)
        if own is not None:
            return own
        return self.values.get(_ALL) if self.is_known_of(resource) else None

    def is_known_of(self, resource: str) -> bool:
        """Whether it is known if the resource has a value of its own."""
        return self.whole or resource in self.values


@dataclass(frozen=True)
class DynamicConfigs:
    """The dynamic configurations of a cluster's brokers, or of its groups.

    A broker without a dynamic value has that of its server.properties, which no log has: it is unknown here.
    A group without a value of its own has that of its coordinator's broker.
    ``history``: for each configuration its values, in the order of time. ``known_ms``: the newest time of the
    metadata log. ``is_whole``: the log is known from its beginning, without a hole.
    """

    history: Mapping[str, tuple[_Values, ...]] = field(default_factory=dict)
    known_ms: int | None = None
    is_whole: bool = False

    @classmethod
    def of(cls, log: MetadataLog, kind: int = BROKER) -> DynamicConfigs:
        """From the metadata log; ``kind``: of resources."""
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
            for name, resource, value in _changes(piece, kind):
                states = history.setdefault(name, [_Values(0, {}, whole)])
                states.append(_Values(piece.ms, {**states[-1].values, resource: value}, whole))
        has_no_hole = log.from_beginning and not any(isinstance(piece, Hole) for piece in log.pieces)
        return cls({name: tuple(states) for name, states in history.items()}, log.known_ms, has_no_hole)

    def between(self, name: str, resource: int | str, from_ms: int, to_ms: int) -> tuple[str, ...] | None:
        """Every value that a resource, by its broker's id or its group's name, may have had from one time to
        another; None if any of them is unknown.
        """
        values = [each.of(str(resource)) for each in self._in_effect(name, from_ms, to_ms)]
        known = tuple(value for value in values if value is not None)
        return known if known and len(known) == len(values) else None

    def is_unset(self, name: str, resource: str, from_ms: int, to_ms: int) -> bool:
        """Whether a resource is known to have had no value of its own from one time to another."""
        states = self._in_effect(name, from_ms, to_ms)
        if not states and name not in self.history:
            return self.is_whole and self._tells_until(to_ms)
        return bool(states) and all(
            each.is_known_of(resource) and each.of(resource) is None for each in states
        )

    def _tells_until(self, ms: int) -> bool:
        return self.known_ms is not None and ms <= self.known_ms + _APPLIED_MS

    def _in_effect(self, name: str, from_ms: int, to_ms: int) -> list[_Values]:
        """The values that may have been in effect; none if the metadata log ends before."""
        states = self.history.get(name, ()) if self._tells_until(to_ms) else ()
        ends = (each.from_ms + _APPLIED_MS for each in states[1:])
        return [
            each
            for each, end in zip_longest(states, ends)
            if each.from_ms - _APPLIED_MS <= to_ms and (end is None or from_ms <= end)
        ]


def _changes(piece: Piece, kind: int) -> Iterator[tuple[str, str, str | None]]:
    if isinstance(piece, Hole):
        return
    for record in piece.records:
        if record.type == CONFIG and record.fields["resource_type"] == kind:
            yield record.fields["name"], record.fields["resource_name"], record.fields["value"]
