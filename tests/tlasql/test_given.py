"""What ``diff`` gives TLC: constants, texts and numbers that its configuration and integers cannot hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tlasql_states import Domain, duck

from tlasql.cli import main
from tlasql.lang.types import parse_type

MODULE = """---- MODULE Given ----
EXTENDS Integers
CONSTANTS Low, Names, Levels, Limit
\\* @type: Int;
VARIABLE level
\\* @type: Str;
VARIABLE name
\\* @invariant("above", "info", "state")
Above == level > Low /\\ {level} \\notin Levels
\\* @invariant("named", "info", "state")
Named == name \\in Names /\\ name # "Eigent\u00fcmer" /\\ name # "a\\tb"
\\* @invariant("written", "info", "state")
Written == level < 2000000000
\\* @invariant("limited", "info", "state")
Limited == level < Limit
\\* @invariant("compared", "info", "state")
Compared == level # 3 => name # ""
====
"""
MAPPING = """module = "Given"
[states]
table = "shapes.states"
columns = { name = 'the "name" of `it`' }
[scope]
columns = ["cluster", "trace"]
coverage = "shapes.coverage"
[constants]
Low = -1
Levels = [[-2, 3], [7]]
Limit = LIMIT
Names = ["Eigent\u00fcmer", "a\\tb", "it's \\"b\\"", "\u672c"]
"""
NAMES = ["Eigent\u00fcmer", "a\tb", 'it\'s "b"', "\u672c", "", "\1"]
TYPES = {"level": parse_type("Int"), "name": parse_type("Str")}
DOMAIN = Domain(TYPES, (), {}, {"name": 'the "name" of `it`'})


def _said(
    folder: Path, levels: list[int], limit: int, capsys: pytest.CaptureFixture[str], module: str = MODULE
) -> tuple[int, str]:
    (folder / "Given.tla").write_text(module, encoding="utf-8")
    (folder / "given.toml").write_text(MAPPING.replace("LIMIT", str(limit)), encoding="utf-8")
    (folder / "schemas.json").write_text(json.dumps(DOMAIN.schemas()), encoding="utf-8")
    states = [{"level": level, "name": name} for level in levels for name in NAMES]
    duck(DOMAIN, states, str(folder / "states.db")).close()
    files = ["--mapping", str(folder / "given.toml"), "--schemas", str(folder / "schemas.json")]
    assert main(["check", str(folder / "Given.tla"), *files, "--engine", "duckdb"]) == 0
    assert capsys.readouterr().err == ""
    code = main(["diff", str(folder / "Given.tla"), *files, "--data", str(folder / "states.db")])
    captured = capsys.readouterr()
    return code, captured.err.split("\r")[-1] + captured.out


def test_numbers_below_0_and_any_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """TLC's configuration has neither; a text means the same in the states and in the specification."""
    assert _said(tmp_path, [-2, -1, 0, 3], 2, capsys) == (
        0,
        "120 verdicts compared, 0 differ, 0 unknown to SQL\n",
    )


def test_numbers_beyond_32_bits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """They are moved, unless a definition compares them with one that is written out: that one is named."""
    code, said = _said(tmp_path, [1_500_000_000, 3_000_000_000], 5_000_000_000, capsys)
    assert code == 2
    assert "not compared, since they compute with integers and 5000000000 does not fit" in said
    assert said.endswith(": written, limited\n36 verdicts compared, 0 differ, 0 unknown to SQL\n")


@pytest.mark.parametrize(
    ("left", "ends"),
    [
        ("", "0 verdicts compared, 0 differ, 0 unknown to SQL\n"),
        (
            '\\* @invariant("named", "info", "state")\nNamed == name # ""\n',
            "TLC cannot read 9000000000 (its integers have 32 bits), so it says nothing of a module with "
            "it: write a smaller number, or a CONSTANT that the mapping gives\n",
        ),
    ],
    ids=["alone", "with another"],
)
def test_a_number_that_tlc_cannot_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], left: str, ends: str
) -> None:
    """What is left to compare may be nothing, which is no module; else the number stands in it, too."""
    head, _, _ = MODULE.partition('\\* @invariant("above"')
    wide = '\\* @invariant("wide", "info", "state")\nWide == level < 9000000000\n'
    code, said = _said(tmp_path, [1, 2], 3, capsys, f"{head}{wide}{left}====\n")
    assert code == 2
    assert "9000000000 does not fit TLC's 32-bit integers: wide\n" in said
    assert said.endswith(ends)
