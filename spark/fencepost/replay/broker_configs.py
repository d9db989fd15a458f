"""The configurations of brokers: dynamic ones, and those of server.properties, which a broker logs when it
starts.

As in DynamicBrokerConfig, a dynamic value of a broker comes first, then the dynamic one of all brokers, then
the value with which its process started.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from typing import Any

from fencepost.replay.dynamic_configs import APPLIED_MS, DynamicConfigs


@dataclass(frozen=True, slots=True)
class Registration:
    """A broker's start, valid until its next one. ``metadata_version``: the highest metadata.version that it
    supports, which shows its release (MetadataVersion.java); None if it registered none. ``incarnation_id``:
    of its process. ``is_dated``: ``from_ms`` is when it registered, and not only when a snapshot had it.
    ``ready_ms``: when it had started, so that the controller unfenced it; None if no record shows that.
    """

    from_ms: int
    metadata_version: int | None
    incarnation_id: str | None = None
    is_dated: bool = True
    ready_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Logged:
    """What a broker logged of its configuration at a time, by its own clock."""

    ms: int
    settings: Mapping[str, str]


@dataclass(frozen=True)
class BrokerConfigs:
    """The configurations of a cluster's brokers.

    ``starts``: every broker's registrations, in order. ``logged``: what each broker logged, in any order.
    ``from_beginning``: the metadata log is known from the cluster's beginning, so no registration is missing
    before the first one. What is missing later is a hole of ``dynamic``.
    """

    dynamic: DynamicConfigs = field(default_factory=DynamicConfigs)
    starts: Mapping[int, Sequence[Registration]] = field(default_factory=dict)
    logged: Mapping[int, Sequence[Logged]] = field(default_factory=dict)
    from_beginning: bool = False

    def between(self, name: str, broker_id: int, from_ms: int, to_ms: int) -> tuple[str, ...] | None:
        """Every value that a broker may have had from one time to another; None if any of them is unknown."""
        resource = str(broker_id)
        values: dict[str, None] = {}
        for each in self.dynamic.in_effect(name, from_ms, to_ms):
            value = each.of(resource)
            if value is not None:
                values[value] = None
            elif each.is_unset(resource) and (
                started_with := self._started_with(name, broker_id, from_ms, to_ms)
            ):
                values |= dict.fromkeys(started_with)
            else:
                return None
        return tuple(values) or None

    def _started_with(self, name: str, broker_id: int, from_ms: int, to_ms: int) -> tuple[str, ...] | None:
        """The values in server.properties of every process that a broker may have had between two times."""
        of_broker = processes(self.starts.get(broker_id, ()))
        ends = (later.from_ms + APPLIED_MS for later in of_broker[1:])
        running = [
            each
            for each, end in zip_longest(of_broker, ends)
            if each.from_ms - APPLIED_MS <= to_ms and (end is None or from_ms <= end)
        ]
        if not running or (running[0].from_ms - APPLIED_MS > from_ms and not self.from_beginning):
            return None
        values: dict[str, None] = {}
        for process in running:
            told = self._told_by(name, broker_id, process)
            if not told:
                return None
            values |= dict.fromkeys(told)
        return tuple(values)

    def _told_by(self, name: str, broker_id: int, process: Registration) -> list[str]:
        """What a process logged when it started; nothing if a dynamic value was in it."""
        at = process.from_ms
        dynamic = self.dynamic.in_effect(name, at, at)
        if not process.is_dated or not dynamic or not all(each.is_unset(str(broker_id)) for each in dynamic):
            return []
        logged = [each for each in self.logged.get(broker_id, ()) if abs(each.ms - at) <= APPLIED_MS]
        return [each.settings[name] for each in logged if name in each.settings]


def processes(registrations: Sequence[Registration]) -> list[Registration]:
    """The first registration of each process: one may register again, as after a change of its features."""
    of_process = groupby(enumerate(registrations), lambda each: each[1].incarnation_id or each[0])
    return [next(group)[1] for _, group in of_process]


def logged_settings(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[int, list[Logged]]]:
    """Cluster -> broker id -> what it logged, from rows of ``bronze.broker_settings``."""
    found: defaultdict[str, defaultdict[int, list[Logged]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row["logged_at_ms"] is not None:
            logged = Logged(row["logged_at_ms"], json.loads(row["settings"]))
            found[row["cluster"]][row["broker_id"]].append(logged)
    return {cluster: dict(of_brokers) for cluster, of_brokers in found.items()}
