"""The report in one screen: the result, the most important incidents, what changed, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from fencepost.incidents import OPEN, Incident, counts, has_ended
from fencepost.outcomes import NOT_JUDGED, coverage_counts, gravest, headline
from fencepost.reading import Reader, rows
from fencepost.report.commands import command
from fencepost.report.incidents import gravest_verdicts, incident_lines, shortened
from fencepost.report.judging import Judged, judged
from fencepost.report.wording import wrapped
from fencepost.settings import SEVERITIES, Settings
from fencepost.waivers import waiver_sentences
from fencepost.words import WIDTH, counted, minute_of, printable

RUNS = "marts.fct_audit_runs"
MOST_INCIDENTS = 10
_MOST_OF_HEADLINE, _MOST_OF_EVIDENCE, _MOST_OF_WAIVERS = 2, 5, 2
"""Lines. With the incidents (23), what changed, coverage and what to do next (8) they are a screen. Where
there are fewer incidents, more is said of the evidence.
"""
_MORE = " (and more)"
_NO_INCIDENTS = "Incidents are not known: an older release audited this lake. The next audit tells them."
_LONGEST = 2 * WIDTH
"""Columns of a line that has a word longer than a line, as a path may be."""


def screen(reader: Reader, settings: Settings) -> str:
    """The report of the last audit: at most 40 lines of 100 columns, whatever the lake holds. Commands are
    not cut, and paths of evidence only where they are longer than a line.
    """
    found = judged(reader, settings)
    shown = [each for each in found.incidents if each["state"] in OPEN]
    room = 2 * max(0, MOST_INCIDENTS - len(shown))
    # the names of clusters that were not judged come last, and are not cut while there is room
    result = wrapped(f"{headline(found.clusters)}.", "", "  ")
    lines = _few(result, _MOST_OF_HEADLINE + room)
    is_whole = lines == result
    room -= max(0, len(lines) - _MOST_OF_HEADLINE)
    runs = runs_of(reader)
    of_evidence = [*_unfinished(runs), *_of_evidence(found, is_whole)]
    lines += _few(of_evidence, _MOST_OF_EVIDENCE + room)
    lines += _few(
        [line for each in waiver_sentences(reader, settings) for line in wrapped(each, "", "  ")],
        _MOST_OF_WAIVERS,
    )
    if shown:
        lines += ["", shortened(_heading(shown))]
        for each in _of_all_clusters(shown):
            lines += incident_lines(each)
        if rest := len(shown) - MOST_INCIDENTS:
            lines += [f"and {rest} more: {command(settings, 'incidents')}"] if rest > 0 else []
    lines += ["", shortened(changed_sentence(found, runs)), *wrapped(coverage_sentence(found), "", "  ")]
    return "\n".join([*lines, "", "Next:", *(f"  {each}" for each in _next(reader, settings, found, shown))])


def facts(reader: Reader, settings: Settings) -> dict[str, Any]:
    """The facts of the report as plain values, for other programs; with all incidents."""
    found = judged(reader, settings)
    runs = runs_of(reader)
    before = _before(runs)
    shown = [each for each in found.incidents if each["state"] in OPEN]
    return {
        "headline": headline(found.clusters),
        "result": gravest(found.clusters),
        "clusters": [
            {
                "cluster": each.cluster,
                "result": each.headline,
                "violated": [outcome.invariant for outcome in each.violated],
                "not_judged": list(each.not_judged),
                "not_told": list(each.not_told),
                "evidence_until": found.evidence_until.get(each.cluster),
                "evidence": list(found.faults[each.cluster]),
                "deleted": found.deleted.get(each.cluster),
            }
            for each in found.clusters
        ],
        "incidents": [dict(each) for each in found.incidents],
        "changed": {"since": before and before["finished_at"], **counts(found.incidents)},
        "coverage": coverage_counts(found.outcomes),
        "unfinished_runs": [each["run_id"] for each in _since_the_last(runs)],
        "waivers": waiver_sentences(reader, settings),
        "next": _next(reader, settings, found, shown),
    }


def _few(lines: Sequence[str], most: int) -> list[str]:
    """The first ``most`` lines; the last of them says that there are more. A path that is somewhat longer
    than a line is not cut: somebody has to look there.
    """
    shown = [shortened(line, _LONGEST) for line in lines[:most]]
    return [*shown[:-1], f"{_start(shown[-1], WIDTH - len(_MORE))}{_MORE}"] if len(lines) > most else shown


def _start(line: str, width: int) -> str:
    """The words of a line that have room."""
    if len(line) <= width:
        return line
    words = line[: width + 1].rpartition(" ")[0]
    return words if words.strip() else line[:width]


def _of_evidence(found: Judged, after_result: bool) -> list[str]:
    """What the clusters' evidence lacks. ``after_result``: the reader has the whole headline, which says of
    each cluster that was not judged its first reason.
    """
    lines: list[str] = []
    for each in found.clusters:
        name = f"cluster {printable(each.cluster)}: "
        reasons = each.not_judged[after_result and each.headline == NOT_JUDGED :]
        lines += [line for why in reasons for line in wrapped(f"Not judged: {name}{why}", "", "  ")]
        lines += [line for why in each.not_told for line in wrapped(f"{name}{why}", "", "  ")]
        lines += found.faults[each.cluster]
    # to know, and not wrong: after all that is
    names = [each.cluster for each in found.clusters if each.cluster in found.deleted]
    return [*lines, *(line for name in names for line in wrapped(found.deleted[name], "", "  "))]


def _of_all_clusters(shown: Sequence[Incident]) -> list[Incident]:
    """The most important incidents, in their order. A cluster that has many leaves room for others' of the
    same severity.
    """
    places: Counter[tuple[str, str]] = Counter()
    placed = []
    for number, each in enumerate(shown):
        of_cluster = (each["severity"], each["cluster"])
        placed.append((SEVERITIES.index(each["severity"]), places[of_cluster], number))
        places[of_cluster] += 1
    return [shown[number] for number in sorted(number for *_, number in sorted(placed)[:MOST_INCIDENTS])]


def _heading(shown: Sequence[Incident]) -> str:
    critical = sum(each["severity"] == "critical" for each in shown)
    new = sum(each["state"] == "new" for each in shown)
    return f"{counted(len(shown), 'incident')}, {critical} critical, {new} new:"


def changed_sentence(found: Judged, runs: Sequence[dict[str, Any]]) -> str:
    """What changed since the run before; ``runs``: the newest first."""
    if not found.knows_incidents:
        return _NO_INCIDENTS
    number = counts(found.incidents)
    ended = sum(each["state"] == "over" and not has_ended(each) for each in found.incidents)
    before = _before(runs)
    go = "goes" if number["ongoing"] == 1 else "go"
    since = f"Since the run of {minute_of(before['finished_at'])}" if before else "In the first run"
    return (
        f"{since}: {number['new']} new, {number['over']} over. {number['ongoing']} {go} on, "
        f"{number['waived']} waived, {ended} over before."
    )


def coverage_sentence(found: Judged) -> str:
    """How many invariants were put to the test, judged and found to hold."""
    number = coverage_counts(found.outcomes)
    until = min(found.evidence_until.values(), default=None)
    clusters = len({each.cluster for each in found.outcomes})
    each = f" ({number['definitions'] // clusters} in each of {clusters} clusters)" if clusters > 1 else ""
    logs = "logs of all clusters" if len(found.evidence_until) > 1 else "logs"
    return (
        f"{number['exercised']} of {number['definitions']} invariants{each} were exercised, "
        f"{number['judged']} judged, {number['hold_throughout']} hold throughout; "
        f"{logs} until {minute_of(until)}."
    )


def runs_of(reader: Reader) -> list[dict[str, Any]]:
    """The runs, the newest first."""
    # a lake that was audited before this mart existed
    found = rows(reader.scan(RUNS)) if reader.has(RUNS) else []
    return sorted(found, key=lambda each: each["started_at"], reverse=True)


def _before(runs: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The run that finished before the last one that did."""
    finished = [each for each in runs if each["finished_at"] is not None]
    return finished[1] if len(finished) > 1 else None


def _since_the_last(runs: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The runs that began after the last one that finished."""
    return list(takewhile(lambda each: each["finished_at"] is None, runs))


def _unfinished(runs: Sequence[dict[str, Any]]) -> list[str]:
    """A line if a run began after the one that this report is about."""
    began = _since_the_last(runs)
    if not began:
        return []
    at = minute_of(began[0]["started_at"])
    return [f"The run that began at {at} has not finished: it goes on, or has failed."]


def _next(reader: Reader, settings: Settings, found: Judged, shown: Sequence[Incident]) -> list[str]:
    commands = []
    if shown:
        first = shown[0]
        verdicts = gravest_verdicts(reader, [first], 1).get((first["cluster"], first["fingerprint"]), [])
        commands = [command(settings, "incidents", first["fingerprint"])]
        commands += [command(settings, "explain", verdict) for verdict in verdicts]
    elif found.incidents:
        commands = [command(settings, "incidents")]
    return [*commands, command(settings, "report", "--all")]
