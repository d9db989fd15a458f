"""The findings of an audit in words. Reads only the marts and the compiled specification."""

from fencepost.report.commands import command
from fencepost.report.deleted import deleted_sentences
from fencepost.report.episodes import VERDICTS, Finding, finding_sentence
from fencepost.report.evidence import Evidence
from fencepost.report.incidents import (
    Stories,
    UnknownIncidentError,
    incident_lines,
    incidents_of,
    one_incident,
)
from fencepost.report.judging import COVERAGE, Judged, evidence_until, judged
from fencepost.report.overview import whole_report
from fencepost.report.screen import facts, screen
from fencepost.report.story import UnknownVerdictError, explain, verdict
from fencepost.report.unknown import counted_reasons, reason_lines, unknown_by_reason
from fencepost.report.wording import wrapped

__all__ = [
    "COVERAGE",
    "VERDICTS",
    "Evidence",
    "Finding",
    "Judged",
    "Stories",
    "UnknownIncidentError",
    "UnknownVerdictError",
    "command",
    "counted_reasons",
    "deleted_sentences",
    "evidence_until",
    "explain",
    "facts",
    "finding_sentence",
    "incident_lines",
    "incidents_of",
    "judged",
    "one_incident",
    "reason_lines",
    "screen",
    "unknown_by_reason",
    "verdict",
    "whole_report",
    "wrapped",
]
