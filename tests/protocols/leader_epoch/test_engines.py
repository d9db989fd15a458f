"""Spark rebuilds what this process does: rows of one cluster, however they are spread."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa
import pyarrow.compute as pc

CLUSTER = "incarnations-4.1.2"
Tables = Mapping[str, pa.Table]


def test_both_engines_give_the_same_rows(
    bronze: Tables, both_engines: Callable[[Tables], tuple[Tables, Tables]]
) -> None:
    few = {name: rows.filter(pc.equal(rows["cluster"], CLUSTER)) for name, rows in bronze.items()}
    here, by_spark = both_engines(few)
    assert by_spark.keys() == here.keys()
    for name, rows in here.items():
        assert by_spark[name].schema.names == rows.schema.names, name
        assert sorted(map(repr, by_spark[name].to_pylist())) == sorted(map(repr, rows.to_pylist())), name
    assert sum(rows.num_rows > 0 for rows in here.values()) > 0.8 * len(here)
