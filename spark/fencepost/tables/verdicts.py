"""What the specification says of it."""

from __future__ import annotations

from fencepost.tables.table import INTERVAL, Table

EPISODES = Table(
    "verdicts.episodes",
    "What each marked invariant or step says, one row per episode.",
    {
        "verdict_id": "string",
        "module": "string",
        "invariant": "string",
        "kind": "string",  # invariant, step
        "severity": "string",  # critical, warning, info
        "cluster": "string",
        "scope": "string",  # JSON object, e.g. {"group_id":"g","life":1}
        "witness": "string",  # JSON object of the quantified variables; null on a holds episode
        **INTERVAL,
        "verdict": "string",  # holds, violated, unknown
        "failed_conjunct": "string",
        "values": "string",  # JSON object: leaf expression -> value
        "evidence": "string",  # JSON object: pointers into bronze and silver
    },
    ("verdict_id",),
)

VERDICT_COVERAGE = Table(
    "verdicts.coverage",
    "How often each marked definition was checked and exercised: what nothing exercised is never green.",
    {
        "module": "string",
        "invariant": "string",
        "kind": "string",
        "severity": "string",
        "cluster": "string",
        "scopes": "bigint",
        "checked": "bigint",
        "exercised": "bigint",
        "holds": "bigint",
        "violated": "bigint",
        "unknown": "bigint",
        "status": "string",  # violated, unknown, holds, not_exercised
        "since": "timestamp",  # what was over before was not looked at; null: everything was
    },
    ("module", "invariant", "cluster"),
)

DECISIONS = Table(
    "verdicts.decisions",
    "What each decision gives for each record of its set, over every state that record may have met.",
    {
        "module": "string",
        "decision": "string",  # the decision's id in the specification
        "cluster": "string",
        "subject": "string",  # the record: the commit_id of a commit, the request_id of a request
        "outcome": "string",  # the text it gives, or true, false; null when states disagree or are unknown
    },
    ("module", "decision", "cluster", "subject"),
)
