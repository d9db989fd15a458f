"""The lake's tables as dbt's sources: ``dbt/models/sources.yml``."""

from __future__ import annotations

from typing import Any

import yaml

from fencepost.protocols import tables

_SCHEMAS = {
    "bronze": "What was written, as captured from the brokers and clients.",
    "silver": "What the protocols' participants believed, from when to when.",
    "verdicts": "What the specification says of the rebuilt history.",
}
_HEADER = "# Generated from the tables of spark/fencepost by `make compile`; do not edit.\n"


def sources_yaml() -> str:
    """Every table with its columns and their types, as dbt reads them, in the registry's order."""
    document = {"version": 2, "sources": [_source(schema, text) for schema, text in _SCHEMAS.items()]}
    text: str = yaml.safe_dump(document, sort_keys=False, width=116, allow_unicode=True)
    return _HEADER + text


def _source(schema: str, description: str) -> dict[str, Any]:
    return {
        "name": schema,
        "description": description,
        "tables": [
            {
                "name": name,
                "description": table.doc,
                "columns": [{"name": column, "data_type": kind} for column, kind in table.columns.items()],
            }
            for table in tables()
            for folder, _, name in [table.name.partition(".")]
            if folder == schema
        ],
    }
