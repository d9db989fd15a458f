"""The runs of TLC that ``spec/<protocol>/manifest.json`` lists, and the configuration of each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_KINDS = ("model", "finding", "mutant", "twin")
_CHECKED = ("invariants", "properties")
_INHERITED = ("specification", "constants", "constraints", "symmetry", *_CHECKED)


@dataclass(frozen=True)
class Run:
    """One run of TLC: its module and configuration, and what TLC says of them.

    ``kind``: a *model* has everything that it lists; a *finding* (of a design or a release), a *mutant* (a
    planted fault) and a *twin* (the claim that a definition's situation never occurs) list one invariant or
    property, which TLC violates. ``overrides``: an operator of the module and what takes its place.
    ``states`` (all that TLC generated) and ``distinct`` are those of one worker, None where a temporal
    property is violated. ``large``: minutes to hours.
    """

    folder: Path
    name: str
    kind: str
    about: str
    module: str
    specification: str
    constants: dict[str, Any]
    overrides: dict[str, str]
    constraints: list[str]
    symmetry: str | None
    invariants: list[str]
    properties: list[str]
    states: int | None
    distinct: int | None
    seconds: float
    large: bool

    @property
    def violates(self) -> str | None:
        """The invariant or property that TLC violates."""
        return None if self.kind == "model" else (*self.invariants, *self.properties)[0]

    @property
    def definition(self) -> str | None:
        """The name of the definition that is violated: ``XProp`` and ``XReach`` are about ``X``."""
        return self.violates and re.sub("(Prop|Claim|Reach)$", "", self.violates)

    @property
    def source(self) -> Path:
        """The module's file."""
        return self.folder / f"{self.module}.tla"

    def configuration(self) -> str:
        """The configuration that TLC reads. A bounded model ends in states without a successor."""
        constants = [f"{name} = {_value(each)}" for name, each in self.constants.items()]
        constants += [f"{name} <- {each}" for name, each in self.overrides.items()]
        return "\n".join(
            [
                f"\\* {self.about}",
                f"SPECIFICATION {self.specification}",
                *_listed("CONSTANTS", constants),
                *_listed("CONSTRAINTS", self.constraints),
                *([f"SYMMETRY {self.symmetry}"] if self.symmetry else []),
                "CHECK_DEADLOCK FALSE",
                *_listed("INVARIANTS", self.invariants),
                *_listed("PROPERTIES", self.properties),
                "",
            ]
        )


def runs(folder: Path) -> list[Run]:
    """The runs of the protocol whose specification is ``folder``, in the order of its manifest.

    Raises ValueError, which names the file and the run, where an entry says what it cannot say.
    """
    manifest = read(folder)
    entries = {**manifest["bases"], **{each["name"]: each for each in manifest["runs"]}}
    found = []
    for entry in manifest["runs"]:
        try:
            found.append(_run(entry, entries, folder))
        except (ValueError, TypeError) as error:
            raise ValueError(f"{folder / 'manifest.json'}: {entry['name']}: {error}") from error
    return found


def read(folder: Path) -> dict[str, Any]:
    """The manifest as it is written."""
    return dict(json.loads((folder / "manifest.json").read_text(encoding="utf-8")))


def _run(entry: dict[str, Any], entries: dict[str, Any], folder: Path) -> Run:
    values: dict[str, Any] = {"constraints": [], "symmetry": None, "invariants": [], "properties": []}
    values |= {"overrides": {}, "large": False, **_whole(entry, entries)}
    if values["kind"] not in _KINDS:
        raise ValueError(f"`kind` is one of {', '.join(_KINDS)}")
    if values["kind"] != "model" and len(values["invariants"] + values["properties"]) != 1:
        raise ValueError(f"a {values['kind']} lists one invariant or property: the one that TLC violates")
    if "about" not in entry:
        values["about"] = _about(entry, folder)
    return Run(folder, **values)


def _whole(entry: dict[str, Any], entries: dict[str, Any]) -> dict[str, Any]:
    """An entry with what it has from its base: another entry, from which it differs in what it says.

    Constants are taken one by one. Who lists invariants or properties has no others; ``without`` leaves some
    of the base's out, ``also`` adds some.
    """
    own = {key: value for key, value in entry.items() if key not in ("base", "without", "also")}
    if "base" not in entry:
        return own
    if entry["base"] not in entries:
        raise ValueError(f"{entry['base']} is no base and no run")
    base = _whole(entries[entry["base"]], entries)
    inherited = {key: base[key] for key in _INHERITED if key in base}
    checked = [inherited.pop(key, []) for key in _CHECKED]
    if not own.keys() & set(_CHECKED):
        without, also = entry.get("without", []), entry.get("also", {})
        if strange := set(without).difference(*checked):
            raise ValueError(f"`without` names {', '.join(sorted(strange))}, which {entry['base']} has not")
        for key, names in zip(_CHECKED, checked, strict=True):
            inherited[key] = [name for name in names if name not in without] + also.get(key, [])
    constants = {**inherited.get("constants", {}), **own.get("constants", {})}
    return {**inherited, **own, "constants": constants}


def _about(entry: dict[str, Any], folder: Path) -> str:
    """Of a planted fault the comment above the operator that it is named after."""
    if entry["kind"] == "twin":
        return "TLC must violate this: the situation that the definition speaks of occurs."
    module = (folder / f"{entry['module']}.tla").read_text(encoding="utf-8")
    comment = re.search(rf"((?:^\\\* .*\n)+)^{entry['name']}\b", module, re.MULTILINE)
    if comment is None:
        raise ValueError(f"neither `about` nor a comment above its operator in {entry['module']}.tla")
    return " ".join(line.removeprefix(r"\* ") for line in comment[1].splitlines())


def _value(value: Any) -> str:
    """A constant: text is a text of TLA+; a list is a set, of numbers or model values."""
    match value:
        case bool():
            return str(value).upper()
        case list():
            return "{" + ", ".join(str(each) for each in value) + "}"
        case {"model": name}:
            return str(name)
        case str():
            return f'"{value}"'
        case _:
            return str(value)


def _listed(keyword: str, lines: list[str]) -> list[str]:
    return [keyword, *(f"    {line}" for line in lines)] if lines else []
