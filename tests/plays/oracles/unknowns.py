"""O8: where everything was captured, little is unknown: at most a share of each invariant's events."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from plays.oracles.case import Case, Fault
from plays.oracles.owners import is_sure, judged_commits
from plays.oracles.refusals import refused
from plays.oracles.state import hanging, unsure_of_hanging

ENOUGH = 500
"""Of fewer events a share says nothing."""

MOST: dict[str, float] = {}
"""The highest share of events of which the invariant is unknown; it may only fall. 0 for all others."""


@dataclass
class Unknowns:
    """How many events of each invariant were checked, and are unknown, where evidence is complete."""

    checked: Counter[str] = field(default_factory=Counter)
    unknown: Counter[str] = field(default_factory=Counter)

    def add(self, cases: Iterable[Case]) -> None:
        """Count these clusters, too.

        ``truth_...`` are accepted commits and ``cause_...`` refusals whose truth and cause the players know,
        ``dangling`` transactions that Kafka says are open.
        """
        for case in filter(is_complete, cases):
            for row in case.rows["coverage"]:
                self.checked[row["invariant"]] += row["checked"] or 0
                self.unknown[row["invariant"]] += row["unknown"] or 0
            for fact, commit, _ in judged_commits(case):
                for truth in ("owner", "anothers"):
                    if commit is not None and is_sure(fact, truth):
                        self._count(f"truth_{truth}", commit["truth"] == "unknown")
            if case.last_answers is not None:
                unsure = unsure_of_hanging(case)
                for place in hanging(case.last_answers):
                    self._count("dangling", place in unsure)
            for refusal in refused(case):
                if refusal.found is not None and refusal.cause is not None:
                    self._count(f"cause_{refusal.fact['api']}", refusal.found[0]["cause"] is None)

    def _count(self, name: str, is_unknown: bool) -> None:
        self.checked[name] += 1
        self.unknown[name] += is_unknown

    def faults(self) -> Iterator[Fault]:
        """Invariants of which more is unknown than ``MOST``."""
        for invariant, unknown in self.unknown.items():
            checked, most = self.checked[invariant], MOST.get(invariant, 0.0)
            if checked >= ENOUGH and unknown > most * checked:
                counts = {"unknown": unknown, "checked": checked, "share": round(unknown / checked, 4)}
                yield {"fault": f"O8:{invariant}", "most": most, **counts}


def is_complete(case: Case) -> bool:
    """Whether no broker lost lines or records, and no coordinator its log."""
    is_kept = all(how == "stop" for _, _, how in case.downs) and "lose" not in case.done([])
    return is_kept and case.last_answers is not None
