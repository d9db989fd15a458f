"""Steps of an audit of producers over a generated cluster, in its own process, so that it can be measured.

    python bench/producers/transaction_steps.py FOLDER {capture,rebuild,judge,marts,gate,check}

The steps of an audit are for all protocols, as users run them. ``check`` compares silver with the
generator's ground truth, in both directions: by table, the rows that differ; and the violated and unknown
verdicts. Prints one line of JSON: the cost and the summary of the step.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

sys.path.append(str(Path(__file__).resolve().parents[1] / "fencing"))

from run_steps import run_steps

from fencepost import lake, pipeline
from fencepost.protocols.producer_epoch.protocol import PROTOCOL
from fencepost.tables import VERDICT_COVERAGE

_LOGGED = {
    "init_producer_ids": "TRUE",
    "end_txns": "error = 'NONE'",
    "add_partitions_to_txns": "TRUE",
}
"""The rows of a table that are compared, if not all are."""
_UNKNOWN = frozenset({"aborted_transactions_are_indexed", "transaction_ended_by_its_producer"})
"""No indexes of aborted transactions are generated, and the request log begins after producers were given
their first epochs.
"""


def main() -> int:
    """Run the step."""
    folder, step = Path(sys.argv[1]), sys.argv[2]
    return run_steps(folder, {step: STEPS[step]})


def differences(run: pipeline.Run) -> dict[str, Any]:
    """By table, some of the rows that only the truth or only silver has."""
    tables = {table.name: table for table in PROTOCOL.tables}
    wrong: dict[str, Any] = {}
    with duckdb.connect() as connection:
        for file in sorted((run.settings.folder / "truth").glob("*.parquet")):
            expected = f"SELECT * FROM read_parquet('{file}')"
            names = ", ".join(f'"{each[0]}"' for each in connection.sql(f"DESCRIBE {expected}").fetchall())
            connection.register("rows", lake.scan(run.catalog, tables[f"silver.{file.stem}"]))
            actual = f"SELECT {names} FROM rows WHERE {_LOGGED.get(file.stem, 'TRUE')}"
            for first, second, what in ((expected, actual, "missing"), (actual, expected, "more")):
                different = connection.sql(f"({first}) EXCEPT ALL ({second})").to_arrow_table()
                if different.num_rows:
                    wrong[f"{file.stem}: {different.num_rows} {what}"] = different.slice(0, 3).to_pylist()
    for each in lake.scan(run.catalog, VERDICT_COVERAGE).to_pylist():
        unknown = each["unknown"] and each["invariant"] not in _UNKNOWN
        if each["module"] == "ProducerEpochProps" and (each["status"] == "violated" or unknown):
            wrong[f"{each['invariant']}: {each['status']}"] = f"{each['unknown']} unknown"
    return {"wrong": wrong}


STEPS: dict[str, Callable[[pipeline.Run], Any]] = {**pipeline.STEPS, "check": differences}


if __name__ == "__main__":
    sys.exit(main())
