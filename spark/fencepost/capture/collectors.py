"""Which machine a run has collected from: its name is in the run's id.

A collector knows the files of its machine alone. So only it can say that a file which it missed is there.
"""

from __future__ import annotations

import socket
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256

from fencepost.settings import Settings, SettingsError

_BEGINS, _DIGITS = "collect-", 12


def collecting_run(settings: Settings) -> str:
    """The id of a new run of the collector that this machine and its configuration make. Raises SettingsError
    if the configuration names no logs, as that of an audit of what others collect.
    """
    logs = [
        path
        for cluster in settings.clusters
        for paths in (
            *(each.paths for each in cluster.brokers),
            *(each.logs for each in cluster.clients),
        )
        for path in paths
    ]
    if not logs:
        raise SettingsError(
            f"{settings.path}: there is nothing to collect, because no [[clusters.brokers]] has log_dirs, "
            "request_logs or server_logs and no [[clusters.clients]] has logs. Name those of this machine."
        )
    told = f"{_machine(settings)} {settings.path}"
    name = sha256(told.encode()).hexdigest()[:_DIGITS]
    return f"{_BEGINS}{name}-{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}"


def on_this_machine(settings: Settings) -> Settings:
    """The settings whose clients' logs are those of this machine: others may have logs with the same paths.
    Brokers are told apart by their ids.
    """
    host = _machine(settings)
    clusters = (
        replace(each, clients=tuple(replace(client, host=client.host or host) for client in each.clients))
        for each in settings.clusters
    )
    return replace(settings, clusters=tuple(clusters))


def _machine(settings: Settings) -> str:
    """The name of this machine, as the lake has it."""
    host = socket.gethostname()
    return host if settings.pseudonyms is None else settings.pseudonyms.host(host)


def collector(run_id: str) -> str | None:
    """The name of the collector whose run this is; None of an audit's run."""
    return run_id[: len(_BEGINS) + _DIGITS] if run_id.startswith(_BEGINS) else None
