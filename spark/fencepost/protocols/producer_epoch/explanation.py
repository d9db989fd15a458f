"""Explains verdicts about producers: those about an operator's markers, and those about transactions that
their coordinator does not know.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.protocols.base import Explanation, Verdict
from fencepost.protocols.producer_epoch import explained_markers, explained_transactions
from fencepost.reading import Reader


def explain(reader: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """Explanations by verdict id, of the verdicts that have one."""
    violated = [each for each in verdicts if each["verdict"] == "violated"]
    return explained_markers.explain(reader, violated) | explained_transactions.explain(reader, violated)
