"""What cannot be compiled is refused with file, line, column and a remedy."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tlasql import TlaSqlError, compile_module
from tlasql.cli import main
from tlasql.lang.source import content

HERE = Path(__file__).parent
FRAGMENT = HERE / "fragment"
DECLARATIONS = 13
GOOD = '\\* @invariant("a", "critical", "group")\nA == level > 1\n'
SPECIFICATIONS = tomllib.loads((HERE / "errors.toml").read_text(encoding="utf-8"))["case"]
MAPPINGS = tomllib.loads((HERE / "errors_mapping.toml").read_text(encoding="utf-8"))["case"]


def _module(folder: Path, body: str) -> Path:
    lines = (FRAGMENT / "Case.tla").read_text(encoding="utf-8").split("\n")[:DECLARATIONS]
    path = folder / "Case.tla"
    path.write_text("\n".join([*lines, f"{body}====\n"]), encoding="utf-8")
    return path


def _refusal(module: Path, mapping: Path) -> str:
    schemas = json.loads((FRAGMENT / "schemas.json").read_text(encoding="utf-8"))
    with pytest.raises(TlaSqlError) as refused:
        compile_module(module, mapping, schemas)
    return str(refused.value)


@pytest.mark.parametrize("case", SPECIFICATIONS, ids=lambda case: case["name"])
def test_a_specification_is_refused(case: dict[str, str], tmp_path: Path) -> None:
    """The message names the place in the source."""
    module = _module(tmp_path, case["body"])
    text = _refusal(module, FRAGMENT / "mapping.toml")
    place, _, message = case["says"].partition(": ")
    assert any(line.startswith(f"{module}:{place}: error: {message}") for line in text.splitlines()), text
    assert case.get("remedy", "") in text


def test_a_model_value_among_records_needs_to_be_one(tmp_path: Path) -> None:
    """The remedy is for any type, not for numbers alone."""
    body = 'CONSTANT Nil\n\\* @invariant("a", "critical", "group")\nA == \\A r \\in requests : r # Nil\n'
    mapping = tmp_path / "mapping.toml"
    good = (FRAGMENT / "mapping.toml").read_text(encoding="utf-8")
    mapping.write_text(f'{good}\n[constants]\nNil = {{ model = "none" }}\n', encoding="utf-8")
    module = _module(tmp_path, body)
    text = _refusal(module, mapping)
    assert f"{module}:16:26: error: = of different types: r of type {{" in text
    assert 'Nil = { definition = "NoRecord" }' in text


@pytest.mark.parametrize("case", MAPPINGS, ids=lambda case: case["name"])
def test_a_mapping_is_refused(case: dict[str, str], tmp_path: Path) -> None:
    """The message names the mapping, and the entry's line."""
    good = (FRAGMENT / "mapping.toml").read_text(encoding="utf-8")
    assert case["find"] in good
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(good.replace(case["find"], case["replace"]), encoding="utf-8")
    text = _refusal(_module(tmp_path, case.get("body", GOOD)), mapping)
    line = next(
        n for n, each in enumerate(mapping.read_text(encoding="utf-8").splitlines(), 1) if case["on"] in each
    )
    assert f"{mapping}:{line}:" in text
    assert case["says"] in text
    assert case.get("remedy", "") in text


def test_a_module_is_utf_8(tmp_path: Path) -> None:
    """In other text SANY and the log would not have the same strings."""
    module = _module(tmp_path, GOOD.replace("> 1", '> 1 \\/ "caf\N{LATIN SMALL LETTER E WITH ACUTE}" = "e"'))
    module.write_bytes(module.read_text(encoding="utf-8").encode("latin-1"))
    assert f"{module}:15:1: error: this is not UTF-8" in _refusal(module, FRAGMENT / "mapping.toml")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the file holds no module\n    begin it with ---- MODULE Case ----"),
        ("---- MODULE Other ----\n====\n", "the file is named Case.tla, and its module Other"),
    ],
)
def test_a_file_holds_the_module_of_its_name(text: str, says: str, tmp_path: Path) -> None:
    """SANY itself has no place for these."""
    module = tmp_path / "Case.tla"
    module.write_text(text, encoding="utf-8")
    assert f"{module}:1:1: error: {says}" in _refusal(module, FRAGMENT / "mapping.toml")


def test_what_a_configuration_names_is_to_be_marked(tmp_path: Path) -> None:
    """A module that comes with one for TLC says there what its invariants are."""
    module = _module(tmp_path, "A == level > 1\nB == level > 2\nC == A\n")
    text = "CONSTANT C = 1 \\* INVARIANT C\nINVARIANTS\n  A B\nPROPERTY Missing\nCHECK_DEADLOCK FALSE\n"
    (tmp_path / "MCCase.cfg").write_text(text, encoding="utf-8")
    said = _refusal(module, FRAGMENT / "mapping.toml")
    assert "nothing is marked\n    what a configuration of TLC names is marked" in said
    assert said.endswith("a comment for each: \\* INV: A, \\* INV: B")


def test_a_folder_is_no_module() -> None:
    """Also the one without a name of its own."""
    assert ".:1:1: error: this is a folder" in _refusal(Path(), FRAGMENT / "mapping.toml")


EXTENDED = {
    "a syntax error": (
        "---- MODULE Utils ----\nHalf(x) == x \\cup\n====\n",
        "Utils.tla:3:1: error: the module ends here",
    ),
    "a comment": (
        "---- MODULE Utils ----\n(* Half(x) == x\n====\n",
        "Utils.tla:2:1: error: a comment that begins",
    ),
    "no end": (
        "---- MODULE Utils ----\nHalf(x) == x\n",
        "Utils.tla:2:13: error: the module has no end\n    close it with ====",
    ),
    "an unknown name": (
        "---- MODULE Utils ----\nHalf(x) == y\n====\n",
        "Utils.tla:2:12: error: nothing above defines or declares y",
    ),
    "nothing": (
        "",
        "Utils.tla:1:1: error: the file holds no module\n    begin it with ---- MODULE Utils ----",
    ),
    "another name": (
        "---- MODULE Util ----\n====\n",
        "Utils.tla:1:1: error: the file is named Utils.tla, and its module Util",
    ),
    "a circle": (
        "---- MODULE Utils ----\nEXTENDS Case\n====\n",
        "Case.tla:2:31: error: modules need each other in a circle: Case, Utils, Case",
    ),
    "a missing module": (
        "---- MODULE Utils ----\nEXTENDS integers\n====\n",
        "Utils.tla:2:9: error: module integers cannot be found\n    did you mean Integers?",
    ),
    "a module of the community": (
        "---- MODULE Utils ----\nEXTENDS SequencesExt\n====\n",
        "Utils.tla:2:9: error: module SequencesExt cannot be found\n    put SequencesExt.tla beside",
    ),
}


@pytest.mark.parametrize("name", EXTENDED)
def test_an_error_of_an_extended_module_is_in_its_file(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the working directory has another module of that name, which SANY would find first."""
    text, says = EXTENDED[name]
    library, elsewhere = tmp_path / "library", tmp_path / "elsewhere"
    for folder in (library, elsewhere):
        folder.mkdir()
    (library / "Utils.tla").write_text(text, encoding="utf-8")
    (elsewhere / "Utils.tla").write_text("---- MODULE Utils ----\n====\n", encoding="utf-8")
    module = _module(tmp_path, GOOD)
    extended = module.read_text(encoding="utf-8").replace("FiniteSets", "FiniteSets, Utils")
    module.write_text(extended, encoding="utf-8")
    monkeypatch.chdir(elsewhere)
    schemas = json.loads((FRAGMENT / "schemas.json").read_text(encoding="utf-8"))
    with pytest.raises(TlaSqlError) as refused:
        compile_module(module, FRAGMENT / "mapping.toml", schemas, libraries=[library])
    folder = tmp_path if says.startswith("Case") else library
    assert f"{folder}/{says}" in str(refused.value)


def test_what_editors_write_at_the_begin_is_no_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The mark of UTF-8 and the line ends of Windows."""
    module, mapping, schemas = _module(tmp_path, GOOD), tmp_path / "mapping.toml", tmp_path / "schemas.json"
    for path, source in (
        (module, module),
        (mapping, FRAGMENT / mapping.name),
        (schemas, FRAGMENT / schemas.name),
    ):
        text = source.read_text(encoding="utf-8").replace("\n", "\r\n")
        path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    files = ["--mapping", str(mapping), "--schemas", str(schemas)]
    assert main(["check", str(module), *files, "--engine", "duckdb"]) == 0
    assert "invariant a compiles" in capsys.readouterr().out


def test_a_type_may_stand_in_the_line(tmp_path: Path) -> None:
    """Before a declaration on its own line; what another tool reads as a type, the mapping says."""
    declared = "VARIABLE (* @type: Int; *) rank, (* @type: Bool; *) fair\n"
    foreign = "\\* @type: [a |-> Integer];\nVARIABLE key\n\\* @type: Int -> [a: Set(int)]\nVARIABLE pace\n"
    body = declared + foreign + GOOD.replace("level > 1", '(fair => rank > pace) /\\ key # "a"')
    schemas = json.loads((FRAGMENT / "schemas.json").read_text(encoding="utf-8"))
    schemas["silver.groups"] |= {
        "rank": "bigint",
        "fair": "boolean",
        "key": "string",
        "pace": "bigint",
    }
    homes = "".join(
        f'[variables.{name}]\nhomes = [{{ table = "silver.groups", value = "{name}" }}]\n'
        for name in ("rank", "fair", "key", "pace")
    )
    mapping = tmp_path / "mapping.toml"
    good = (FRAGMENT / "mapping.toml").read_text(encoding="utf-8")
    mapping.write_text(f'{good}\n{homes}[types]\nkey = "KEY"\npace = "Int"\n', encoding="utf-8")
    compiled = compile_module(_module(tmp_path, body), mapping, schemas)
    assert {name: str(compiled.types[name]) for name in ("rank", "fair", "key", "pace")} == {
        "rank": "Int",
        "fair": "Bool",
        "key": "KEY",
        "pace": "Int",
    }


def test_a_transitive_step_reads_histories(tmp_path: Path) -> None:
    """A variable of the states table is none, and the refusal says so."""
    good = (FRAGMENT / "mapping.toml").read_text(encoding="utf-8")
    home = '[variables.level]\npersistent = true\nhomes = [{ table = "silver.groups", value = "level" }]\n'
    assert home in good
    mapping = tmp_path / "mapping.toml"
    mapping.write_text(good.replace(home, '[states]\ntable = "silver.groups"\n'), encoding="utf-8")
    body = '\\* @step("a", "critical", "group") @transitive\nA == level\' >= level\n'
    text = _refusal(_module(tmp_path, body), mapping)
    assert "Case.tla:15:6: error: level is a column of silver.groups" in text
    assert "leave out @transitive" in text


def test_types_for_apalache_are_no_errors(tmp_path: Path) -> None:
    """An alias may stand below its uses; what is said of operators, also those of LET, is not read."""
    body = """
\\* @typeAlias: pair = {left: $side, right: $side};
\\* @typeAlias: side = Int;
\\* @typeAlias: test = (Int) => Bool;
ALIASES == TRUE
\\* @type: $pair;
VARIABLE both
\\* @type: ((Int) => Int, Set(Int)) => Int;
RECURSIVE Sum(_, _)
Sum(f(_), S) == IF S = {} THEN 0 ELSE LET x == CHOOSE x \\in S : TRUE IN f(x) + Sum(f, S \\ {x})
(* @type: Int => Int; *)
LOCAL Twice(x) ==
    LET \\* @type: Int => Int;
        More(y) == y + x
        (* @type: Int; *)
        once == x
    IN More(once)
\\* @invariant("a", "critical", "group")
A == Sum(Twice, {both.left, both.right}) < 9
""".lstrip()
    schemas = json.loads((FRAGMENT / "schemas.json").read_text(encoding="utf-8"))
    schemas["silver.groups"] |= {"both": "struct<left:bigint,right:bigint>"}
    mapping = tmp_path / "mapping.toml"
    good = (FRAGMENT / "mapping.toml").read_text(encoding="utf-8")
    home = '[variables.both]\nhomes = [{ table = "silver.groups", value = "both" }]\n'
    mapping.write_text(f"{good}\n{home}", encoding="utf-8")
    compiled = compile_module(_module(tmp_path, body), mapping, schemas)
    assert str(compiled.types["both"]) == "{left: Int, right: Int}"


def test_a_case_is_as_long_as_it_is_written(tmp_path: Path) -> None:
    """Each arm stands in the SQL once, not once more in each arm before it."""

    def length(arms: int) -> int:
        whens = " [] ".join(f"level = {n} -> level * {n} + (level \\div {n + 1})" for n in range(1, arms))
        body = GOOD.replace("level > 1", f"0 < CASE {whens} [] OTHER -> level")
        schemas = json.loads((FRAGMENT / "schemas.json").read_text(encoding="utf-8"))
        (found,) = compile_module(_module(tmp_path, body), FRAGMENT / "mapping.toml", schemas).definitions
        return len(found.sql)

    assert length(16) - length(12) < 1.5 * (length(12) - length(8))


def test_the_command_says_it_and_exits_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing is written when something is wrong."""
    module = _module(tmp_path, GOOD.replace("> 1", "> nope"))
    files = ["--mapping", str(FRAGMENT / "mapping.toml"), "--schemas", str(FRAGMENT / "schemas.json")]
    assert main(["compile", str(module), *files, "--out", str(tmp_path / "out")]) == 2
    assert f"{module}:15:14: error: nothing above defines or declares nope" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_what_is_no_module_no_schemas_and_no_folder_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor is there a traceback where a result cannot be written."""
    mapping, schemas = str(FRAGMENT / "mapping.toml"), str(FRAGMENT / "schemas.json")

    def said(*arguments: str) -> str:
        assert main(arguments) == 2
        return capsys.readouterr().err

    module, taken = str(_module(tmp_path, GOOD)), tmp_path / "taken"
    files = ["--mapping", mapping, "--schemas", schemas]
    assert "mapping.toml:1:1: error: this is no .tla file" in said("check", mapping, *files)
    taken.write_bytes(b'{"a": {"b": "\n\xff"}}')
    assert f"{taken}:2:1: error: this is not UTF-8" in said("check", module, *files[:3], str(taken))
    assert f"{taken}/sql:1:1: error: this cannot be written" in said(
        "compile", module, *files, "--out", str(taken)
    )
    with pytest.raises(SystemExit) as refused:
        main(["check", module, *files, "--library", str(tmp_path / "none")])
    assert refused.value.code == 2
    assert f"there is no folder {tmp_path / 'none'}" in capsys.readouterr().err


def test_a_module_that_cannot_be_read_is_no_result_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(TlaSqlError, match="cannot read the module"):
        content(tmp_path)


@pytest.mark.parametrize(("written", "meant"), [("int64", "bigint"), ("TEXT", "string")])
def test_a_type_of_another_engine_is_named(
    written: str, meant: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """sqlglot takes it, Spark does not."""
    schemas = tmp_path / "schemas.json"
    text = (FRAGMENT / "schemas.json").read_text(encoding="utf-8")
    schemas.write_text(text.replace(f'"{meant}"', f'"{written}"', 1), encoding="utf-8")
    files = ["--mapping", str(FRAGMENT / "mapping.toml"), "--schemas", str(schemas)]
    assert main(["check", str(_module(tmp_path, GOOD)), *files]) == 2
    said = capsys.readouterr().err
    assert f"'{written}' is no type of Spark\n    write {meant}\n" in said


def test_a_table_in_a_table_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table's name has its schema in front: it is no table of tables."""
    schemas = tmp_path / "schemas.json"
    schemas.write_text('{"silver":\n {"groups": {"level": "bigint"}}}', encoding="utf-8")
    files = ["--mapping", str(FRAGMENT / "mapping.toml"), "--schemas", str(schemas)]
    assert main(["check", str(_module(tmp_path, GOOD)), *files]) == 2
    said = capsys.readouterr().err
    assert (
        'schemas.json:2:1: error: silver.groups is a table in a table\n    write "silver.groups": {' in said
    )


def test_missing_files_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong path is bad input too."""
    files = ["--mapping", str(FRAGMENT / "mapping.toml"), "--schemas", str(tmp_path / "none.json")]
    assert main(["check", str(_module(tmp_path, GOOD)), *files]) == 2
    assert "none.json:1:1: error: cannot read the schemas" in capsys.readouterr().err
    files[-1] = str(FRAGMENT / "schemas.json")
    assert main(["check", str(tmp_path / "None.tla"), *files]) == 2
    assert "None.tla:1:1: error: no such file" in capsys.readouterr().err
