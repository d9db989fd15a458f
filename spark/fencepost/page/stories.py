"""The content of the pages of incidents: what happened, what is broken, where it is logged, what to type."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fencepost import shell
from fencepost.definitions import definition
from fencepost.incidents import INCIDENT_VERDICTS, Incident
from fencepost.page.addresses import ENTITIES
from fencepost.page.around import Around
from fencepost.page.model import Broken, Command, Happened
from fencepost.protocols import protocols
from fencepost.protocols.base import Plot
from fencepost.report import Finding, Stories, command
from fencepost.report.incidents import gravest_invariants
from fencepost.report.on_call import of_group
from fencepost.report.wording import evidence_of, first_paragraph, values_of
from fencepost.settings import Settings

MOST_SIMILAR = 5
_TOOLS = {
    "group_id": (
        "what the group's coordinator says now",
        "kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --describe --members --verbose",
        "--group",
    ),
    "transactional_id": (
        "what the transaction coordinator says now",
        "kafka-transactions.sh --bootstrap-server BROKER:9092 describe",
        "--transactional-id",
    ),
    "topic": ("the topic now", "kafka-topics.sh --bootstrap-server BROKER:9092 --describe", "--topic"),
}
"""Commands of Kafka, and the option that has the name."""

_DETAILS = ("cluster", "client_id", "host", "member_id", "broker_id")


def happened(stories: Stories, incident: Incident, around: Around, settings: Settings) -> list[Happened]:
    """What happened, each event once."""
    return [
        Happened(
            sentence,
            [_broken(each, settings) for each in findings],
            around.states(findings[0].verdict["verdict_id"]),
            stories.remedies(findings),
        )
        for sentence, findings in stories.told(incident)
    ]


def _broken(finding: Finding, settings: Settings) -> Broken:
    verdict, found = finding.verdict, finding.definition
    return Broken(
        verdict["verdict_id"],
        verdict["invariant"],
        found.formula if found else "",
        verdict["failed_conjunct"],
        f"{found.file}:{found.line}" if found else "",
        values_of(verdict["observed"]),
        evidence_of(verdict["evidence"]),
        finding.logged_at,
        command(settings, "explain", verdict["verdict_id"], anywhere=True),
    )


def details(incident: Incident) -> dict[str, Any]:
    """What is known of an incident beside what has a page of its own."""
    return {name.replace("_", " "): incident[name] for name in _DETAILS if incident[name] not in (None, "")}


def meanings(incident: Incident) -> dict[str, str]:
    """What is violated: by invariant, what it means."""
    found = ((name, definition(name)) for name in incident["invariants"])
    return {name: first_paragraph(each.prose) if each else "" for name, each in found}


def commands(incident: Incident, settings: Settings) -> list[Command]:
    """Commands to copy, with the names of this incident; ``group_type``: of which kind its group is."""
    fingerprint, group_type = incident["fingerprint"], incident.get("group_type")
    found = [Command("the story in a terminal", _command(settings, "incidents", fingerprint))]
    plot = plot_of(incident)
    if plot is not None:
        drawn = plot_command(
            settings, plot, incident["cluster"], incident[plot.column], "--out", f"{fingerprint}.svg"
        )
        found.append(Command("the whole timeline as a picture", drawn))
    found += [
        Command(
            words,
            f"{of_group(tool, group_type)} {shell.line(*shell.option(option, incident[column]))}",
        )
        for column, (words, tool, option) in _TOOLS.items()
        if incident[column]
    ]
    query = f"SELECT * FROM {INCIDENT_VERDICTS} WHERE fingerprint = '{fingerprint}' ORDER BY from_time"
    found.append(Command("all its verdicts", _command(settings, "sql", query)))
    return found


def _command(settings: Settings, *words: str) -> str:
    return command(settings, *words, anywhere=True)


def plot_command(settings: Settings, plot: Plot, cluster: str, name: str, *more: str) -> str:
    """The command that draws a picture of something."""
    where = [*shell.option("--cluster", cluster), *more]
    if plot.option is None and name.startswith("-"):
        return command(settings, "plot", *where, anywhere=True, last=name)
    named = [name] if plot.option is None else shell.option(plot.option, name)
    return _command(settings, "plot", *named, *where)


def plot_of(incident: Incident) -> Plot | None:
    """The kind of picture that shows an incident: its own protocol's, if that has one of what it is about."""
    own_first = sorted(protocols(), key=lambda each: each.name != incident["protocol"])
    return next((plot for each in own_first for plot in each.plots if incident[plot.column]), None)


def similar(incident: Incident, of_same: Mapping[tuple[str, str, str], Sequence[Incident]]) -> list[Incident]:
    """Other incidents of the same group, transactional id, topic or instance, else of the same invariant."""
    keys = [(incident["cluster"], column, incident[column]) for column in ENTITIES if incident[column]]
    keys.append((incident["cluster"], "invariant", gravest_invariants(incident)[0]))
    found = {
        each["fingerprint"]: each
        for key in keys
        for each in of_same.get(key, ())[: MOST_SIMILAR + 1]
        if each["fingerprint"] != incident["fingerprint"]
    }
    return list(found.values())[:MOST_SIMILAR]
