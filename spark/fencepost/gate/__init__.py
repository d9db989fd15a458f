"""The gate: it judges the coverage mart, reports, and fails the run when a critical invariant is violated or
a cluster could not be judged.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence

from fencepost.gate.checkpoint import CheckResult, check
from fencepost.gate.notify import Sink, alert_file, alert_text, file_sink, log_sink, send, subject
from fencepost.gate.outcomes import GateError, GateFailed, GateResult, decide
from fencepost.opening import open_lake
from fencepost.outcomes import Outcome
from fencepost.places import project_folder, work_folder
from fencepost.report import COVERAGE, Evidence, judged
from fencepost.settings import Settings

__all__ = ["GateError", "GateFailed", "GateResult", "Outcome", "run_gate"]

logger = logging.getLogger(__name__)


def run_gate(settings: Settings, sinks: Sequence[Sink] = ()) -> GateResult:
    """Judge ``marts.fct_invariant_coverage`` and return the result.

    Raises GateFailed, after the alert went to a file, the log and ``sinks``, when a critical invariant is
    violated or a cluster could not be judged; GateError when expectations and coverage contradict each other
    or cannot be read.
    """
    with open_lake(settings) as lake:
        coverage, evidence = lake.scan(COVERAGE), Evidence(lake)
        all_outcomes, of_clusters = judged(lake, settings, evidence)
        checked = check(coverage.to_pandas(), project_folder("expectations"), work_folder(settings, "gate"))
        _agree(all_outcomes, checked)
        result = decide(
            all_outcomes, of_clusters, checked.data_docs, not_judged_passes=settings.not_judged_passes
        )
        logger.info("gate: %s", result.summary())
        if not result.passed:
            path = alert_file(settings)
            evidence_lines = {each.name: evidence.lines(each) for each in settings.clusters}
            result = dataclasses.replace(result, alert=path)
            send(
                subject(result), alert_text(lake, result, evidence_lines), [file_sink(path), log_sink, *sinks]
            )
            raise GateFailed(result)
        return result


def _agree(all_outcomes: Sequence[Outcome], checked: CheckResult) -> None:
    """Make sure that suites and coverage have the same definitions and the same result, so that the gate
    cannot pass by accident.
    """
    covered = {each.invariant for each in all_outcomes}
    if missing := covered ^ checked.expected:
        raise GateError(
            f"Suites and coverage do not have the same definitions: {', '.join(sorted(missing))}. "
            "Run `make compile`, then judge and marts again."
        )
    violated = {each.invariant for each in all_outcomes if each.violated}
    if differ := violated ^ checked.failed:
        raise GateError(f"Great Expectations and coverage disagree on {', '.join(sorted(differ))}.")
