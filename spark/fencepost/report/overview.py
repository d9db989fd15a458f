"""The report after a run, a screenful for each cluster."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from fencepost.definitions import definition
from fencepost.protocols import protocols
from fencepost.reading import Reader, rows
from fencepost.report.episodes import VERDICTS, Finding, Row, finding_sentence, findings_of, oldest_first
from fencepost.report.unread import QUARANTINE, unread_lines
from fencepost.report.wording import first_sentence, indented
from fencepost.settings import SEVERITIES
from fencepost.words import WIDTH, printable, time_of

COVERAGE = "marts.fct_invariant_coverage"
STATUS_WORDS = {
    "holds": "hold",
    "unknown": "hold where the evidence suffices, unknown elsewhere",
    "not_exercised": "not exercised (nothing in these logs put them to the test)",
}

_OLDEST = f"""
SELECT * FROM (
  SELECT *, row_number() OVER (PARTITION BY cluster, invariant ORDER BY from_time, verdict_id) AS place
  FROM {VERDICTS} WHERE verdict = 'violated'
) WHERE place <= :most
"""


def screenful(reader: Reader, clusters: Iterable[str], most: int = 1) -> str:
    """The report of the last audit of ``clusters``, with at most ``most`` findings an invariant."""
    report = _Report(reader, most)
    return "\n".join(line for cluster in clusters for line in report.lines(cluster))


class _Report:
    """The rows of all clusters: each mart is read once, however many clusters there are."""

    def __init__(self, reader: Reader, most: int) -> None:
        self._coverage = _by_cluster(rows(reader.scan(COVERAGE)))
        self._unread = _by_cluster(rows(reader.scan(QUARANTINE)))
        self._reports = [protocol.report(reader) for protocol in protocols()]
        oldest = rows(reader.query(_OLDEST, most=most))
        self._findings: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for finding in findings_of(reader, sorted(oldest, key=oldest_first)):
            self._findings[finding.verdict["cluster"], finding.verdict["invariant"]].append(finding)

    def lines(self, cluster: str) -> list[str]:
        """The report of one cluster."""
        coverage = self._coverage[cluster]
        title = f"Cluster {printable(cluster)}"
        lines = ["", title, "=" * len(title)]
        since = next((row["since"] for row in coverage if row.get("since") is not None), None)
        if since is not None:
            lines += [f"since {time_of(since)}: what was over before is left out (audit.window)"]
        lines += unread_lines(self._unread.get(cluster, []))
        for report in self._reports:
            lines += report(cluster)
        violated = [row for row in coverage if row["status"] == "violated"]
        for row in sorted(violated, key=_gravest_first):
            lines += self._violated_lines(row)
        for status, words in STATUS_WORDS.items():
            names = sorted(row["invariant"] for row in coverage if row["status"] == status)
            if names:
                text = f"{len(names)} {words}: {', '.join(names)}"
                lines += ["", *textwrap.wrap(text, WIDTH, subsequent_indent="  ")]
        return lines

    def _violated_lines(self, row: Row) -> list[str]:
        name, marked_definition = row["invariant"], definition(row["invariant"])
        lines = ["", f"{row['severity'].upper()}  {name}: {row['violated']} of {row['checked']} violated"]
        if marked_definition is not None:
            lines += indented(first_sentence(marked_definition.prose), "  ", "  ")
        for finding in self._findings[row["cluster"], name]:
            lines += indented(finding_sentence(finding))
            lines.append(f"      look further: fencepost explain {finding.verdict['verdict_id']}")
        return lines


def _gravest_first(row: Row) -> tuple[int, int, str]:
    return SEVERITIES.index(row["severity"]), -row["violated"], row["invariant"]


def _by_cluster(rows_of_all: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    by_cluster: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows_of_all:
        by_cluster[row["cluster"]].append(row)
    return by_cluster
