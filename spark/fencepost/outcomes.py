"""Decides the outcome of an audit: PASSED, FAILED or NOT JUDGED for each cluster, from the status of each
definition. Report, gate, alert and exit code all use it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fencepost.reasons import REASONS
from fencepost.words import printable

STATUS_WORDS = {
    "holds": "hold",
    "holds_partly": "hold here and there: as far as the evidence goes; elsewhere nothing could be told",
    "unknown": "unknown: nothing could be told wherever something may have put them to the test",
    "not_exercised": "not exercised: nothing in the evidence put them to the test",
}
"""The meaning of each status of a definition in ``verdicts.coverage`` but ``violated``."""

PASSED, FAILED, NOT_JUDGED = "PASSED", "FAILED", "NOT JUDGED"


@dataclass(frozen=True)
class Outcome:
    """The outcome of one marked definition in one cluster; counts are states, steps or commits.

    ``status`` is violated or one of STATUS_WORDS; ``severity`` is the one of the configuration, if
    that overrides it. ``reason``: the most frequent one for being unknown (fencepost.reasons), None if it is
    not or if it is violated. ``since``: the time from which the cluster was audited, None for all of history.
    """

    cluster: str
    module: str
    invariant: str
    kind: str
    severity: str
    status: str
    checked: int
    exercised: int
    holds: int
    violated: int
    unknown: int
    description: str
    reason: str | None = None
    since: datetime | None = None

    def __str__(self) -> str:
        return f"{self.invariant} in cluster {printable(self.cluster)}"

    @property
    def is_critical(self) -> bool:
        """Whether a violation fails the run."""
        return self.severity == "critical"

    @property
    def is_judged(self) -> bool:
        """Whether it is known anywhere that it holds or that it is violated."""
        return self.holds > 0 or self.violated > 0

    @property
    def is_judged_nowhere(self) -> bool:
        """Whether something put it to the test, and its value is unknown each time."""
        return self.exercised > 0 and not self.is_judged

    @property
    def is_beyond_logs(self) -> bool:
        """Whether no log can tell it of such a cluster (``Reason.is_beyond_logs``)."""
        return self.is_judged_nowhere and self.reason is not None and REASONS[self.reason].is_beyond_logs


@dataclass(frozen=True)
class ClusterOutcome:
    """What an audit says of one cluster.

    ``violated``: its critical definitions that an incident violates which is new or goes on. ``past``: those
    that only incidents violate which are over or waived. ``not_judged``: the reasons why the cluster may
    not pass although nothing critical is known to be violated. ``reasons``: why definitions that were put to
    the test were unknown each time, words of fencepost.reasons. ``not_told``: a
    sentence for each reason why no log of such a cluster can tell critical definitions that were put to the
    test; it may pass without them. ``counts``: how many states, steps or
    commits violate its definitions, fulfil them, or are unknown.
    """

    cluster: str
    violated: tuple[Outcome, ...]
    past: tuple[Outcome, ...]
    not_judged: tuple[str, ...]
    reasons: tuple[str, ...]
    not_told: tuple[str, ...] = ()
    counts: Mapping[str, int] = field(default_factory=dict)

    @property
    def headline(self) -> str:
        """PASSED, FAILED or NOT_JUDGED."""
        if self.violated:
            return FAILED
        return NOT_JUDGED if self.not_judged else PASSED


def outcomes(rows: Iterable[Mapping[str, Any]], severities: Mapping[str, str]) -> list[Outcome]:
    """Rows of ``marts.fct_invariant_coverage`` -> outcomes, severities overridden per invariant."""
    all_outcomes = []
    for row in rows:
        values = {name: row[name] for name in Outcome.__dataclass_fields__ if name != "since"}
        values["since"] = row.get("since")
        values["severity"] = severities.get(values["invariant"], values["severity"])
        all_outcomes.append(Outcome(**values))
    return sorted(all_outcomes, key=lambda each: (each.cluster, each.module, each.invariant))


def coverage_counts(of: Sequence[Outcome]) -> dict[str, int]:
    """How many definitions there are, how many were put to the test, judged anywhere, and hold throughout."""
    return {
        "definitions": len(of),
        "exercised": sum(each.exercised > 0 for each in of),
        "judged": sum(each.is_judged for each in of),
        "hold_throughout": sum(each.status == "holds" for each in of),
    }


def cluster_outcomes(
    all_outcomes: Iterable[Outcome],
    clusters: Sequence[str],
    blind: Mapping[str, Sequence[str]],
    open_in: Collection[tuple[str, str]],
) -> list[ClusterOutcome]:
    """The outcome of each of ``clusters``. ``blind``: by cluster, what is wrong with its evidence as a
    whole; ``open_in``: cluster and invariant of all that incidents violate which are new or go on.
    """
    by_cluster: dict[str, list[Outcome]] = defaultdict(list)
    for each in all_outcomes:
        by_cluster[each.cluster].append(each)
    return [_cluster_outcome(name, by_cluster[name], blind.get(name, ()), open_in) for name in clusters]


def gravest(of_clusters: Iterable[ClusterOutcome]) -> str:
    """PASSED, FAILED or NOT JUDGED: the gravest result of all clusters."""
    found = {each.headline for each in of_clusters}
    return next((each for each in (FAILED, NOT_JUDGED) if each in found), PASSED)


def headline(of_clusters: Sequence[ClusterOutcome]) -> str:
    """One line about a run: PASSED, FAILED or NOT JUDGED, and why."""
    failed = [each for each in of_clusters if each.headline == FAILED]
    not_judged = [each for each in of_clusters if each.headline == NOT_JUDGED]
    parts = []
    if failed:
        names = (f"{one} ({one.violated} of {one.checked})" for each in failed for one in each.violated)
        parts.append(f"{FAILED}: {', '.join(names)}")
    if not_judged:
        why = (f"cluster {printable(each.cluster)}: {each.not_judged[0]}" for each in not_judged)
        parts.append(f"{NOT_JUDGED}: {'; '.join(why)}")
    if parts:
        return ". ".join(parts)
    if any(each.past for each in of_clusters):
        return f"{PASSED}: nothing critical is new or goes on; what was violated is over or waived"
    return f"{PASSED}: nothing critical is violated"


def _cluster_outcome(
    cluster: str, of_cluster: Sequence[Outcome], blind: Sequence[str], open_in: Collection[tuple[str, str]]
) -> ClusterOutcome:
    gating = [each for each in of_cluster if each.is_critical] or of_cluster
    untold = [each for each in gating if each.is_judged_nowhere]
    nowhere = [each for each in untold if not each.is_beyond_logs]
    violated = _violated(of_cluster)
    return ClusterOutcome(
        cluster,
        tuple(each for each in violated if (cluster, each.invariant) in open_in),
        tuple(each for each in violated if (cluster, each.invariant) not in open_in),
        (*blind, *_not_judged(gating, nowhere)),
        tuple(sorted({each.reason for each in nowhere if each.reason is not None})),
        tuple(_not_told([each for each in untold if each.is_beyond_logs])),
        {name: sum(getattr(each, name) for each in of_cluster) for name in ("violated", "holds", "unknown")},
    )


def _violated(of_cluster: Sequence[Outcome]) -> tuple[Outcome, ...]:
    violated = [each for each in of_cluster if each.is_critical and each.violated]
    return tuple(sorted(violated, key=lambda each: -each.violated))


def _not_told(untold: Sequence[Outcome]) -> Iterator[str]:
    for reason in sorted({each.reason for each in untold if each.reason is not None}):
        names = ", ".join(f"{each.invariant} ({each.exercised})" for each in untold if each.reason == reason)
        yield f"No log can tell {names}. {REASONS[reason].means}"


def _not_judged(gating: Sequence[Outcome], nowhere: Sequence[Outcome]) -> tuple[str, ...]:
    if not gating:
        return ("no audit has judged anything of it",)
    if not any(each.is_judged for each in gating):
        return ("no critical invariant could be judged anywhere",)
    if not nowhere:
        return ()
    names = ", ".join(f"{each.invariant} ({each.exercised}, {each.reason})" for each in nowhere)
    return (f"put to the test, and unknown each time: {names}",)
