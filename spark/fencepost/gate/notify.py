"""The alert for the engineer on call, and its sinks.

A sink is any callable that takes a subject and a text: the default ones write a file and the log.
"""

from __future__ import annotations

import logging
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from fencepost.definitions import definition
from fencepost.gate.outcomes import GateResult
from fencepost.outcomes import STATUS_WORDS, ClusterOutcome, Outcome, headline
from fencepost.places import work_folder
from fencepost.reading import Reader
from fencepost.report import VERDICTS, Finding, finding_sentence, findings, reason_lines
from fencepost.settings import Settings
from fencepost.words import WIDTH, printable, time_of

logger = logging.getLogger(__name__)

Sink = Callable[[str, str], None]

MOST_PER_INVARIANT = 3
MOST_INVARIANTS = 10


def alert_text(reader: Reader, result: GateResult, evidence: Mapping[str, Sequence[str]]) -> str:
    """The text of an alert: what is wrong with the evidence, what is violated, where and since when, and how
    to see more. It is grouped by invariant and cluster, and has a limited length. ``evidence``: by cluster,
    the lines about its evidence.
    """
    shown = result.critical[:MOST_INVARIANTS]
    first = findings(reader, {(each.cluster, each.invariant) for each in shown}, MOST_PER_INVARIANT)
    blocks = ["\n".join(block) for each in result.clusters if (block := _of_evidence(each, evidence))]
    blocks += [_block(each, first[each.cluster, each.invariant]) for each in shown]
    if len(result.critical) > MOST_INVARIANTS:
        rest = ", ".join(map(str, result.critical[MOST_INVARIANTS:]))
        blocks.append(f"And {len(result.critical) - MOST_INVARIANTS} more: {rest}")
    blocks.append("\n".join(_not_critical(result)))
    return "\n\n".join(blocks) + "\n"


def subject(result: GateResult) -> str:
    """One line: PASSED, FAILED or NOT JUDGED, and why."""
    return f"Fencepost: {headline(result.clusters)}"


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
        partial = path.with_suffix(".partial")
        partial.write_text(f"{title}\n\n{text}", encoding="utf-8")
        partial.replace(path)

    return write


def log_sink(title: str, text: str) -> None:
    """A sink that writes the log, as one error."""
    logger.error("%s\n%s", title, text)


def alert_file(settings: Settings) -> Path:
    """The file for an alert that is raised now."""
    return work_folder(settings, "alerts") / f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.txt"


def task_failed(settings: Settings, task: str, run_id: str, error: str, sinks: Sequence[Sink] = ()) -> Path:
    """Alert that a step failed, since a check that did not run has not passed. Returns the alert's file."""
    path = alert_file(settings)
    title = f"Fencepost: the audit did not run to its end, {task} failed"
    text = (
        f"Run {run_id} stopped at the step {task}. "
        "Nothing is known about the clusters since the last run.\n\n"
        f"{textwrap.indent(error.strip(), '    ')}\n\n"
        "A repeated run continues where this one stopped: clear the failed task, or run `fencepost audit`.\n"
        "Evidence that could not be read is listed by\n"
        '    fencepost sql "SELECT * FROM marts.fct_quarantine"\n'
    )
    send(title, text, [file_sink(path), log_sink, *sinks])
    return path


def _block(outcome: Outcome, first: Sequence[Finding]) -> str:
    count = f"violated in {outcome.violated} of {outcome.checked} checks"
    lines = [
        f"{outcome.severity.upper()}  {outcome.invariant}  ({count}, cluster {printable(outcome.cluster)})"
    ]
    lines += _wrapped(outcome.description, "  ")
    for finding in first:
        lines += ["", *_wrapped(finding_sentence(finding), "  * ", "    ")]
        if finding.false_conjunct:
            lines += _wrapped(f"False: {finding.false_conjunct}", "    ")
        if finding.explanation is not None:
            explanation = finding.explanation
            lines += _wrapped(f"Evidence: {explanation.file} at byte {explanation.position}", "    ")
        else:
            lines += _wrapped(f"Evidence: {finding.verdict['evidence']}", "    ")
        lines.append(f"    fencepost explain {finding.verdict['verdict_id']}")
    lines += ["", *_what_to_do(outcome)]
    if len(first) == MOST_PER_INVARIANT:
        lines += [
            "  All of them:",
            f'    fencepost sql "SELECT verdict_id, cluster, scope, witness, from_time FROM {VERDICTS}'
            f" WHERE invariant = '{outcome.invariant}' AND verdict = 'violated' ORDER BY from_time\"",
        ]
    lines.append(f"  Background: docs/invariants/{outcome.invariant}.md")
    return "\n".join(lines)


def _of_evidence(of_cluster: ClusterOutcome, evidence: Mapping[str, Sequence[str]]) -> list[str]:
    """What is wrong with a cluster's evidence; no lines if nothing is."""
    lines = [line for why in of_cluster.not_judged for line in _wrapped(f"Not judged: {why}", "  ", "    ")]
    lines += [f"  {line}" for reason in of_cluster.reasons for line in reason_lines(reason)]
    lines += [f"  {line}" for line in evidence[of_cluster.cluster]]
    return [f"Evidence of cluster {printable(of_cluster.cluster)}", *lines] if lines else []


def _what_to_do(outcome: Outcome) -> list[str]:
    marked_definition = definition(outcome.invariant)
    paragraphs = marked_definition.prose.split("\n\n") if marked_definition else []
    return [line for text in paragraphs if text.startswith("On call:") for line in _wrapped(text, "  ")]


def _not_critical(result: GateResult) -> list[str]:
    """The outcomes that are not critical, in a few lines, so that nobody takes them for good."""
    lines = [
        f"Cluster {printable(cluster)} since {time_of(since)}: what was over before is left out."
        for cluster, since in result.since
    ]
    for label, group in (
        ("Warnings", result.warnings),
        *((f"{len(group)} {STATUS_WORDS[status]}", group) for status, group in result.not_green.items()),
    ):
        if group:
            lines += _wrapped(f"{label}: {', '.join(str(each) for each in group)}", "", "  ")
    return [*lines, f"Data Docs: {result.data_docs}"]


def _wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    rest = first if rest is None else rest
    return [
        line
        for number, part in enumerate(text.splitlines())
        for line in textwrap.wrap(
            printable(part),
            WIDTH,
            initial_indent=rest if number else first,
            subsequent_indent=rest,
            break_on_hyphens=False,
            break_long_words=False,
        )
    ]
