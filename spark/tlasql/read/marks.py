"""Annotations in comments, after Apalache's ADR-004: marks of definitions, and types of variables.

``@invariant("id", "severity", "grain")``, ``@step(...)`` with an optional ``@transitive``, ``@decision("id",
"records")`` before a definition; beside a mark ``@when("Predicate")``, where it applies,
``@violated("words")``, what has happened where it does not hold, and ``@scope("column", ...)``, the columns
of the mapping that tell behaviours apart; ``@type: T;`` before a variable or constant; ``@typeAlias: name =
T;`` anywhere.

Modules written by others have a header ``INV: Name`` or ``ACTION_PROP: Name`` in a comment instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches

from tlasql.lang.errors import Diagnostic, Location
from tlasql.lang.source import Block, blocks, code
from tlasql.lang.words import counted, meant

SEVERITIES = ("critical", "warning", "info")
KINDS = {
    "invariant": ("id", "severity", "grain"),
    "step": ("id", "severity", "grain"),
    "decision": ("id", "records"),
}
"""Kind -> what its arguments are."""
_OPTIONAL = ("records",)
_MODIFIERS = ("transitive", "when", "violated", "scope")
_MODIFIER_USAGE = {
    "when": 'write @when("Predicate")',
    "violated": 'write @violated("what has happened then")',
    "scope": 'write @scope("column", "column")',
}
_TYPE_USAGE = {
    "type": "write @type: ...; with the semicolon, or the type in the mapping's [types]",
    "typeAlias": "write @typeAlias: name = ...; with the semicolon",
}
_KNOWN = (*KINDS, *_MODIFIERS, *_TYPE_USAGE)
_LOWER = [each.lower() for each in _KNOWN]
_ANNOTATION = re.compile(r"(?<!\S)@(\w+)[ \t]*(\(([^)]*)\)|:([^;]*)(;?))?")
_LOOSE = re.compile(rf'(?<!\S)(?:@[ \t]+)?({"|".join(KINDS)})\s*\("')
_ARGUMENTS = re.compile(r'\s*(?:"[^"]*"\s*(?:,\s*"[^"]*"\s*)*)?')
_ID = re.compile(r"[a-z][a-z0-9_]*")
_HEADER = re.compile(r"^\s*(?:INV|ACTION_PROP)\s*:\s*(\w+)[\s-]*$", re.MULTILINE)
_BEGIN, _END = re.compile(r"\s*-{4,}\s*MODULE\b"), re.compile(r"\s*={4,}\s*$")
_BEHIND = "this mark stands behind the end of the module (====), where nothing is read"
_OPERATOR = re.compile(r"(?:\W|LET\b|IN\b|LOCAL\b)*(?:RECURSIVE\b|INSTANCE\b|\w+\s*(?:\(.*\))?\s*==)")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True)
class Mark:
    """One ``@invariant``, ``@step`` or ``@decision``; ``prose`` holds the paragraphs of its comment.

    ``records``: the set of records a decision is about, None for the only one that is mapped; ``severity``
    and ``grain``: of the others.
    """

    kind: str
    id: str
    severity: str | None
    grain: str | None
    transitive: bool
    prose: tuple[str, ...]
    location: Location
    before_line: int
    when: str | None = None
    violated: str | None = None
    scope: tuple[str, ...] = ()
    records: str | None = None


@dataclass(frozen=True)
class Header:
    """``INV: Name`` in a comment: the definition ``name`` is claimed of every state or step."""

    name: str
    prose: tuple[str, ...]
    location: Location


@dataclass(frozen=True)
class TypeNote:
    """One ``@type`` (``name`` empty) or ``@typeAlias``: the text of the type and where it stands.

    ``before_line``: the line of what it is about; its own, where code stands on that too. ``operator``: it is
    about an operator, also one of LET. ``problem``: why no type can be read from it.
    """

    name: str
    text: str
    location: Location
    before_line: int
    operator: bool = False
    problem: Diagnostic | None = None


@dataclass(frozen=True)
class Annotations:
    """The annotations in the comments of one source file."""

    marks: tuple[Mark, ...]
    types: tuple[TypeNote, ...]
    headers: tuple[Header, ...]
    problems: tuple[Diagnostic, ...]


@dataclass(frozen=True)
class _Found:
    name: str
    arguments: tuple[str, ...] | None
    text: str | None
    location: Location
    problem: Diagnostic | None = None


def read_annotations(file: str, source: str) -> Annotations:
    """The annotations of ``source``; everything wrong with them is in ``problems``, nothing is skipped."""
    marks: list[Mark] = []
    notes: list[TypeNote] = []
    headers: list[Header] = []
    problems: list[Diagnostic] = []
    lines = code(source)
    end = _end(lines)
    for block in blocks(source):
        headers += _headers(file, block)
        found, wrong = _scan(file, block)
        problems += wrong
        kinds = [each for each in found if each.name in KINDS]
        if kinds and kinds[0].location.line > end:
            problems.append(Diagnostic(kinds[0].location, _BEHIND, "move it and its definition above ===="))
        elif block.trailing and kinds:
            problems.append(unattached(kinds[0].location))
        elif len(kinds) > 1:
            message = f"@{kinds[0].name} and @{kinds[1].name} stand in one comment"
            remedy = "give each definition one mark of its own"
            problems.append(Diagnostic(kinds[1].location, message, remedy))
        elif kinds:
            mark, wrong = _mark(kinds[0], found, block)
            problems += wrong
            marks += [mark] if mark else []
        else:
            remedy = 'write @step("id", "severity", "grain") too'
            alone = (each for each in found if each.name in _MODIFIERS)
            problems += [Diagnostic(each.location, f"@{each.name} without a mark", remedy) for each in alone]
        notes += _type_notes(found, block, lines)
    return Annotations(tuple(marks), tuple(notes), tuple(headers), tuple(problems))


def _end(lines: list[str]) -> int:
    """The line that ends the module; modules may stand inside of it."""
    depth = 0
    for number, line in enumerate(lines, start=1):
        if _BEGIN.match(line):
            depth += 1
        elif _END.match(line):
            depth -= 1
            if depth <= 0:
                return number
    return len(lines)


def _headers(file: str, block: Block) -> list[Header]:
    found = []
    for line in block.lines:
        header = _HEADER.match(line.text)
        if header is not None:
            prose = [_HEADER.sub("", part).strip(" -") for part in block.paragraphs]
            kept = tuple(part for part in prose if part and not part.startswith(("INV:", "ACTION_PROP:")))
            found.append(Header(header[1], kept, Location(file, line.number, line.column)))
    return found


def implied(name: str, kind: str, prose: tuple[str, ...], location: Location, before_line: int) -> Mark:
    """The mark of a definition that a header or a THEOREM claims: critical, its id from its name.

    >>> implied("TypeOK", "invariant", (), Location("M.tla", 1, 1), 2).id
    'type_ok'
    """
    identity = "_".join(_WORD.findall(name)).lower()
    grain = "step" if kind == "step" else "state"
    return Mark(kind, identity, "critical", grain, False, prose, location, before_line)


def duplicates(marks: Iterable[Mark]) -> list[Diagnostic]:
    """A diagnostic for every id that an earlier mark has taken."""
    first: dict[str, Mark] = {}
    found = []
    for mark in marks:
        earlier = first.setdefault(mark.id, mark)
        if earlier is not mark:
            message = f'the id "{mark.id}" is taken at {earlier.location}'
            found.append(Diagnostic(mark.location, message, "ids name files and verdicts: choose another"))
    return found


def unattached(location: Location) -> Diagnostic:
    """The diagnostic for a mark whose next line starts no definition."""
    remedy = "put it in a comment that ends on the line directly above the definition"
    return Diagnostic(location, "this mark is attached to no definition", remedy)


def _scan(file: str, block: Block) -> tuple[list[_Found], list[Diagnostic]]:
    text, starts = "", []
    for line in block.lines:
        starts.append((len(text), line.number))
        text += line.text + "\n"
    found, problems = [], []
    every = list(_ANNOTATION.finditer(text))
    annotated = any(match[1] in _KNOWN for match in every)
    for match in every:
        offset = match.start()
        begin, number = max(each for each in starts if each[0] <= offset)
        location = Location(file, number, offset - begin + 1)
        name, _, inside, typed, closed = match.groups()
        if name not in _KNOWN:
            if not annotated and not get_close_matches(name.lower(), _LOWER):
                continue  # other tools write such words, and authors
            known = ", ".join(f"@{each}" for each in _KNOWN)
            problems.append(
                Diagnostic(location, f"unknown annotation @{name}", meant(name, _KNOWN, f"known are {known}"))
            )
        elif name in _TYPE_USAGE and (typed is None or not closed):
            problem = Diagnostic(location, f"@{name} has no type", _TYPE_USAGE[name])
            found.append(_Found(name, None, typed, location, problem))
        elif name in KINDS and (inside is None or not _ARGUMENTS.fullmatch(inside)):
            bare = "(" not in text[match.end(1) :][:2]
            what = "has no arguments" if bare else "has arguments that cannot be read"
            problems.append(Diagnostic(location, f"@{name} {what}", _usage(name)))
        else:
            arguments = tuple(re.findall(r'"([^"]*)"', inside)) if inside is not None else None
            found.append(_Found(name, arguments, typed, location))
    for match in _LOOSE.finditer(text):
        begin, number = max(each for each in starts if each[0] <= match.start())
        location = Location(file, number, match.start() - begin + 1)
        problems.append(Diagnostic(location, "a mark begins with @ and its name", _usage(match[1])))
    return found, problems


def _usage(kind: str) -> str:
    arguments = '", "'.join(KINDS[kind])
    return f'write @{kind}("{arguments}")'


def _mark(main: _Found, found: list[_Found], block: Block) -> tuple[Mark | None, list[Diagnostic]]:
    arguments, wanted = main.arguments or (), KINDS[main.name]
    if len(arguments) not in (len(wanted), len(wanted) - (wanted[-1] in _OPTIONAL)):
        count = f"@{main.name} takes {counted(len(wanted), 'argument')}, and here it has {len(arguments)}"
        return None, [Diagnostic(main.location, count, _usage(main.name))]
    problems = []
    named = dict(zip(wanted, arguments, strict=False))
    if not _ID.fullmatch(named["id"]):
        remedy = "an id is lower-case letters, digits and underscores, beginning with a letter"
        problems.append(Diagnostic(main.location, f'"{named["id"]}" is no id', remedy))
    severity = named.get("severity")
    if severity is not None and severity not in SEVERITIES:
        remedy = meant(severity, SEVERITIES, f"one of {', '.join(SEVERITIES)}")
        problems.append(Diagnostic(main.location, f'"{severity}" is no severity', remedy))
    transitive = [each for each in found if each.name == "transitive"]
    if transitive and main.name != "step":
        message = f"@transitive on a {main.name}"
        problems.append(Diagnostic(transitive[0].location, message, "it belongs to a @step"))
    given = {each.name: each.arguments or () for each in found if each.name in _MODIFIERS}
    wrong_count = {"when": lambda n: n != 1, "violated": lambda n: n != 1, "scope": lambda n: n == 0}
    problems += [
        Diagnostic(each.location, f"@{each.name} does not say what", _MODIFIER_USAGE[each.name])
        for each in found
        if each.name in wrong_count and wrong_count[each.name](len(each.arguments or ()))
    ]
    prose = tuple(p for p in (_ANNOTATION.sub(_blank, part).strip() for part in block.paragraphs) if p)
    mark = Mark(
        main.name,
        named["id"],
        severity,
        named.get("grain"),
        bool(transitive),
        prose,
        main.location,
        block.end + 1,
        when=next(iter(given.get("when", ())), None),
        violated=next(iter(given.get("violated", ())), None),
        scope=given.get("scope", ()),
        records=named.get("records"),
    )
    return (None if problems else mark), problems


def _blank(match: re.Match[str]) -> str:
    return "" if match.group(1) in _KNOWN else match.group()


def _type_notes(found: list[_Found], block: Block, lines: list[str]) -> list[TypeNote]:
    notes = []
    before = block.end if block.trailing else block.end + 1
    below = lines[before - 1 : before + block.trailing]
    operator = any(_OPERATOR.match(each) for each in below)
    for each in found:
        name, text = "", each.text or ""
        if each.name == "typeAlias":
            name, _, text = text.partition("=")
        if each.name in _TYPE_USAGE:
            notes.append(TypeNote(name.strip(), text.strip(), each.location, before, operator, each.problem))
    return notes
