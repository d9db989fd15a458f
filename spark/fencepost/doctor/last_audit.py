"""Examines what the last audit could judge, and what would tell it more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from fencepost.doctor.checks import Check, Mark
from fencepost.outcomes import outcomes
from fencepost.reading import Reader, rows
from fencepost.reasons import REASONS
from fencepost.report import COVERAGE, Evidence, counted_reasons, deleted_sentences
from fencepost.settings import Settings
from fencepost.words import counted

_SHOWN = 3


def last_audit_checks(reader: Reader, settings: Settings) -> Iterator[Check]:
    """Checks of each cluster's coverage: how many definitions were judged, what was wrong with the
    evidence, and why other definitions were not judged.
    """
    coverage = outcomes(rows(reader.scan(COVERAGE)), settings.severities)
    unknown = counted_reasons(reader)
    evidence, deleted = Evidence(reader, settings), deleted_sentences(reader)
    for cluster in settings.clusters:
        of = f"cluster {cluster.name}, last audit"
        own = [each for each in coverage if each.cluster == cluster.name]
        if not own:
            yield Check(of, Mark.NOTE, "no audit has judged it yet", "run `fencepost audit`")
            continue
        counts = Counter(each.status.replace("_", " ") for each in own)
        says = ", ".join(f"{count} {status}" for status, count in counts.most_common())
        is_judged = any(each.is_judged for each in own)
        yield Check(
            of, Mark.GOOD if is_judged else Mark.WRONG, f"of {counted(len(own), 'definition')}: {says}"
        )
        # to know, and not wrong: it may have been corrected since
        yield from (Check(of, Mark.NOTE, each) for each in evidence.sentences(cluster))
        if cluster.name in deleted:
            yield Check(of, Mark.NOTE, deleted[cluster.name])
        reasons = Counter(
            {reason: count for (name, reason), count in unknown.items() if name == cluster.name}
        )
        for reason, count in reasons.most_common(_SHOWN):
            verdicts = counted(count, "verdict is", "verdicts are")
            says = f"{verdicts} unknown ({reason}). {REASONS[reason].means}"
            yield Check(of, Mark.NOTE, says, REASONS[reason].settles)
