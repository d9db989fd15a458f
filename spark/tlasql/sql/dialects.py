"""The engines that definitions are compiled for."""

from __future__ import annotations

from collections.abc import Mapping

from tlasql.sql.dialect import Dialect
from tlasql.sql.duckdb import DUCKDB
from tlasql.sql.spark import SPARK

DIALECTS: Mapping[str, Dialect] = {each.name: each for each in (SPARK, DUCKDB)}
