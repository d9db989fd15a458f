"""Mistakes in the constants and rows of a small module: what is wrong is said, and nothing is judged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tlasql.cli import main

LEASES = Path(__file__).with_name("leases")
TERM = "c,l,4,10,2024-01-01 00:00:04,2024-01-01 00:00:10,2\n"
NODE = "c,l,0,10,2024-01-01 00:00:00,2024-01-01 00:00:10,b,1,f.log\n"
ENDS = "\n    a row ends (to_position) where the next one of the same key begins (from_position)"
DATA = {
    "two rows of one time": (
        "terms.csv",
        (TERM, TERM + TERM.replace("10,2\n", "10,1\n")),
        "db.terms: two rows of cluster c, lease l are true at position 4" + ENDS,
    ),
    "two rows of one key": (
        "nodes.csv",
        (NODE, NODE + NODE.replace("b,1", "b,3")),
        "db.nodes: two rows of cluster c, lease l, node b are true at position 0" + ENDS,
    ),
    "rows that overlap": (
        "terms.csv",
        ("c,l,0,4,", "c,l,0,,"),
        "db.terms: two rows of cluster c, lease l are true at position 4" + ENDS,
    ),
    "a row that ends before it begins": (
        "terms.csv",
        ("c,l,0,4,", "c,l,4,0,"),
        "db.terms: a row of cluster c, lease l begins at position 4 and ends before that" + ENDS,
    ),
    "a row without a begin": (
        "terms.csv",
        ("c,l,0,4,", "c,l,,4,"),
        "db.terms: a row of cluster c, lease l has no from_position\n    write the position",
    ),
    "coverage that says both": (
        "coverage.csv",
        ("c,l,0,10,2024-01-01 00:00:00,2024-01-01 00:00:10,true\n", "c,l,0,10,,,true\nc,l,6,7,,,false\n"),
        "db.coverage says of position 6 of cluster c, lease l that it is covered, and that it is not\n",
    ),
    "no coverage": (
        "coverage.csv",
        ("c,l,", "C,l,"),
        "db.coverage says nothing of cluster c, lease l, of which db.nodes has rows\n    add rows that say",
    ),
    "no time": (
        "nodes.csv",
        ("2024-01-01 00:00:03,a,1", "yesterday,a,1"),
        "db.nodes.to_time is VARCHAR, which is no time: ",
    ),
    "rows behind the end of coverage": (
        "coverage.csv",
        ("c,l,0,10,", "c,l,0,3,"),
        "db.coverage says nothing of position 3 of cluster c, lease l, of which db.nodes has rows\n",
    ),
    "no lease": (
        "terms.csv",
        ("c,l,0,4,", "c,,0,4,"),
        "db.coverage says nothing of cluster c, lease NULL, of which db.terms has rows\n",
    ),
    "a field too many": (
        "nodes.csv",
        ("b,1,f.log", "b,1,f.log,more"),
        "this has none of the columns of db.nodes\n    the first line has the names of the columns",
    ),
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the module and its data, as the working directory."""
    shutil.copytree(LEASES, tmp_path / "leases")
    monkeypatch.chdir(tmp_path / "leases")
    return tmp_path / "leases"


def _said(command: str, *more: str) -> int:
    files = ["Lease.tla", "--mapping", "mapping.toml", "--schemas", "schemas.json"]
    return main([command, *files, *more])


def _altered(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def test_rows_that_are_right_are_judged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two resources may be one node's, and one definition has no row to cite."""
    _altered(folder / "data" / "db.owned.csv", "a,r1\n", "a,r1\nc,l,0,6,,,a,r2\nc,l,2,4,,,a,r1\n")
    assert _said("explain", "--data", "data") == 1
    said = capsys.readouterr().out
    assert "behind: violated (6 checked, 6 exercised, 1 violated, 0 unknown)" in said
    assert "Evidence: no row of its own is cited" in said
    assert _said("diff", "--data", "data") == 0


@pytest.mark.parametrize("name", DATA)
def test_rows_that_contradict_each_other_are_named(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the file, the key and the position."""
    file, (old, new), says = DATA[name]
    _altered(folder / "data" / f"db.{file}", old, new)
    for command in ("explain", "diff"):
        assert _said(command, "--data", "data") == 2
        captured = capsys.readouterr()
        place = "coverage.csv" if says.startswith("db.coverage") else file
        assert f"data/db.{place}:1:1: error: {says}" in captured.err
        assert captured.out == ""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "c,l,0,10,2024-01-01 00:00:00,2024-01-01 00:00:10,b",
            "c,l,0,10,,,\xe9",
            "4:1: error: this cannot be read: ",
        ),
        (
            "2024-01-01 00:00:03,2024",
            "01.01.2024 00:00:03,2024",
            '3:1: error: this cannot be read: Could not convert string "01.',
        ),
    ],
)
def test_a_line_that_cannot_be_read_is_named(
    old: str, new: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """DuckDB reads some lines when a query comes to them, and says so in a page of words."""
    path = folder / "data" / "db.nodes.csv"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="latin-1")
    assert _said("explain", "--data", "data") == 2
    assert f"data/db.nodes.csv:{says}" in capsys.readouterr().err


def test_a_file_of_another_kind_is_named(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A suffix in capitals is the same suffix."""
    data = folder / "data"
    (data / "db.nodes.csv").rename(data / "db.nodes.CSV")
    (data / "db.terms.csv").rename(data / "db.terms.csv.gz")
    assert _said("explain", "--only", "behind", "--data", "data") == 2
    said = "data/db.terms.csv.gz is none of the files that are read: make it db.terms.parquet, csv or json"
    assert said in capsys.readouterr().err


def test_what_several_definitions_lack_is_told_once(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data" / "db.coverage.csv").unlink()
    assert _said("explain", "--data", "data") == 2
    said = capsys.readouterr().err
    assert said.count("data has no table db.coverage") == 1
    assert said.endswith("needed by behind, one_owner, rises, bounded\n")


def test_lines_of_json_are_read(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "data" / "db.terms.csv").unlink()
    row = '{"cluster": "c", "lease": "l", "from_position": 0, "to_position": 10, "term": 0}\n'
    times = '"from_time": null, "to_time": null, "term"'
    (folder / "data" / "db.terms.jsonl").write_text(row.replace('"term"', times), encoding="utf-8")
    assert _said("explain", "--data", "data", "--only", "behind") == 1
    assert "behind: violated (" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["chek"], "Did you mean check?"),
        (["explain", "Lease.tla", "--maping", "m"], "Did you mean --mapping by --maping?"),
        (
            ["check", "Lease.tla", "--mapping", "m", "--schemas", "s", "--engine", "dukdb"],
            "Did you mean duckdb?",
        ),
        ([], "tlasql --help says more."),
    ],
)
def test_a_misspelt_word_is_answered_with_the_nearest(
    given: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(given)
    assert says in capsys.readouterr().err


def test_several_definitions_are_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """None takes the place of another, as the last of an option given twice would."""
    assert folder.is_dir()
    assert _said("explain", "--data", "data", "--only", "behind", "--only", "rises", "--limit", "0") == 1
    assert [line.split(":")[0] for line in capsys.readouterr().out.splitlines()] == ["behind", "rises"]


def test_a_misspelt_definition_is_answered_with_the_nearest(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert folder.is_dir()
    assert _said("explain", "--data", "data", "--only", "on_owner") == 2
    assert "no invariant or step on_owner\n    did you mean one_owner?" in capsys.readouterr().err


def test_what_is_unknown_is_no_success(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing violated, and nothing known: no script may take that for an answer."""
    _altered(folder / "data" / "db.coverage.csv", ",true", ",false")
    assert _said("explain", "--data", "data") == 2
    said = "behind: unknown (1 checked, 0 exercised, 0 violated, 1 unknown: not_covered)"
    assert said in capsys.readouterr().out
    assert _said("diff", "--data", "data", "--states", "0") == 2
    assert "nothing was compared: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Lease.cfg", "TLC's configuration, whose constants go to [constants]"),
        ("Lease.tla", "a module, and no"),
    ],
)
def test_what_is_no_mapping_is_told(
    name: str, says: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "Lease.cfg").write_text("INVARIANT Behind\nSYMMETRY Perms\n", encoding="utf-8")
    assert main(["check", "Lease.tla", "--mapping", name, "--schemas", "schemas.json"]) == 2
    assert f"{name}:1:1: error: this is {says}" in capsys.readouterr().err


def test_where_all_is_left_out_nothing_is_explained(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    left = "".join(f'{each} = "later"\n' for each in ("behind", "one_owner", "rises", "bounded"))
    _altered(folder / "mapping.toml", "[constants]", f"[skip]\n{left}[constants]")
    assert _said("explain", "--data", "data") == 2
    assert "error: there is no invariant or step to judge\n" in capsys.readouterr().err


def test_one_file_is_no_data(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    assert _said("explain", "--data", "data/db.terms.csv") == 2
    said = "data/db.terms.csv:1:1: error: this is the file of one table\n"
    assert capsys.readouterr().err == f"{said}    name the folder that it is in: data\n"


@pytest.mark.parametrize("command", ["check", "explain", "diff", "compile"])
def test_an_assumption_is_true_with_the_constants(
    command: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _altered(folder / "mapping.toml", "MaxEpoch = 5", "MaxEpoch = 0")
    more = {"check": ["--engine", "duckdb"], "compile": []}.get(command, ["--data", "data"])
    assert _said(command, *more) == 2
    said = "Lease.tla:5:8: error: this assumption is false with the constants that mapping.toml gives\n"
    assert capsys.readouterr().err == f"{said}    correct [constants] there, or the assumption\n"


def test_an_assumption_about_what_has_no_value_is_not_judged(folder: Path) -> None:
    """Nothing marked needs that constant."""
    _altered(folder / "Lease.tla", "ASSUME MaxEpoch > 0", "CONSTANT Fewest\nASSUME Fewest > MaxEpoch")
    assert _said("check", "--engine", "duckdb") == 0


def test_what_writes_nothing_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    assert _said("compile") == 2
    assert (
        "error: the mapping names nothing to write\n    add [outputs] with sql, " in capsys.readouterr().err
    )


def test_a_theorem_needs_no_behaviour(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """``THEOREM []P`` claims P, too."""
    mark = '\\* @invariant("bounded", "info", "node")\n'
    _altered(folder / "Lease.tla", mark, "")
    _altered(folder / "Lease.tla", "====", "THEOREM []Bounded\n====")
    assert _said("check", "--engine", "duckdb") == 0
    assert "invariant bounded compiles" in capsys.readouterr().out


def test_a_module_by_its_name_alone_and_a_folder(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert folder.is_dir()
    files = ["--mapping", "mapping.toml", "--schemas", "schemas.json"]
    assert main(["check", "Lease", *files]) == 2
    assert "Lease:1:1: error: no such file\n    did you mean Lease.tla?" in capsys.readouterr().err
    assert main(["check", "data", *files]) == 2
    assert "data:1:1: error: this is a folder" in capsys.readouterr().err
