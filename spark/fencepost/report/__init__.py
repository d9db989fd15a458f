"""The findings of an audit in words. Reads only the marts and the compiled specification."""

from fencepost.report.episodes import VERDICTS, Finding, finding_sentence, findings
from fencepost.report.overview import COVERAGE, screenful
from fencepost.report.story import UnknownVerdictError, explain, verdict

__all__ = [
    "COVERAGE",
    "VERDICTS",
    "Finding",
    "UnknownVerdictError",
    "explain",
    "finding_sentence",
    "findings",
    "screenful",
    "verdict",
]
