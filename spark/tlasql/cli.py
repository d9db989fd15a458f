"""The command ``tlasql``: ``check`` a marked module, ``compile`` it, ``explain`` what it finds in data, and
``diff`` its verdicts with TLC's.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path

from tlasql.arguments import Parser
from tlasql.commands.diff import differences
from tlasql.commands.explain import explain_violations
from tlasql.commands.interrupts import INTERRUPTED, noted_interrupts
from tlasql.commands.prepare import ENGINES, installed, unprepared
from tlasql.compiler.compile import compile_module
from tlasql.compiler.compiled import CompiledModule
from tlasql.emit import EMITTERS, emit
from tlasql.java.tlc import TlcError
from tlasql.lang.errors import Location, TlaSqlError, fail
from tlasql.lang.source import excerpt
from tlasql.mapping.model import Schemas
from tlasql.replay.confirm import assumptions
from tlasql.sql.dialects import DIALECTS

OK, STALE, BAD_INPUT = 0, 1, 2
_SCHEMAS = (
    'write {"table": {"column": "type"}}, with Spark\'s types: string, bigint, boolean, array<string> ...'
)
_OF_SPARK = {"long", "integer", "short", "byte", "real", "dec", "numeric", "timestamp_ltz", "timestamp_ntz"}
"""Types that Spark calls otherwise, too."""
_FOLDERS = "[outputs], --out and --export name files and folders that can be written"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command.

    0: done, nothing found. 1: generated files are stale (``compile --check``), something is violated
    (``explain``) or TLC disagrees (``diff``). 2: the input cannot be compiled or read; of ``explain`` and
    ``diff``, nothing was found, and something could not be judged: ``explain`` found a verdict unknown.
    130: Ctrl-C ended it.
    """
    options = _parser().parse_args(arguments)
    if isinstance(sys.stdout, TextIOWrapper):
        # a terminal of another encoding gets \u2026 for what it cannot show
        sys.stdout.reconfigure(errors="backslashreplace")
    with noted_interrupts() as interrupts:
        try:
            return _answered(options)
        except (Exception, KeyboardInterrupt):
            if not interrupts:
                raise
            print("tlasql: interrupted", file=sys.stderr)
            return INTERRUPTED


def _answered(options: argparse.Namespace) -> int:
    try:
        return _run(options)
    except (TlaSqlError, TlcError) as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        if error.filename is None:  # of no file: whoever reads what is printed has gone, say
            raise
        where = Location(str(error.filename), 1, 1)
        print(fail(where, f"this cannot be written: {error.strerror}", _FOLDERS), file=sys.stderr)
        return BAD_INPUT


def _run(options: argparse.Namespace) -> int:
    compiled = compile_module(
        _relative(options.module),
        _relative(options.mapping),
        _schemas(options.schemas),
        libraries=options.library,
        dialect=options.dialect,
        partly=options.partly,
    )
    _check_outputs(compiled)
    assumed = assumptions(compiled)
    if assumed:
        raise TlaSqlError(assumed)
    for identity, reason in compiled.skipped.items():
        print(f"not compiled, as the mapping says: {identity}: {reason}")
    for where, why in compiled.left:
        print(f"{where}: not judged: {excerpt(where)} {why}")
    if compiled.refused:
        print(TlaSqlError(compiled.refused), file=sys.stderr)
    code = int(options.run(compiled, options))
    return BAD_INPUT if code == OK and compiled.refused else code


def _check(compiled: CompiledModule, options: argparse.Namespace) -> int:
    wanted = options.engine or installed()
    problems = [problem for engine in wanted for problem in unprepared(compiled, engine)]
    if problems:
        raise TlaSqlError(problems)
    for each in compiled.definitions:
        judged = f", judged on whole states: {each.because}" if each.because else ""
        print(f"{each.definition.location}: {each.mark.kind} {each.mark.id} compiles{judged}")
    return OK


def _compile(compiled: CompiledModule, options: argparse.Namespace) -> int:
    if not compiled.mapping.outputs:
        remedy = f'add [outputs] with {", ".join(EMITTERS)} = "<folder or file>"'
        raise fail(compiled.mapping.source.place("outputs"), "the mapping names nothing to write", remedy)
    files = emit(compiled)
    if options.check:
        return _verify(files, compiled, options.out)
    return _write(files, compiled, options.out)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(prog="tlasql", description="Marked TLA+ definitions to SQL.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(
        name: str, run: Callable[..., int], words: str, *, dialect: str, partly: bool
    ) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=words, description=words)
        added.add_argument("module", type=Path, metavar="MODULE.tla")
        added.add_argument("--mapping", type=Path, required=True, help="where the variables live (TOML)")
        added.add_argument(
            "--schemas",
            required=True,
            help="tables as JSON {table: {column: Spark type}}; - reads standard input",
        )
        added.add_argument(
            "--library", type=_folder, action="append", default=[], help="folder of extended modules"
        )
        added.set_defaults(run=run, dialect=dialect, partly=partly)
        return added

    check = command(
        "check",
        _check,
        "report what cannot be compiled or run, write nothing",
        dialect="spark",
        partly=True,
    )
    check.add_argument(
        "--engine",
        choices=sorted(ENGINES),
        action="append",
        help="prepare every query on empty tables of this engine (default: of each that is installed)",
    )
    compile_ = command(
        "compile", _compile, "write what the mapping's [outputs] name", dialect="spark", partly=False
    )
    compile_.add_argument("--dialect", choices=sorted(DIALECTS), help="engine of the SQL (default: spark)")
    compile_.add_argument(
        "--out", type=Path, default=Path(), help="folder the outputs are relative to (default: .)"
    )
    compile_.add_argument("--check", action="store_true", help="write nothing; exit 1 if a file is stale")
    explain = command(
        "explain",
        explain_violations,
        "judge data and tell what is violated, and how",
        dialect="duckdb",
        partly=True,
    )
    explain.add_argument(
        "--only", metavar="ID", action="append", default=[], help="judge this definition alone, or these"
    )
    explain.add_argument(
        "--limit", type=_count, default=3, help="violations told per definition (default: 3)"
    )
    explain.add_argument("--confirm", action="store_true", help="have TLC judge each violation told")
    explain.add_argument(
        "--export", type=Path, metavar="FOLDER", help="write each violation told as a behaviour for TLC"
    )
    diff = command(
        "diff",
        differences,
        "judge data twice, by SQL and by TLC, and list disagreements",
        dialect="duckdb",
        partly=True,
    )
    diff.add_argument(
        "--states", type=_count, default=20_000, help="judge at most so many states (default: 20000)"
    )
    for each in (explain, diff):
        each.add_argument(
            "--data",
            type=Path,
            required=True,
            help="DuckDB database, or folder of <schema>.<table>.parquet, csv or json",
        )
    return parser


def _folder(text: str) -> Path:
    if not Path(text).is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return Path(text)


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no number from 0 on")
    return int(text)


def _relative(path: Path) -> Path:
    """Below the working directory, as generated files name it: they must not depend on where that is."""
    return path.resolve().relative_to(Path.cwd()) if path.resolve().is_relative_to(Path.cwd()) else path


def _schemas(source: str) -> Schemas:
    try:
        given = sys.stdin.buffer.read() if source == "-" else Path(source).read_bytes()
        text = given.decode("utf-8-sig")
        found: Schemas = json.loads(text)
    except OSError as error:
        message = f"cannot read the schemas: {error.strerror}"
        raise fail(
            Location(source, 1, 1), message, "--schemas names a file of JSON, or - for input"
        ) from error
    except UnicodeDecodeError as error:
        line = given[: error.start].count(b"\n") + 1
        raise fail(Location(source, line, 1), "this is not UTF-8", "save the schemas as UTF-8") from error
    except json.JSONDecodeError as error:
        where = Location(source, error.lineno, error.colno)
        raise fail(where, f"the schemas are no JSON: {error.msg}", _SCHEMAS) from error
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise fail(Location(source, 1, 1), "the schemas are no tables", _SCHEMAS)
    for table, columns in found.items():
        for column, kind in columns.items():
            if isinstance(kind, dict):
                message = f"{table}.{column} is a table in a table"
                flat = f'write "{table}.{column}": {{"column": "type"}}'
                raise fail(_place(source, text, table, column), message, flat)
            remedy = _no_type(kind)
            if remedy is not None:
                message = f"{table}.{column}: {kind!r} is no type of Spark"
                raise fail(_place(source, text, table, column), message, remedy)
    return found


def _place(source: str, text: str, table: str, column: str) -> Location:
    """The line of a column, where the file has lines."""
    begin = text.find(json.dumps(column), text.find(json.dumps(table)) + 1)
    return Location(source, text.count("\n", 0, max(begin, 0)) + 1, 1)


def _no_type(kind: object) -> str | None:
    """What to write instead of what is no type of Spark."""
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        meant = exp.DataType.build(str(kind), dialect="spark").sql(dialect="spark").lower()
    except (SqlglotError, ValueError):
        return _SCHEMAS
    if not isinstance(kind, str):
        return _SCHEMAS
    is_word = re.fullmatch(r"\w+", kind) is not None
    return f"write {meant}" if is_word and kind.lower() not in {meant, *_OF_SPARK} else None


def _check_outputs(compiled: CompiledModule) -> None:
    unknown = sorted(compiled.mapping.outputs.keys() - EMITTERS.keys())
    if unknown:
        where = compiled.mapping.source.place("outputs", unknown[0])
        raise fail(where, f"[outputs] has no {', '.join(unknown)}", f"known are {', '.join(EMITTERS)}")


def _write(files: Mapping[str, str], compiled: CompiledModule, root: Path) -> int:
    for path in _leftovers(files, compiled, root):
        path.unlink()
        print(f"removed {path}")
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {path}")
    print(f"{len(compiled.definitions)} definitions, {len(files)} files")
    return OK


def _verify(files: Mapping[str, str], compiled: CompiledModule, root: Path) -> int:
    stale = [
        root / name
        for name, text in files.items()
        if not (root / name).is_file() or (root / name).read_text(encoding="utf-8") != text
    ]
    stale += _leftovers(files, compiled, root)
    for path in stale:
        print(f"stale: {path}")
    if stale:
        print("run `tlasql compile` again with the same arguments, without --check")
    return STALE if stale else OK


def _leftovers(files: Mapping[str, str], compiled: CompiledModule, root: Path) -> list[Path]:
    """Generated files of definitions that are gone: those that name this module as their origin."""
    origin = f" {compiled.file.as_posix()} by `tlasql compile`"
    found = []
    for kind in ("sql", "passes", "duckdb", "dbt_tests", "pages"):
        folder = compiled.mapping.outputs.get(kind)
        for path in sorted((root / folder).glob("*")) if folder is not None else []:
            if path.is_file() and str(path.relative_to(root).as_posix()) not in files:
                with path.open(encoding="utf-8") as lines:
                    if origin in lines.readline():
                        found.append(path)
    return found
