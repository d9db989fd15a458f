"""Episodes of violated invariants, with the explanations of their protocols."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.conditions import Within
from fencepost.definitions import Definition, definition, definitions
from fencepost.protocols import protocols
from fencepost.protocols.base import Explanation
from fencepost.reading import Reader, rows
from fencepost.report.commands import command
from fencepost.report.wording import named, parsed, place, values_of, without_digests
from fencepost.settings import Settings
from fencepost.words import time_of

Row = Mapping[str, Any]

VERDICTS = "marts.fct_invariant_verdicts"


@dataclass(frozen=True)
class Finding:
    """One episode, its protocol's explanation if there is one, and the names of topic ids in the lake."""

    verdict: Row
    explanation: Explanation | None
    names: Mapping[str, str]

    @property
    def definition(self) -> Definition | None:
        return definition(self.verdict["invariant"])

    @property
    def logged_at(self) -> str | None:
        """The place in a file on which it rests, if it rests on one: its explanation says which, else its
        evidence.
        """
        found = self.explanation
        if found is not None and found.file is not None:
            return f"{found.file} at byte {found.position}"
        evidence = parsed(self.verdict["evidence"])
        file, position = evidence.get("file"), evidence.get("position")
        return f"{file} at byte {position}" if file is not None and position is not None else file

    @property
    def false_conjunct(self) -> str | None:
        """What of the definition is false, and where that stands in the specification."""
        conjunct: str | None = self.verdict["failed_conjunct"]
        return self.definition.cited(conjunct) if self.definition and conjunct else conjunct


def finding_sentence(finding: Finding) -> str:
    """One finding in one or two sentences, for a report or an alert."""
    if finding.explanation is not None:
        return finding.explanation.sentence
    verdict = finding.verdict
    scope = named(place(verdict["scope"]))
    witness = witness_of(finding)
    values = ", ".join(f"{name} = {value}" for name, value in values_of(verdict["observed"]).items())
    return f"{time_of(verdict['from_time'])}  {scope}{', ' + witness if witness else ''}: {values}"


def witness_of(finding: Finding) -> str:
    """What a verdict is about, in words; nothing of a verdict about a whole state."""
    record = _record_words(parsed(finding.verdict["evidence"]))
    return named({**without_digests(parsed(finding.verdict["witness"])), **record}, finding.names)


def findings_of(reader: Reader, verdicts: Sequence[Row]) -> list[Finding]:
    """These episodes with the explanations of the protocols, in the same order."""
    if not verdicts:
        return []
    explanations: dict[str, Explanation] = {}
    names: dict[str, str] = {}
    for protocol in protocols():
        explanations |= protocol.explain(reader, verdicts)
        names |= protocol.names(reader)
    return [Finding(row, explanations.get(row["verdict_id"]), names) for row in verdicts]


def verdicts_beginning(reader: Reader, prefix: str) -> list[str]:
    """The ids of verdicts that begin so; none begins with nothing."""
    within = beginning(prefix)
    if within is None or not reader.has(VERDICTS):
        return []
    return [row["verdict_id"] for row in rows(reader.scan(VERDICTS, ("verdict_id",), {"verdict_id": within}))]


def verdicts_of(name: str, settings: Settings) -> str | None:
    """A sentence with the command that lists the verdicts of the invariant ``name``, or of the nearest one;
    None where no invariant is near.
    """
    names = [each.id for each in definitions() if each.severity is not None]
    near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.75)
    if not near:
        return None
    query = f"SELECT verdict_id, verdict, scope FROM {VERDICTS} WHERE invariant = '{near[0]}'"
    return f"The invariant {near[0]} has these verdicts: {command(settings, 'sql', query)}"


def beginning(prefix: str) -> Within | None:
    """The ids that begin so; None where none does."""
    # ids are digits in ASCII, so that whatever goes on from a digit is below the next one
    if not prefix or not prefix.isascii():
        return None
    return Within(least=prefix, below=prefix[:-1] + chr(ord(prefix[-1]) + 1))


def oldest_first(verdict: Row) -> tuple[bool, Any, str]:
    moment = verdict["from_time"]
    return (moment is not None, moment, verdict["verdict_id"])


def _record_words(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a verdict's evidence that describe its record (Protocol.shown)."""
    shown = [name for protocol in protocols() for name in protocol.shown]
    return {name: evidence[name] for name in shown if evidence.get(name) not in (None, -1)}
