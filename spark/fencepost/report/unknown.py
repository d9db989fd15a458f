"""The reasons why something is unknown, in words: for the longer form of the report, and for the story of a
verdict.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping

from fencepost.reading import Reader, rows
from fencepost.reasons import REASONS
from fencepost.report.episodes import Row
from fencepost.report.wording import indented
from fencepost.words import printable

COVERAGE, UNKNOWN_REASONS = "marts.fct_invariant_coverage", "marts.fct_unknown_reasons"


def counted_reasons(reader: Reader) -> Counter[tuple[str, str]]:
    """How often anything was unknown, by cluster and reason."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in rows(reader.scan(UNKNOWN_REASONS)):
        counts[row["cluster"], row["reason"]] += row["unknown"]
    return counts


def unknown_by_reason(reader: Reader, clusters: Iterable[str]) -> str:
    """For each cluster, which reasons made invariants unknown, how often, and what would settle them."""
    by_cluster: dict[str, list[Row]] = defaultdict(list)
    for row in rows(reader.scan(UNKNOWN_REASONS)):
        by_cluster[row["cluster"]].append(row)
    judged = {row["cluster"] for row in rows(reader.scan(COVERAGE, ("cluster",)))}
    return "\n".join(
        line
        for cluster in clusters
        for line in _lines(cluster, by_cluster[cluster], is_judged=cluster in judged)
    )


def reason_lines(reason: str) -> list[str]:
    """What a reason means, and what would settle it."""
    found = REASONS[reason]
    return [
        *indented(f"{reason}: {found.means}", "  ", "    "),
        *indented(f"what would settle it: {found.settles}", "    ", "      "),
    ]


def _lines(cluster: str, counts: Iterable[Row], *, is_judged: bool) -> list[str]:
    by_reason: dict[str, dict[str, int]] = defaultdict(dict)
    for row in counts:
        by_reason[row["reason"]][row["invariant"]] = row["unknown"]
    title = f"What is unknown of cluster {printable(cluster)}, and why"
    lines = ["", title, "=" * len(title)]
    if not by_reason:
        return [*lines, "Nothing is." if is_judged else "No audit has judged anything of it."]
    for reason, invariants in sorted(by_reason.items(), key=_most_first):
        lines += [*reason_lines(reason), *indented(_listed(invariants), "    ", "      ")]
    return lines


def _most_first(of_reason: tuple[str, Mapping[str, int]]) -> tuple[int, str]:
    reason, invariants = of_reason
    return -sum(invariants.values()), reason


def _listed(invariants: Mapping[str, int]) -> str:
    ordered = sorted(invariants.items(), key=lambda each: (-each[1], each[0]))
    listed = ", ".join(f"{name} {count:,}" for name, count in ordered)
    return f"{sum(invariants.values()):,} unknown: {listed}"
