"""What an audit found about offset commits, in words: for the report after a run and for single verdicts."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fencepost.protocols.base import Explanation, Verdict
from fencepost.protocols.offset_commit.simulation.arguments import POLICIES
from fencepost.protocols.reported import row_of_each_cluster, unlogged_by_cluster, unlogged_sentence
from fencepost.reading import Reader, rows
from fencepost.words import WIDTH, counted, duration, printable, time_of

Row = Mapping[str, Any]

COMMITS = "marts.fct_offset_commits"
OWNERSHIP = "marts.fct_ownership_intervals"
FALSE_FENCING = "marts.fct_false_fencing_cost"
UNLOGGED = "marts.fct_unlogged_commits"
MEMBERS = "marts.fct_member_lives"
REDELIVERIES = "marts.fct_share_redeliveries"

_COUNTS = {
    "refused": "{} = 'reject'",
    "owners refused": "{} = 'reject' AND truth = 'owner'",
    "zombies admitted": "{} = 'accept' AND truth = 'zombie'",
    "unknown": "{} = 'unknown'",
}
"""The counts of each policy's decisions, and the condition of each."""
_COST = f"""
SELECT cluster, sum(refused_requests) AS refused_requests, sum(transactions_aborted) AS transactions_aborted,
  sum(records_to_reprocess) AS records_to_reprocess, sum(recovered_requests) AS recovered_requests,
  max(longest_recovery_ms) AS longest_recovery_ms
FROM {FALSE_FENCING} GROUP BY cluster
"""
_REMOVED = f"""
SELECT cluster, removed_by, count(*) AS times FROM {MEMBERS} WHERE removed_by IS NOT NULL
GROUP BY cluster, removed_by ORDER BY times DESC, removed_by
"""
REMOVALS = {
    "session_timeout": "after a session timeout",
    "rebalance_timeout": "after a rebalance timeout",
    "replaced": "by a newer member with their instance id",
    "administrator": "by an administrator",
}
"""Who removed a member that did not leave by itself, in words."""

_REDELIVERED = f"""
SELECT cluster, outcome, cause, sum(offsets) AS offsets FROM {REDELIVERIES}
GROUP BY cluster, outcome, cause ORDER BY offsets DESC, cause
"""


class Commits:
    """What the broker and each policy answered, what refusing owners cost, which commits have no line,
    who removed members, and why share groups got records again. Each mart is queried once.
    """

    def __init__(self, reader: Reader) -> None:
        by_cluster = partial(row_of_each_cluster, reader)
        self._commits = by_cluster(_commit_counts())
        self._cost = by_cluster(_COST)
        self._unlogged = unlogged_by_cluster(reader, UNLOGGED, "stored_at")
        self._removed = rows(reader.query(_REMOVED))
        self._redelivered = rows(reader.query(_REDELIVERED))

    def __call__(self, cluster: str) -> list[str]:
        """The lines about the commits of one cluster."""
        return [
            *_unlogged_lines(self._unlogged.get(cluster)),
            *_commit_lines(self._commits.get(cluster)),
            *_cost_lines(self._cost.get(cluster)),
            *_removal_lines([row for row in self._removed if row["cluster"] == cluster]),
            *_redelivery_lines([row for row in self._redelivered if row["cluster"] == cluster]),
        ]


def explain(reader: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """Verdict id -> the commit that the verdict is about; verdicts about something else are left out."""
    evidence = {row["verdict_id"]: json.loads(row["evidence"] or "{}") for row in verdicts}
    named = [each for each in evidence.values() if each.get("commit_id") is not None]
    if not named:
        return {}
    # ids are digests: where their lines lie tells which files have these commits
    values = {name: list({each.get(name) for each in named}) for name in ("commit_id", "position")}
    where = {name: each for name, each in values.items() if None not in each}
    commits = {row["commit_id"]: row for row in rows(reader.scan(COMMITS, where=where))}
    return {
        verdict_id: Explanation(_commit_sentence(commit), commit["file"], commit["position"])
        for verdict_id, each in evidence.items()
        if (commit := commits.get(each.get("commit_id"))) is not None
    }


def topic_names(reader: Reader) -> dict[str, str]:
    """Topic id -> topic name, for topics of which a member owned a partition."""
    owned = reader.scan(OWNERSHIP, ("topic_id", "topic")).group_by(["topic_id", "topic"]).aggregate([])
    return {row["topic_id"]: row["topic"] for row in rows(owned)}


def _commit_counts() -> str:
    """A query that counts the commits of each cluster, by the decisions of the broker and of each policy."""
    decisions = {"broker": "broker_answer", **{policy: f"decision_{policy}" for policy in POLICIES}}
    counts = ", ".join(
        f"count_if({condition.format(decision)}) AS `{name}:{what}`"
        for name, decision in decisions.items()
        for what, condition in _COUNTS.items()
    )
    others = "count_if(broker_answer = 'other_error') AS other_errors"
    counts = f"count(*) AS commits, count_if(truth = 'unknown') AS truth_unknown, {others}, {counts}"
    return f"SELECT cluster, {counts} FROM {COMMITS} GROUP BY cluster"


def _commit_lines(counts: Row | None) -> list[str]:
    """The counts of commits as a table, with a line for the broker and for each policy."""
    if counts is None:
        return ["No offset commits in the request logs."]
    lines = [
        f"{counts['commits']:,} offset commits (one per request and partition); what each policy answers:"
    ]
    lines.append("  " + " " * 22 + "".join(f"{head:>18}" for head in _COUNTS))
    for name in ("broker", *POLICIES):
        label = "the broker answered" if name == "broker" else name.replace("_", " ")
        lines.append(f"  {label:<22}" + "".join(f"{counts[f'{name}:{head}']:>18}" for head in _COUNTS))
    if counts["other_errors"]:
        text = (
            f"The broker answered {counts['other_errors']:,} more with an error that fences nobody "
            f"(broker_error of {COMMITS})."
        )
        lines += textwrap.wrap(text, WIDTH)
    if counts["truth_unknown"]:
        text = (
            f"Of {counts['truth_unknown']} of these commits it is not known whether their sender owned the "
            "partition: there may be more owners refused and more zombies admitted among them."
        )
        lines += textwrap.wrap(text, WIDTH)
    return lines


def _unlogged_lines(unlogged: Row | None) -> list[str]:
    """A sentence about stored commits whose lines are missing; no lines if there are none."""
    if unlogged is None:
        return []
    text = unlogged_sentence(unlogged, UNLOGGED, "commit that was stored", "commits that were stored")
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False)


def _cost_lines(cost: Row | None) -> list[str]:
    """What refusing owners cost; no lines if no owner was refused."""
    if cost is None or not cost["refused_requests"]:
        return []
    text = (
        f"Owners were refused in {counted(cost['refused_requests'], 'request')}: "
        f"{counted(cost['transactions_aborted'], 'transaction')} aborted, "
        f"{counted(cost['records_to_reprocess'] or 0, 'record')} to process again as far as is known; "
        f"{cost['recovered_requests']} made good since"
    )
    longest = cost["longest_recovery_ms"]
    slowest = f", the slowest after {duration(longest)}" if longest is not None else ""
    return ["", *textwrap.wrap(f"{text}{slowest}.", WIDTH)]


def _removal_lines(removed: Sequence[Row]) -> list[str]:
    """A sentence about members that others removed; no lines if there are none."""
    times = [f"{row['times']} {words}" for row in removed if (words := REMOVALS.get(row["removed_by"]))]
    if not times:
        return []
    return ["", *textwrap.wrap(f"Members were removed: {', '.join(times)}; {MEMBERS}.", WIDTH)]


def _redelivery_lines(redelivered: Sequence[Row]) -> list[str]:
    """Sentences about offsets that share groups got again, or never will; no lines if there are none."""
    words = {"delivered_again": "were delivered again", "archived": "will not be delivered again"}
    sentences = []
    for outcome, what in words.items():
        of = [row for row in redelivered if row["outcome"] == outcome]
        if of:
            causes = ", ".join(
                f"{row['offsets']} {(row['cause'] or 'unknown').replace('_', ' ')}" for row in of
            )
            sentences.append(f"{sum(row['offsets'] for row in of)} {what} ({causes})")
    if not sentences:
        return []
    text = f"Offsets of share groups: {'; '.join(sentences)}; {REDELIVERIES}."
    return ["", *textwrap.wrap(text, WIDTH, break_on_hyphens=False)]


def _commit_sentence(commit: Row) -> str:
    error = commit["broker_error"]
    if error != "NONE" and commit["outcome"] is not None:
        answer = f"stored it, and answered {error}"
    else:
        answer = "accepted it" if error == "NONE" else f"refused it ({error})"
    if commit["outcome"] is None and commit["shipped_error"] not in ("unknown", error):
        answer += f", where its version has {commit['shipped_error']}"
    other = (
        f" while member {printable(commit['owner_member_id'])} owned it" if commit["owner_member_id"] else ""
    )
    policies = ", ".join(f"{name.replace('_', ' ')} {commit[f'decision_{name}']}" for name in POLICIES)
    return (
        f"{time_of(commit['requested_at'])}  member {printable(commit['member_id']) or '(none)'} "
        f"(client {printable(commit['client_id'])}) of group {commit['group_id']!r} committed offset "
        f"{commit['committed_offset']} of {commit['topic']}-{commit['partition']} at epoch "
        f"{commit['client_epoch']}{other}; the broker {answer}.\n"
        f"The committer was: {commit['truth'].replace('_', ' ')}. Policies: {policies}."
    )
