"""Explanations of verdicts by the elements that their witnesses name."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from fencepost.protocols.base import Explanation, Verdict


def explained(
    verdicts: Sequence[Verdict],
    module: str,
    explanations: Callable[[Sequence[str]], Mapping[str, Explanation]],
) -> dict[str, Explanation]:
    """Explanations by verdict id, of the verdicts of a module whose witness names an element that has one.
    ``explanations`` takes ids of elements and returns the explanations of some of them.
    """
    witnesses = {
        row["verdict_id"]: set(json.loads(row["witness"] or "{}").values())
        for row in verdicts
        if row["module"] == module
    }
    ids = sorted({each for witness in witnesses.values() for each in witness if isinstance(each, str)})
    found = explanations(ids) if ids else {}
    return {
        verdict: found[each] for verdict, witness in witnesses.items() for each in witness if each in found
    }
