"""What a recipient has to be told: how incidents differ from what it was told of them last."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from fencepost.incidents import OPEN, Incident, is_worse
from fencepost.settings import ALERTS_ON, SEVERITIES, Recipient

NEW, WORSE, OVER, FAILED, CONFIGURATION = ALERTS_ON
TEST = "test"

Note = Mapping[str, Any]
"""A row of ALERT_NOTES."""


@dataclass(frozen=True)
class Event:
    """A change of an incident that a recipient has not been told.

    ``severity`` and ``title`` are those of the incident, or those that were noted if nothing is left of it.
    ``incident``: its row; empty if there is none. ``was``: the severity that the recipient was told before.
    """

    kind: str
    cluster: str | None
    fingerprint: str
    severity: str
    title: str
    critical: tuple[str, ...] = ()
    incident: Incident = field(default_factory=dict)
    was: str | None = None

    @property
    def key(self) -> str:
        """What stays the same from the first event of an incident to the last one."""
        return "/".join(filter(None, (self.cluster, self.fingerprint)))

    @property
    def is_over(self) -> bool:
        """Whether nothing has to be done any more."""
        return self.kind == OVER


def events(
    recipient: Recipient,
    found: Iterable[Incident],
    noted: Mapping[tuple[str, str], Note],
    clusters: Collection[str],
) -> list[Event]:
    """What a recipient has not been told, the most important first; ``noted``: the last note of each incident
    by cluster and fingerprint; ``clusters``: those that are audited.
    """
    missing, all_of_it = dict(noted), []
    for each in found:
        note = missing.pop((each["cluster"], each["fingerprint"]), None)
        kind = _kind(each, note, recipient) if _concerns(recipient, each["cluster"]) else None
        if kind is not None:
            all_of_it.append(event(kind, each, note))
    gone = (
        note
        for (cluster, _), note in missing.items()
        if note["event"] != OVER and cluster in clusters and _concerns(recipient, cluster)
    )
    return [*all_of_it, *(_gone(note) for note in gone)]


def standing(
    recipient: Recipient, found: Iterable[Incident], noted: Mapping[tuple[str, str], Note]
) -> list[Event]:
    """The open incidents that a recipient was told of, as it was told: for one that forgets."""
    notes = ((each, noted.get((each["cluster"], each["fingerprint"]))) for each in found)
    return [
        event(NEW, {**each, "severity": note["severity"]}, note)
        for each, note in notes
        if note is not None
        and each["state"] in OPEN
        and note["event"] != OVER
        and _concerns(recipient, each["cluster"])
        and not is_worse(each, note)
    ]


def event(kind: str, incident: Incident, note: Note | None = None) -> Event:
    """An event of an incident that is in the mart."""
    return Event(
        kind,
        incident["cluster"],
        incident["fingerprint"],
        incident["severity"],
        incident["title"],
        tuple(incident["critical"]),
        incident,
        note["severity"] if note is not None and note["event"] != OVER else None,
    )


def _gone(note: Note) -> Event:
    severity = note["severity"]
    return Event(OVER, note["cluster"], note["fingerprint"], severity, note["title"], was=severity)


def _concerns(recipient: Recipient, cluster: str) -> bool:
    return not recipient.clusters or cluster in recipient.clusters


def _kind(incident: Incident, note: Note | None, recipient: Recipient) -> str | None:
    was_told = note is not None and note["event"] != OVER
    if incident["state"] not in OPEN:
        return OVER if was_told else None
    if note is None or not was_told:
        return NEW if _grade(incident["severity"]) <= _grade(recipient.severity) else None
    return WORSE if is_worse(incident, note) else None


def _grade(severity: str) -> int:
    return SEVERITIES.index(severity)
