"""The rows of one transactional id that a picture is drawn from, found by name in the marts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fencepost.plots.reading import PlotError, find, frame, limits
from fencepost.reading import Reader, rows
from fencepost.words import printable

if TYPE_CHECKING:
    import pandas as pd

EPOCHS = "marts.fct_producer_epochs"
TRANSACTIONS = "marts.fct_transactions"
FENCINGS = "marts.fct_fencing_events"
DANGLING = "marts.fct_dangling_transactions"
WAITS = "marts.fct_transaction_waits"
LIVES = "marts.fct_transactional_ids"
EPOCH_COLUMNS = ("producer_id", "producer_epoch", "cause", "client_id", "from_time", "to_time", "epochs")
TRANSACTION_COLUMNS = ("outcome", "started_at", "ended_at", "transactions")
FENCING_COLUMNS = ("client_id", "victim_epoch", "occurred_at", "fencings")
MOST_WAITS = 200
WAIT_COLUMNS = ("client_id", "producer_epoch", "began_at", "waited_ms", "waited_for")
END_COLUMNS = ("producer_epoch", "ended_at", "ended_by")
DANGLING_COLUMNS = ("topic", "partition", "first_offset", "since")
_EPOCH_ORDER = ("from_time", "producer_id", "producer_epoch", "cause", "client_id")

_NAMES = f"""
SELECT cluster, transactional_id FROM {EPOCHS} WHERE transactional_id IS NOT NULL
UNION SELECT cluster, victim FROM {FENCINGS} WHERE victim_kind = 'transactional_id'
"""
# Events on one spot of the picture, a ten-thousandth of its width, are one row. Of epochs that began alike on
# one spot that row has the newest. An epoch that a hole hides begins where the epoch before it ended.
_EPOCHS = f"""
WITH begun AS (
  SELECT producer_id, producer_epoch, cause, caused_by_client_id AS client_id, from_position, to_time,
    coalesce(from_time,
      lag(to_time) OVER (PARTITION BY coordinator_partition ORDER BY from_position), to_time) AS from_time
  FROM {EPOCHS} WHERE cluster = :cluster AND transactional_id = :name
), in_range AS (
  SELECT * FROM begun
  WHERE (:end IS NULL OR from_time <= :end) AND (:start IS NULL OR to_time IS NULL OR to_time >= :start)
), ends AS (
  SELECT min(unix_micros(from_time)) AS first,
    greatest(1, (max(unix_micros(from_time)) - min(unix_micros(from_time))) div 10000) AS step
  FROM in_range
), placed AS (
  SELECT *, (unix_micros(from_time) - first) div step AS spot FROM in_range CROSS JOIN ends
), ranked AS (
  SELECT *, row_number() OVER (
    PARTITION BY producer_id, cause, client_id, spot ORDER BY from_time DESC, from_position DESC) AS age
  FROM placed
)
SELECT producer_id, max(CASE WHEN age = 1 THEN producer_epoch END) AS producer_epoch, cause, client_id,
  min(from_time) AS from_time,
  CASE WHEN count(to_time) = count(*) THEN max(to_time) END AS to_time, count(*) AS epochs
FROM ranked GROUP BY producer_id, cause, client_id, spot
"""
# A transaction whose end a hole hides has no length.
_TRANSACTIONS = f"""
WITH ended AS (
  SELECT outcome, started_at,
    coalesce(completed_at, CASE WHEN outcome IS NULL THEN coalesce(prepared_at, started_at) END) AS ended_at
  FROM {TRANSACTIONS} WHERE cluster = :cluster AND transactional_id = :name
), in_range AS (
  SELECT * FROM ended
  WHERE (:end IS NULL OR started_at <= :end) AND (:start IS NULL OR ended_at IS NULL OR ended_at >= :start)
), ends AS (
  SELECT min(unix_micros(started_at)) AS first,
    greatest(1, (max(unix_micros(started_at)) - min(unix_micros(started_at))) div 10000) AS step
  FROM in_range
)
SELECT outcome, min(started_at) AS started_at,
  CASE WHEN count(ended_at) = count(*) THEN max(ended_at) END AS ended_at, count(*) AS transactions
FROM in_range CROSS JOIN ends GROUP BY outcome, (unix_micros(started_at) - first) div step
"""
_FENCED = f"""
WITH in_range AS (
  SELECT coalesce(get_json_object(evidence, '$.victim_client_id'), get_json_object(evidence, '$.client_id'))
    AS client_id, victim_epoch, occurred_at
  FROM {FENCINGS}
  WHERE victim_kind = 'transactional_id' AND cluster = :cluster AND victim = :name
    AND (:end IS NULL OR occurred_at <= :end) AND (:start IS NULL OR occurred_at >= :start)
), ends AS (
  SELECT min(unix_micros(occurred_at)) AS first,
    greatest(1, (max(unix_micros(occurred_at)) - min(unix_micros(occurred_at))) div 10000) AS step
  FROM in_range
)
SELECT client_id, victim_epoch, min(occurred_at) AS occurred_at, count(*) AS fencings
FROM in_range CROSS JOIN ends GROUP BY client_id, victim_epoch, (unix_micros(occurred_at) - first) div step
"""
_DANGLES = f"""
SELECT {", ".join(f"`{name}`" for name in DANGLING_COLUMNS)} FROM {DANGLING}
WHERE cluster = :cluster AND transactional_id = :name AND (:end IS NULL OR since <= :end)
"""
_WAITED = f"""
SELECT {", ".join(WAIT_COLUMNS)} FROM {WAITS}
WHERE cluster = :cluster AND transactional_id = :name
  AND (:end IS NULL OR began_at <= :end) AND (:start IS NULL OR began_at >= :start)
  AND waited_ms >= 1000
ORDER BY waited_ms DESC LIMIT {MOST_WAITS}
"""
_ENDED = f"""
SELECT {", ".join(END_COLUMNS)} FROM {LIVES}
WHERE cluster = :cluster AND transactional_id = :name AND ended_at IS NOT NULL
  AND (:end IS NULL OR ended_at <= :end) AND (:start IS NULL OR ended_at >= :start)
"""


@dataclass(frozen=True)
class ProducerTimeline:
    """What happened to one transactional id, as rows of ``*_COLUMNS``: an open end is NaT.

    Times are UTC and without zone. The ``client_id`` of an epoch is that of the client which bumped it, the
    one of a fencing is the victim's. ``epochs``, ``transactions`` and ``fencings`` have a column of their
    name with the number of events in a row. ``waits``: runs of requests that were told
    CONCURRENT_TRANSACTIONS for a second or longer; ``ends``: when the coordinator forgot the id, and why.
    ``start`` and ``end`` limit the picture, None if only the rows limit it.
    """

    cluster: str
    transactional_id: str
    epochs: pd.DataFrame
    transactions: pd.DataFrame
    fencings: pd.DataFrame
    dangling: pd.DataFrame
    waits: pd.DataFrame | None = None
    ends: pd.DataFrame | None = None
    start: dt.datetime | None = None
    end: dt.datetime | None = None


def read(
    lake: Reader,
    transactional_id: str,
    cluster: str | None = None,
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
) -> ProducerTimeline:
    """The timeline of one transactional id between two moments (UTC, without zone). Raises PlotError."""
    names = [(row["cluster"], row["transactional_id"]) for row in rows(lake.query(_NAMES))]
    cluster, name = find(names, transactional_id, cluster, "transactional id")
    parameters = {"cluster": cluster, "name": name, **limits(start, end)}

    def read(query: str, by: Sequence[str]) -> pd.DataFrame:
        return frame(lake.query(query, **parameters)).sort_values(list(by), ignore_index=True)

    timeline = ProducerTimeline(
        cluster,
        name,
        read(_EPOCHS, _EPOCH_ORDER),
        read(_TRANSACTIONS, TRANSACTION_COLUMNS),
        read(_FENCED, FENCING_COLUMNS),
        read(_DANGLES, DANGLING_COLUMNS),
        read(_WAITED, ("began_at", "client_id")) if lake.has(WAITS) else None,
        read(_ENDED, ("ended_at",)) if lake.has(LIVES) else None,
        start,
        end,
    )
    parts = (timeline.epochs, timeline.transactions, timeline.fencings, timeline.dangling)
    if all(part.empty for part in parts):
        raise PlotError(f"Nothing is known of transactional id {printable(name)!r} in that time.")
    return timeline
