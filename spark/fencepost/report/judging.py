"""What the marts of the last audit say of each cluster: the one reading that report and gate share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from fencepost.incidents import INCIDENTS, Incident, incidents, open_in
from fencepost.outcomes import ClusterOutcome, Outcome, cluster_outcomes, outcomes
from fencepost.reading import Reader, rows
from fencepost.report.deleted import deleted_sentences
from fencepost.report.evidence import Evidence
from fencepost.settings import Settings

COVERAGE = "marts.fct_invariant_coverage"
_WINDOWS = "silver.windows"


@dataclass(frozen=True)
class Judged:
    """The outcomes of all definitions, the incidents (the most important first), and what they and the
    evidence say of each cluster. ``faults``: by cluster, the lines about what is wrong with its evidence;
    ``evidence_until``: the newest evidence of each cluster that has any; ``deleted``: by cluster, a sentence
    about older evidence that was deleted.
    """

    outcomes: Sequence[Outcome]
    incidents: Sequence[Incident]
    clusters: Sequence[ClusterOutcome]
    faults: Mapping[str, Sequence[str]]
    evidence_until: dict[str, datetime]
    knows_incidents: bool = True
    """False in a lake that was audited before there were incidents."""
    deleted: Mapping[str, str] = field(default_factory=dict)


def evidence_until(reader: Reader) -> dict[str, datetime]:
    """The newest evidence of each cluster that has any."""
    return {row["cluster"]: row["newest"] for row in rows(reader.scan(_WINDOWS)) if row["newest"] is not None}


def judged(reader: Reader, settings: Settings) -> Judged:
    """Read the marts, and decide."""
    evidence = Evidence(reader, settings)
    all_outcomes = outcomes(rows(reader.scan(COVERAGE)), settings.severities)
    names = [cluster.name for cluster in settings.clusters]
    knows_incidents = reader.has(INCIDENTS)
    if knows_incidents:
        found = incidents(reader, names)
        open_ones = open_in(found)
    else:
        found, open_ones = [], {(each.cluster, each.invariant) for each in all_outcomes}
    blind = {cluster.name: evidence.blind(cluster) for cluster in settings.clusters}
    newest = evidence_until(reader)
    return Judged(
        all_outcomes,
        found,
        cluster_outcomes(all_outcomes, names, blind, open_ones),
        {cluster.name: evidence.lines(cluster) for cluster in settings.clusters},
        {name: newest[name] for name in names if name in newest},
        knows_incidents,
        deleted_sentences(reader),
    )
