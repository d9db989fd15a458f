r"""What SANY refuses, in words that say what to write: by its own words, and by the text at their place."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from difflib import get_close_matches

from tlasql.lang.errors import Diagnostic, Location
from tlasql.lang.source import code
from tlasql.lang.words import counted

_ENCOUNTERED = re.compile(r'Encountered "(.*?)" at line \d+, column \d+ and token "(.*)"$')
_COMPLETE = "complete it: a bracket is closed, IF has THEN and ELSE, LET has IN, a quantifier has :"
_MISSING = "look in front of it for what is missing: an operator, a comma, a bracket, ELSE or IN"
_COMMENT = "a comment begins with \\*, or stands between (* and *)"
_CAPITALS = "write IF, THEN, ELSE, LET, IN and CASE in capitals"
_INSIDE = r"(?:[^{}]|\{[^{}]*\})*"
"""A part of a set's text, with sets in it."""
_WRITTEN_OUT = (
    "a record is [a |-> e], without quotes; a function is [x \\in S |-> e], or of the module TLC "
    '"a" :> 1 @@ "b" :> 2'
)
_NOT_EQUAL, _FUNCTION = "write # or /= for not equal", "a function is [x \\in S |-> e]"
_PLACES = (
    (r"^-+ *MODULE\b", r"", "the name of a module has letters, digits and _ alone, as that of its file"),
    (r"", r"EXTENDS\b", "EXTENDS stands once, directly below the name of the module"),
    (r"^\w+\([^=]*$", r"<<", "a parameter is one name, F(p), and its parts are p[1] and p[2]"),
    (r"\bLET\b.*$", r"<<", "LET defines one name at a time: LET a == e[1]  b == e[2] IN ..."),
    (r"\bLET\s*$", r"\w+\s*=(?!=)", "a definition has =="),
    (r"\bUNCHANGED\s+\w+\s*$", r",", "several are a tuple: UNCHANGED <<a, b>>"),
    (r"(?<!\w)\([^()]*$", r",", "a tuple is written <<a, b>>"),
    (r"\bEXCEPT\b.*,\s*$", r"\[|\.", "each change begins with !: [f EXCEPT ![x] = e, ![y] = e]"),
    (
        rf"\{{[^{{}}:]*:\s*\w+\s*\\in\b{_INSIDE},{_INSIDE}$",
        r"",
        "of a part of a set write {e : x \\in {y \\in S : P}}",
    ),
    (
        rf"\{{\s*\w+\s*\\in\b(?!.*:){_INSIDE},{_INSIDE}$",
        r":",
        "of several sets write {<<x, y>> \\in S \\X T : P}",
    ),
    (rf"\{{\s*\w+\s*\\in\b{_INSIDE}:{_INSIDE}$", r",", "write /\\ for and"),
    (r"\bLET\b(?!.*\bIN\b).*==.*$", r",", "definitions in LET follow one another without commas"),
    (r"\w\[[^\[\]\\]*$", r":", "a part of a sequence is SubSeq(q, 1, 2)"),
    (r"\bCASE\b.*->.*$", r",", "in CASE, [] stands between two tests"),
    (r"""[\[{]\s*(?:"[^"]*"|\d+)\s*$""", r":(?!>)|->|\|->", _WRITTEN_OUT),
    (r"""\{\s*(?:"[^"]*"|\w+)\s*:\s*$""", r"", _WRITTEN_OUT),
    (r"\[[^\[\]]*\\in\b[^\[\]]*$", r"->|:", _FUNCTION),
    (r"\[\s*\w+\s*\\in\b[^\[\]]*$", r"\]_", "[x \\in begins a function: write [(x \\in S) => ...]_v"),
    (r"\bCASE\b.*$", r":", "in CASE, -> follows a test"),
    (r"^\s*#", r"", _COMMENT),
    (r"^\s*$", r"#", _COMMENT),
    (r"^\s*$", r"@\w+", "a mark stands in a comment: \\* @invariant(...)"),
    (r"", r"->|(?:\w+\s*)?==>", "write => for implies"),
    (r"\b(?i:for ?all|all|every|each)\s*$", r"", "write \\A x \\in S : ..."),
    (r"\b(?i:exists|some|any)\s*$", r"", "write \\E x \\in S : ..."),
    (r"\b(?:if|then|else|let|case)\s*$", r"", _CAPITALS),
    (r"\|\s*$", r"", "write Cardinality(S) for the number of its elements"),
    (r"\\E\s*$", r"!", "of one alone, write \\E x \\in S : P(x) /\\ \\A y \\in S : P(y) => y = x"),
    (r"\\[AE]\s*$", r"\(", "the parts of a tuple stand in << and >>: \\A <<a, b>> \\in S : ..."),
    (r"\.\s*\w+\s*$", r"\(", "nothing is called by a dot: x \\in S, Len(q), F(x)"),
    (r"==\s*$", r"LAMBDA\b", "LAMBDA is an argument; by itself write F(x) == e"),
    (r"", r"in\b", "write \\in"),
    (r"", r"(?i:and)\b", "write /\\ for and"),
    (r"", r"(?i:or)\b", "write \\/ for or"),
    (r"", r"(?i:not)\b", "write ~ for not"),
    (r"", r"(?i:mod)\b", "write % for the remainder"),
    (r"", r"(?:if|then|else|let|case)\b", _CAPITALS),
    (r"\bEXCEPT\b[^\]]*\]\s*$", r"[-+*]=", "the old value is @: [f EXCEPT ![x] = @ + 1]"),
    (r"EXCEPT\s*!?\s*$", r'\[|\.|\w|"', "write [f EXCEPT ![x] = e]"),
    (r"(?:!|=\s*!|<>)=?\s*$", r"", _NOT_EQUAL),
    (r"", r"<>|!=", _NOT_EQUAL),
    (r"", r"!\s*[\w(]", "write ~ for not"),
    (r"[-+*]=\s*$", r"", "nothing is assigned: x' = x + 1 says what the next state has"),
    (r"(?<!\w)'\s*$", r"", 'a string stands in double quotes: "..."'),
    (r"\bEXCEPT\b.*$", r"\|->", "in EXCEPT, = follows what is changed: [f EXCEPT ![x] = e]"),
    (r"//.*$", r"", _COMMENT),
    (r"\S.*$", r"\W*(?:\w+\s*)?(?:\(.*?\)|\[.*?\])?\s*==", "= compares, == defines"),
    (r"^\s*$", r"\w+\s*(?:\(.*\)|\[.*\])?\s*:?=(?![=>])", "a definition has =="),
    (r"\\[AE]\b[^:]*$", r"", "a quantifier has : after its sets"),
    (r"", r"[)\]}]|>>", "nothing opens what this closes, or something is missing in front of it"),
)
"""What stands before the place in its line, what stands at it, and what to write."""
_OPERATORS = {
    "//": _COMMENT,
    "...": "write two dots: 1 .. 5",
    "&&": "write /\\ for and",
    "||": "write \\/ for or",
    ":=": "= compares, and nothing is assigned: x' = e says what the next state has",
    "/": "write \\div: columns hold integers",
    "**": "write ^ for a power",
    "|": "write : in {x \\in S : P}",
    "-.": "EXTENDS Integers: Naturals have no numbers below 0",
    ":>": "EXTENDS TLC",
    "@@": "EXTENDS TLC",
    "\\o": "EXTENDS Sequences",
    "\\circ": "EXTENDS Sequences",
    **dict.fromkeys(("+", "-", "*", "<", ">", "<=", ">=", "=<", "\\leq", "\\geq"), "EXTENDS Integers"),
    **dict.fromkeys(("..", "%", "^", "\\div"), "EXTENDS Integers"),
}
_COMPARISONS = {"<", ">", "\\leq", "\\geq", "=", "/="}
_SPELLED = {
    **{"\\land": "/\\", "\\lor": "\\/", "\\lnot": "~", "\\equiv": "<=>", "\\times": "\\X"},
    **{"-.": "- (of one number)", "\\leq": "<=", "\\geq": ">="},
}
_NAMES = {
    **dict.fromkeys(("Nat", "Int"), "EXTENDS Integers"),
    **dict.fromkeys(("Cardinality", "IsFiniteSet"), "EXTENDS FiniteSets"),
    **dict.fromkeys(("Seq", "Len", "Head", "Tail", "Append", "SubSeq", "SelectSeq"), "EXTENDS Sequences"),
    **dict.fromkeys(("true", "True"), "write TRUE"),
    **dict.fromkeys(("not", "Not", "NOT"), "write ~ for not"),
    **dict.fromkeys(("Max", "max", "MAX"), r"define it: Max(S) == CHOOSE x \in S : \A y \in S : y <= x"),
    **dict.fromkeys(("Min", "min", "MIN"), r"define it: Min(S) == CHOOSE x \in S : \A y \in S : x <= y"),
    **dict.fromkeys(("Abs", "abs", "ABS"), "define it: Abs(n) == IF n < 0 THEN -n ELSE n"),
    **dict.fromkeys(("false", "False"), "write FALSE"),
    **dict.fromkeys(("Count", "COUNT", "count", "Size", "size"), "write Cardinality(S) for how many S has"),
    **dict.fromkeys(
        ("null", "NULL", "Null", "nil", "Nil", "None", "none", "undefined"),
        "declare a CONSTANT for it, and give it a model value in the mapping",
    ),
}
_UNKNOWN = re.compile(r"Unknown operator: `(.+)'\.")
_HEAD = re.compile(r"\s*(?:LOCAL\s+)?(\w+)\s*(?:\([^=]*\)|\[[^=]*\])?\s*==")
_ALGORITHM = re.compile(r"--(?:fair\s+)?algorithm\b")
_TRANSLATE = (
    "translate the PlusCal algorithm first: what it declares is in its translation alone (pcal.trans)"
)
_ELSEWHERE = "define or declare it above, or EXTEND the module that does"


def advised(problems: Iterable[Diagnostic], text: Callable[[str], str]) -> list[Diagnostic]:
    """The problems with what to write instead; what only repeats another one is left out. ``text``: a file by
    its name.
    """
    every = list(problems)
    resolved = any("Couldn't resolve" in each.message for each in every)
    names = {said[1] for each in every if (said := _UNKNOWN.match(each.message))}
    found = []
    for each in every:
        repeats = resolved and each.message.startswith("Could not find declaration or definition of symbol")
        if not repeats and not re.fullmatch(r"Operator \S+ already defined or declared\.", each.message):
            whole = text(each.location.file)
            untranslated = _ALGORITHM.search(whole) is not None and "BEGIN TRANSLATION" not in whole
            found.append(_advised(each, code(whole), names, untranslated))
    return found or every


def _advised(
    problem: Diagnostic, lines: Sequence[str], unknown: AbstractSet[str], untranslated: bool
) -> Diagnostic:
    """``unknown``: the names that nothing defines, none of which is what another one should be.
    ``untranslated``: the file has an algorithm of PlusCal, and not what is made of it.
    """
    if problem.remedy:
        return problem
    said = _UNKNOWN.match(problem.message)
    if said is not None:
        message, remedy = _unknown(said[1], problem.location, lines, unknown)
        if untranslated and remedy == _ELSEWHERE:
            remedy = _TRANSLATE
        return replace(problem, message=message, remedy=remedy)
    met = _ENCOUNTERED.search(problem.message)
    if met is not None:
        message, remedy = _unexpected(met[1], met[2], problem.location, lines)
        return replace(problem, message=message, remedy=remedy)
    for pattern, words in _WORDS:
        said = pattern.match(problem.message)
        if said is not None:
            message, remedy = words(said, problem.location, lines)
            return replace(problem, message=message, remedy=remedy)
    for fixed, message, remedy in _FIXED:
        said = re.match(fixed, problem.message)
        if said is not None:
            return replace(problem, message=said.expand(message), remedy=said.expand(remedy))
    return problem


def _unexpected(what: str, after: str, place: Location, lines: Sequence[str]) -> tuple[str, str]:
    line = lines[place.line - 1] if place.line <= len(lines) else ""
    before, here = line[: place.column - 1], line[place.column - 1 :]
    found = (words for left, right, words in _PLACES if re.search(left, before) and re.match(right, here))
    if what == "<EOF>":
        return "the module has no end", "close it with ===="
    if what.startswith(("Beginning of definition", "====")):
        begins = "the module ends" if what.startswith("=") else "a definition begins"
        if any(each.lstrip().startswith("#") for each in lines[: place.line - 1][-1:]):
            return f"{begins} here, behind what is no comment", _COMMENT
        return f"{begins} here, and the expression in front of it is not complete", next(found, _COMPLETE)
    return f'"{what}" cannot stand here, after "{after}"', next(found, _MISSING)


def _unknown(name: str, place: Location, lines: Sequence[str], unknown: AbstractSet[str]) -> tuple[str, str]:
    message = f"nothing above defines or declares {name}"
    heads = [(n, _HEAD.match(line)) for n, line in enumerate(lines, start=1)]
    defined = [(n, head[1]) for n, head in heads if head is not None]
    here = [each for n, each in defined if n <= place.line]
    if here and here[-1] == name:
        return message, f"what applies itself is declared before: RECURSIVE {_declared(name, lines)}"
    below = next((n for n, each in defined if each == name and n > place.line), None)
    if below is not None:
        end = next((n for n, _ in defined if n > below), len(lines) + 1)
        circle = here and re.search(rf"\b{here[-1]}\b", "\n".join(lines[below - 1 : end - 1]))
        above = f"it is defined in line {below}: move that above this definition"
        return (
            message,
            f"{name} and {here[-1]} are made of each other: write one of them out" if circle else above,
        )
    line = lines[place.line - 1][: place.column - 1] if place.line <= len(lines) else ""
    if re.search(rf"(?:\\[AE]|[{{\[])[^:|]*\b{re.escape(name)}\b[^:|]*\\in\b[^:|]*,[^:|]*$", line):
        return message, f"the sets of one list cannot name its variables: \\A {name} \\in S : \\A ..."
    words = {word for line in lines for word in re.findall(r"\w+", line)}
    words |= {each for each, remedy in _NAMES.items() if remedy.startswith("EXTENDS")}
    near = get_close_matches(name, sorted(words - {name} - unknown), 1, 0.66)
    return message, _NAMES.get(name) or (f"did you mean {near[0]}?" if near else _ELSEWHERE)


def _declared(name: str, lines: Sequence[str]) -> str:
    """As RECURSIVE has it, ``Sum(_, _)``."""
    parameters = re.search(rf"\b{re.escape(name)}\s*\(([^=]*)\)\s*==", "\n".join(lines))
    return f"{name}({', '.join('_' for _ in parameters[1].split(','))})" if parameters else name


def _unresolved(said: re.Match[str], _place: Location, _lines: Sequence[str]) -> tuple[str, str]:
    return f"nothing above defines the operator {_written(said[1])}", _OPERATORS.get(said[1], _ELSEWHERE)


def _precedence(said: re.Match[str], place: Location, lines: Sequence[str]) -> tuple[str, str]:
    message = f"neither of {_written(said[1])} and {_written(said[2])} binds first"
    there = (*said.groups(), *"".join(lines[place.line - 1 : place.line]).split())
    foreign = next((each for each in ("&&", "||", "|") if each in there), None)
    if foreign is not None:
        return message, _OPERATORS[foreign]
    if all(each in _COMPARISONS for each in said.groups()):
        return message, "compare two at a time: a < b /\\ b < c"
    return message, "write parentheses around one of them"


def _written(symbol: str) -> str:
    """An operator as specifications have it; SANY has one name for all its spellings."""
    return _SPELLED.get(symbol, symbol)


def _arguments(said: re.Match[str], _place: Location, _lines: Sequence[str]) -> tuple[str, str]:
    name, count = said[1], int(said[2])
    if count == 0:
        return f"{name} is no operator with arguments", f"a function is applied with brackets: {name}[...]"
    return f"{name} takes {counted(count, 'argument')}", f"apply it to {count}"


_WORDS = (
    (re.compile(r"Couldn't resolve \w+ operator symbol `(.+)'\."), _unresolved),
    (re.compile(r"The operator (\S+) requires (\d+) arguments\."), _arguments),
    (re.compile(r"Precedence conflict between ops (\S+) in block .* and (\S+)\.$"), _precedence),
)
_FIXED = (
    (r"(Multipl[ey].* symbol '?([^'. ]+).*)", r"\1", r"give one of them another name than \2"),
    (
        r"Level error in instantiating module '(.+)':.* for '(.+)' must be at most 0\.",
        r"\2 is a CONSTANT of \1, and what is substituted for it depends on the state",
        r"substitute a constant, or declare \2 as a VARIABLE in \1",
    ),
    (
        r"Level error: assumptions must be level 0 .*",
        "an ASSUME speaks of constants alone",
        "mark it @invariant, or declare CONSTANT what it names",
    ),
    (
        r"Level error in applying operator ([\w!]+): The level of argument (\d+) exceeds .*",
        r"argument \2 of \1 depends on the state, or on the next one, where it may not",
        "pass a constant for what is a CONSTANT there, and nothing primed to what is primed there",
    ),
    (
        r"(Level error.*)",
        r"\1",
        "prime variables of one state, once, and leave [] and <> around whole definitions",
    ),
    (r"(Substitution missing for symbol (\S+).*)", r"\1", r"write WITH \2 <- ..."),
    (
        r"(Identifier '(.+)' is not a legal target.*)",
        r"\1",
        r"name a CONSTANT or VARIABLE of the instantiated module instead of \2",
    ),
    (r"(@ used where.*)", r"\1", "@ is the old value, in [f EXCEPT ![x] = @ + 1]"),
    (
        r"Symbol (\S+) declared in RECURSIVE statement but not defined\.",
        r"\1 is declared RECURSIVE, and not defined",
        r"define \1 below, or remove the line",
    ),
    (
        r"Definition of (\S+) has different arity than its RECURSIVE declaration\.",
        r"\1 is declared RECURSIVE with other parameters",
        r"write a _ for each: RECURSIVE \1(_, _); TLA+ lets none of them be an operator",
    ),
    (
        r"Unsupported expression type `\['\.",
        "this is not complete",
        r"a sequence is <<1, 2>>; [][A]_v ends with the variables that may stay as they are: "
        r"[][x' >= x]_<<x, y>>",
    ),
    (
        r"(Unsupported expression type.*)",
        r"\1",
        "a record is [a |-> e], " + _FUNCTION.replace("\\", "\\\\"),
    ),
)
"""What SANY says, the message and the remedy."""
