"""The rows of one transactional id that a picture is drawn from, found by name in the marts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from fencepost.plots.reading import PlotError, between, find, overlaps, spot
from fencepost.report import printable

if TYPE_CHECKING:
    import pandas as pd

EPOCHS = "marts.fct_producer_epochs"
TRANSACTIONS = "marts.fct_transactions"
FENCINGS = "marts.fct_fencing_events"
DANGLING = "marts.fct_dangling_transactions"
EPOCH_COLUMNS = ("producer_id", "producer_epoch", "cause", "client_id", "from_time", "to_time", "epochs")
TRANSACTION_COLUMNS = ("outcome", "started_at", "ended_at", "transactions")
FENCING_COLUMNS = ("client_id", "victim_epoch", "occurred_at", "fencings")
DANGLING_COLUMNS = ("topic", "partition", "first_offset", "since")
_EPOCH_ORDER = ("from_time", "producer_id", "producer_epoch", "cause", "client_id")


@dataclass(frozen=True)
class ProducerTimeline:
    """What happened to one transactional id, as rows of ``*_COLUMNS``: an open end is NaT.

    Times are UTC and without zone. ``client_id`` of an epoch is who bumped it, of a fencing the victim's.
    ``epochs``, ``transactions`` and ``fencings`` have a column of their name that counts what a row stands
    for. ``start`` and ``end`` limit the picture, None where the rows do.
    """

    cluster: str
    transactional_id: str
    epochs: pd.DataFrame
    transactions: pd.DataFrame
    fencings: pd.DataFrame
    dangling: pd.DataFrame
    start: dt.datetime | None = None
    end: dt.datetime | None = None


def read(
    spark: SparkSession,
    transactional_id: str,
    cluster: str | None = None,
    start: dt.datetime | None = None,
    end: dt.datetime | None = None,
) -> ProducerTimeline:
    """The timeline of one transactional id between two moments (UTC, without zone). Raises PlotError."""
    epochs, fencings = spark.table(EPOCHS), spark.table(FENCINGS).where("victim_kind = 'transactional_id'")
    names = epochs.where("transactional_id is not null").select("cluster", "transactional_id")
    names = names.union(fencings.select("cluster", "victim")).distinct()
    cluster, found = find(
        [(row[0], row[1]) for row in names.collect()], transactional_id, cluster, "transactional id"
    )
    same = (F.col("cluster") == cluster) & (F.col("transactional_id") == found)
    of_victim = (F.col("cluster") == cluster) & (F.col("victim") == found)
    while_open = overlaps(start, end, "started_at", "ended_at")
    timeline = ProducerTimeline(
        cluster,
        found,
        _sorted(_epochs(epochs.where(same), overlaps(start, end)), _EPOCH_ORDER),
        _sorted(_transactions(spark.table(TRANSACTIONS).where(same), while_open), TRANSACTION_COLUMNS),
        _sorted(_fencings(fencings.where(of_victim & between("occurred_at", start, end))), FENCING_COLUMNS),
        _sorted(
            spark.table(DANGLING).where(same & between("since", None, end)).select(*DANGLING_COLUMNS),
            DANGLING_COLUMNS,
        ),
        start,
        end,
    )
    parts = (timeline.epochs, timeline.transactions, timeline.fencings, timeline.dangling)
    if all(part.empty for part in parts):
        raise PlotError(f"Nothing is known of transactional id {printable(found)!r} in that time.")
    return timeline


def _sorted(rows: DataFrame, by: Sequence[str]) -> pd.DataFrame:
    table: pd.DataFrame = rows.toPandas()
    return table.sort_values(list(by), ignore_index=True)


def _epochs(epochs: DataFrame, asked: Column) -> DataFrame:
    """One row for epochs that began alike on one spot of the picture: the newest stands for all."""
    log = Window.partitionBy("coordinator_partition").orderBy("from_position")
    # what a hole hides begins where the epoch before it ended
    begun = F.coalesce("from_time", F.lag("to_time").over(log), "to_time")
    rows = epochs.withColumn("from_time", begun).withColumnRenamed("caused_by_client_id", "client_id")
    rows = rows.where(asked)
    newest = F.struct("from_time", "from_position")
    lasts = F.count("to_time") < F.count("*")
    merged = rows.groupBy("producer_id", "cause", "client_id", spot(rows, "from_time")).agg(
        F.max_by("producer_epoch", newest).alias("producer_epoch"),
        F.min("from_time").alias("from_time"),
        F.when(~lasts, F.max("to_time")).alias("to_time"),
        F.count("*").alias("epochs"),
    )
    return merged.select(*EPOCH_COLUMNS)


def _transactions(transactions: DataFrame, asked: Column) -> DataFrame:
    """One row for transactions of one outcome on one spot of the picture; what a hole hides has no length."""
    hidden = F.when(F.col("outcome").isNull(), F.coalesce("prepared_at", "started_at"))
    rows = transactions.withColumn("ended_at", F.coalesce("completed_at", hidden)).where(asked)
    merged = rows.groupBy("outcome", spot(rows, "started_at")).agg(
        F.min("started_at").alias("started_at"),
        F.when(F.count("ended_at") == F.count("*"), F.max("ended_at")).alias("ended_at"),
        F.count("*").alias("transactions"),
    )
    return merged.select(*TRANSACTION_COLUMNS)


def _fencings(fencings: DataFrame) -> DataFrame:
    told = [F.get_json_object("evidence", f"$.{name}") for name in ("victim_client_id", "client_id")]
    merged = fencings.groupBy(
        F.coalesce(*told).alias("client_id"), "victim_epoch", spot(fencings, "occurred_at")
    ).agg(F.min("occurred_at").alias("occurred_at"), F.count("*").alias("fencings"))
    return merged.select(*FENCING_COLUMNS)
