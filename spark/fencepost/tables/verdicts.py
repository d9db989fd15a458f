"""The tables of verdicts: what the specification says about the histories in silver."""

from __future__ import annotations

from fencepost.tables.table import CHAPTER, INTERVAL, Table

_BY_CHAPTER = ("cluster", CHAPTER)

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
        "reason": "string",  # of an unknown verdict, a word of fencepost.reasons; of the first of its rows
        "observed": "string",  # JSON object: leaf expression -> value
        "evidence": "string",  # JSON object: pointers into bronze and silver
        # the begin, in ms, of the chapter in which it ends; of what goes on, of the last one in which its
        # definition was judged in its scope; null where every run judges all of history
        CHAPTER: "bigint",
    },
    ("verdict_id",),
    _BY_CHAPTER,
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
        "unread": "bigint",  # pieces of evidence that it rests on and that are missing or could not be read
        "status": "string",  # violated, holds, holds_partly, unknown, not_exercised
        # of the statuses unknown and holds_partly: the most frequent one of what is unknown, else unread
        "reason": "string",
        "since": "timestamp",  # what was over before was not looked at; null: everything was
    },
    ("module", "invariant", "cluster"),
)

UNKNOWN_REASONS = Table(
    "verdicts.unknown_reasons",
    "How often each marked definition was unknown, by reason.",
    {
        "module": "string",
        "invariant": "string",
        "cluster": "string",
        "reason": "string",  # a word of fencepost.reasons
        "unknown": "bigint",
    },
    ("module", "invariant", "cluster", "reason"),
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
        "reason": "string",  # why the outcome is null, a word of fencepost.reasons
        # the begin of the chapter whose run wrote the row, in ms; null where every run judges all of history
        CHAPTER: "bigint",
    },
    ("module", "decision", "cluster", "subject"),
    _BY_CHAPTER,
)

PIECES = Table(
    "verdicts.pieces",
    "What the judge found in each chapter of history. A run judges the chapters that changed, and makes anew "
    "the episodes and the coverage of what it found there.",
    {
        "cluster": "string",
        CHAPTER: "bigint",  # its begin, in ms
        # scope: how often a definition was judged in a scope; held: from where to where it held there;
        # failing: a row of which it does not hold
        "kind": "string",
        "definition": "string",
        "scope": "string",
        "witness": "string",
        "verdict": "string",  # violated, unknown
        "failed_conjunct": "string",
        "reason": "string",  # why it is unknown
        "begins": "bigint",  # -1 of what has no position
        "ends": "bigint",  # the greatest bigint of what has no end
        "from_position": "bigint",
        "from_time": "timestamp",
        "to_time": "timestamp",
        "observed": "string",
        "evidence": "string",
        **dict.fromkeys(("checked", "exercised", "holds", "violated", "unknown"), "bigint"),
    },
    ("cluster", "chapter", "kind", "definition", "scope", "witness", "begins", "ends"),
    _BY_CHAPTER,
)
