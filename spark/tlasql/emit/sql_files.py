"""One SQL file per definition, and the manifest that lists them."""

from __future__ import annotations

import json
from pathlib import Path, PurePosixPath

from tlasql.compiler import Compiled, CompiledModule
from tlasql.emit.origin import generated_from


def sql_files(compiled: CompiledModule, target: str) -> dict[str, str]:
    """``<id>.sql`` for each definition and ``manifest.json``, in the folder ``target``."""
    folder = PurePosixPath(target)
    found = {str(folder / _file(each)): _text(each) for each in compiled.definitions}
    found[str(folder / "manifest.json")] = (
        json.dumps(_manifest(compiled), indent=2, ensure_ascii=False) + "\n"
    )
    return found


def _file(each: Compiled) -> str:
    return f"{each.mark.id}.sql"


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
            }
            for each in compiled.definitions
        ],
    }
