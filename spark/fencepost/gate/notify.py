"""The alert for the engineer on call, and its sinks.

A sink is any callable that takes a subject and a text: the default ones write a file and the log.
"""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from fencepost.gate.outcomes import GateResult
from fencepost.incidents import Incident
from fencepost.outcomes import ClusterOutcome, headline
from fencepost.page.addresses import address, incident_file
from fencepost.places import work_folder, write_whole
from fencepost.reading import Reader
from fencepost.report import Stories, command, incident_lines, reason_lines, wrapped
from fencepost.settings import SEVERITIES, Settings
from fencepost.words import counted, printable, time_of

logger = logging.getLogger(__name__)

Sink = Callable[[str, str], None]

MOST_INCIDENTS = 10
MOST_OTHERS = 3
"""Incidents that are not critical and get two lines each."""


@dataclass(frozen=True)
class Alert:
    """What an alert is about. ``incidents``: those of which nobody was told, the most important first;
    ``evidence``: by cluster, the lines about its evidence.
    """

    result: GateResult
    incidents: Sequence[Incident]
    evidence: Mapping[str, Sequence[str]]
    settings: Settings


def alert_text(reader: Reader, alert: Alert) -> str:
    """The text of an alert: what is wrong with the evidence, each new incident with what happened and what to
    do, and how to see more. It has a limited length.
    """
    critical = [each for each in alert.incidents if each["severity"] == "critical"]
    shown = critical[:MOST_INCIDENTS]
    others = alert.incidents[len(critical) :]
    stories = Stories(reader, alert.settings, shown, anywhere=True)
    blocks = [
        "\n".join(block) for each in alert.result.clusters if (block := _of_evidence(each, alert.evidence))
    ]
    blocks += ["\n".join([*stories.lines(each), *_page_line(alert.settings, each)]) for each in shown]
    blocks += ["\n".join(incident_lines(each)) for each in others[:MOST_OTHERS]]
    if rest := len(alert.incidents) - len(shown) - len(others[:MOST_OTHERS]):
        several = "" if rest == 1 else "s"
        blocks.append(f"And {rest} more new incident{several}:\n    {_command(alert, 'incidents')}")
    blocks.append("\n".join(_not_critical(alert)))
    return "\n\n".join(blocks) + "\n"


def subject(result: GateResult) -> str:
    """One line: PASSED, FAILED or NOT JUDGED, and why, and how much of it is new."""
    new = result.incidents.get("new", 0)
    return f"Fencepost: {headline(result.clusters)}" + (f"; incidents that are new: {new}" if new else "")


def send(title: str, text: str, sinks: Iterable[Sink]) -> None:
    """Hand the alert to every sink, even if another sink fails."""
    for sink in sinks:
        try:
            sink(title, text)
        except Exception:
            logger.exception("the alert could not be handed to %r", sink)


def file_sink(path: Path) -> Sink:
    """A sink that writes ``path``, completely or not at all."""

    def write(title: str, text: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, f"{title}\n\n{text}".encode())

    return write


def log_sink(title: str, text: str) -> None:
    """A sink that writes the log, an error for each line. The title comes last, since logs are read from
    their end.
    """
    for line in (*filter(None, text.splitlines()), title):
        logger.error("%s", line)


def alert_file(settings: Settings) -> Path:
    """The file for an alert that is raised now."""
    return work_folder(settings, "alerts") / f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.txt"


def task_failed(settings: Settings, task: str, run_id: str, error: str, *, of_audit: bool = True) -> Path:
    """Alert that a task failed. If it is a step of an audit, the check that did not run has not passed.
    Returns the alert's file.
    """
    path = alert_file(settings)
    why = textwrap.indent(error.strip(), "    ")
    if not of_audit:
        title = f"Fencepost: the task {task} failed"
        text = f"Run {run_id} failed. Audits go on without it.\n\n{why}\n"
    else:
        title = f"Fencepost: the audit did not run to its end, {task} failed"
        text = (
            f"Run {run_id} stopped at the step {task}. "
            "Nothing is known about the clusters since the last run.\n\n"
            f"{why}\n\n"
            "A repeated run continues where this one stopped: clear the failed task, or run\n"
            f"    {command(settings, 'audit', anywhere=True)}\n"
            "Evidence that could not be read is listed by\n"
            f"    {command(settings, 'sql', 'SELECT * FROM marts.fct_quarantine', anywhere=True)}\n"
        )
    send(title, text, [file_sink(path), log_sink])
    return path


def _command(alert: Alert, name: str) -> str:
    """A command for whoever reads the alert, in whatever folder."""
    return command(alert.settings, name, anywhere=True)


def _page_line(settings: Settings, incident: Incident) -> list[str]:
    """A line with the page of an incident, which is written after the alert was sent."""
    if not settings.report.page:
        return []
    return [f"  Page: {printable(address(settings, incident_file(incident['fingerprint'])))}"]


def _of_evidence(of_cluster: ClusterOutcome, evidence: Mapping[str, Sequence[str]]) -> list[str]:
    """What is wrong with a cluster's evidence; no lines if nothing is."""
    lines = [line for why in of_cluster.not_judged for line in wrapped(f"Not judged: {why}", "  ", "    ")]
    lines += [f"  {line}" for reason in of_cluster.reasons for line in reason_lines(reason)]
    lines += [line for each in of_cluster.not_told for line in wrapped(each, "  ", "    ")]
    lines += [f"  {line}" for line in evidence[of_cluster.cluster]]
    return [f"Evidence of cluster {printable(of_cluster.cluster)}", *lines] if lines else []


def _not_critical(alert: Alert) -> list[str]:
    """What else the run found, in a few lines."""
    result = alert.result
    lines = [
        f"Cluster {printable(cluster)} since {time_of(since)}: what was over before is left out."
        for cluster, since in result.since
    ]
    for severity in SEVERITIES[1:]:
        names = [str(each) for each in result.lesser if each.severity == severity]
        if names:
            lines += wrapped(f"{severity.capitalize()}: {', '.join(names)}", "", "  ")
    if result.incidents.get("ongoing"):
        go_on = ("incident was reported before, and goes on", "incidents were reported before, and go on")
        lines.append(f"{counted(result.incidents['ongoing'], *go_on)}.")
    return [
        *lines,
        f"All that was found: {_command(alert, 'report')}",
        *filter(None, [result.pages]),
    ]
