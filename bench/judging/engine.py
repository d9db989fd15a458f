"""Runs judging queries over a trace's tables, in its own process, so that it can be measured.

    python engine.py {spark,duckdb} FOLDER < {"<query>": {"sql": ..., "shown": ...}, ...}

Each query has the columns ``definition`` and ``verdict``; ``shown`` are the columns to keep of the first
violation. Prints JSON: per query its seconds, the counts of verdicts (true, false, unknown) of each
definition and the first violation.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

TABLES = ("members", "consumer_group", "coverage")
Ask = Callable[[str], list[tuple[Any, ...]]]


def main() -> int:
    """Measure one run."""
    engine, folder, queries = sys.argv[1], Path(sys.argv[2]), json.load(sys.stdin)
    ask, close = (on_spark if engine == "spark" else on_duckdb)(folder)
    results = {}
    for identity, query in queries.items():
        begun = time.monotonic()
        first = f"min(CASE WHEN NOT verdict THEN {query['shown']} END)"
        counts = "count_if(verdict), count_if(NOT verdict), count_if(verdict IS NULL)"
        rows = ask(f"SELECT definition, {counts}, {first} FROM ({query['sql']}) GROUP BY definition")
        results[identity] = {
            "seconds": time.monotonic() - begun,
            "verdicts": {definition: counted for definition, *counted, _ in rows},
            "first": {definition: str(shown) for definition, *_, shown in rows if shown is not None},
        }
    sys.stdout.write(json.dumps(results))
    close()
    return 0


def on_spark(folder: Path) -> tuple[Ask, Callable[[], None]]:
    """Spark on two cores."""
    from pyspark.sql import SparkSession

    session = (
        SparkSession.builder.master("local[2]")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.shuffle.partitions", 8)
        .config("spark.ui.enabled", False)
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    for table in TABLES:
        session.read.parquet(str(folder / f"{table}.parquet")).createOrReplaceTempView(table)
    return lambda sql: [tuple(row) for row in session.sql(sql).collect()], session.stop


def on_duckdb(folder: Path) -> tuple[Ask, Callable[[], None]]:
    """DuckDB on two cores."""
    import duckdb

    connection = duckdb.connect(config={"threads": 2})
    connection.execute("SET TimeZone = 'UTC'")
    for table in TABLES:
        connection.execute(f"CREATE VIEW {table} AS FROM read_parquet('{folder / table}.parquet')")
    return lambda sql: connection.execute(sql).fetchall(), connection.close


if __name__ == "__main__":
    sys.exit(main())
