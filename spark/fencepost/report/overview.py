"""The long report: of each cluster all that protocols report, and findings of each violated definition."""

from __future__ import annotations

import textwrap
from collections import defaultdict

from fencepost.definitions import definition
from fencepost.outcomes import STATUS_WORDS, Outcome, headline
from fencepost.protocols import protocols
from fencepost.reading import Reader, rows
from fencepost.report.commands import command
from fencepost.report.episodes import VERDICTS, Finding, finding_sentence, findings_of, oldest_first
from fencepost.report.judging import judged
from fencepost.report.unknown import reason_lines
from fencepost.report.wording import first_sentence, indented
from fencepost.settings import SEVERITIES, Cluster, Settings
from fencepost.words import WIDTH, printable, time_of

_OLDEST = f"""
SELECT * FROM (
  SELECT *, row_number() OVER (PARTITION BY cluster, invariant ORDER BY from_time, verdict_id) AS place
  FROM {VERDICTS} WHERE verdict = 'violated'
) WHERE place <= :most
"""


def whole_report(reader: Reader, settings: Settings, most: int = 1) -> str:
    """All that the last audit found, with at most ``most`` findings an invariant: first PASSED, FAILED or NOT
    JUDGED, then each cluster, beginning with what is wrong with its evidence.
    """
    report = _Report(reader, settings, most)
    lines = [line for cluster in settings.clusters for line in report.lines(cluster)]
    return "\n".join([*indented(report.headline, "", "  "), *lines])


class _Report:
    """The rows of all clusters: each mart is read once, however many clusters there are."""

    def __init__(self, reader: Reader, settings: Settings, most: int) -> None:
        found = judged(reader, settings)
        self._settings = settings
        self._faults, self._deleted = found.faults, found.deleted
        self.headline = f"{headline(found.clusters)}."
        self._of_clusters = {each.cluster: each for each in found.clusters}
        self._outcomes: dict[str, list[Outcome]] = defaultdict(list)
        for each in found.outcomes:
            self._outcomes[each.cluster].append(each)
        self._reports = [protocol.report(reader) for protocol in protocols()]
        oldest = rows(reader.query(_OLDEST, most=most))
        self._findings: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for finding in findings_of(reader, sorted(oldest, key=oldest_first)):
            self._findings[finding.verdict["cluster"], finding.verdict["invariant"]].append(finding)

    def lines(self, cluster: Cluster) -> list[str]:
        """The report of one cluster."""
        found, of_cluster = self._outcomes[cluster.name], self._of_clusters[cluster.name]
        title = f"Cluster {printable(cluster.name)}: {of_cluster.headline}"
        lines = ["", title, "=" * len(title)]
        for why in of_cluster.not_judged:
            lines += indented(f"Not judged: {why}", "", "  ")
        lines += [line for reason in of_cluster.reasons for line in reason_lines(reason)]
        for says in of_cluster.not_told:
            lines += indented(says, "", "  ")
        since = next((each.since for each in found if each.since is not None), None)
        if since is not None:
            lines += [f"since {time_of(since)}: what was over before is left out (audit.window)"]
        lines += indented(self._deleted.get(cluster.name, ""), "", "  ")
        lines += self._faults[cluster.name]
        violated = [each for each in found if each.status == "violated"]
        for each in sorted(violated, key=_gravest_first):
            lines += self._violated_lines(each)
        if violated:
            lines.append("")
        for report in self._reports:
            lines += report(cluster.name)
        for status, words in STATUS_WORDS.items():
            names = sorted(each.invariant for each in found if each.status == status)
            if names:
                text = f"{len(names)} {words}: {', '.join(names)}"
                lines += ["", *textwrap.wrap(text, WIDTH, subsequent_indent="  ")]
        return lines

    def _violated_lines(self, outcome: Outcome) -> list[str]:
        name, marked_definition = outcome.invariant, definition(outcome.invariant)
        counts = f"{outcome.violated} of {outcome.checked} violated"
        lines = ["", f"{outcome.severity.upper()}  {name}: {counts}"]
        if marked_definition is not None:
            lines += indented(first_sentence(marked_definition.prose), "  ", "  ")
        for finding in self._findings[outcome.cluster, name]:
            lines += indented(finding_sentence(finding))
            lines.append(f"      {command(self._settings, 'explain', finding.verdict['verdict_id'])}")
        return lines


def _gravest_first(outcome: Outcome) -> tuple[int, int, str]:
    return SEVERITIES.index(outcome.severity), -outcome.violated, outcome.invariant
