"""The full story of one verdict."""

from __future__ import annotations

import json
import textwrap

from fencepost import shell
from fencepost.incidents import INCIDENTS
from fencepost.known_issues import KnownIssue, issues_behind, sentences
from fencepost.reading import Reader, rows
from fencepost.report.commands import command
from fencepost.report.episodes import (
    VERDICTS,
    Finding,
    Row,
    findings_of,
    verdicts_beginning,
    verdicts_of,
    witness_of,
)
from fencepost.report.on_call import GroupTypes, Remedies, names_of, with_names
from fencepost.report.unknown import reason_lines
from fencepost.report.wording import evidence_of, indented, log_of, named, place, values_of
from fencepost.settings import Settings
from fencepost.words import counted, printable, time_of


class UnknownVerdictError(Exception):
    """No verdict has this id in the marts of the last run."""


def explain(reader: Reader, verdict_row: Row) -> str:
    """The story of one verdict: its definition, what happened, the false conjunct, values, evidence, places
    to look. ``verdict_row``: its row of the verdict mart.
    """
    finding = findings_of(reader, [verdict_row])[0]
    remedy = Remedies(reader, [verdict_row]).of(verdict_row) if _is_violated(finding) else None
    named = {**names_of(verdict_row), "cluster": verdict_row["cluster"]}
    about = GroupTypes(reader, [named]).added(named)
    lines = [
        *_headline(verdict_row),
        "",
        *_story(finding),
        "",
        *_definition_lines(finding, about, remedy),
        *_evidence(finding),
    ]
    # values and names of files come from anywhere
    return "\n".join(map(printable, lines))


def verdict(reader: Reader, settings: Settings, verdict_id: str) -> Row:
    """The row of the verdict mart; how its id begins is enough. Raises UnknownVerdictError when the last run
    has no such verdict, or several.
    """
    matching = rows(reader.scan(VERDICTS, where={"verdict_id": verdict_id}))
    if matching:
        return matching[0]
    if reader.has(INCIDENTS) and reader.scan(INCIDENTS, ("fingerprint",), {"fingerprint": verdict_id}):
        told = command(settings, "incidents", verdict_id)
        raise UnknownVerdictError(f"{verdict_id} is an incident, not a verdict. Its story: {told}")
    found = verdicts_beginning(reader, verdict_id)
    if len(found) == 1:
        return rows(reader.scan(VERDICTS, where={"verdict_id": found[0]}))[0]
    asked = None if found else verdicts_of(verdict_id, settings)
    if asked is not None:
        raise UnknownVerdictError(f"{printable(verdict_id)} is no verdict. {asked}")
    several = counted(len(found), "verdict has", "verdicts have") if found else "No verdict has"
    query = f"SELECT verdict_id, invariant, verdict, scope FROM {VERDICTS}"
    raise UnknownVerdictError(
        f"{several} an id that begins with {printable(verdict_id)!r} in {VERDICTS}. "
        f"List them: {command(settings, 'sql', query)}"
    )


def _headline(verdict: Row) -> list[str]:
    title = f"{verdict['invariant']} ({verdict['kind']}, {verdict['severity']}): {verdict['verdict']}"
    end = "open" if verdict["to_position"] is None else verdict["to_position"]
    ended = verdict["to_time"]
    until = f" until {time_of(ended)}" if ended else " on, still so at the end of the evidence"
    return [
        title,
        "=" * len(title),
        f"cluster {verdict['cluster']}, {named(place(verdict['scope']))}",
        f"from {time_of(verdict['from_time'])}{until}",
        f"positions [{verdict['from_position']}, {end}) in {log_of(verdict['scope'])}",
    ]


def _story(finding: Finding) -> list[str]:
    verdict = finding.verdict
    lines = ["What happened"]
    if finding.explanation is not None:
        lines += indented(finding.explanation.sentence, "  ", "  ")
    witness = witness_of(finding)
    if witness:
        lines.append(f"  witness: {witness}")
    if finding.false_conjunct:
        lines.append(f"  false: {finding.false_conjunct}")
    if verdict["reason"]:
        lines.append("  unknown, because")
        lines += [f"  {line}" for line in reason_lines(verdict["reason"])]
    values = values_of(verdict["observed"])
    if values:
        width = max(map(len, values))
        lines += ["  with", *(f"    {name:<{width}} = {value}" for name, value in values.items())]
    return lines


def _definition_lines(finding: Finding, about: Row, remedy: str | None) -> list[str]:
    marked_definition = finding.definition
    if marked_definition is None:
        return []
    prose = [
        line
        for paragraph in marked_definition.prose.split("\n\n")
        for line in [*indented(with_names(" ".join(paragraph.split()), about), "  ", "  "), ""]
    ]
    if remedy:
        prose += [f"    {shell.shown(remedy)}", ""]
    formula = textwrap.indent(marked_definition.formula, "    ").splitlines()
    known = sentences(_issues_behind(finding.verdict)) if _is_violated(finding) else []
    return [
        *(line for sentence in known for line in indented(sentence, "", "  ")),
        *([""] if known else []),
        f"The specification says ({marked_definition.file}:{marked_definition.line})",
        *formula,
        "",
        *prose,
    ]


def _issues_behind(verdict_row: Row) -> list[KnownIssue]:
    return issues_behind(verdict_row["invariant"], json.loads(verdict_row["evidence"] or "{}"))


def _is_violated(finding: Finding) -> bool:
    return bool(finding.verdict["verdict"] == "violated")


def _evidence(finding: Finding) -> list[str]:
    evidence = evidence_of(finding.verdict["evidence"])
    lines = ["Evidence", *(f"  {name}: {value}" for name, value in evidence.items())]
    if finding.logged_at:
        lines.append(f"  where: {finding.logged_at}")
    return [*lines, "", f"  Background: docs/invariants/{finding.verdict['invariant']}.md"]
