"""One SQL file per definition, one per pass that judges several, and the manifest that lists them."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

from tlasql.compiler import Compiled, CompiledModule
from tlasql.emit.origin import generated_from, generated_from_module


def sql_files(compiled: CompiledModule, target: str) -> dict[str, str]:
    """``<id>.sql`` for each definition, ``pass_<n>.sql`` for several over one table, and ``manifest.json``,
    in the folder ``target``.
    """
    manifest = json.dumps(_manifest(compiled), indent=2, ensure_ascii=False) + "\n"
    return {**_queries(compiled, target), str(PurePosixPath(target) / "manifest.json"): manifest}


def duckdb_files(compiled: CompiledModule, target: str) -> dict[str, str]:
    """The same queries for DuckDB, in files of the same names; the manifest is beside the first ones."""
    return _queries(compiled.in_dialect("duckdb"), target)


def _queries(compiled: CompiledModule, target: str) -> dict[str, str]:
    folder = PurePosixPath(target)
    found = {str(folder / _file(each)): _text(each) for each in compiled.definitions}
    for number, each in enumerate(compiled.passes, start=1):
        comment = [f"-- {generated_from_module(compiled)}", f"-- one pass for {', '.join(each.ids)}"]
        found[str(folder / _pass_file(number))] = "\n".join([*comment, each.sql, ""])
    return found


def _file(each: Compiled) -> str:
    return f"{each.mark.id}.sql"


def _pass_file(number: int) -> str:
    return f"pass_{number}.sql"


def _text(each: Compiled) -> str:
    comment = [generated_from(each), "", *each.formula.split("\n")]
    return "\n".join([*(f"-- {line}".rstrip() for line in comment), each.sql, ""])


def _manifest(compiled: CompiledModule) -> dict[str, object]:
    return {
        "module": compiled.name,
        "generated": "by `tlasql compile`; do not edit",
        "sources": compiled.digests,
        "types": {name: str(kind) for name, kind in sorted(compiled.types.items())},
        "definitions": [
            {
                "id": each.mark.id,
                "name": each.definition.name,
                "kind": each.mark.kind,
                "severity": each.mark.severity,
                "grain": each.mark.grain,
                "transitive": each.mark.transitive,
                "file": Path(each.definition.location.file).as_posix(),
                "line": each.definition.location.line,
                "formula": each.formula,
                "prose": "\n\n".join(each.mark.prose),
                "sql": _file(each),
                **_looks_at(each, compiled),
            }
            for each in compiled.definitions
        ],
        "passes": [
            {"definitions": list(each.ids), "sql": _pass_file(number)}
            for number, each in enumerate(compiled.passes, start=1)
        ],
    }


def _looks_at(each: Compiled, compiled: CompiledModule) -> dict[str, object]:
    found = each.reach(compiled.mapping)
    entry: dict[str, object] = {"looks_at": found.looks_at, "because": found.because}
    if found.tables:
        entry["beside"] = {"tables": list(found.tables), "columns": list(found.columns)}
    return entry
