"""The marts: dbt's project over the lake.

dbt compiles each model to SQL, with the tables and models that it depends on. If there are few rows, DuckDB
runs that SQL in this process; if there are many, dbt runs it on Spark. Both write the same rows.
"""

from fencepost.marts.compiled import COMPILED, project
from fencepost.marts.project import PARSED, parse, take_parsed
from fencepost.marts.result import MartsError, MartsResult
from fencepost.marts.run import build

__all__ = [
    "COMPILED",
    "PARSED",
    "MartsError",
    "MartsResult",
    "build",
    "parse",
    "project",
    "take_parsed",
]
