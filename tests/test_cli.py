"""The command as other tools call it: exit codes and output formats."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from fencepost import cli, commands
from fencepost.completion import SHELLS
from fencepost.output import WRITERS
from fencepost.protocols.leader_epoch import report as leader_epochs
from fencepost.reasons import REASONS
from tlasql import cli as tlasql_cli

if TYPE_CHECKING:
    from conftest import Audited

Ended = subprocess.CompletedProcess[str]
Run = Callable[..., Ended]
RunLight = Callable[..., list[Ended]]

# A process that runs commands one after the other, and says which heavy packages it has loaded.
COMMANDS = """
import contextlib, io, json, sys
from fencepost import cli, commands
from fencepost.completion import SHELLS

ended = []
for arguments in json.load(sys.stdin):
    out, errors = io.StringIO(newline=None), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(errors):
        code = cli.main(arguments)
    ended.append((arguments, code, out.getvalue(), errors.getvalue()))
heavy = {"airflow", "dbt", "great_expectations", "py4j", "pyspark", "sqlalchemy"} & set(sys.modules)
json.dump((ended, sorted(heavy)), sys.stdout)
"""
BY_TIME = "SELECT requested_at, count(*) FROM marts.fct_offset_commits GROUP BY ALL ORDER BY ALL"
SNAPSHOTS = "SELECT count(*) AS commits FROM marts.fct_offset_commits.snapshots"
"""Which DuckDB cannot run."""


@pytest.fixture(scope="module")
def run(troubled: Audited) -> Run:
    """Runs ``fencepost`` in a process of its own on the audited lake of the troubled capture."""

    def call(*arguments: str) -> Ended:
        return subprocess.run(
            [str(Path(sys.executable).with_name("fencepost")), *arguments, "--config", str(troubled.config)],
            env={**os.environ, "FENCEPOST_LAKE": str(troubled.lake)},
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )

    return call


@pytest.fixture(scope="module")
def run_light(troubled: Audited) -> RunLight:
    """Runs commands in one process that finds no java, one after the other: it loads nothing heavy."""

    def call(*commands: Sequence[str], lake: Path = troubled.lake) -> list[Ended]:
        environment = {name: value for name, value in os.environ.items() if name != "JAVA_HOME"}
        environment |= {"PATH": str(lake.parent), "FENCEPOST_JARS": str(lake.parent)}
        configured = [[*command, "--config", str(troubled.config)] for command in commands]
        ended, heavy = run_together(configured, {**environment, "FENCEPOST_LAKE": str(lake)})
        assert heavy == []
        return ended

    return call


@pytest.fixture(scope="module")
def by_spark(troubled: Audited) -> dict[str, Ended]:
    """What Spark says to both queries: it is started once."""
    formats = {BY_TIME: "csv", SNAPSHOTS: "json"}
    options = ("--engine", "spark", "--config", str(troubled.config))
    commands = [["sql", query, "--format", each, *options] for query, each in formats.items()]
    ended, heavy = run_together(commands, {**os.environ, "FENCEPOST_LAKE": str(troubled.lake)})
    assert "pyspark" in heavy
    return dict(zip(formats, ended, strict=True))


def run_together(
    commands: Sequence[Sequence[str]], environment: Mapping[str, str]
) -> tuple[list[Ended], list[str]]:
    """How commands end in one process, one after the other, and the heavy packages that it loads."""
    done = subprocess.run(
        [sys.executable, "-c", COMMANDS],
        input=json.dumps(commands),
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    ended, heavy = json.loads(done.stdout)
    return [subprocess.CompletedProcess(*each) for each in ended], heavy


def test_nothing_is_created_by_looking(run_light: RunLight, tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    commands = (
        *(["report"], ["explain", "x"], ["plot", "x"], ["sql", "SELECT 1"], ["offsets", "x.csv"]),
        ["maintain"],
    )
    for done in run_light(*commands, lake=lake):
        assert done.returncode == 2
        assert "no audit has ended yet. Run: fencepost audit" in done.stderr
    assert not lake.exists()


def test_the_command_that_audits_first_can_be_copied(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "my cluster.toml"
    config.write_text('[[clusters]]\nname = "c"\n[[clusters.brokers]]\nid = 1\n')
    assert cli.main(["report", "--config", str(config)]) == 2
    assert capsys.readouterr().err.endswith(f"Run: fencepost audit --config '{config}'\n")


def test_audit_explain_and_sql(run: Run, troubled: Audited) -> None:
    audited = troubled.said
    assert audited.returncode == 1, audited.stderr
    assert "CRITICAL  new      A commit for another member's partition was accepted" in audited.stdout
    assert "Traceback" not in audited.stderr

    query = """
        SELECT verdict_id, scope, from_time FROM marts.fct_invariant_verdicts
        WHERE invariant = 'no_zombie_accepted' AND verdict = 'violated'
    """
    (row,) = json.loads(run("sql", query, "--format", "json").stdout)
    assert json.loads(row["scope"])["group_id"] == "zombie-current-epoch"

    told = run("explain", row["verdict_id"], "--confirm")
    assert told.returncode == 0, told.stderr
    assert "TLC confirms it: NoZombieAccepted is violated" in told.stdout
    assert "Zombie(c) => ~c.accepted" in told.stdout
    assert re.search(r"^    c\.accepted +(?:= TRUE)$", told.stdout, re.MULTILINE), told.stdout
    assert "  witness: member id '" in told.stdout  # the digest that names its row says nothing to a reader
    assert "kafka-request.log" in told.stdout

    names = list(csv.reader(io.StringIO(run("sql", "SELECT 1 AS a, 'x,y' AS b", "--format", "csv").stdout)))
    assert names == [["a", "b"], ["1", "x,y"]]


def test_what_an_audit_found_is_read_without_a_jvm(
    run_light: RunLight, by_spark: dict[str, Ended], tmp_path: Path
) -> None:
    """After an audit, where no java can be found: the same words, pictures and rows."""
    reported, everything = run_light(["report"], ["report", "--all"])
    assert reported.returncode == 0, reported.stderr
    assert "A commit for another member's partition was accepted, 20" in reported.stdout
    lines = reported.stdout.splitlines()
    assert len(lines) <= 40
    assert max(map(len, (line for line in lines if "fencepost " not in line))) <= 100
    assert "CRITICAL  no_commit_for_anothers_partition" in everything.stdout
    assert "Owners were refused in " in everything.stdout

    verdict_id = reported.stdout.rpartition("fencepost explain ")[2].split()[0]
    out = tmp_path / "checkout.svg"
    told, short, unknown, no_incident, drawn, by_duckdb = run_light(
        ["explain", verdict_id],
        ["explain", verdict_id[:8]],
        ["explain", "zz"],
        ["incidents", verdict_id[:8]],
        ["plot", "checkout", "--out", str(out)],
        ["sql", BY_TIME, "--format", "csv"],
    )
    assert told.returncode == 0, told.stderr
    assert short.stdout == told.stdout
    assert "No verdict has an id that begins with 'zz' in marts.fct_invariant_verdicts" in unknown.stderr
    said = f"{verdict_id[:8]} is a verdict, not an incident. Its story: fencepost explain {verdict_id[:8]}"
    assert said in no_incident.stderr
    assert "The specification says (spec/" in told.stdout
    assert re.search(r"^  false: .+ \(spec/\w+/\w+\.tla:\d+\)$", told.stdout, re.MULTILINE), told.stdout

    assert drawn.returncode == 0, drawn.stderr
    assert out.read_bytes().startswith(b"<?xml")

    assert by_duckdb.returncode == by_spark[BY_TIME].returncode == 0
    assert by_duckdb.stdout == by_spark[BY_TIME].stdout
    assert len(by_duckdb.stdout.splitlines()) > 100


def test_what_is_unknown_is_told_with_its_reason(run_light: RunLight) -> None:
    query = "SELECT verdict_id, reason FROM marts.fct_invariant_verdicts WHERE verdict = 'unknown' LIMIT 1"
    everything, found = run_light(["report", "--all"], ["sql", query, "--format", "json"])
    (row,) = json.loads(found.stdout)
    _, title, added = everything.stdout.partition("\nWhat is unknown of cluster troubled-4.2.1, and why\n")
    assert title
    assert f"  {row['reason']}: {REASONS[row['reason']].means.partition(' ')[0]} " in added
    (told,) = run_light(["explain", row["verdict_id"]])
    assert "  unknown, because" in told.stdout
    assert f"    {row['reason']}: " in told.stdout
    assert "what would settle it: " in told.stdout


def test_what_is_wrong_is_listed_once(run_light: RunLight) -> None:
    """Each commit is of one incident, however many invariants it violates."""
    listed, reported = run_light(["incidents", "--format", "json"], ["report", "--format", "json"])
    found = json.loads(listed.stdout)
    facts = json.loads(reported.stdout)
    assert facts["incidents"] == found
    assert facts["result"] == "FAILED"
    critical = {each["group_id"]: each for each in found if each["severity"] == "critical"}
    assert len(critical) == sum(each["severity"] == "critical" for each in found) == 3
    zombie = critical["zombie-current-epoch"]
    assert zombie["client_id"] == "zombie-current-epoch-a"
    assert (zombie["topic"], zombie["partition"], zombie["protocol"]) == ("orders", 2, "offset_commit")
    assert zombie["invariants"] == [
        "no_commit_for_anothers_partition",
        "no_policy_admits_a_zombie",
        "no_zombie_accepted",
    ]

    story, lines, waived, unknown, elsewhere, explained = run_light(
        ["incidents", zombie["fingerprint"][:6]],
        ["incidents"],
        ["incidents", "--state", "waived"],
        ["incidents", "zz"],
        ["incidents", "--cluster", "x"],
        ["explain", zombie["fingerprint"]],
    )
    assert story.stdout.count("committed offset 1028 of orders-2") == 1
    assert len(re.findall(r"^    fencepost explain \w+ --config ", story.stdout, re.MULTILINE)) == 3
    assert len(lines.stdout.splitlines()) == 2 * len(found)
    assert waived.stdout == "No incident that is waived.\n"
    assert explained.returncode == 2
    assert f"{zombie['fingerprint']} is an incident, not a verdict. Its story: fencepost incidents" in (
        explained.stderr
    )
    assert (unknown.returncode, elsewhere.returncode) == (2, 2)
    assert "No incident has a fingerprint that begins with 'zz'" in unknown.stderr
    assert "--cluster x: the configuration has troubled-4.2.1" in elsewhere.stderr


def _swallow_interrupt(*_: object) -> int:
    """Does with Ctrl-C what DuckDB does."""
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
    except KeyboardInterrupt:
        pass
    raise RuntimeError("Query interrupted")


@pytest.mark.parametrize("typed", ["fencepost report --config", "tlasql check A.tla --schemas s --mapping"])
def test_ctrl_c_is_no_failure_where_a_library_makes_it_one(
    typed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], troubled: Audited
) -> None:
    monkeypatch.setattr(commands, "report", _swallow_interrupt)
    monkeypatch.setattr(tlasql_cli, "_run", _swallow_interrupt)
    program, *arguments = [*typed.split(), str(troubled.config)]
    main = cli.main if program == "fencepost" else tlasql_cli.main
    assert main(arguments) == 130
    said = capsys.readouterr().err
    assert "interrupted" in said
    assert "Traceback" not in said
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_version() -> None:
    said = subprocess.run(
        [str(Path(sys.executable).with_name("fencepost")), "--version"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(r"fencepost \d+\.\d+\.\d+\n", said.stdout)


def test_spark_runs_what_duckdb_cannot(run_light: RunLight, by_spark: dict[str, Ended]) -> None:
    (refused,) = run_light(["sql", SNAPSHOTS])
    assert refused.returncode == 2
    assert "fencepost sql --engine spark" in refused.stderr
    assert json.loads(by_spark[SNAPSHOTS].stdout)[0]["commits"] >= 1


def test_output_that_nobody_reads_to_its_end_is_no_failure(troubled: Audited) -> None:
    """As with ``fencepost report | head``."""
    command = [str(Path(sys.executable).with_name("fencepost")), "report", "--config", str(troubled.config)]
    environment = {**os.environ, "FENCEPOST_LAKE": str(troubled.lake)}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        errors = process.stderr.read()
    assert (process.returncode, errors) == (141, b"")


def test_a_terminal_of_another_encoding_is_no_failure(troubled: Audited) -> None:
    """A list of incidents cuts what is too long, with a sign that ISO 8859-1 does not have."""
    command = [
        str(Path(sys.executable).with_name("fencepost")),
        "incidents",
        "--config",
        str(troubled.config),
    ]
    environment = {**os.environ, "FENCEPOST_LAKE": str(troubled.lake), "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert rb"\u2026" in done.stdout


def test_an_alert_is_read_in_another_folder(troubled: Audited) -> None:
    """Its commands name the configuration wherever they are typed."""
    (alert,) = (troubled.lake / "alerts").glob("*.txt")
    commands = re.findall(r"fencepost \w+ .*--config (\S+)", alert.read_text(encoding="utf-8"))
    assert len(commands) > 3
    assert set(commands) == {str(troubled.config)}


def test_what_does_not_exist_is_bad_usage(run: Run, tmp_path: Path) -> None:
    unreadable = tmp_path / "fencepost.toml"
    unreadable.write_text("[[clusters]\n")
    configs = (tmp_path / "none.toml", unreadable, tmp_path)
    ended, _ = run_together([["audit", "--config", str(each)] for each in configs], os.environ)
    assert [done.returncode for done in ended] == [2, 2, 2]
    assert str(unreadable) in ended[1].stderr
    assert "is a folder. Name the file in it" in ended[2].stderr
    assert run("audit", "--no-such-option").returncode == 2


@pytest.mark.parametrize(
    ("given", "says"),
    [
        (["adit"], "Did you mean audit?"),
        (["Report"], "Did you mean report?"),
        (["zzz"], "fencepost --help says more."),
        ([], "required: COMMAND. fencepost --help says more."),
        (["--formt", "json", "report"], "Options stand behind it."),
        (["--config", "x", "adit"], "Did you mean audit?"),
        (
            ["report", "--formt", "json"],
            "unrecognized arguments: --formt json. Did you mean --format by --formt?",
        ),
        (["audit", "--run-on", "sprk"], "Did you mean spark?"),
        (["collect", "--evry=9"], "Did you mean --every by --evry?"),
        (["plot", "--topc", "x"], "Did you mean --topic by --topc?"),
        (["report", "--al1=x"], "Did you mean --all by --al1?"),
        (["incidents", "--state", "onging"], "Did you mean ongoing?"),
        (["pseudonym", "clint", "a"], "Did you mean client?"),
        (["completion", "bsh"], "Did you mean bash?"),
        (["explain"], "fencepost explain --help says more."),
        (["audit", "/var/log/kafka"], "let fencepost init PATH ... write one."),
    ],
)
def test_a_misspelt_word_is_answered_with_the_nearest(
    given: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(given)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) < 10


@pytest.mark.parametrize("form", ["table", "csv"])
def test_truth_values_are_those_of_sql(form: str) -> None:
    out = io.StringIO()
    WRITERS[form](pa.table({"a": [True], "b": [False], "c": [None]}), out)
    assert "True" not in out.getvalue()
    assert re.search(r"true[ ,]+false", out.getvalue())


def test_the_configuration_may_stand_before_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = str(tmp_path / "absent.toml")
    for typed in (["--config", absent, "report"], ["report", "--config", absent]):
        assert cli.main(typed) == 2
        said = capsys.readouterr().err
        assert f"{absent}: there is no such file" in said
        assert "fencepost init" in said


@pytest.mark.parametrize("typed", ["xyzzy", "report xyzzy", "report --xyzzy"])
def test_what_is_near_to_nothing_is_refused_without_a_guess(
    typed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        cli.main(typed.split())
    assert "Did you mean" not in capsys.readouterr().err


def test_a_wrong_query_or_verdict_is_bad_usage(run_light: RunLight) -> None:
    refused = (
        ("SELECT * FROM marts.nothing", "The lake has no table marts.nothing."),
        ("SELECT * FROM marts.fct_offset_commit", "Near: marts.fct_offset_commits"),
        ("SELECT * FROM mart.fct_offset_commit", "Near: marts.fct_offset_commits"),
        ("SELECT * FROM fct_offset_commits", "The lake has no table fct_offset_commits. Near: marts.fct_off"),
        ("SELECT nothing FROM marts.fct_quarantine", "DuckDB, which runs queries here, refused this one"),
        ("SELEC 1 FROM", "sqlglot, which translates Spark's SQL, cannot read this (line 1"),
        ("DROP TABLE marts.fct_quarantine", "one query that reads"),
    )
    unknown = "ffffffffffffffff"
    *queries, explained, invariant, no_incident, late = run_light(
        *(["sql", query] for query, _ in refused),
        ["explain", unknown],
        ["explain", "no_zombie_acepted"],
        ["incidents", "no_zombie_accepted"],
        ["plot", "zombie-current-epoch", "--from", "2037-01-01"],
    )
    assert late.returncode == 2  # a picture in which nothing happens would be an all-clear
    assert "--from: the evidence of cluster troubled-4.2.1 ends on 20" in late.stderr
    for (_, words), done in zip(refused, queries, strict=True):
        assert done.returncode == 2
        assert words in done.stderr
        assert "Traceback" not in done.stderr
    assert explained.returncode == 2
    assert unknown in explained.stderr
    assert "no_zombie_acepted is no verdict. The invariant no_zombie_accepted has these" in invariant.stderr
    assert "no_zombie_accepted is no incident. The invariant no_zombie_accepted has" in no_incident.stderr
    assert "SELECT verdict_id, verdict, scope FROM marts.fct_invariant_verdicts" in no_incident.stderr


COMPLETED = """
eval "$(cat)"
complete -p fencepost > /dev/null || exit 1
ask() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
  _shtab_fencepost && echo "${COMPREPLY[*]}"
}
ask fencepost com; ask fencepost sql --engine ''; ask fencepost plot --tran; ask fencepost audit --config tw
"""


def test_a_shell_completes_commands_options_and_files(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "two.toml").touch()
    scripts = []
    for shell in SHELLS:
        assert cli.main(["completion", shell]) == 0
        scripts.append(capsys.readouterr().out)
    assert all("transactional-id" in script for script in scripts)
    bash = ["bash", "--norc", "-c", COMPLETED]
    said = subprocess.run(bash, input=scripts[0], cwd=tmp_path, text=True, capture_output=True, check=True)
    assert said.stdout.splitlines() == ["completion", "duckdb spark", "--transactional-id", "two.toml"]


def test_marts_of_another_release_are_told_with_what_to_do(
    troubled: Audited, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A query of a person that names such a column is refused as ever."""
    asked = f"SELECT cluster, column_of_a_later_release FROM {leader_epochs.LEADERS}"
    monkeypatch.setattr(leader_epochs, "_FAILED", asked)
    monkeypatch.setenv("FENCEPOST_LAKE", str(troubled.lake))
    config = ("--config", str(troubled.config))
    assert cli.main(["report", "--all", *config]) == 2
    said = capsys.readouterr().err
    assert said == (
        "fencepost: Another release audited this lake, and its marts lack what this command asks for. "
        f"Run: fencepost audit --config {troubled.config}\n"
    )
    assert cli.main(["sql", asked, *config]) == 2
    assert "column_of_a_later_release" in capsys.readouterr().err
