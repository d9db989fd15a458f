"""The findings of an audit in words. Reads only the marts and the compiled specification."""

from fencepost.report.episodes import VERDICTS, Finding, finding_sentence, findings
from fencepost.report.evidence import Evidence
from fencepost.report.overview import COVERAGE, judged, screenful
from fencepost.report.story import UnknownVerdictError, explain, verdict
from fencepost.report.unknown import reason_lines, unknown_by_reason

__all__ = [
    "COVERAGE",
    "VERDICTS",
    "Evidence",
    "Finding",
    "UnknownVerdictError",
    "explain",
    "finding_sentence",
    "findings",
    "judged",
    "reason_lines",
    "screenful",
    "unknown_by_reason",
    "verdict",
]
