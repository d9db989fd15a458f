"""The table in which all steps note what they have made, and of what."""

from __future__ import annotations

from fencepost.tables.table import Table

LEDGER = Table(
    "ledger.steps",
    "What each step of a run has made, and of what: one row per step, per chapter that it has made, and "
    "per mart.",
    {
        "step": "string",  # rebuild, judge, marts
        "mart": "string",  # null: the step as a whole, or a chapter
        "cluster": "string",  # of a chapter
        "chapter": "bigint",  # its begin in ms; 0: the first
        "begins": "timestamp",  # the same; null: the first
        "until": "bigint",  # the begin of the next chapter in ms; null: the last
        # of a step: begun, done; of a chapter that was rebuilt: kept, or dropped, as it is older than the
        # window
        "state": "string",
        # of a rebuild: another one whenever rows of the chapter may have changed; of the judge: what it
        # judged
        "revision": "string",
        # JSON objects, table -> its state: what the step or the mart was made of, and what it was then
        "inputs": "string",
        "outputs": "string",
        "made_by": "string",  # of a step: digest of the code and the settings that made all its rows here
        "summary": "string",  # of a step: JSON object, what it says at its end
    },
    ("step", "mart", "cluster", "chapter"),
    ("step",),
)

LEASES = Table(
    "ledger.leases",
    "Which run writes to a lake that several machines share: at most one row.",
    {"holder": "string"},  # the process, its machine, and since when
    ("holder",),
)
