"""What the pages show, as plain values: templates decide nothing but the form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fencepost.incidents import Incident
from fencepost.page.addresses import ENTITIES, entity_file, incident_file


@dataclass(frozen=True)
class Link:
    """A link to a file of the page. ``file``: None where there is no page of it."""

    words: str
    file: str | None


@dataclass(frozen=True)
class Happened:
    """What verdicts say of one event: its sentence, what it violates, the states around it, and
    commands that end it.
    """

    sentence: str
    broken: Sequence[Broken]
    states: Sequence[States] = ()
    remedies: Sequence[str] = ()

    @property
    def logs(self) -> Sequence[str]:
        """Where that is logged, each place once."""
        return list(dict.fromkeys(each.log for each in self.broken if each.log))


@dataclass(frozen=True)
class Broken:
    """A definition that is violated: ``conjunct`` is what of ``formula`` is false, ``place`` where the
    specification says it, ``values`` what it was false of, ``evidence`` where that is logged.
    """

    verdict_id: str
    invariant: str
    formula: str
    conjunct: str | None
    place: str
    values: Mapping[str, Any]
    evidence: Mapping[str, Any]
    log: str | None
    command: str


@dataclass(frozen=True)
class State:
    """A state that began ``since``: ``when`` is before, then or after."""

    when: str
    since: datetime | None
    cells: Sequence[Any]


@dataclass(frozen=True)
class States:
    """The states around an event, in the order of time."""

    title: str
    columns: Sequence[str]
    rows: Sequence[State]


@dataclass(frozen=True)
class Command:
    """A command to copy, and what it is for."""

    words: str
    text: str


@dataclass(frozen=True)
class Row:
    """An incident in a list."""

    incident: Incident
    file: str | None

    @property
    def text(self) -> str:
        """What a filter of the list finds it by."""
        found = (self.incident[name] for name in (*ENTITIES, "title", "cluster", "client_id", "fingerprint"))
        return " ".join(str(each) for each in found if each is not None).lower()


@dataclass(frozen=True)
class Section:
    """A list of incidents of bounded length. ``more``: how many have no room; ``command`` lists them all."""

    title: str
    rows: Sequence[Row]
    more: int = 0
    command: str = ""
    total: int = field(default=0)


def row(incident: Incident, has_page: bool = True) -> Row:
    """An incident in a list."""
    return Row(incident, incident_file(incident["fingerprint"]) if has_page else None)


def entities(incident: Incident) -> dict[str, Link]:
    """What an incident is about, with the pages of it."""
    return {
        words: Link(incident[column], entity_file(column, incident["cluster"], incident[column]))
        for column, (_, words) in ENTITIES.items()
        if incident[column]
    }
