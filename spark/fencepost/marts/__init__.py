"""The marts: dbt's project over the lake.

dbt reads its models and says what each of them is in SQL, with what it rests on. Where there are few rows,
DuckDB runs that in this process; where there are many, dbt itself on Spark. Both write the same rows.
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
