"""The words of an alert: a line that says what it is about, a sentence for each incident, where to look."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fencepost import shell
from fencepost.alerts.events import Event
from fencepost.known_issues import named
from fencepost.page.addresses import address, incident_file
from fencepost.settings import Settings
from fencepost.words import minute_of, printable

MOST_INCIDENTS = 5
_MOST_TICKETS = 2
_LONGEST_NAME, _LONGEST_TITLE, _LONGEST_FAILURE = 40, 160, 400
_INERT = str.maketrans({"<": "‹", ">": "›", "@": "＠", "`": "'", "*": "∗", "&": "＆"})
"""Characters that make a mention, a link or another form of text in a chat: names come from anywhere."""
_PLACES = ("client_id", "host", "member_id", "broker_id", "instance")


@dataclass(frozen=True)
class Message:
    """An alert: ``title`` is one line; ``text`` has the sentences, and ends with a link or a command."""

    title: str
    text: str
    events: Sequence[Event]
    link: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether it only tells that something is over."""
        return bool(self.events) and all(each.is_over for each in self.events)

    @property
    def is_critical(self) -> bool:
        """Whether something critical in it is not over."""
        return any(each.severity == "critical" and not each.is_over for each in self.events)


def message(settings: Settings, events: Sequence[Event]) -> Message:
    """The alert about some events, which fits a phone."""
    lines = [sentence(each) for each in events[:MOST_INCIDENTS]]
    if rest := len(events) - MOST_INCIDENTS:
        lines += [f"And {rest} more."] if rest > 0 else []
    link = link_to(settings, events[0] if len(events) == 1 else None)
    return Message(_title(events), "\n\n".join([*lines, link or _command(settings, events)]), events, link)


def sentence(event: Event) -> str:
    """Who, where and when, in one sentence."""
    row = event.incident
    known = [f"{name.removesuffix('_id')} {_name(row[name])}" for name in _PLACES if _is_news(event, name)]
    facts = [_cut(_inert(event.title), _LONGEST_TITLE), *known[:2]]
    if event.cluster is not None:
        facts.append(f"cluster {_name(event.cluster)}")
    if event.is_over and row.get("waived_until"):
        facts.append(f"waived until {row['waived_until']}")
    elif event.is_over:
        facts += [f"last seen {minute_of(row['last_seen'])}"] if row.get("last_seen") else []
    elif row.get("first_seen"):
        facts.append(f"since {minute_of(row['first_seen'])}")
    tickets = sorted({ticket for each in named(row.get("known_issues")) for ticket in each.tickets})
    if 0 < len(tickets) <= _MOST_TICKETS and not event.is_over:
        facts.append(f"perhaps {' or '.join(tickets)}")
    return f"{event.kind.upper()} {event.severity}: {', '.join(facts)}."


def link_to(settings: Settings, event: Event | None) -> str | None:
    """The page of an incident, or of the report; None if the configuration has no address of pages."""
    if settings.report_url is None or event is None or not is_incident(event):
        return settings.report_url
    return address(settings, incident_file(event.fingerprint))


def document(settings: Settings, message: Message) -> dict[str, Any]:
    """The alert for programs: its text, and the row of each incident with what has changed.

    ``key`` names an incident from its first event to the last one.
    """
    return {
        "version": 1,
        "title": message.title,
        "text": message.text,
        "link": message.link,
        "events": [
            {
                "event": each.kind,
                "key": each.key,
                "severity": each.severity,
                "cluster": each.cluster,
                "title": each.title,
                "link": link_to(settings, each),
                "incident": dict(each.incident) or None,
            }
            for each in message.events
        ],
    }


def is_incident(event: Event) -> bool:
    """Whether it is about an incident of the mart, which has a page and a story."""
    return bool(event.fingerprint) and " " not in event.fingerprint


def _title(events: Sequence[Event]) -> str:
    clusters = sorted({each.cluster for each in events if each.cluster is not None})
    where = _name(clusters[0]) if len(clusters) == 1 else f"{len(clusters)} clusters"
    kinds = dict.fromkeys(each.kind for each in events)
    counts = []
    for kind in kinds:
        of_kind = [each for each in events if each.kind == kind]
        critical = sum(each.severity == "critical" for each in of_kind)
        counts.append(f"{len(of_kind)} {kind}" + (f" ({critical} critical)" if critical else ""))
    return f"Fencepost {where}: {', '.join(counts)}"


def _command(settings: Settings, events: Sequence[Event]) -> str:
    """The command to run, with the whole path of the configuration: a phone is nowhere."""
    one = [events[0].fingerprint[:8]] if len(events) == 1 and is_incident(events[0]) else []
    words = ["incidents", *one] if any(map(is_incident, events)) else ["report"]
    return shell.line("fencepost", *words, "--config", str(settings.path))


def _is_news(event: Event, column: str) -> bool:
    value = event.incident.get(column)
    return value not in (None, "") and str(value) not in event.title


def _name(value: Any) -> str:
    return _cut(_inert(str(value)), _LONGEST_NAME)


def _inert(name: str) -> str:
    """A name as one line in which a chat finds no mention, no link and no other form of text."""
    return printable(name).translate(_INERT).replace("://", ":⁄⁄").replace("](", "] (")


def one_line(text: str) -> str:
    """What is said of a failure, as one line of limited length."""
    return _cut(_inert(" ".join(text.split())), _LONGEST_FAILURE)


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
