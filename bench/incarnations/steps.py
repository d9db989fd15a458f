"""Steps of an audit over a generated cluster, in its own process, so that it can be measured.

    python bench/incarnations/steps.py FOLDER {capture,rebuild,judge,check}

``check`` compares silver with the generator's ground truth, in both directions: by table, the rows that
differ. Prints one line of JSON: the cost and the summary of the step.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

sys.path.append(str(Path(__file__).resolve().parents[1] / "fencing"))

from run_steps import run_steps

from fencepost import lake, pipeline
from fencepost.protocols.leader_epoch.tables import (
    FETCH_POSITIONS,
    LEADER_EPOCH_FENCINGS,
    METADATA_ANSWERS,
    TABLES,
)

_OF_TABLE = {
    "broker_fencings": (LEADER_EPOCH_FENCINGS.name, "kind = 'broker'"),
    "refused": (LEADER_EPOCH_FENCINGS.name, "api_name = 'FETCH'"),
    "leader_epochs": ("silver.leader_epochs", "topic LIKE 'orders.%' AND start_offset IS NOT NULL"),
}
"""The table with the rows of a file of truth, if it has another name."""
MAY_BE_UNKNOWN = "live_may_be_unknown"
_ORIGIN = "origin_topic_id"
"""The column of truth for rows in which null is right for each column of ``_LIVE``, and any other value is
wrong.
"""
_LIVE = ("live_topic_id", "live_partition_epoch", "live_leader_epoch")
_REQUEST = ("connection", "correlation_id", "topic", "partition")
_CHANGES = "metadata_answer_partitions"
_ANSWER = ("connection", "correlation_id")
_UNSURE = " UNION ".join(
    f"SELECT client_host FROM {table} WHERE client IS NULL"
    for table in ("metadata_answers", "fetch_positions")
)


def main() -> int:
    """Run the step."""
    folder, step = Path(sys.argv[1]), sys.argv[2]
    return run_steps(folder, {step: pipeline.STEPS.get(step, differences)})


def differences(run: pipeline.Run) -> dict[str, Any]:
    """By table, some of the rows that only the truth or only silver has; and the number of clients that are
    unknown, because their instances cannot be distinguished. These are not compared, nor are answers about
    unknown caches: ``open`` is their share. Whether a client accepted a change is compared if it is known,
    and so is whose an offset is; ``unplaced``: by table, the share of rows of which only the truth tells
    that.
    """
    tables = {table.name: table for table in TABLES}
    wrong: dict[str, Any] = {}
    unplaced: dict[str, float] = {}
    with duckdb.connect() as connection:
        for table in (METADATA_ANSWERS, FETCH_POSITIONS):
            connection.register(table.name.removeprefix("silver."), lake.scan(run.catalog, table))
        connection.execute(f"CREATE TABLE unsure AS {_UNSURE}")
        connection.execute("CREATE TABLE open AS SELECT * FROM metadata_answers WHERE changed IS NULL")
        for file in sorted((run.settings.folder / "truth").glob("*.parquet")):
            name, where = _OF_TABLE.get(file.stem, (f"silver.{file.stem}", "TRUE"))
            truth = connection.read_parquet(str(file))
            columns = ", ".join(f'"{each}"' for each in truth.columns if each != MAY_BE_UNKNOWN)
            of_clients = "client_host" in truth.columns
            sure = "client_host NOT IN (SELECT client_host FROM unsure)" if of_clients else "TRUE"
            if file.stem == _CHANGES:
                sure += f" AND ({', '.join(_ANSWER)}) NOT IN (SELECT {', '.join(_ANSWER)} FROM open)"
            rows = lake.scan(run.catalog, tables[name])
            connection.register("rows", rows)
            if MAY_BE_UNKNOWN in truth.columns:
                connection.register(
                    "rows", _with_truth_where_unknown(connection, truth, _LIVE, MAY_BE_UNKNOWN)
                )
            if file.stem == _CHANGES:
                connection.register(
                    "rows", _with_truth_where_unknown(connection, truth, ("accepted",), "TRUE")
                )
            if _ORIGIN in truth.columns:
                connection.register("told", truth.to_arrow_table())
                by_request = f"FROM rows LEFT JOIN told USING ({', '.join(_REQUEST)})"
                known = f"rows.{_ORIGIN} IS NOT NULL AND told.{_ORIGIN} IS NOT NULL"
                either = f"CASE WHEN {known} THEN rows.{_ORIGIN} ELSE told.{_ORIGIN} END AS {_ORIGIN}"
                is_unplaced = f"avg((rows.{_ORIGIN} IS NULL AND told.{_ORIGIN} IS NOT NULL)::int)"
                of_sure = "WHERE rows.client_host NOT IN (SELECT client_host FROM unsure)"
                share = connection.sql(f"SELECT {is_unplaced} {by_request} {of_sure}").fetchall()
                unplaced[file.stem] = share[0][0]
                connection.register(
                    "rows",
                    connection.sql(f"SELECT rows.* REPLACE ({either}) {by_request}").to_arrow_table(),
                )
            actual = f"SELECT {columns} FROM rows WHERE {where} AND {sure}"
            expected = f"SELECT {columns} FROM read_parquet('{file}') WHERE {sure}"
            for first, second, what in ((expected, actual, "missing"), (actual, expected, "more")):
                different = connection.sql(f"({first}) EXCEPT ALL ({second})").to_arrow_table()
                if different.num_rows:
                    wrong[f"{file.stem}: {different.num_rows} {what}"] = different.slice(0, 3).to_pylist()
        unsure = connection.sql("SELECT count(*) FROM unsure").fetchall()[0][0]
        of_known = "client IS NOT NULL"
        open_share = f"SELECT avg((changed IS NULL)::int) FROM metadata_answers WHERE {of_known}"
        found_open = connection.sql(open_share).fetchall()[0][0]
    return {"wrong": wrong, "unsure": unsure, "open": found_open, "unplaced": unplaced}


def _with_truth_where_unknown(
    connection: duckdb.DuckDBPyConnection, truth: duckdb.DuckDBPyRelation, names: tuple[str, ...], where: str
) -> pa.Table:
    """``rows``, with the truth in place of null where null may be right."""
    connection.register("told", truth.to_arrow_table())
    either = "CASE WHEN {0} THEN coalesce(rows.{1}, told.{1}) ELSE rows.{1} END AS {1}"
    values = ", ".join(either.format(where, name) for name in names)
    return connection.sql(
        f"SELECT rows.* REPLACE ({values}) FROM rows LEFT JOIN told USING ({', '.join(_REQUEST)})"
    ).to_arrow_table()


if __name__ == "__main__":
    sys.exit(main())
