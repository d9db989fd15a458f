"""The incidents of ``marts.fct_incidents``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Any

from fencepost.conditions import Condition
from fencepost.protocols import protocols
from fencepost.reading import Reader, rows
from fencepost.settings import SEVERITIES

INCIDENTS = "marts.fct_incidents"
INCIDENT_VERDICTS = "marts.fct_incident_verdicts"
STATES = ("new", "ongoing", "waived", "over")
OPEN = ("new", "ongoing")
"""The states of incidents that close the gate, if they are critical."""

Incident = Mapping[str, Any]
"""A row of INCIDENTS."""


def incidents(reader: Reader, clusters: Collection[str], where: Condition | None = None) -> list[Incident]:
    """The incidents of these clusters, the most important first: by state, severity, and when they were last
    seen. ``where`` chooses some.
    """
    of_clusters = (row for row in rows(reader.scan(INCIDENTS, where=where)) if row["cluster"] in clusters)
    newest_first = sorted(of_clusters, key=lambda row: _order_of_time(row["last_seen"]), reverse=True)
    return sorted(newest_first, key=_importance)


def open_in(of_clusters: Iterable[Incident]) -> set[tuple[str, str]]:
    """Cluster and invariant of all that is violated by incidents that are new or go on."""
    return {
        (incident["cluster"], invariant)
        for incident in of_clusters
        if incident["state"] in OPEN
        for invariant in incident["invariants"]
    }


def counts(of_clusters: Sequence[Incident]) -> dict[str, int]:
    """How many are new, ongoing and waived, and how many are over since the last run."""
    found = {state: sum(each["state"] == state for each in of_clusters) for state in STATES}
    return found | {"over": sum(map(has_ended, of_clusters))}


def has_ended(incident: Incident) -> bool:
    """Whether an incident is over, and was not in the run before."""
    return bool(incident["state"] == "over" and incident["state_before"] not in (None, "over"))


def is_worse(incident: Incident, noted: Mapping[str, Any]) -> bool:
    """Whether it has a graver severity, or another invariant that closes the gate, than was noted of it, and
    not only one that follows from what was noted.
    """
    grade, noted_grade = (SEVERITIES.index(each["severity"]) for each in (incident, noted))
    told, follows = set(noted["critical"]), followed()
    return grade < noted_grade or any(
        each not in told and follows.get(each) not in told for each in incident["critical"]
    )


@cache
def followed() -> Mapping[str, str]:
    """``Protocol.follows`` of all protocols."""
    return {name: before for protocol in protocols() for name, before in protocol.follows.items()}


def _importance(incident: Incident) -> tuple[int, int, int]:
    return (
        incident["state"] not in OPEN,
        SEVERITIES.index(incident["severity"]),
        STATES.index(incident["state"]),
    )


def _order_of_time(moment: datetime | None) -> tuple[bool, datetime]:
    return moment is not None, moment or datetime.min
