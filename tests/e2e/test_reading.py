"""What is read without Spark is what Spark sees: every table and view of the audited lake."""

from __future__ import annotations

from typing import Any

import duckdb

from fencepost.reading import open_lake, over


def test_every_table_is_the_same_to_both_readers(audit: Any) -> None:
    through_spark = over(audit.spark)
    compared = 0
    with open_lake(audit.settings) as lake:
        assert lake.engine == "duckdb"
        for schema in ("silver", "verdicts", "staging", "marts"):
            names = {row["tableName"] for row in audit.spark.sql(f"SHOW TABLES IN {schema}").collect()}
            names |= {row["viewName"] for row in audit.spark.sql(f"SHOW VIEWS IN {schema}").collect()}
            for name in sorted(names):
                expected, found = (each.scan(f"{schema}.{name}") for each in (through_spark, lake))
                assert found.schema.names == expected.schema.names, name
                assert found.schema.types == expected.schema.types, name
                assert found.num_rows == expected.num_rows, name
                differ = duckdb.sql("SELECT * FROM found EXCEPT ALL SELECT * FROM expected").fetchall()
                assert differ == [], name
                compared += 1
    assert compared > 40
