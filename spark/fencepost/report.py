"""What an audit found, in words: the screenful after a run, and the full story of one verdict.

Reads only the marts and the compiled specification.
"""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from fencepost.judge.compiled import Definition, definition
from fencepost.producer_report import producer_lines, record_words, without_digests

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


def screenful(spark: SparkSession, clusters: Iterable[str], most: int = 1) -> str:
    """The report of the last audit of ``clusters``, with at most ``most`` findings an invariant."""
    return "\n".join(line for cluster in clusters for line in _cluster_lines(spark, cluster, most))


def explain(spark: SparkSession, verdict_id: str) -> str:
    """The story of one verdict: definition, what met it, what was false, values, evidence, where to look.

    Raises UnknownVerdictError when the last run has no such verdict.
    """
    found = verdict(spark, verdict_id)
    finding = _with_commits(spark, [found])[0]
    return "\n".join(
        [*_headline(found), "", *_story(finding), "", *_definition_lines(finding), *_evidence(finding)]
    )


def verdict(spark: SparkSession, verdict_id: str) -> Row:
    """The row of the verdict mart. Raises UnknownVerdictError when the last run has no such verdict."""
    found = spark.table(VERDICTS).where(F.col("verdict_id") == verdict_id).first()
    if found is None:
        raise UnknownVerdictError(
            f"No verdict {verdict_id} in {VERDICTS}. "
            f'List them: fencepost sql "SELECT verdict_id, invariant, verdict, scope FROM {VERDICTS}"'
        )
    return found


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


def findings(spark: SparkSession, cluster: str, invariant: str, most: int) -> list[Finding]:
    """The first ``most`` violated episodes of one invariant, oldest first."""
    violated = (
        spark.table(VERDICTS)
        .where(
            (F.col("cluster") == cluster)
            & (F.col("invariant") == invariant)
            & (F.col("verdict") == "violated")
        )
        .orderBy("from_time", "verdict_id")
        .limit(most)
    )
    return _with_commits(spark, violated.collect())


def _with_commits(spark: SparkSession, verdicts: list[Row]) -> list[Finding]:
    ids = {_object(row["evidence"]).get("commit_id") for row in verdicts} - {None}
    commits = (
        {row["commit_id"]: row for row in spark.table(COMMITS).where(F.col("commit_id").isin(*ids)).collect()}
        if ids
        else {}
    )
    owned = spark.table(OWNERSHIP).select("topic_id", "topic").distinct()
    topics = {row["topic_id"]: row["topic"] for row in owned.collect()} if verdicts else {}
    return [Finding(row, commits.get(_object(row["evidence"]).get("commit_id")), topics) for row in verdicts]


def _cluster_lines(spark: SparkSession, cluster: str, most: int) -> list[str]:
    coverage = spark.table(COVERAGE).where(F.col("cluster") == cluster).collect()
    commits = spark.table(COMMITS).where(F.col("cluster") == cluster)
    title = f"Cluster {printable(cluster)}"
    lines = ["", title, "=" * len(title), *_commit_lines(commits), *_cost_lines(spark, cluster)]
    lines += producer_lines(spark, cluster, WIDTH)
    violated = [row for row in coverage if row["status"] == "violated"]
    for row in sorted(violated, key=lambda row: (SEVERITIES.index(row["severity"]), -row["violated"])):
        lines += _violated_lines(spark, row, most)
    for status, words in STATUS_WORDS.items():
        names = sorted(row["invariant"] for row in coverage if row["status"] == status)
        if names:
            text = f"{len(names)} {words}: {', '.join(names)}"
            lines += ["", *textwrap.wrap(text, WIDTH, subsequent_indent="  ")]
    return lines


def _violated_lines(spark: SparkSession, row: Row, most: int) -> list[str]:
    name, found = row["invariant"], definition(row["invariant"])
    lines = ["", f"{row['severity'].upper()}  {name}: {row['violated']} of {row['checked']} violated"]
    if found is not None:
        lines += _indented(first_sentence(found.prose), "  ", "  ")
    for finding in findings(spark, row["cluster"], name, most):
        lines += _indented(finding_sentence(finding))
        lines.append(f"      look further: fencepost explain {finding.verdict['verdict_id']}")
    return lines


def _commit_lines(commits: DataFrame) -> list[str]:
    """Counts of commits, and the policies side by side."""
    owner, zombie = F.col("truth") == "owner", F.col("truth") == "zombie"
    columns = {
        "broker": F.col("broker_answer"),
        **{policy: F.col(f"decision_{policy}") for policy in POLICIES},
    }
    counts = commits.agg(
        F.count("*").alias("commits"),
        *(
            F.count_if(condition).alias(f"{name}:{what}")
            for name, decision in columns.items()
            for what, condition in (
                ("refused", decision == "reject"),
                ("owners refused", (decision == "reject") & owner),
                ("zombies admitted", (decision == "accept") & zombie),
                ("unknown", decision == "unknown"),
            )
        ),
    ).first()
    if counts is None or not counts["commits"]:
        return ["No offset commits in the request logs."]
    heads = ("refused", "owners refused", "zombies admitted", "unknown")
    lines = [f"{counts['commits']} offset commits (one per request and partition); what each policy answers:"]
    lines.append("  " + " " * 22 + "".join(f"{head:>18}" for head in heads))
    for name in columns:
        label = "the broker answered" if name == "broker" else name.replace("_", " ")
        lines.append(f"  {label:<22}" + "".join(f"{counts[f'{name}:{head}']:>18}" for head in heads))
    return lines


def _cost_lines(spark: SparkSession, cluster: str) -> list[str]:
    """What refusing owners cost, where any was refused."""
    names = ("refused_requests", "transactions_aborted", "records_to_reprocess", "recovered_requests")
    days = spark.table(FALSE_FENCING).where(F.col("cluster") == cluster)
    cost = days.agg(
        *(F.sum(name).alias(name) for name in names), F.max("longest_recovery_ms").alias("ms")
    ).first()
    if cost is None or not cost["refused_requests"]:
        return []
    text = (
        f"Owners were refused in {cost['refused_requests']} requests: "
        f"{cost['transactions_aborted']} transactions aborted, "
        f"{cost['records_to_reprocess'] or 0} records to process again as far as is known; "
        f"{cost['recovered_requests']} made good since"
    )
    longest = f", the slowest after {cost['ms'] / 1000:.1f} s" if cost["ms"] is not None else ""
    return ["", *textwrap.wrap(f"{text}{longest}.", WIDTH)]


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
