"""Which extra of this package, as pyproject.toml has them, brings what is not installed here."""

from __future__ import annotations

from importlib.util import find_spec

_OF = {"psycopg": "collect", "airflow": "airflow"}
_AUDIT = ("duckdb", "dbt", "pyspark", "great_expectations")
"""Not all of what the extra ``spark`` brings, but what an audit needs only after minutes."""


class MissingExtraError(Exception):
    """Something needs an extra; the message names it."""


def missing(module: str | None, what: str) -> str | None:
    """What to do, in one sentence, where ``what`` needs a module that is not installed; None of a module of
    this package itself.
    """
    name = (module or "").partition(".")[0]
    if name in {"", "fencepost", "tlasql"}:
        return None
    return (
        f"{what} needs `pip install 'fencepost[{_OF.get(name, 'spark')}]'` (no module {name} is installed)."
    )


def require_for_audit() -> None:
    """Raise MissingExtraError where no audit is possible."""
    for each in _AUDIT:
        if find_spec(each) is None:
            raise MissingExtraError(missing(each, "An audit, or a look at one,"))
