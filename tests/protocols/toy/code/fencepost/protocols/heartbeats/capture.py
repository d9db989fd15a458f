"""Evidence that only the toy reads: who led the metadata log, as each voter remembers it."""

from __future__ import annotations

import json
import re
from io import BytesIO
from pathlib import Path

from fencepost.capture.digests import head_digest
from fencepost.capture.kinds import Kind
from fencepost.capture.plan import Source
from fencepost.capture.rows import OUTCOME, Rows, arrow_rows, outcome
from fencepost.tables import Table

QUORUM_STATES = Table(
    "bronze.quorum_states",
    "Each leader epoch that a quorum-state was found with.",
    {"cluster": "string", "broker_id": "int", "leader_epoch": "int", "leader_id": "int"},
    ("cluster", "broker_id", "leader_epoch"),
)


def rows(source: Source) -> Rows:
    """The one state that the file has now."""
    data = Path(source.file).read_bytes()
    state = json.loads(data)
    columns = {"leader_epoch": state["leaderEpoch"], "leader_id": state["leaderId"]}
    origin = {"cluster": source.cluster, "broker_id": source.broker_id}
    yield QUORUM_STATES, arrow_rows(QUORUM_STATES, 1, {**columns, **origin})
    progress = {"head_digest": head_digest(BytesIO(data), len(data)), "size": len(data), "entries": 1}
    yield OUTCOME, outcome(source, [], {**progress, "consumed_to": len(data), "records": 0, "skipped": 0})


QUORUM_STATE = Kind("quorum_state", rows, (QUORUM_STATES,), file=re.compile("quorum-state"), in_place=True)
