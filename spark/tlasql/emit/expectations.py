"""A Great Expectations suite: per invariant and step, nothing violated in the verdict coverage.

The batch has a row for each invariant and each value of the first column of the scope, with the columns
``invariant`` and ``violated`` (a count).
"""

from __future__ import annotations

import json
import uuid
from pathlib import PurePosixPath

from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.emit.origin import source_of

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "tlasql:expectations")
_WRITTEN_FOR = "1.24.1"


def suite(compiled: CompiledModule, target: str) -> dict[str, str]:
    """The suite file ``target``; its ids depend on names only, so they outlive regeneration."""
    name = PurePosixPath(target).stem
    judged = [each for each in compiled.definitions if each.mark.kind != "decision"]
    text = {
        "expectations": [_expectation(name, each, compiled.mapping.outputs.get("pages")) for each in judged],
        "id": str(uuid.uuid5(_NAMESPACE, name)),
        "meta": {
            "generated": f"from {compiled.file.as_posix()} by `tlasql compile`; do not edit",
            "great_expectations_version": _WRITTEN_FOR,
        },
        "name": name,
        "notes": None,
    }
    return {target: json.dumps(text, indent=2, ensure_ascii=False) + "\n"}


def _expectation(suite_name: str, each: Compiled, pages: str | None) -> dict[str, object]:
    mark = each.mark
    meta = {
        "invariant": mark.id,
        "kind": mark.kind,
        "grain": mark.grain,
        "formula": each.formula,
        "source": source_of(each),
        "prose": "\n\n".join(mark.prose),
    }
    if pages is not None:
        meta["page"] = str(PurePosixPath(pages) / f"{mark.id}.md")
    return {
        "description": mark.prose[0] if mark.prose else each.definition.name,
        "id": str(uuid.uuid5(_NAMESPACE, f"{suite_name}/{mark.id}")),
        "kwargs": {
            "column": "violated",
            "max_value": 0,
            # a condition of any engine: rows may come from Spark, pandas or a database
            "row_condition": {
                "column": {"name": "invariant"},
                "operator": "==",
                "parameter": mark.id,
                "type": "comparison",
            },
        },
        "meta": meta,
        "severity": mark.severity,
        "type": "expect_column_values_to_be_between",
    }
