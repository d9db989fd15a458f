"""O8: where everything was captured, little is unknown: for each reason a share of a definition's events."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from plays.oracles.case import Case, Fault
from plays.oracles.owners import is_sure, judged_commits
from plays.oracles.refusals import refused
from plays.oracles.state import hanging, unsure_of_hanging

SURE = 3
"""By how many standard errors a share is above what it may be, before that is no chance."""

_MOST = Path(__file__).with_name("most_unknown.json")

MOST: dict[str, float] = json.loads(_MOST.read_text())
"""By ``DEFINITION:REASON`` the highest share of the definition's events that may be unknown for this reason.

It may only fall. What is not listed is never unknown.
"""


NOTHING_DECIDED = {"no_coordinator"}
"""Reasons that say that there is nothing to know: another broker was asked, and decided nothing."""


@dataclass
class Unknowns:
    """How many events of each definition were checked, and are unknown for which reason, where evidence is
    complete.

    Definitions are the marked ones of the specifications, and three more: ``truth_...`` are accepted commits
    and ``cause_...`` refusals whose truth and cause the players know, ``dangling`` transactions that Kafka
    says are open.
    """

    clusters: list[tuple[Counter[str], Counter[tuple[str, str]]]] = field(default_factory=list)
    """By cluster: how many were checked, by definition, and are unknown, by definition and reason."""

    def add(self, cases: Iterable[Case]) -> Iterator[Fault]:
        """Count these clusters, too; what is unknown there for a reason that is not listed is a fault."""
        for case in filter(is_complete, cases):
            checked = Counter({row["invariant"]: row["checked"] or 0 for row in case.rows["coverage"]})
            told = [row for row in case.rows["reasons"] if row["reason"] not in NOTHING_DECIDED]
            unknown = Counter({(row["invariant"], row["reason"]): row["unknown"] for row in told})
            for definition, reason in _known_by_players(case):
                checked[definition] += 1
                unknown.update([(definition, reason)] if reason else [])
            self.clusters.append((checked, unknown))
            for (definition, reason), count in unknown.items():
                if f"{definition}:{reason}" not in MOST:
                    where = {"cluster": case.script.name, "unknown": count}
                    yield {"fault": f"O8:{definition}:{reason}", **where}

    def faults(self) -> Iterator[Fault]:
        """What is unknown more often than ``MOST`` says.

        The events of one cluster are alike: a clock or a setting that is not known makes all of them unknown.
        So clusters are the sample, not events: few of them, or one unlike all others, show no share.
        """
        for name, told in self.shares().items():
            definition, reason = name.split(":")
            most = MOST.get(name, 1.0)
            above = [
                unknown[definition, reason] - most * checked[definition] for checked, unknown in self.clusters
            ]
            if sum(above) > SURE * math.hypot(*above):
                yield {"fault": f"O8:{name}", "most": most, **told}

    def shares(self) -> dict[str, dict[str, float]]:
        """What was counted, as ``MOST`` has it."""
        checked: Counter[str] = sum((each for each, _ in self.clusters), Counter())
        unknown: Counter[tuple[str, str]] = sum((each for _, each in self.clusters), Counter())
        found = sorted(unknown.items())
        return {f"{name}:{reason}": share(count, checked[name]) for (name, reason), count in found}


def share(unknown: int, checked: int) -> dict[str, float]:
    """Two counts and their share."""
    return {"unknown": unknown, "checked": checked, "share": round(unknown / max(checked, 1), 4)}


def _known_by_players(case: Case) -> Iterator[tuple[str, str | None]]:
    """What the players or Kafka know, and the reason for which the audit does not."""
    for fact, commit, _ in judged_commits(case):
        for truth in ("owner", "anothers"):
            if commit is not None and is_sure(fact, truth):
                yield f"truth_{truth}", commit["unknown_reason"] if commit["truth"] == "unknown" else None
    if case.last_answers is not None:
        unsure = unsure_of_hanging(case)
        for place in hanging(case.last_answers):
            yield "dangling", unsure.get(place)
    for refusal in refused(case):
        if refusal.found is not None and refusal.cause is not None:
            row, told = refusal.found
            reason = None if row["cause"] else told.get("unknown_reason") or "no_reason"
            yield f"cause_{refusal.fact['api']}", reason


def is_complete(case: Case) -> bool:
    """Whether no broker lost lines or records, no coordinator its log, and clocks agree."""
    is_kept = all(how == "stop" for _, _, how in case.downs) and "lose" not in case.done([])
    return is_kept and case.last_answers is not None and case.ahead_ms == (0, 0)
