"""Names from logs in what is printed: a terminal shows them, a shell and a program read them as they are.

Pages: test_site.py. Alerts: alerts/test_sending.py. Pictures: protocols/*/test_plot.py.
Metrics: test_metrics.py.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from hostile import NAMES

from fencepost import cli, shell
from fencepost.cli import _parser
from fencepost.output import WRITERS
from fencepost.page.stories import plot_command
from fencepost.protocols import protocols
from fencepost.settings import Lake, Settings

NO_NUL = [name.replace("\0", "\\0") for name in NAMES]
"""No argument of a command can have a NUL."""
PLOTS = [plot for protocol in protocols() for plot in protocol.plots]


def as_a_shell_reads(commands: list[str], folder: Path) -> list[list[str]]:
    """The arguments that a real shell gives to the program of each command."""
    script = "\n".join(f"show() {{ printf '%s\\0' \"$@\"; printf 'end\\0'; }}\n{each}" for each in commands)
    said = subprocess.run(
        ["bash", "-c", script.replace("fencepost ", "show ")], cwd=folder, capture_output=True, check=True
    ).stdout
    *found, rest = said.decode("utf-8", "surrogateescape").split("end\0")
    assert rest == ""
    return [each.split("\0")[:-1] for each in found]


@pytest.mark.parametrize("of_sql", [False, True], ids=["python", "dbt"])
def test_a_copied_command_has_the_name_and_does_nothing_else(of_sql: bool, tmp_path: Path) -> None:
    names = [*NO_NUL, "caf\udce9"]
    # as the macro shell_word quotes it
    quoted = ["'" + name.replace("'", "'\\''") + "'" for name in names]
    commands = [
        shell.shown(f"fencepost {each}") if of_sql else shell.line("fencepost", name)
        for each, name in zip(quoted, names, strict=True)
    ]
    assert all(each.isprintable() for each in commands)
    assert as_a_shell_reads(commands, tmp_path) == [[name] for name in names]
    assert not list(tmp_path.iterdir())


def test_no_command_has_a_name_with_a_nul(tmp_path: Path) -> None:
    assert as_a_shell_reads([shell.line("fencepost", "a\0b")], tmp_path) == []


def test_commands_for_pictures_name_what_they_are_of(tmp_path: Path) -> None:
    """Whatever it begins with: the command that the page prints is read as its arguments."""
    settings = Settings(tmp_path / "fencepost.toml", Lake("", ""), ())
    wanted = [(plot, name) for plot in PLOTS for name in NO_NUL]
    commands = [plot_command(settings, plot, name, name, "--out", "x.svg") for plot, name in wanted]
    for (plot, name), arguments in zip(wanted, as_a_shell_reads(commands, tmp_path), strict=True):
        read = vars(_parser().parse_args(arguments))
        column = (plot.option or "name").removeprefix("--").replace("-", "_")
        assert (read[column], read["cluster"], str(read["out"])) == (name, name, "x.svg")


def test_rows_are_shown_in_lines_and_come_back() -> None:
    rows = [{"name": name, "nested": [name]} for name in NAMES]
    table = pa.Table.from_pylist(rows)
    written = {}
    for name, write in WRITERS.items():
        out = io.StringIO(newline="")
        write(table, out)
        written[name] = out.getvalue()
    assert all(line.isprintable() for form in ("table", "json") for line in written[form].split("\n"))
    assert written["table"].count("\n") == len(rows) + 3
    assert json.loads(written["json"]) == rows
    _, *lines = csv.reader(io.StringIO(written["csv"], newline=""))
    assert [(name, json.loads(nested)) for name, nested in lines] == [(name, [name]) for name in NAMES]


def test_a_mistake_is_said_in_lines_that_a_terminal_shows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "\x1b[2J\u202e.toml"
    assert cli.main(["report", "--config", str(config)]) == 2
    said = capsys.readouterr().err
    assert all(line.isprintable() for line in said.split("\n")) and "\\x1b[2J" in said
