"""Episodes of violated invariants, and what their protocols have to say of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fencepost.definitions import Definition, definition
from fencepost.protocols import protocols
from fencepost.protocols.base import Explanation
from fencepost.reading import Reader, rows
from fencepost.report.wording import named, parsed, place
from fencepost.words import time_of

Row = Mapping[str, Any]

VERDICTS = "marts.fct_invariant_verdicts"

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Finding:
    """One episode, what its protocol has to say of it (if it has), and what ids are called in the lake."""

    verdict: Row
    explanation: Explanation | None
    names: Mapping[str, str]

    @property
    def definition(self) -> Definition | None:
        return definition(self.verdict["invariant"])


def findings(reader: Reader, cluster: str, invariant: str, most: int) -> list[Finding]:
    """The first ``most`` violated episodes of one invariant, oldest first."""
    where = {"cluster": cluster, "invariant": invariant, "verdict": "violated"}
    found = rows(reader.scan(VERDICTS, where=where))
    return findings_of(reader, sorted(found, key=oldest_first)[:most])


def finding_sentence(finding: Finding) -> str:
    """One finding in one or two sentences, for a report or an alert."""
    if finding.explanation is not None:
        return finding.explanation.sentence
    verdict = finding.verdict
    scope = named(place(verdict["scope"]))
    record = _record_words(parsed(verdict["evidence"]))
    witness = named({**_without_digests(parsed(verdict["witness"])), **record}, finding.names)
    values = ", ".join(f"{name} = {value}" for name, value in parsed(verdict["values"]).items())
    return f"{time_of(verdict['from_time'])}  {scope}{', ' + witness if witness else ''}: {values}"


def findings_of(reader: Reader, verdicts: Sequence[Row]) -> list[Finding]:
    """What the protocols say of each of these episodes, in this order."""
    if not verdicts:
        return []
    explanations: dict[str, Explanation] = {}
    names: dict[str, str] = {}
    for protocol in protocols():
        explanations |= protocol.explain(reader, verdicts)
        names |= protocol.names(reader)
    return [Finding(row, explanations.get(row["verdict_id"]), names) for row in verdicts]


def oldest_first(verdict: Row) -> tuple[bool, Any, str]:
    moment = verdict["from_time"]
    return (moment is not None, moment, verdict["verdict_id"])


def _without_digests(witness: Mapping[str, Any]) -> dict[str, Any]:
    """The quantified variables that say something: those that name a record do it by a digest."""
    return {name: value for name, value in witness.items() if not _DIGEST.fullmatch(str(value))}


def _record_words(evidence: Mapping[str, Any]) -> dict[str, Any]:
    """The record that a verdict is about, by what its evidence says of it."""
    shown = [name for protocol in protocols() for name in protocol.shown]
    return {name: evidence[name] for name in shown if evidence.get(name) not in (None, -1)}
