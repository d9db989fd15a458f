"""The lake's tables as dbt's sources: a ``sources.yml`` beside the models of each protocol, and of all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from fencepost.protocols import protocols, tables
from fencepost.tables import Table

SHARED = "shared"
"""The folder of the models that are of no one protocol."""

_SCHEMAS = {
    "bronze": "What was written, as captured from the brokers and clients.",
    "silver": "What the protocols' participants believed, from when to when.",
    "verdicts": "What the specification says of the rebuilt history.",
}
_HEADER = "# Generated from the tables of spark/fencepost by `make compile`; do not edit.\n"


def sources() -> dict[str, str]:
    """``{"<folder>/sources.yml": text}``: each table with its columns and their types."""
    own = {each.name: (*each.bronze, *each.tables) for each in protocols()}
    of_one = {table.name for each in own.values() for table in each}
    shared = tuple(table for table in tables() if table.name not in of_one)
    return {f"{name}/sources.yml": _yaml(each) for name, each in (own | {SHARED: shared}).items()}


def _yaml(of: Sequence[Table]) -> str:
    sources = [_source(schema, text, of) for schema, text in _SCHEMAS.items()]
    document = {"version": 2, "sources": [source for source in sources if source["tables"]]}
    text: str = yaml.safe_dump(document, sort_keys=False, width=116, allow_unicode=True)
    return _HEADER + text


def _source(schema: str, description: str, of: Sequence[Table]) -> dict[str, Any]:
    return {
        "name": schema,
        "description": description,
        "tables": [
            {
                "name": name,
                "description": table.doc,
                "columns": [{"name": column, "data_type": kind} for column, kind in table.columns.items()],
            }
            for table in of
            for folder, _, name in [table.name.partition(".")]
            if folder == schema
        ],
    }
