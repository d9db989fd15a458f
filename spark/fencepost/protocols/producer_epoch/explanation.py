"""Explains verdicts about producers: about their requests and batches, an operator's markers, markers that
are missing, and transactions that their coordinator does not know.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.protocols.base import Explanation, Verdict
from fencepost.protocols.producer_epoch import (
    explained_batches,
    explained_markers,
    explained_requests,
    explained_transactions,
    missing_markers,
)
from fencepost.reading import Reader


def explain(reader: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """Explanations by verdict id, of the verdicts that have one."""
    violated = [each for each in verdicts if each["verdict"] == "violated"]
    explanations: dict[str, Explanation] = {}
    for subject in (
        explained_requests,
        explained_batches,
        explained_markers,
        missing_markers,
        explained_transactions,
    ):
        explanations |= subject.explain(reader, violated)
    return explanations
