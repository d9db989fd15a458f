"""The marked definitions of a module, by annotations, headers or theorems; and marks that fit none."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path

from tlasql.lang.errors import Diagnostic
from tlasql.lang.source import content
from tlasql.lang.words import counted
from tlasql.read.marks import Annotations, Mark, duplicates, implied, read_annotations, unattached
from tlasql.read.module import TEMPORAL, Definition, Module

_LEVELS = ("a constant", "a state predicate", "an action")
_CONFIGURED = re.compile(r"^(?:INVARIANTS?|PROPERT(?:Y|IES))$")
_OF_TLC = re.compile(r"^[A-Z_]{4,}$")
_COMMENT_OF_TLC = re.compile(r"\\\*[^\n]*|\(\*.*?\*\)", re.DOTALL)
Marked = list[tuple[Mark, Definition]]


def module_annotations(parsed: Module) -> list[Annotations]:
    """The annotations of a module, and of all that it extends or instantiates."""
    sources = {name: parsed.source(name) for name in parsed.every}
    texts = {name: content(path) for name, path in sources.items() if path.is_file()}
    return [read_annotations(str(sources[name]), texts[name]) for name in parsed.modules if name in texts]


def configured(module: Path, named: Container[str]) -> list[str]:
    """The definitions that TLC's configurations beside a module name as invariants or properties."""
    found: dict[str, None] = {}
    for each in sorted(module.parent.glob("*.cfg")):
        claims = False
        for word in _COMMENT_OF_TLC.sub("", each.read_text(encoding="utf-8", errors="replace")).split():
            if _CONFIGURED.match(word) or (_OF_TLC.match(word) and word not in named):
                claims = _CONFIGURED.match(word) is not None
            elif claims and word in named:
                found[word] = None
    return list(found)


def marked_definitions(parsed: Module, notes: list[Annotations]) -> tuple[Marked, list[Diagnostic]]:
    """Each mark with its definition, in the order of the source, and the marks that have none or one id."""
    own, wrong = _attached(parsed, [mark for each in notes for mark in each.marks])
    claimed, unclear = _implied(parsed, notes, {definition.uid for _, definition in own})
    marked = sorted(own + claimed, key=lambda pair: pair[1].location)
    return marked, [*wrong, *unclear, *duplicates([mark for mark, _ in marked])]


def misfits(mark: Mark, definition: Definition) -> list[Diagnostic]:
    """Is the definition of the level and arity its mark needs?"""
    found = []
    name, level = definition.name, definition.level
    if level == TEMPORAL:
        message = f"{name} is a temporal formula, and a log has no end: @{mark.kind} is of states or steps"
        return [Diagnostic(definition.location, message, "claim what is true of each state, or of each step")]
    if mark.kind == "step" and level != 2:
        remedy = "a step relates a state and the next: prime a variable, or mark it @invariant"
        found.append(Diagnostic(definition.location, f"{name} is {_LEVELS[level]}, no action", remedy))
    if mark.kind != "step" and level > 1:
        message = f"{name} is {_LEVELS[level]}, @{mark.kind} needs a state predicate"
        found.append(Diagnostic(definition.location, message, "mark it @step"))
    wanted = 1 if mark.kind == "decision" else 0
    if len(definition.parameters) != wanted:
        has = counted(len(definition.parameters), "parameter")
        message = f"{name} has {has}, @{mark.kind} needs {wanted}"
        remedy = "the record to decide" if wanted else "quantify over the values instead"
        found.append(Diagnostic(definition.location, message, remedy))
    return found


def _attached(parsed: Module, marks: list[Mark]) -> tuple[Marked, list[Diagnostic]]:
    definitions = parsed.definitions()
    found, problems = [], []
    for mark in sorted(marks, key=lambda each: each.location):
        here = [
            each
            for each in definitions
            if each.location.file == mark.location.file and each.location.line == mark.before_line
        ]
        if len(here) == 1:
            found.append((mark, here[0]))
        elif here:
            names = ", ".join(each.name for each in here)
            message = f"this mark stands before several definitions: {names}"
            problems.append(Diagnostic(mark.location, message, "begin each definition on a line of its own"))
        else:
            problems.append(unattached(mark.location))
    return found, problems


def _implied(parsed: Module, notes: list[Annotations], taken: set[int]) -> tuple[Marked, list[Diagnostic]]:
    """Marks for the definitions that headers and theorems claim and that have no mark of their own."""
    definitions = {each.name: each for each in parsed.definitions()}
    claims: dict[int, tuple[Mark, Definition]] = {}
    problems = []
    for header in (header for each in notes for header in each.headers):
        definition = definitions.get(header.name)
        if definition is None:
            message = f"this header names {header.name}, which is not defined"
            problems.append(Diagnostic(header.location, message, "name the definition below it"))
        elif definition.uid not in taken:
            claims.setdefault(definition.uid, _claim(definition, header.prose))
    claimed = parsed.claimed() - taken
    for definition in definitions.values():
        if definition.uid in claimed:
            claims.setdefault(definition.uid, _claim(definition, ()))
    return list(claims.values()), problems


def _claim(definition: Definition, prose: tuple[str, ...]) -> tuple[Mark, Definition]:
    kind = "step" if definition.level == 2 else "invariant"
    where = definition.location
    return implied(definition.name, kind, prose, where, where.line), definition
