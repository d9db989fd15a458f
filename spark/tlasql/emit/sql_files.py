"""SQL files: one per definition, one per pass that judges several, and the manifest that lists them."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from tlasql.compiler.compiled import Compiled, CompiledModule
from tlasql.emit.origin import generated_from, generated_from_module
from tlasql.lang.source import code


def sql_files(compiled: CompiledModule, target: str) -> dict[str, str]:
    """``<id>.sql`` for each definition, and ``manifest.json``, in the folder ``target``."""
    manifest = json.dumps(_manifest(compiled), indent=2, ensure_ascii=False) + "\n"
    folder = PurePosixPath(target)
    return {**_alone(compiled, folder), str(folder / "manifest.json"): manifest}


def pass_files(compiled: CompiledModule, target: str) -> dict[str, str]:
    """``pass_<n>.sql`` for several definitions over one table."""
    folder = PurePosixPath(target)
    found = {}
    for number, each in enumerate(compiled.passes, start=1):
        comment = [f"-- {generated_from_module(compiled)}", f"-- one pass for {', '.join(each.ids)}"]
        found[str(folder / _pass_file(number))] = "\n".join([*comment, each.sql, ""])
    return found


def duckdb_files(compiled: CompiledModule, target: str) -> dict[str, str]:
    """The queries by which DuckDB judges all definitions: the passes, and the definitions that are in none.
    The manifest that ``sql_files`` writes lists them.
    """
    in_duckdb = compiled.in_dialect("duckdb")
    in_passes = {name for each in in_duckdb.passes for name in each.ids}
    alone = _alone(in_duckdb, PurePosixPath(target), in_passes)
    return {**alone, **pass_files(in_duckdb, target)}


def _alone(compiled: CompiledModule, folder: PurePosixPath, without: Collection[str] = ()) -> dict[str, str]:
    return {
        str(folder / _file(each)): _text(each) for each in compiled.definitions if each.mark.id not in without
    }


def _file(each: Compiled) -> str:
    return f"{each.mark.id}.sql"


def _pass_file(number: int) -> str:
    return f"pass_{number}.sql"


def _text(each: Compiled) -> str:
    formula = [line for line in code(each.formula) if line.strip()]
    comment = [generated_from(each), "", *formula]
    return "\n".join([*(f"-- {line}".rstrip() for line in comment), each.sql, ""])


def _manifest(compiled: CompiledModule) -> dict[str, object]:
    return {
        "module": compiled.name,
        "generated": "by `tlasql compile`; do not edit",
        "sources": compiled.digests,
        "scope": list(compiled.mapping.scope),
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
                "conjuncts": _conjuncts(each),
                "formula": each.formula,
                "prose": "\n\n".join(each.mark.prose),
                "violated": each.mark.violated,
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


def _conjuncts(each: Compiled) -> dict[str, list[str]]:
    """The text that a violation cites -> ``file:line``. No other generated file has numbers of lines."""
    if each.mark.kind == "decision":
        return {}
    return {
        conjunct: [f"{Path(place.file).as_posix()}:{place.line}" for place in places]
        for conjunct, places in each.conjuncts.items()
    }


def _looks_at(each: Compiled, compiled: CompiledModule) -> dict[str, object]:
    found = each.reach(compiled.mapping)
    entry: dict[str, object] = {"looks_at": found.looks_at, "because": found.because}
    if found.tables:
        entry["beside"] = {"tables": list(found.tables), "columns": list(found.columns)}
    return entry
