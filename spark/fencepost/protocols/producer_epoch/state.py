"""What a rebuild begins with: the state of each log, transactional id and producer where its evidence begins.

History is rebuilt in chapters. Where one ends, every state is dumped, and the next one loads it, as with
Kafka's SnapshotRegistry. A replay is given a state and goes on from there: the first of all from a state
that knows nothing. No other module knows of chapters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from fencepost.protocols.producer_epoch.arrow import Key, Longs
from fencepost.protocols.producer_epoch.id_state import IdState
from fencepost.protocols.producer_epoch.log_state import (
    ANSWERED,
    BUMPED,
    ROW,
    Carried,
    KnownStretch,
    LogState,
)
from fencepost.protocols.producer_epoch.producer_state import Entries, States, Transactions
from fencepost.protocols.producer_epoch.tables import ID_STATES, LOG_COVERAGE, LOG_STATES
from fencepost.replay.entities import tuples
from fencepost.replay.evidence import Evidence
from fencepost.replay.keys import TRANSACTIONS_TOPIC

_ID = TypeAdapter(IdState)
_WIDTHS = (
    len(KnownStretch._fields),
    len(ROW) + len(States._fields),
    len(Entries._fields),
    len(Transactions._fields) + len(ANSWERED),
    len(BUMPED),
)
"""The number of columns in each part of a dumped LogState."""


def known_stretches(evidence: Evidence) -> dict[tuple[str, str], tuple[int, int]]:
    """The offsets from and to which each coordinator's log was known where the states were dumped, by cluster
    and partition_key.
    """
    rows = evidence.before.get(LOG_COVERAGE.name, LOG_COVERAGE.arrow_schema.empty_table())
    covered = rows.filter(pc.and_(rows["covered"], pc.equal(rows["topic"], TRANSACTIONS_TOPIC)))
    stretches = tuples(covered.select(["cluster", "partition_key", "from_position", "last_position"]))
    # of several stretches the last one reaches to there
    return {(cluster, log): (begins, ends) for cluster, log, begins, ends in sorted(stretches)}


def dump_offset(base_offsets: Longs, newest_ms: Longs, end: int, since_ms: int | None) -> int | None:
    """The offset of a log at which its state is dumped: the cut from which on the next chapter reads the log.
    ``since_ms``: the time of that; None if there is no next chapter. ``end``: where the log ends.
    """
    if since_ms is None:
        return None
    return int(base_offsets[newest_ms >= since_ms].min(initial=end))


def dump_id(state: IdState) -> bytes:
    """As JSON."""
    return _ID.dump_json(state)


def load_ids(rows: pa.Table) -> dict[tuple[str, str], dict[str, IdState]]:
    """By cluster and partition_key, then by transactional id, from rows of ID_STATES."""
    states: dict[tuple[str, str], dict[str, IdState]] = {}
    for cluster, _, log, name, state in tuples(rows.select(list(ID_STATES.columns))):
        states.setdefault((cluster, log), {})[name] = _ID.validate_json(state)
    return states


def dump_log(state: LogState) -> bytes:
    """As numbers of 64 bits: for each part its number of rows, then column by column."""
    carried = state.carried
    parts: Iterable[Sequence[Longs]] = (
        [np.array([each]) for each in state.stretch],
        [*(carried.rows[name] for name in ROW), *carried.states],
        carried.entries,
        [*carried.transactions, *(state.answered[name] for name in ANSWERED)],
        [state.bumped[name] for name in BUMPED],
    )
    columns = [column for part in parts for column in (np.array([len(part[0])]), *part)]
    return np.concatenate(columns).astype("<i8").tobytes()


def load_logs(rows: pa.Table) -> dict[Key, LogState]:
    """By cluster, topic, partition and topic id, from rows of LOG_STATES."""
    return {
        (cluster, topic, partition, topic_id): _log(state)
        for cluster, topic, topic_id, partition, state in tuples(rows.select(list(LOG_STATES.columns)))
    }


def _log(dumped: bytes) -> LogState:
    numbers, at = np.frombuffer(dumped, dtype="<i8").astype(np.int64), 0
    parts = []
    for width in _WIDTHS:
        end = at + 1 + width * int(numbers[at])
        parts.append(iter(numbers[at + 1 : end].reshape(width, -1)))
        at = end
    stretch, producers, entries, transactions, bumped = parts
    carried = Carried(
        dict(zip(ROW, producers, strict=False)),
        States(*producers),
        Entries(*entries),
        Transactions(*(next(transactions) for _ in Transactions._fields)),
    )
    return LogState(
        KnownStretch(*(int(column[0]) for column in stretch)),
        carried,
        dict(zip(ANSWERED, transactions, strict=True)),
        dict(zip(BUMPED, bumped, strict=True)),
    )
