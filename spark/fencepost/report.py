"""What an audit found, in words: the screenful after a run, and the full story of one verdict.

Reads only the marts and the compiled specification.
"""

from __future__ import annotations

import json
import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.definitions import Definition, definition
from fencepost.protocols import protocols
from fencepost.protocols.base import Told
from fencepost.reading import Reader, rows
from fencepost.words import WIDTH, printable, time_of

Row = Mapping[str, Any]

VERDICTS = "marts.fct_invariant_verdicts"
COVERAGE = "marts.fct_invariant_coverage"
SEVERITIES = ("critical", "warning", "info")
STATUS_WORDS = {
    "holds": "hold",
    "unknown": "hold where the evidence suffices, unknown elsewhere",
    "not_exercised": "not exercised (nothing in these logs put them to the test)",
}

_OLDEST = f"""
SELECT * FROM (
  SELECT *, row_number() OVER (PARTITION BY cluster, invariant ORDER BY from_time, verdict_id) AS place
  FROM {VERDICTS} WHERE verdict = 'violated'
) WHERE place <= :most
"""
_DIGEST = re.compile(r"[0-9a-f]{64}")


class UnknownVerdictError(Exception):
    """No verdict has this id in the marts of the last run."""


@dataclass(frozen=True)
class Finding:
    """One episode, what its protocol has to say of it (if it has), and what ids are called in the lake."""

    verdict: Row
    told: Told | None
    names: Mapping[str, str]

    @property
    def definition(self) -> Definition | None:
        return definition(self.verdict["invariant"])


def screenful(reader: Reader, clusters: Iterable[str], most: int = 1) -> str:
    """The report of the last audit of ``clusters``, with at most ``most`` findings an invariant."""
    report = _Report(reader, most)
    return "\n".join(line for cluster in clusters for line in report.lines(cluster))


def explain(reader: Reader, verdict_id: str) -> str:
    """The story of one verdict: definition, what met it, what was false, values, evidence, where to look.

    Raises UnknownVerdictError when the last run has no such verdict.
    """
    found = verdict(reader, verdict_id)
    finding = _told(reader, [found])[0]
    return "\n".join(
        [*_headline(found), "", *_story(finding), "", *_definition_lines(finding), *_evidence(finding)]
    )


def verdict(reader: Reader, verdict_id: str) -> Row:
    """The row of the verdict mart. Raises UnknownVerdictError when the last run has no such verdict."""
    found = rows(reader.scan(VERDICTS, where={"verdict_id": verdict_id}))
    if not found:
        raise UnknownVerdictError(
            f"No verdict {verdict_id} in {VERDICTS}. "
            f'List them: fencepost sql "SELECT verdict_id, invariant, verdict, scope FROM {VERDICTS}"'
        )
    return found[0]


def finding_sentence(finding: Finding) -> str:
    """One finding in one or two sentences, for a report or an alert."""
    if finding.told is not None:
        return finding.told.sentence
    verdict = finding.verdict
    scope = _named(_place(verdict["scope"]))
    record = _record_words(_object(verdict["evidence"]))
    witness = _named({**_without_digests(_object(verdict["witness"])), **record}, finding.names)
    values = ", ".join(f"{name} = {value}" for name, value in _object(verdict["values"]).items())
    return f"{time_of(verdict['from_time'])}  {scope}{', ' + witness if witness else ''}: {values}"


def findings(reader: Reader, cluster: str, invariant: str, most: int) -> list[Finding]:
    """The first ``most`` violated episodes of one invariant, oldest first."""
    where = {"cluster": cluster, "invariant": invariant, "verdict": "violated"}
    found = rows(reader.scan(VERDICTS, where=where))
    return _told(reader, sorted(found, key=_oldest_first)[:most])


def _oldest_first(verdict: Row) -> tuple[bool, Any, str]:
    moment = verdict["from_time"]
    return (moment is not None, moment, verdict["verdict_id"])


def _told(reader: Reader, verdicts: Sequence[Row]) -> list[Finding]:
    if not verdicts:
        return []
    told: dict[str, Told] = {}
    names: dict[str, str] = {}
    for protocol in protocols():
        told |= protocol.tell(reader, verdicts)
        names |= protocol.names(reader)
    return [Finding(row, told.get(row["verdict_id"]), names) for row in verdicts]


def _without_digests(witness: Mapping[str, Any]) -> dict[str, Any]:
    """The quantified variables that say something: those that name a record do it by a digest."""
    return {name: value for name, value in witness.items() if not _DIGEST.fullmatch(str(value))}


def _record_words(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The record that a verdict is about, by what its evidence says of it."""
    shown = [name for protocol in protocols() for name in protocol.shown]
    return {name: evidence[name] for name in shown if evidence.get(name) not in (None, -1)}


class _Report:
    """What the marts hold of all clusters: each is asked once, however many clusters there are."""

    def __init__(self, reader: Reader, most: int) -> None:
        self._coverage = _by_cluster(rows(reader.scan(COVERAGE)))
        self._reports = [protocol.report(reader) for protocol in protocols()]
        oldest = rows(reader.query(_OLDEST, most=most))
        self._findings: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for finding in _told(reader, sorted(oldest, key=_oldest_first)):
            self._findings[finding.verdict["cluster"], finding.verdict["invariant"]].append(finding)

    def lines(self, cluster: str) -> list[str]:
        """The report of one cluster."""
        coverage = self._coverage[cluster]
        title = f"Cluster {printable(cluster)}"
        lines = ["", title, "=" * len(title)]
        since = next((row["since"] for row in coverage if row.get("since") is not None), None)
        if since is not None:
            lines += [f"since {time_of(since)}: what was over before is left out (audit.window)"]
        for report in self._reports:
            lines += report(cluster)
        violated = [row for row in coverage if row["status"] == "violated"]
        for row in sorted(violated, key=_gravest_first):
            lines += self._violated_lines(row)
        for status, words in STATUS_WORDS.items():
            names = sorted(row["invariant"] for row in coverage if row["status"] == status)
            if names:
                text = f"{len(names)} {words}: {', '.join(names)}"
                lines += ["", *textwrap.wrap(text, WIDTH, subsequent_indent="  ")]
        return lines

    def _violated_lines(self, row: Row) -> list[str]:
        name, found = row["invariant"], definition(row["invariant"])
        lines = ["", f"{row['severity'].upper()}  {name}: {row['violated']} of {row['checked']} violated"]
        if found is not None:
            lines += _indented(first_sentence(found.prose), "  ", "  ")
        for finding in self._findings[row["cluster"], name]:
            lines += _indented(finding_sentence(finding))
            lines.append(f"      look further: fencepost explain {finding.verdict['verdict_id']}")
        return lines


def _gravest_first(row: Row) -> tuple[int, int, str]:
    return SEVERITIES.index(row["severity"]), -row["violated"], row["invariant"]


def _by_cluster(found: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    by_cluster: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in found:
        by_cluster[row["cluster"]].append(row)
    return by_cluster


def _headline(verdict: Row) -> list[str]:
    title = f"{verdict['invariant']} ({verdict['kind']}, {verdict['severity']}): {verdict['verdict']}"
    end = "open" if verdict["to_position"] is None else verdict["to_position"]
    until = time_of(verdict["to_time"]) if verdict["to_time"] else "still so at the end of the evidence"
    return [
        title,
        "=" * len(title),
        f"cluster {verdict['cluster']}, {_named(_place(verdict['scope']))}",
        f"from {time_of(verdict['from_time'])} until {until}",
        f"positions [{verdict['from_position']}, {end}) in {_log(verdict['scope'])}",
    ]


def _story(finding: Finding) -> list[str]:
    verdict = finding.verdict
    lines = ["What happened"]
    if finding.told is not None:
        lines += _indented(finding.told.sentence, "  ", "  ")
    if verdict["witness"]:
        lines.append(f"  witness: {_named(_object(verdict['witness']), finding.names)}")
    if verdict["failed_conjunct"]:
        lines.append(f"  false: {verdict['failed_conjunct']}")
    values = _object(verdict["values"])
    if values:
        width = max(map(len, values))
        lines += ["  with", *(f"    {name:<{width}} = {value}" for name, value in values.items())]
    return lines


def _definition_lines(finding: Finding) -> list[str]:
    found = finding.definition
    if found is None:
        return []
    prose = [
        line
        for paragraph in found.prose.split("\n\n")
        for line in [*textwrap.wrap(paragraph, WIDTH, initial_indent="  ", subsequent_indent="  "), ""]
    ]
    formula = textwrap.indent(found.formula, "    ").splitlines()
    return [f"The specification says ({found.file}:{found.line})", *formula, "", *prose]


def _evidence(finding: Finding) -> list[str]:
    lines = [
        "Evidence",
        *(f"  {name}: {value}" for name, value in _object(finding.verdict["evidence"]).items()),
    ]
    if finding.told is not None:
        lines.append(f"  request log: {finding.told.file} at byte {finding.told.position}")
    lines.append(f"  page: docs/invariants/{finding.verdict['invariant']}.md")
    return lines


def first_paragraph(prose: str) -> str:
    """The meaning of a definition: its prose up to the first empty line."""
    return " ".join(prose.split("\n\n", maxsplit=1)[0].split())


def first_sentence(prose: str) -> str:
    """What a definition says, at its shortest."""
    return first_paragraph(prose).split(". ")[0].rstrip(".") + "."


def _indented(text: str, first: str = "    ", rest: str = "      ") -> list[str]:
    return [
        line
        for part in text.splitlines()
        for line in textwrap.wrap(
            part, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
        )
    ]


def _object(text: str | None) -> dict[str, Any]:
    parsed = json.loads(text) if text else {}
    return parsed if isinstance(parsed, dict) else {"value": parsed}


def _named(members: Mapping[str, Any], names: Mapping[str, str] | None = None) -> str:
    """Names and values in words; ``<topic id>:<partition>`` becomes ``topic-partition``."""
    return ", ".join(
        f"{name.replace('_', ' ')} {_readable(value, names or {})!r}" for name, value in members.items()
    )


def _place(scope: str | None) -> dict[str, Any]:
    """The scope of a verdict; a log is named by its topic and partition alone."""
    return {name: value for name, value in _object(scope).items() if name != "partition_key"}


def _log(scope: str | None) -> str:
    """The log that a verdict's positions are offsets of."""
    place = _object(scope)
    if "group_id" in place:
        return "the group's partition of __consumer_offsets"
    if "log" in place:
        return printable(place["log"].rpartition(":")[2])
    return f"{printable(place.get('topic'))}-{place.get('partition')}"


def _readable(value: Any, topics: Mapping[str, str]) -> Any:
    topic_id, colon, partition = value.partition(":") if isinstance(value, str) else (value, "", "")
    return f"{topics[topic_id]}-{partition}" if colon and topic_id in topics else value
