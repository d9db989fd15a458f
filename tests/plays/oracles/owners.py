"""O5: commits of owners and for partitions of others are judged as the players know them."""

from __future__ import annotations

from collections.abc import Iterator

from plays.oracles.case import Case, Fault, evidence, request_of


def owners(case: Case) -> Iterator[Fault]:
    """Commits without a row, owners who are accused, commits for another's partition that hold."""
    rows = {
        (row["client_id"], row["correlation_id"], row["topic"], row["partition"]): row
        for row in case.rows["commits"]
    }
    accused: dict[str, set[str]] = {}
    for verdict in case.rows["verdicts"]:
        commit = evidence(verdict).get("commit_id")
        if commit is not None and verdict["verdict"] == "violated":
            accused.setdefault(commit, set()).add(verdict["invariant"])
    for fact in case.requests():
        if fact["api"] != "OffsetCommit" or fact.get("topic") is None:
            continue
        told = {name: fact[name] for name in ("play", "step", "client", "request", "errors")}
        row = rows.get((*request_of(fact), fact["topic"], fact["p"]))
        if row is None and case.is_logged(fact):
            yield {"fault": "O5:commit_not_in_mart", **told}
        if row is not None and fact["truth"] is not None and fact["errors"] == ["NONE"]:
            against = accused.get(row["commit_id"], set())
            for name in _wrong(fact["truth"], row["truth"], bool(against)):
                why = {"marts": row["truth"], "why": row["unknown_reason"], "violated": sorted(against)}
                yield {"fault": f"O5:{name}", **told, **why}


def _wrong(truth: str, found: str, is_accused: bool) -> Iterator[str]:
    """What is wrong with the judgement of an accepted commit of this truth."""
    if found == "unknown":
        yield f"unknown_{truth}"
    if truth == "owner" and (found not in ("owner", "unknown") or is_accused):
        yield "owner_accused"
    if truth == "anothers" and found != "unknown" and not is_accused:
        yield "anothers_holds"
