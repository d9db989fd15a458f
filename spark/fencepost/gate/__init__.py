"""The gate: it judges the coverage mart and the incidents, reports, and fails the run when a critical
incident is new or goes on, or a cluster could not be judged.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence

from pyiceberg.catalog import Catalog

from fencepost import alerts, audit_runs
from fencepost.gate.checkpoint import CheckResult, check
from fencepost.gate.notes import Notes
from fencepost.gate.notify import Alert, Sink, alert_file, alert_text, file_sink, log_sink, send, subject
from fencepost.gate.outcomes import GateError, GateFailed, GateResult, decide
from fencepost.incidents import Incident, counts
from fencepost.metrics import write_metrics
from fencepost.opening import ensure, open_lake
from fencepost.outcomes import NOT_JUDGED, Outcome, coverage_counts
from fencepost.page.addresses import address, first_page, page_folder
from fencepost.page.folder import FolderError
from fencepost.page.site import write
from fencepost.places import project_folder, work_folder
from fencepost.report import COVERAGE, Judged, counted_reasons, judged
from fencepost.settings import Settings
from fencepost.waivers import waiver_sentences

__all__ = ["GateError", "GateFailed", "GateResult", "Outcome", "log_sink", "run_gate"]

MOST_PICTURES = 2
"""A run draws so many, the next ones the rest: each takes a third of a CPU second."""

logger = logging.getLogger(__name__)


def run_gate(
    settings: Settings,
    sinks: Sequence[Sink] = (log_sink,),
    catalog: Catalog | None = None,
    run_id: str = "",
) -> GateResult:
    """Judge the marts and return the result; note the incidents, and that the run ``run_id`` has ended; tell
    whom ``[[alerts]]`` name, and write the metrics.

    Raises GateFailed when a critical incident is new or goes on, or a cluster could not be judged. Before
    that an alert went to a file and to ``sinks``, if there is anything that no run before has told.
    Raises GateError when expectations, coverage and incidents contradict each other or cannot be read.
    """
    catalog = catalog or ensure(settings.lake)
    with open_lake(settings) as lake:
        coverage, found = lake.scan(COVERAGE), judged(lake, settings)
        checked = check(
            coverage.to_pandas(),
            project_folder("expectations"),
            work_folder(settings, "gate"),
            data_docs=settings.report.data_docs,
        )
        _agree(found, checked)
        notes = Notes(catalog)
        result = decide(
            found.outcomes,
            found.clusters,
            page=address(settings) if settings.report.page else None,
            data_docs=checked.data_docs,
            not_judged_passes=settings.not_judged_passes,
            incidents=counts(found.incidents),
        )
        logger.info("gate: %s", result.summary())
        unknown = counted_reasons(lake) if settings.metrics_file else {}
        for sentence in waiver_sentences(lake, settings):
            logger.warning("gate: %s", sentence)
        untold = notes.untold(found.incidents)
        # before the log: it ends with what closes the gate
        alerts.tell(settings, catalog, found.incidents, found.clusters, run_id)
        if not result.passed and (
            any(each["severity"] == "critical" for each in untold) or _blinded(result, catalog, run_id)
        ):
            path = alert_file(settings)
            result = dataclasses.replace(result, alert=path)
            alert = Alert(result, untold, found.faults, settings)
            send(subject(result), alert_text(lake, alert), [file_sink(path), *sinks])
    # only now has somebody been told
    notes.add(found.incidents, run_id)
    took_s = audit_runs.finish(catalog, run_id, _ended(result, found)) if run_id else None
    write_metrics(settings, found, unknown, took_s)
    alerts.audit_succeeded(settings)
    if settings.report.page:
        _write_page(settings, found)
        # where nothing could be written, nobody is sent there
        result = dataclasses.replace(result, page=first_page(settings))
    if result.passed:
        return result
    closed = GateFailed(result)
    if result.alert is None:
        # as an alert does, it ends the log with what closes the gate
        logger.error("%s", closed)
    raise closed


def _write_page(settings: Settings, found: Judged) -> None:
    """Write the page, now that the alert was sent: whatever prevents it prevents nothing else."""
    try:
        with open_lake(settings) as lake:
            write(lake, settings, page_folder(settings), found, MOST_PICTURES)
    except FolderError as error:
        logger.error("the page could not be written (%s)", error)
    except Exception:
        logger.exception("the page could not be written")


def _blinded(result: GateResult, catalog: Catalog, run_id: str) -> bool:
    """Whether a cluster is not judged that was in the last run."""
    before = audit_runs.last_finished(catalog, but=run_id)
    known = set() if before is None else set(before["not_judged"])
    return not set(_not_judged(result)) <= known


def _not_judged(result: GateResult) -> list[str]:
    return [each.cluster for each in result.clusters if each.headline == NOT_JUDGED]


def _ended(result: GateResult, found: Judged) -> dict[str, object]:
    """What AUDIT_RUNS has of a run that has ended."""
    all_outcomes, counted = found.outcomes, coverage_counts(found.outcomes)
    return {
        "result": result.headline,
        "not_judged": _not_judged(result),
        "evidence_until": min(found.evidence_until.values(), default=None),
        **{name: counted[name] for name in ("definitions", "exercised", "judged")},
        "holds": sum(each.holds for each in all_outcomes),
        "violated": sum(each.violated for each in all_outcomes),
        "unknown": sum(each.unknown for each in all_outcomes),
        **{f"incidents_{state}": number for state, number in result.incidents.items()},
    }


def _agree(found: Judged, checked: CheckResult) -> None:
    """Make sure that suites, coverage and incidents have the same definitions and the same result, so that
    the gate cannot pass by accident.
    """
    covered = {each.invariant for each in found.outcomes}
    if missing := covered ^ checked.expected:
        raise GateError(
            f"Suites and coverage do not have the same definitions: {', '.join(sorted(missing))}. "
            "Run `make compile`, then judge and marts again."
        )
    violated = {(each.cluster, each.invariant) for each in found.outcomes if each.violated}
    if differ := {invariant for _, invariant in violated} ^ checked.failed:
        raise GateError(f"Great Expectations and coverage disagree on {', '.join(sorted(differ))}.")
    if differ := {invariant for _, invariant in violated - _of_incidents(found.incidents)}:
        raise GateError(
            f"No incident has the violations of {', '.join(sorted(differ))}: build the marts again."
        )


def _of_incidents(of_clusters: Sequence[Incident]) -> set[tuple[str, str]]:
    return {
        (each["cluster"], name) for each in of_clusters if each["verdicts"] for name in each["invariants"]
    }
