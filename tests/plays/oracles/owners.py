"""O5: commits of owners and for partitions of others are judged as the players know them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from plays.calls import Fact
from plays.oracles.case import Case, Fault, evidence, request_of


def owners(case: Case) -> Iterator[Fault]:
    """Commits without a row, owners who are accused, commits for another's partition that hold."""
    for fact, row, against in judged_commits(case):
        told = {name: fact[name] for name in ("play", "step", "client", "request", "errors")}
        if row is None:
            if case.is_logged(fact):
                yield {"fault": "O5:commit_not_in_mart", **told}
            continue
        told |= {"marts": row["truth"], "why": row["unknown_reason"], "violated": sorted(against)}
        if is_sure(fact, "owner") and (row["truth"] not in ("owner", "unknown") or against):
            yield {"fault": "O5:owner_accused", **told}
        if is_sure(fact, "anothers") and row["truth"] != "unknown" and not against:
            yield {"fault": "O5:anothers_holds", **told}


def is_sure(fact: Fact, truth: str) -> bool:
    """Whether a commit was accepted, and the players know that this is the truth about it."""
    return bool(fact["truth"] == truth and fact["errors"] == ["NONE"])


def judged_commits(case: Case) -> Iterator[tuple[Fact, dict[str, Any] | None, set[str]]]:
    """Each commit of a member, its row, and the invariants that it violates."""
    key = ("client_id", "correlation_id", "topic", "partition")
    rows = {tuple(row[name] for name in key): row for row in case.rows["commits"]}
    accused: dict[str, set[str]] = {}
    for verdict in case.rows["verdicts"]:
        commit = evidence(verdict).get("commit_id")
        if commit is not None and verdict["verdict"] == "violated":
            accused.setdefault(commit, set()).add(verdict["invariant"])
    for fact in case.requests():
        if fact["api"] == "OffsetCommit" and fact.get("topic") is not None:
            row = rows.get((*request_of(fact), fact["topic"], fact["p"]))
            yield fact, row, accused.get(row["commit_id"], set()) if row else set()
