"""Random definitions of the shapes that were wrong once: steps of several clauses, binders that share names,
folds and what looks like one, applications that have no value, names that clash, sets with duplicates, model
values.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from tlasql_judge import Claim, ModelValue
from tlasql_states import Domain

from tlasql.lang.types import parse_type

TYPES = {
    "n": "Int",
    "N": "Int",
    "verdict": "Int",
    "x_1": "Int",
    "b": "Bool",
    "key": "KEY",
    "tag": "Str",
    "s": "Set(Int)",
    "cluster": "Set(Int)",
    "live": "Set(KEY)",
    "f": "KEY -> Int",
    "g": "Int -> Int",
    "owned": "KEY -> Set(Int)",
    "r": "{at: Int, At: Int, ok: Bool}",
    "q": "Seq(Int)",
    "msgs": "Set({at: Int, At: Int, ok: Bool})",
    "two": "<<Int, Bool>>",
}
DOMAIN = Domain(
    {name: parse_type(text) for name, text in TYPES.items()},
    (0, 1, 2, 3),
    {"KEY": ("a", "b", ModelValue("nobody"), ModelValue("n_1")), "Str": ("a", "free", "x y")},
    {"N": "n_upper", "cluster": "cluster_value"},
)
MODELS = {"nobody": "Nobody", "n_1": "Other"}
CONSTANTS = {
    "Nobody": "nobody_value",
    "Other": "other_value",
    "Keys": '{"a", "b", nobody_value, other_value}',
}
MAPPING = """module = "Shapes"
[states]
table = "shapes.states"
[states.columns]
N = "n_upper"
cluster = "cluster_value"
[scope]
columns = ["cluster", "trace"]
coverage = "shapes.coverage"
covered = "covered"
[constants]
Nobody = { model = "nobody" }
Other = { model = "n_1" }
Keys = ["a", "b", { model = "nobody" }, { model = "n_1" }]
"""
_INT, _BOOL, _KEY = "Int", "Bool", "KEY"
_SETI, _SETK, _SEQ, _REC, _MSGS, _FUN, _GUN = "Set(Int)", "Set(KEY)", "Seq", "rec", "Set(rec)", "K->I", "I->I"
_VARIABLES = {
    _INT: ("n", "N", "verdict", "x_1"),
    _BOOL: ("b",),
    _KEY: ("key",),
    _SETI: ("s", "cluster"),
    _SETK: ("live",),
    _SEQ: ("q",),
    _REC: ("r",),
    _MSGS: ("msgs",),
    _FUN: ("f",),
    _GUN: ("g",),
    "Str": ("tag",),
}
_NAMES = ("x", "y", "i", "m", "x_2")
Scope = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Definition:
    """One marked definition: its text, and what it needs."""

    identity: str
    kind: str
    text: str
    guard: str | None

    def claim(self, operators: Mapping[str, str]) -> Claim:
        """What TLC judges; a step speaks of the variables in its text and in that of its operators."""
        words = set(re.findall(r"\w+", self.text.replace("]_", "] "))) | (
            {self.guard} if self.guard else set()
        )
        pending = [each for each in operators if each in words]
        while pending:
            more = set(re.findall(r"\w+", operators[pending.pop()])) - words
            words |= more
            pending += [each for each in operators if each in more]
        name = f"({self.guard} => D_{self.identity})" if self.guard else f"D_{self.identity}"
        return Claim(name, tuple(each for each in TYPES if each in words) if self.kind == "step" else ())


def module(operators: Mapping[str, str], definitions: list[Definition]) -> str:
    """The source of the module ``Shapes``."""
    lines = ["---- MODULE Shapes ----", "EXTENDS Integers, Sequences, FiniteSets, TLC"]
    lines += ["\\* @type: KEY;", "CONSTANT Nobody", "\\* @type: KEY;", "CONSTANT Other"]
    lines += ["\\* @type: Set(KEY);", "CONSTANT Keys"]
    for name, kind in TYPES.items():
        lines += [f"\\* @type: {kind};", f"VARIABLE {name}"]
    lines += operators.values()
    for each in definitions:
        when = f' @when("{each.guard}")' if each.guard else ""
        lines += [
            f'\\* @{each.kind}("{each.identity}", "info", "state"){when}',
            f"D_{each.identity} == {each.text}",
        ]
    return "\n".join([*lines, "====", ""])


def write(folder: Path, operators: Mapping[str, str], definitions: list[Definition]) -> Path:
    """The module and its mapping as files."""
    (folder / "mapping.toml").write_text(MAPPING, encoding="utf-8")
    path = folder / "Shapes.tla"
    path.write_text(module(operators, definitions), encoding="utf-8")
    return path


class Shapes:
    """Definitions drawn from ``chance``; the same chance gives the same ones."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._steps = False
        self.operators = {
            "Guard": "Guard == n # N",
            "Some": "Some(S) == CHOOSE x \\in S : TRUE",
            "Most": "Most(S) == CHOOSE x \\in S : \\A y \\in S : x >= y",
            "Above": "Above(S, x) == {y \\in S : y > x}",
            "Twice": "Twice(Op(_), x) == Op(Op(x))",
            "Known": "Known(m) == m \\in DOMAIN f",
        }
        self._folds: list[str] = []

    def folds(self, count: int) -> list[Definition]:
        """That many recursions, each with a definition that does nothing but apply it."""
        found = []
        for number in range(count):
            name = f"Fold{number}"
            self.operators[name] = self._fold(name)
            self._folds.append(name)
            found.append(Definition(f"f{number}", "invariant", f"{name}(n, N, s, q) >= verdict", None))
        return found

    def without(self, folds: list[str]) -> None:
        """Forget recursions that are refused."""
        for name in folds:
            del self.operators[name]
            self._folds.remove(name)

    def definitions(self, count: int) -> list[Definition]:
        """That many, of both kinds."""
        found = []
        for number in range(count):
            self._steps = self._chance.random() < 0.35
            guard = "Guard" if self._chance.random() < 0.1 else None
            text = self._clauses() if self._steps else self._predicate(self._chance.choice((1, 2, 2, 3)), ())
            kind = "step" if self._steps and "'" in text else "invariant"
            found.append(Definition(f"d{number}", kind, text, guard))
        return found

    def _pick(self, *choices: Callable[[], str]) -> str:
        return self._chance.choice(choices)()

    def _clauses(self) -> str:
        """A step of several clauses, each over variables of its own."""
        change = (
            "n' = n + 1",
            "n' >= n",
            "N' = N",
            "verdict' # verdict",
            "s \\subseteq s'",
            "UNCHANGED <<b, key>>",
            "\\A x \\in s : x \\in s'",
            "\\A m \\in DOMAIN f \\cap DOMAIN f' : f'[m] >= f[m]",
            "\\A m \\in live : f'[m] = f[m]",
            "\\E x \\in s' : x \\notin s",
            "[n' = n + 1]_N",
            "b' = ~b",
            "Len(q') >= Len(q)",
            "(\\A x \\in s : x > n) => n' = n",
            "live' = live \\cup {key'}",
            "IsFiniteSet(cluster) /\\ n' > n",
            "r'.at >= r.at",
            "f' = [f EXCEPT ![key] = n]",
            "g'[n] = g[n]",
            "\\A x \\in cluster : g'[x] >= g[x]",
            "PrintT(tag) /\\ n' > n",
        )
        parts = [self._chance.choice(change) for _ in range(self._chance.choice((1, 2, 2, 3)))]
        if self._chance.random() < 0.5:
            parts.insert(self._chance.randrange(len(parts) + 1), self._predicate(2, ()))
        joined = self._chance.choice((" /\\ ", " /\\ ", " /\\ ", " \\/ ", " => "))
        shown = [f"({each})" for each in parts]
        if joined == " => ":
            return f"{shown[0]} => " + " /\\ ".join(shown[1:] or shown)
        return joined.join(shown)

    def _predicate(self, depth: int, scope: Scope) -> str:  # noqa: PLR0911 (one for each shape)
        if depth <= 0:
            return self._atom(scope)
        deeper = depth - 1
        match self._chance.randrange(13):
            case 0 | 1:
                return f"({self._predicate(deeper, scope)} /\\ {self._predicate(deeper, scope)})"
            case 2 | 3:
                return f"({self._predicate(deeper, scope)} \\/ {self._predicate(deeper, scope)})"
            case 4:
                return f"({self._predicate(deeper, scope)} => {self._predicate(deeper, scope)})"
            case 5:
                return f"~({self._predicate(deeper, scope)})"
            case 6:
                return f"({self._predicate(deeper, scope)} <=> {self._predicate(deeper, scope)})"
            case 7 | 8 | 9:
                name, kind, domain = self._ranged(deeper, scope)
                body = self._predicate(deeper, (*scope, (name, kind)))
                sign = self._chance.choice(("\\A", "\\E"))
                return f"({sign} {name} \\in {domain} : {body})"
            case 10:
                return "(IF {} THEN {} ELSE {})".format(*(self._predicate(deeper, scope) for _ in range(3)))
            case 11:
                arms = " [] ".join(
                    f"{self._predicate(deeper - 1, scope)} -> {self._predicate(deeper - 1, scope)}"
                    for _ in range(2)
                )
                other = f" [] OTHER -> {self._atom(scope)}" if self._chance.random() < 0.5 else ""
                return f"(CASE {arms}{other})"
        return self._atom(scope)

    def _ranged(self, depth: int, scope: Scope) -> tuple[str, str, str]:
        taken = {name for name, _ in scope}
        name = self._chance.choice([each for each in _NAMES if each not in taken] or ["z"])
        kind = self._chance.choice((_INT, _INT, _KEY, _REC))
        return name, kind, self._of({_INT: _SETI, _KEY: _SETK, _REC: _MSGS}[kind], depth, scope)

    def _atom(self, scope: Scope) -> str:
        def integer() -> str:
            return self._of(_INT, 2, scope)

        def compared() -> str:
            return f"{integer()} {self._chance.choice(('=', '#', '<', '<=', '>', '>='))} {integer()}"

        def alike() -> str:
            kind = self._chance.choice((_KEY, _SETI, _SETK, _SEQ, _REC, _MSGS, _FUN, _GUN))
            return f"{self._of(kind, 2, scope)} {self._chance.choice(('=', '#'))} {self._of(kind, 2, scope)}"

        def inside() -> str:
            kind, whole = self._chance.choice(((_INT, _SETI), (_KEY, _SETK), (_REC, _MSGS)))
            sign = self._chance.choice(("\\in", "\\notin"))
            return f"{self._of(kind, 2, scope)} {sign} {self._of(whole, 2, scope)}"

        def typed() -> str:
            return self._chance.choice(
                (
                    f"{integer()} \\in Nat",
                    f"{integer()} \\in Int",
                    f"{self._of(_SETI, 2, scope)} \\in SUBSET {{0, 1, n}}",
                    f"f \\in [{self._of(_SETK, 1, scope)} -> {self._of(_SETI, 1, scope)}]",
                    f"{self._of(_SEQ, 2, scope)} \\in Seq({self._of(_SETI, 1, scope)})",
                    f"{self._of(_SETI, 2, scope)} \\subseteq {self._of(_SETI, 2, scope)}",
                    f"{self._of(_REC, 1, scope)} \\in "
                    f"[at : {self._of(_SETI, 1, scope)}, At : Int, ok : BOOLEAN]",
                    f"IsFiniteSet({self._of(_SETI, 2, scope)})",
                    'tag = "free"',
                    "two[2]",
                    f"<<{integer()}, b>> = two",
                    f"{integer()} \\in {{x \\in Nat : x > {self._of(_INT, 1, ())}}}",
                )
            )

        flags = [name for name, kind in scope if kind == _REC]
        more = [lambda: f"{self._chance.choice(flags)}.ok"] if flags else []
        return f"({self._pick(compared, compared, alike, inside, typed, lambda: 'b', *more)})"

    def _of(self, kind: str, depth: int, scope: Scope) -> str:
        """An expression of a type."""
        if depth <= 0 or self._chance.random() < 0.35:
            own = [name for name, of in scope if of == kind]
            if own and self._chance.random() < 0.7:
                return self._chance.choice(own)
            return self._leaf(kind)
        made = {
            _INT: self._integer,
            _KEY: self._key,
            _SETI: self._integers,
            _SETK: self._keys,
            _SEQ: self._sequence,
            _REC: self._record,
            _MSGS: self._records,
            _FUN: self._function,
            _GUN: self._numbered,
        }[kind]
        return made(depth - 1, scope)

    def _leaf(self, kind: str) -> str:
        literals = {
            _INT: ("0", "1", "2"),
            _KEY: ('"a"', "Nobody", "Other"),
            _SETI: ("{}", "{0, 1}", "0 .. 2"),
            _SETK: ("Keys", '{"a", Nobody}', "DOMAIN f", "DOMAIN owned"),
            _SEQ: ("<<1, 2>>", "<<n, n>>"),
            _REC: ("[at |-> 1, At |-> 2, ok |-> TRUE]",),
            _MSGS: ("{r}",),
            _FUN: ("f",),
            _GUN: ("g",),
        }
        if self._chance.random() < 0.4:
            return self._chance.choice(literals[kind])
        name = self._chance.choice(_VARIABLES[kind])
        return f"{name}'" if self._steps and self._chance.random() < 0.3 else name

    def _integer(self, depth: int, scope: Scope) -> str:
        def of(kind: str) -> str:
            return self._of(kind, depth, scope)

        fold = self._chance.choice(self._folds or ["no_fold"])
        folded = f"{fold}({of(_INT)}, {of(_INT)}, {of(_SETI)}, {of(_SEQ)})" if self._folds else "N"
        return self._chance.choice(
            (
                lambda: folded,
                lambda: folded,
                lambda: f"({of(_INT)} + {of(_INT)})",
                lambda: f"({of(_INT)} - {of(_INT)})",
                lambda: f"({of(_INT)} * {of(_INT)})",
                lambda: f"({of(_INT)} \\div {of(_INT)})",
                lambda: f"({of(_INT)} % {of(_INT)})",
                lambda: f"{of(_FUN)}[{of(_KEY)}]",
                lambda: f"{of(_FUN)}[{of(_KEY)}]",
                lambda: f"{of(_GUN)}[{of(_INT)}]",
                lambda: f"{of(_SEQ)}[{of(_INT)}]",
                lambda: f"Head({of(_SEQ)})",
                lambda: f"Len({of(_SEQ)})",
                lambda: f"Cardinality({of(_SETI)})",
                lambda: f"Cardinality({of(_SETK)})",
                lambda: f"{of(_REC)}.at",
                lambda: f"{of(_REC)}.At",
                lambda: f"Some({of(_SETI)})",
                lambda: f"Most({of(_SETI)})",
                lambda: f"(IF {self._predicate(depth - 1, scope)} THEN {of(_INT)} ELSE {of(_INT)})",
                lambda: (
                    f"(CASE {self._predicate(depth - 1, scope)} -> {of(_INT)}"
                    f" [] {self._atom(scope)} -> {of(_INT)})"
                ),
                lambda: f"Twice(LAMBDA z : z + {of(_INT)}, {of(_INT)})",
                lambda: f"({of(_INT)} ^ 2)",
                lambda: f"(LET y_1 == {of(_INT)} IN y_1 * y_1)",
                lambda: f"-{of(_INT)}",
                lambda: f"Cardinality(SUBSET {{n, {of(_INT)}}})",
            )
        )()

    def _key(self, depth: int, scope: Scope) -> str:
        return self._chance.choice(
            (
                lambda: f"(CHOOSE m \\in {self._of(_SETK, depth, ())} : TRUE)",
                lambda: f"(IF {self._atom(scope)} THEN {self._of(_KEY, depth, scope)} ELSE key)",
                lambda: "key",
            )
        )()

    def _integers(self, depth: int, scope: Scope) -> str:
        def of(kind: str) -> str:
            return self._of(kind, depth, scope)

        name = self._chance.choice([each for each in _NAMES if each not in {n for n, _ in scope}] or ["z"])
        inner = (*scope, (name, _INT))
        return self._chance.choice(
            (
                lambda: f"({of(_SETI)} \\cup {of(_SETI)})",
                lambda: f"({of(_SETI)} \\cap {of(_SETI)})",
                lambda: f"({of(_SETI)} \\ {of(_SETI)})",
                lambda: f"{{{of(_INT)}, {of(_INT)}}}",
                lambda: f"({of(_INT)} .. {of(_INT)})",
                lambda: f"owned[{of(_KEY)}]",
                lambda: f"{{{name} \\in {of(_SETI)} : {self._predicate(depth, inner)}}}",
                lambda: f"{{{self._of(_INT, depth, inner)} : {name} \\in {of(_SETI)}}}",
                lambda: f"UNION {{owned[{name}] : {name} \\in {of(_SETK)}}}",
                lambda: f"Above({of(_SETI)}, {of(_INT)})",
                lambda: "DOMAIN g",
                lambda: f"DOMAIN {of(_SEQ)}",
                lambda: f"DOMAIN {of(_GUN)}",
            )
        )()

    def _keys(self, depth: int, scope: Scope) -> str:
        def of(kind: str) -> str:
            return self._of(kind, depth, scope)

        name = self._chance.choice([each for each in _NAMES if each not in {n for n, _ in scope}] or ["z"])
        return self._chance.choice(
            (
                lambda: f"({of(_SETK)} \\cup {of(_SETK)})",
                lambda: f"({of(_SETK)} \\ {of(_SETK)})",
                lambda: f"{{{of(_KEY)}, {of(_KEY)}}}",
                lambda: f"DOMAIN {of(_FUN)}",
                lambda: "Keys",
                lambda: f"{{{name} \\in {of(_SETK)} : {self._predicate(depth, (*scope, (name, _KEY)))}}}",
            )
        )()

    def _sequence(self, depth: int, scope: Scope) -> str:
        def of(kind: str) -> str:
            return self._of(kind, depth, scope)

        return self._chance.choice(
            (
                lambda: f"Append({of(_SEQ)}, {of(_INT)})",
                lambda: f"({of(_SEQ)} \\o {of(_SEQ)})",
                lambda: f"Tail({of(_SEQ)})",
                lambda: f"SubSeq({of(_SEQ)}, {of(_INT)}, {of(_INT)})",
                lambda: f"[{of(_SEQ)} EXCEPT ![{of(_INT)}] = {of(_INT)}]",
                lambda: "[i \\in 1 .. Len(q) |-> q[Len(q) + 1 - i]]",
                lambda: (
                    f"SelectSeq({of(_SEQ)}, LAMBDA z : {self._predicate(depth - 1, (*scope, ('z', _INT)))})"
                ),
                lambda: f"<<{of(_INT)}, {of(_INT)}>>",
            )
        )()

    def _record(self, depth: int, scope: Scope) -> str:
        def of(kind: str) -> str:
            return self._of(kind, depth, scope)

        return self._chance.choice(
            (
                lambda: f"[r EXCEPT !.at = {of(_INT)}]",
                lambda: f"[{of(_REC)} EXCEPT !.At = @ + {of(_INT)}]",
                lambda: f"[at |-> {of(_INT)}, At |-> {of(_INT)}, ok |-> {self._atom(scope)}]",
                lambda: f"(CHOOSE m \\in {self._of(_MSGS, depth, ())} : m.ok)",
            )
        )()

    def _records(self, depth: int, scope: Scope) -> str:
        def of(kind: str) -> str:
            return self._of(kind, depth, scope)

        name = self._chance.choice([each for each in _NAMES if each not in {n for n, _ in scope}] or ["z"])
        inner = (*scope, (name, _REC))
        return self._chance.choice(
            (
                lambda: f"(msgs \\cup {{{of(_REC)}}})",
                lambda: f"{{{name} \\in msgs : {self._predicate(depth, inner)}}}",
                lambda: f"{{{self._of(_REC, depth, inner)} : {name} \\in msgs}}",
                lambda: f"[at : {of(_SETI)}, At : {{n}}, ok : {{b}}]",
            )
        )()

    def _function(self, depth: int, scope: Scope) -> str:
        def of(kind: str) -> str:
            return self._of(kind, depth, scope)

        name = self._chance.choice([each for each in _NAMES if each not in {n for n, _ in scope}] or ["z"])
        return self._chance.choice(
            (
                lambda: f"[{of(_FUN)} EXCEPT ![{of(_KEY)}] = {of(_INT)}]",
                lambda: f"[{of(_FUN)} EXCEPT ![{of(_KEY)}] = @ + {of(_INT)}]",
                lambda: f"({of(_FUN)} @@ ({of(_KEY)} :> {of(_INT)}))",
                lambda: f"[{name} \\in {of(_SETK)} |-> {self._of(_INT, depth, (*scope, (name, _KEY)))}]",
            )
        )()

    def _numbered(self, depth: int, scope: Scope) -> str:
        def of(kind: str) -> str:
            return self._of(kind, depth, scope)

        name = self._chance.choice([each for each in _NAMES if each not in {n for n, _ in scope}] or ["z"])
        return self._chance.choice(
            (
                lambda: f"[{of(_GUN)} EXCEPT ![{of(_INT)}] = {of(_INT)}]",
                lambda: f"[{name} \\in {of(_SETI)} |-> {self._of(_INT, depth, (*scope, (name, _INT)))}]",
                lambda: f"[{name} \\in s |-> {self._of(_INT, depth, (*scope, (name, _INT)))}]",
            )
        )()

    def _fold(self, name: str) -> str:
        """A recursion that is a fold, or nearly one."""

        def of(right: str, *others: str) -> str:
            return right if self._chance.random() < 0.7 else self._chance.choice(others)

        over = self._chance.choice(("range", "set", "sequence"))
        if over == "range":
            up = self._chance.random() < 0.5
            stop = of(
                "lo > hi" if up else "lo = 0", "lo >= hi", "lo = hi", "hi < lo", "hi = 0", "lo <= 0", "lo < 1"
            )
            low = of("lo + 1" if up else "lo - 1", "lo - 1", "lo + 1", "lo + 2")
            again = f"{name}({low}, {of('hi', 'hi + 1', 'hi + (-1)', 'hi - 1', 'hi + lo')}, S, t)"
            element = of("lo", "hi", "1", "g[lo]", "lo * lo")
        elif over == "set":
            stop = of("S = {}", "Cardinality(S) = 0", "S # {}", "Cardinality(S) <= 1")
            chosen = of("TRUE", "x > 0", "\\A y \\in S : x <= y", "x = x")
            again = f"{name}(lo, {of('hi', 'hi + lo', 'hi + e', 'lo')}, S \\ {{e}}, t)"
            element = of("e", "1", "g[e]", "Cardinality(S)")
        else:
            stop = of("t = <<>>", "Len(t) = 0", "t # <<>>", "Len(t) <= 1")
            again = f"{name}(lo, {of('hi', 'hi + Head(t)', 'hi + 1')}, S, Tail(t))"
            element = of("Head(t)", "t[1]", "1", "Len(t)", "g[Head(t)]")
        step = of(
            f"{element} + {again}",
            f"{again} + {element}",
            again,
            f"{element} - {again}",
            f"IF {element} > 1 THEN {element} + {again} ELSE {again}",
            f"LET below == {again} IN IF {element} > below THEN {element} ELSE below",
        )
        base = of("0", "hi", "lo", "Cardinality(S)", "g[hi]", "N")
        form = of(
            "IF {0} THEN {1} ELSE {2}",
            "CASE {0} -> {1} [] OTHER -> {2}",
            "CASE {0} -> {1} [] ~({0}) -> {2}",
            "IF ~({0}) THEN {2} ELSE {1}",
            "CASE {0} -> {1} [] hi > 0 -> {2}",
        )
        body = form.format(stop, base, step)
        if over == "set":
            body = f"LET e == CHOOSE x \\in S : {chosen} IN {body}"
        return f"RECURSIVE {name}(_, _, _, _)\n{name}(lo, hi, S, t) == {body}"
