"""Conditions choose the same rows in Arrow, in DuckDB's SQL and in Spark's."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import duckdb
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from fencepost.conditions import Where, Within
from fencepost.conditions.arrow import filter_rows
from fencepost.conditions.sql import in_duckdb, in_spark
from fencepost.reading.translate import parsed, to_duckdb

_TEXTS = st.sampled_from(["", "a", "it's", 'a "name"', "\\", "é"])
_NUMBERS = st.integers(-2, 2)
_TIMES = _NUMBERS.map(lambda each: datetime(2026, 11, 24, tzinfo=UTC) + timedelta(microseconds=each))
_SCHEMA = pa.schema([("na me", pa.string()), ("n", pa.int64()), ("t", pa.timestamp("us", tz="UTC"))])


def _bounds(values: st.SearchStrategy[int] | st.SearchStrategy[datetime]) -> st.SearchStrategy[object]:
    return st.builds(Within, least=st.none() | values, below=st.none() | values)


def _wanted(values: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    return st.none() | values | st.frozensets(st.none() | values)


_rows = st.lists(st.tuples(st.none() | _TEXTS, st.none() | _NUMBERS, st.none() | _TIMES))
_conditions = st.fixed_dictionaries(
    {},
    optional={
        "na me": _wanted(_TEXTS),
        "n": _wanted(_NUMBERS) | _bounds(_NUMBERS),
        "t": _wanted(_TIMES) | _bounds(_TIMES),
    },
)


@given(values=_rows, where=st.lists(_conditions, max_size=3))
def test_a_condition_chooses_the_same_rows(values: list[tuple[object, ...]], where: Where) -> None:
    rows = pa.Table.from_pylist([dict(zip(_SCHEMA.names, each, strict=True)) for each in values], _SCHEMA)
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        connection.register("rows", rows)
        translated = to_duckdb(parsed(f"SELECT * FROM rows WHERE {in_spark(where)}"))
        for query in (f"SELECT * FROM rows WHERE {in_duckdb(where)}", translated):
            chosen = connection.sql(query).to_arrow_table()
            assert chosen.cast(_SCHEMA).to_pylist() == filter_rows(rows, where).to_pylist()
