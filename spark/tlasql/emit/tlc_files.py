"""The files with which TLC checks the marked definitions: steps as properties, and a configuration."""

from __future__ import annotations

from pathlib import PurePosixPath

from tlasql.compiler.compiled import CompiledModule
from tlasql.emit.origin import generated_from_module


def tlc_files(compiled: CompiledModule, target: str) -> dict[str, str]:
    """``<Module>Marked.tla``, which extends the module, and ``<Module>Marked.cfg``, in the folder ``target``.

    A step ``A`` becomes the property ``AProp == [][A]_<<its variables>>``, an invariant with ``@when``
    ``AClaim``; what is ``[]P`` or ``[][A]_v`` is a property itself. The configuration lists every invariant
    and property; a model adds its SPECIFICATION and CONSTANTS.
    """
    name = f"{compiled.name}Marked"
    folder = PurePosixPath(target)
    origin = generated_from_module(compiled)
    invariants, properties, written = [], [], []
    for each in (each for each in compiled.definitions if each.mark.kind != "decision"):
        own = each.definition.name
        if each.definition.always:
            properties.append(own)
        elif each.mark.kind == "step":
            written.append(f"{own}Prop ==\n    [][{each.claim}]_<<{', '.join(each.variables)}>>\n")
            properties.append(f"{own}Prop")
        elif each.claim == own:
            invariants.append(own)
        else:
            written.append(f"{own}Claim ==\n    {each.claim}\n")
            invariants.append(f"{own}Claim")
    module = [
        f"---- MODULE {name} ----",
        f"\\* {origin}",
        f"EXTENDS {compiled.name}",
        "",
        *written,
        "====",
    ]
    config = [f"\\* {origin}"]
    config += _listed("INVARIANTS", invariants)
    config += _listed("PROPERTIES", properties)
    return {
        str(folder / f"{name}.tla"): "\n".join(module) + "\n",
        str(folder / f"{name}.cfg"): "\n".join(config) + "\n",
    }


def _listed(keyword: str, names: list[str]) -> list[str]:
    return [keyword, *(f"    {name}" for name in names)] if names else []
