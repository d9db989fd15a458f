"""Incidents in words: in a line or two, and with their whole story."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial

from fencepost import shell
from fencepost.definitions import definition
from fencepost.incidents import INCIDENT_VERDICTS, INCIDENTS, Incident, incidents
from fencepost.known_issues import named, sentences
from fencepost.reading import Reader, rows
from fencepost.report.commands import command
from fencepost.report.episodes import (
    VERDICTS,
    Finding,
    Row,
    beginning,
    finding_sentence,
    findings_of,
    verdicts_beginning,
    verdicts_of,
)
from fencepost.report.on_call import GroupTypes, Remedies, what_to_do
from fencepost.report.wording import first_paragraph, wrapped
from fencepost.settings import SEVERITIES, Settings
from fencepost.words import WIDTH, counted, printable

MOST_VERDICTS = 3
"""Of one incident an alert shows so many verdicts."""
MOST_INVARIANTS = 3
"""Of so many it says what they mean."""
_CAME_BACK = {
    "over": "was over before",
    "open": "is worse than what was reported of it",
    "waived": "is waived no more",
}
_OF_INCIDENTS = ("cluster", "fingerprint", "verdict_id", "invariant", "severity", "from_time")


class UnknownIncidentError(Exception):
    """No incident, or more than one, has a fingerprint that begins so."""


class Stories:
    """What happened in some incidents, which are read together. ``most``: verdicts of each; ``verdicts``:
    all of them. ``anywhere``: whether they are read later or by others, who are in another folder.
    """

    def __init__(
        self,
        reader: Reader,
        settings: Settings,
        of: Sequence[Incident],
        most: int = MOST_VERDICTS,
        *,
        anywhere: bool = False,
    ) -> None:
        self._command = partial(command, settings, anywhere=anywhere)
        self._most = most
        of_each = gravest_verdicts(reader, of, most) if of else {}
        chosen = [verdict for verdicts in of_each.values() for verdict in verdicts]
        told = rows(reader.scan(VERDICTS, where={"verdict_id": sorted(chosen)})) if chosen else []
        self.verdicts: Sequence[Row] = told
        self._remedies = Remedies(reader, told)
        self.group_types = GroupTypes(reader, of)
        found = {each.verdict["verdict_id"]: each for each in findings_of(reader, told)}
        self._findings = {
            key: [found[verdict] for verdict in verdicts if verdict in found]
            for key, verdicts in of_each.items()
        }

    def lines(self, incident: Incident) -> list[str]:
        """The story of one of them: what is violated, what happened, and what to do."""
        names = gravest_invariants(incident)[:MOST_INVARIANTS]
        lines = wrapped(_title(incident), "", "  ")
        lines += wrapped(f"{when(incident)}; {facts_of(incident)}", "  ")
        for name in names:
            lines += _meaning(name)
        for sentence in known_sentences(incident):
            lines += wrapped(sentence, "  ", "    ")
        told = self.told(incident)
        for sentence, together in told:
            lines += ["", *wrapped(sentence, "  * ", "    ")]
            # of one request all that is false rests on one line
            lines += dict.fromkeys(line for finding in together for line in _evidence(finding))
            lines += [f"    {self._command('explain', each.verdict['verdict_id'])}" for each in together]
        if doing := what_to_do(names[0], self.group_types.added(incident)):
            lines += ["", *wrapped(f"On call: {doing}", "  ")]
        lines += [f"    {each}" for _, together in told for each in self.remedies(together)]
        if incident["verdicts"] > self._most:
            query = (
                f'SELECT * FROM {INCIDENT_VERDICTS} WHERE fingerprint = "{incident["fingerprint"]}" '
                "ORDER BY from_time"
            )
            lines += [
                f"  All {counted(incident['verdicts'], 'verdict')}:",
                f"    {self._command('sql', query)}",
            ]
        lines += [f"  Background: docs/invariants/{name}.md" for name in names]
        return lines

    def remedies(self, findings: Iterable[Finding]) -> list[str]:
        """The commands that end what they are about, each once."""
        found = (self._remedies.of(each.verdict) for each in findings)
        return [shell.shown(each) for each in dict.fromkeys(found) if each]

    def told(self, incident: Incident) -> Iterable[tuple[str, list[Finding]]]:
        """What happened, each once: several verdicts may say it of one request."""
        told: dict[str, list[Finding]] = defaultdict(list)
        for finding in self._findings.get((incident["cluster"], incident["fingerprint"]), ()):
            told[finding_sentence(finding)].append(finding)
        return told.items()


def _evidence(finding: Finding) -> list[str]:
    lines = wrapped(f"False: {finding.false_conjunct}", "    ") if finding.false_conjunct else []
    return lines + (wrapped(f"Evidence: {finding.logged_at}", "    ") if finding.logged_at else [])


def gravest_verdicts(reader: Reader, of: Sequence[Incident], most: int) -> dict[tuple[str, str], list[str]]:
    """The ids of ``most`` verdicts of each incident: the oldest of each invariant, the gravest first."""
    fingerprints = sorted({each["fingerprint"] for each in of})
    found: dict[tuple[str, str], list[Row]] = defaultdict(list)
    for row in rows(reader.scan(INCIDENT_VERDICTS, _OF_INCIDENTS, {"fingerprint": fingerprints})):
        found[row["cluster"], row["fingerprint"]].append(row)
    return {key: [row["verdict_id"] for row in _in_order(verdicts)[:most]] for key, verdicts in found.items()}


def incidents_of(reader: Reader, verdict_id: str) -> list[str]:
    """The fingerprint of the incident that a verdict belongs to; none if it is not violated."""
    # a lake that was audited before this mart existed
    known = reader.has(INCIDENT_VERDICTS)
    found = reader.scan(INCIDENT_VERDICTS, ("fingerprint",), {"verdict_id": verdict_id}) if known else None
    return [] if found is None else [row["fingerprint"] for row in rows(found)]


def _in_order(verdicts: Iterable[Row]) -> list[Row]:
    places: dict[str, int] = defaultdict(int)
    placed = []
    for row in sorted(
        verdicts, key=lambda row: (row["from_time"] is None, row["from_time"], row["verdict_id"])
    ):
        placed.append((places[row["invariant"]], SEVERITIES.index(row["severity"]), row["invariant"], row))
        places[row["invariant"]] += 1
    return [row for *_, row in sorted(placed, key=lambda each: each[:3])]


def one_incident(reader: Reader, settings: Settings, prefix: str) -> Incident:
    """The incident whose fingerprint begins so. Raises UnknownIncidentError."""
    clusters = {each.name for each in settings.clusters}
    within = beginning(prefix)
    found = [] if within is None else incidents(reader, clusters, {"fingerprint": within})
    if len(found) == 1:
        return found[0]
    if not found and verdicts_beginning(reader, prefix):
        told = command(settings, "explain", prefix)
        raise UnknownIncidentError(f"{printable(prefix)} is a verdict, not an incident. Its story: {told}")
    asked = None if found else verdicts_of(prefix, settings)
    if asked is not None:
        raise UnknownIncidentError(f"{printable(prefix)} is no incident. {asked}")
    several = counted(len(found), "incident has", "incidents have") if found else "No incident has"
    raise UnknownIncidentError(
        f"{several} a fingerprint that begins with {printable(prefix)!r} in {INCIDENTS}. "
        f"List them: {command(settings, 'incidents')}"
    )


def known_sentences(incident: Incident) -> list[str]:
    """The known issues that may be behind it."""
    return sentences(named(incident.get("known_issues")))


def incident_lines(incident: Incident) -> list[str]:
    """An incident in two lines: what has happened and when, and to whom."""
    what, _, who = printable(incident["title"]).partition(": ")
    severity, at = f"{incident['severity'].upper():8}  {incident['state']:7}  ", f", {_minutes(incident)}"
    head = f"{severity}{shortened(what, WIDTH - len(severity) - len(at))}{at}"
    cluster, number, *more = _facts(incident)
    # where it does not fit, what matters least is cut: the number of verdicts, then all but time and names
    orders = ([cluster, who, *more, number], [cluster, who, *more], [who, cluster, *more])
    abouts = [f"          {incident['fingerprint']}  {'; '.join(filter(None, order))}" for order in orders]
    return [head, next((each for each in abouts if len(each) <= WIDTH), shortened(abouts[-1]))]


def shortened(line: str, width: int = WIDTH) -> str:
    """A line that is cut where it would be too long."""
    return line if len(line) <= width else f"{line[: width - 1]}…"


def _title(incident: Incident) -> str:
    head = f"{incident['severity'].upper()}  {incident['state']}  {incident['fingerprint']}"
    return f"{head}  {printable(incident['title'])}"


def facts_of(incident: Incident) -> str:
    """Where, how often, and what else is known, in one line."""
    return ", ".join(_facts(incident))


def _facts(incident: Incident) -> list[str]:
    number = incident["verdicts"]
    facts = [
        f"cluster {printable(incident['cluster'])}",
        counted(number, "verdict") if number else "no verdict stands any more",
    ]
    if incident["state"] == "new" and incident["state_before"]:
        facts.append(_CAME_BACK[incident["state_before"]])
    if incident["waived_until"]:
        facts.append(f"waived until {incident['waived_until']}: {printable(incident['waived_because'])}")
    return facts


def when(incident: Incident) -> str:
    """From when to when, or since when."""
    if incident["first_seen"] is None:
        return _second(None)
    first, last = _second(incident["first_seen"]), _second(incident["last_seen"])
    if incident["is_open"]:
        return f"since {first} UTC, still so"
    return f"{first} UTC" if first == last else f"{first} to {last} UTC"


def _minutes(incident: Incident) -> str:
    """The same to the minute, in few words."""
    if incident["first_seen"] is None:
        return _second(None)
    first = f"{incident['first_seen']:%Y-%m-%d %H:%M}"
    if incident["is_open"]:
        return f"since {first}"
    if incident["last_seen"] is None:
        return first
    same_day = incident["last_seen"].date() == incident["first_seen"].date()
    last = f"{incident['last_seen']:{'' if same_day else '%Y-%m-%d '}%H:%M}"
    return first if first.endswith(last) else f"{first} to {last}"


def _second(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}" if moment else "(time unknown)"


def gravest_invariants(incident: Incident) -> list[str]:
    """The invariants of the incident's own severity."""
    return list(incident["critical"] or incident["invariants"])


def _meaning(name: str) -> list[str]:
    found = definition(name)
    return wrapped(f"{name}: {first_paragraph(found.prose)}", "  ", "    ") if found else []
