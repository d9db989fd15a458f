"""What an audit found, in words: the screenful after a run, and the full story of one verdict.

Reads only the marts and the compiled specification.
"""

from __future__ import annotations

import json
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fencepost.definitions import Definition, definition
from fencepost.producer_report import Producers, record_words, without_digests
from fencepost.reading import Reader, over, rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = Mapping[str, Any]

VERDICTS = "marts.fct_invariant_verdicts"
COVERAGE = "marts.fct_invariant_coverage"
COMMITS = "marts.fct_offset_commits"
OWNERSHIP = "marts.fct_ownership_intervals"
FALSE_FENCING = "marts.fct_false_fencing_cost"
POLICIES = ("strict", "member_revocation", "partition_revocation", "assignment_epoch")
SEVERITIES = ("critical", "warning", "info")
STATUS_WORDS = {
    "holds": "hold",
    "unknown": "hold where the evidence suffices, unknown elsewhere",
    "not_exercised": "not exercised (nothing in these logs put them to the test)",
}
WIDTH = 100

_OLDEST = f"""
SELECT * FROM (
  SELECT *, row_number() OVER (PARTITION BY cluster, invariant ORDER BY from_time, verdict_id) AS place
  FROM {VERDICTS} WHERE verdict = 'violated'
) WHERE place <= :most
"""
_COUNTS = {
    "refused": "{} = 'reject'",
    "owners refused": "{} = 'reject' AND truth = 'owner'",
    "zombies admitted": "{} = 'accept' AND truth = 'zombie'",
    "unknown": "{} = 'unknown'",
}
"""What is counted of each policy's decisions, and when."""
_COST = f"""
SELECT cluster, sum(refused_requests) AS refused_requests, sum(transactions_aborted) AS transactions_aborted,
  sum(records_to_reprocess) AS records_to_reprocess, sum(recovered_requests) AS recovered_requests,
  max(longest_recovery_ms) AS longest_recovery_ms
FROM {FALSE_FENCING} GROUP BY cluster
"""


class UnknownVerdictError(Exception):
    """No verdict has this id in the marts of the last run."""


@dataclass(frozen=True)
class Finding:
    """One episode, the commit it is about (if it is about one), and the names of the lake's topics by id."""

    verdict: Row
    commit: Row | None
    topics: dict[str, str]

    @property
    def definition(self) -> Definition | None:
        return definition(self.verdict["invariant"])


def screenful(reader: Reader, clusters: Iterable[str], most: int = 1) -> str:
    """The report of the last audit of ``clusters``, with at most ``most`` findings an invariant."""
    report = _Report(reader, most)
    return "\n".join(line for cluster in clusters for line in report.lines(cluster))


def explain(reader: Reader, verdict_id: str) -> str:
    """The story of one verdict: definition, what met it, what was false, values, evidence, where to look.

    Raises UnknownVerdictError when the last run has no such verdict.
    """
    found = verdict(reader, verdict_id)
    finding = _with_commits(reader, [found])[0]
    return "\n".join(
        [*_headline(found), "", *_story(finding), "", *_definition_lines(finding), *_evidence(finding)]
    )


def verdict(reader: Reader, verdict_id: str) -> Row:
    """The row of the verdict mart. Raises UnknownVerdictError when the last run has no such verdict."""
    found = rows(reader.scan(VERDICTS, where={"verdict_id": verdict_id}))
    if not found:
        raise UnknownVerdictError(
            f"No verdict {verdict_id} in {VERDICTS}. "
            f'List them: fencepost sql "SELECT verdict_id, invariant, verdict, scope FROM {VERDICTS}"'
        )
    return found[0]


def finding_sentence(finding: Finding) -> str:
    """One finding in one or two sentences, for a report or an alert."""
    if finding.commit is not None:
        return _commit_sentence(finding.commit)
    verdict = finding.verdict
    scope = _named(_place(verdict["scope"]))
    record = record_words(_object(verdict["evidence"]))
    witness = _named({**without_digests(_object(verdict["witness"])), **record}, finding.topics)
    values = ", ".join(f"{name} = {value}" for name, value in _object(verdict["values"]).items())
    return f"{_when(verdict['from_time'])}  {scope}{', ' + witness if witness else ''}: {values}"


def findings(source: Reader | SparkSession, cluster: str, invariant: str, most: int) -> list[Finding]:
    """The first ``most`` violated episodes of one invariant, oldest first."""
    reader = over(source)
    where = {"cluster": cluster, "invariant": invariant, "verdict": "violated"}
    found = rows(reader.scan(VERDICTS, where=where))
    return _with_commits(reader, sorted(found, key=_oldest_first)[:most])


def _oldest_first(verdict: Row) -> tuple[bool, Any, str]:
    moment = verdict["from_time"]
    return (moment is not None, moment, verdict["verdict_id"])


def _with_commits(reader: Reader, verdicts: Sequence[Row]) -> list[Finding]:
    if not verdicts:
        return []
    named = [_object(row["evidence"]).get("commit_id") for row in verdicts]
    ids = sorted({each for each in named if each is not None})
    found = rows(reader.scan(COMMITS, where={"commit_id": ids})) if ids else []
    commits = {row["commit_id"]: row for row in found}
    owned = reader.scan(OWNERSHIP, ("topic_id", "topic")).group_by(["topic_id", "topic"]).aggregate([])
    topics = {row["topic_id"]: row["topic"] for row in rows(owned)}
    return [
        Finding(row, None if commit_id is None else commits.get(commit_id), topics)
        for row, commit_id in zip(verdicts, named, strict=True)
    ]


class _Report:
    """What the marts hold of all clusters: each is asked once, however many clusters there are."""

    def __init__(self, reader: Reader, most: int) -> None:
        self._coverage = _by_cluster(rows(reader.scan(COVERAGE)))
        self._commits = _by_cluster(rows(reader.query(_commit_counts())))
        self._cost = _by_cluster(rows(reader.query(_COST)))
        self._producers = Producers(reader)
        oldest = rows(reader.query(_OLDEST, most=most))
        self._findings: dict[tuple[str, str], list[Finding]] = defaultdict(list)
        for finding in _with_commits(reader, sorted(oldest, key=_oldest_first)):
            self._findings[finding.verdict["cluster"], finding.verdict["invariant"]].append(finding)

    def lines(self, cluster: str) -> list[str]:
        """The report of one cluster."""
        coverage = self._coverage[cluster]
        title = f"Cluster {printable(cluster)}"
        lines = ["", title, "=" * len(title)]
        lines += _commit_lines(next(iter(self._commits[cluster]), None))
        lines += _cost_lines(next(iter(self._cost[cluster]), None))
        lines += self._producers.lines(cluster, WIDTH)
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
        name, found = row["invariant"], definition(row["invariant"])
        lines = ["", f"{row['severity'].upper()}  {name}: {row['violated']} of {row['checked']} violated"]
        if found is not None:
            lines += _indented(first_sentence(found.prose), "  ", "  ")
        for finding in self._findings[row["cluster"], name]:
            lines += _indented(finding_sentence(finding))
            lines.append(f"      look further: fencepost explain {finding.verdict['verdict_id']}")
        return lines


def _gravest_first(row: Row) -> tuple[int, int, str]:
    return SEVERITIES.index(row["severity"]), -row["violated"], row["invariant"]


def _by_cluster(found: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    by_cluster: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in found:
        by_cluster[row["cluster"]].append(row)
    return by_cluster


def _commit_counts() -> str:
    """A query for the commits of each cluster, and what the broker and each policy made of them."""
    decisions = {"broker": "broker_answer", **{policy: f"decision_{policy}" for policy in POLICIES}}
    counts = ", ".join(
        f"count_if({condition.format(decision)}) AS `{name}:{what}`"
        for name, decision in decisions.items()
        for what, condition in _COUNTS.items()
    )
    return f"SELECT cluster, count(*) AS commits, {counts} FROM {COMMITS} GROUP BY cluster"


def _commit_lines(counts: Row | None) -> list[str]:
    """Counts of commits, and the policies side by side."""
    if counts is None:
        return ["No offset commits in the request logs."]
    lines = [f"{counts['commits']} offset commits (one per request and partition); what each policy answers:"]
    lines.append("  " + " " * 22 + "".join(f"{head:>18}" for head in _COUNTS))
    for name in ("broker", *POLICIES):
        label = "the broker answered" if name == "broker" else name.replace("_", " ")
        lines.append(f"  {label:<22}" + "".join(f"{counts[f'{name}:{head}']:>18}" for head in _COUNTS))
    return lines


def _cost_lines(cost: Row | None) -> list[str]:
    """What refusing owners cost, where any was refused."""
    if cost is None or not cost["refused_requests"]:
        return []
    text = (
        f"Owners were refused in {cost['refused_requests']} requests: "
        f"{cost['transactions_aborted']} transactions aborted, "
        f"{cost['records_to_reprocess'] or 0} records to process again as far as is known; "
        f"{cost['recovered_requests']} made good since"
    )
    longest = cost["longest_recovery_ms"]
    slowest = f", the slowest after {longest / 1000:.1f} s" if longest is not None else ""
    return ["", *textwrap.wrap(f"{text}{slowest}.", WIDTH)]


def _commit_sentence(commit: Row) -> str:
    answer = "accepted it" if commit["broker_error"] == "NONE" else f"refused it ({commit['broker_error']})"
    other = (
        f" while member {printable(commit['owner_member_id'])} owned it" if commit["owner_member_id"] else ""
    )
    policies = ", ".join(f"{name.replace('_', ' ')} {commit[f'decision_{name}']}" for name in POLICIES)
    return (
        f"{_when(commit['requested_at'])}  member {printable(commit['member_id']) or '(none)'} "
        f"(client {printable(commit['client_id'])}) of group {commit['group_id']!r} committed offset "
        f"{commit['committed_offset']} of {commit['topic']}-{commit['partition']} at epoch "
        f"{commit['client_epoch']}{other}; the broker {answer}.\n"
        f"The committer was: {commit['truth'].replace('_', ' ')}. Policies: {policies}."
    )


def _headline(verdict: Row) -> list[str]:
    title = f"{verdict['invariant']} ({verdict['kind']}, {verdict['severity']}): {verdict['verdict']}"
    end = "open" if verdict["to_position"] is None else verdict["to_position"]
    until = _when(verdict["to_time"]) if verdict["to_time"] else "still so at the end of the evidence"
    return [
        title,
        "=" * len(title),
        f"cluster {verdict['cluster']}, {_named(_place(verdict['scope']))}",
        f"from {_when(verdict['from_time'])} until {until}",
        f"positions [{verdict['from_position']}, {end}) in {_log(verdict['scope'])}",
    ]


def _story(finding: Finding) -> list[str]:
    verdict = finding.verdict
    lines = ["What happened"]
    if finding.commit is not None:
        lines += _indented(_commit_sentence(finding.commit), "  ", "  ")
    if verdict["witness"]:
        lines.append(f"  witness: {_named(_object(verdict['witness']), finding.topics)}")
    if verdict["failed_conjunct"]:
        lines.append(f"  false: {verdict['failed_conjunct']}")
    values = _object(verdict["values"])
    if values:
        width = max(map(len, values))
        lines += ["  with", *(f"    {name:<{width}} = {value}" for name, value in values.items())]
    return lines


def _definition_lines(finding: Finding) -> list[str]:
    found = finding.definition
    if found is None:
        return []
    prose = [
        line
        for paragraph in found.prose.split("\n\n")
        for line in [*textwrap.wrap(paragraph, WIDTH, initial_indent="  ", subsequent_indent="  "), ""]
    ]
    formula = textwrap.indent(found.formula, "    ").splitlines()
    return [f"The specification says ({found.file}:{found.line})", *formula, "", *prose]


def _evidence(finding: Finding) -> list[str]:
    lines = [
        "Evidence",
        *(f"  {name}: {value}" for name, value in _object(finding.verdict["evidence"]).items()),
    ]
    if finding.commit is not None:
        lines.append(f"  request log: {finding.commit['file']} at byte {finding.commit['position']}")
    lines.append(f"  page: docs/invariants/{finding.verdict['invariant']}.md")
    return lines


def first_paragraph(prose: str) -> str:
    """The meaning of a definition: its prose up to the first empty line."""
    return " ".join(prose.split("\n\n", maxsplit=1)[0].split())


def printable(text: str | None) -> str:
    """A name from outside as one line: nothing in it moves the cursor or starts a line of its own."""
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text or ""
    )


def first_sentence(prose: str) -> str:
    """What a definition says, at its shortest."""
    return first_paragraph(prose).split(". ")[0].rstrip(".") + "."


def _indented(text: str, first: str = "    ", rest: str = "      ") -> list[str]:
    return [
        line
        for part in text.splitlines()
        for line in textwrap.wrap(
            part, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
        )
    ]


def _object(text: str | None) -> dict[str, Any]:
    parsed = json.loads(text) if text else {}
    return parsed if isinstance(parsed, dict) else {"value": parsed}


def _named(members: Mapping[str, Any], topics: Mapping[str, str] | None = None) -> str:
    """Names and values in words; ``<topic id>:<partition>`` becomes ``topic-partition``."""
    return ", ".join(
        f"{name.replace('_', ' ')} {_readable(value, topics or {})!r}" for name, value in members.items()
    )


def _place(scope: str | None) -> dict[str, Any]:
    """The scope of a verdict; a log is named by its topic and partition alone."""
    return {name: value for name, value in _object(scope).items() if name != "partition_key"}


def _log(scope: str | None) -> str:
    """The log that a verdict's positions are offsets of."""
    place = _object(scope)
    if "group_id" in place:
        return "the group's partition of __consumer_offsets"
    return f"{printable(place.get('topic'))}-{place.get('partition')}"


def _readable(value: Any, topics: Mapping[str, str]) -> Any:
    topic_id, colon, partition = value.partition(":") if isinstance(value, str) else (value, "", "")
    return f"{topics[topic_id]}-{partition}" if colon and topic_id in topics else value


def _when(moment: Any) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d} UTC" if moment else "(time unknown)"
