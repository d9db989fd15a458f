"""Ordinary mistakes in a configuration: no audit passes by them, and each is told with the key to change."""

from __future__ import annotations

import io
import re
import shutil
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from fencepost import cli

COMMITS, TRANSACTIONS = "troubled-4.2.1", "markers-4.3.1"
"""Captures of commits, whose request log has New York's time, and of transactions, whose has UTC."""
COPIES = ("unheard", "empty-log", "other-log")
"""Copies of the latter: two clusters have no directory in common."""

CLUSTERS = """
[[clusters]]
name = "another zone"
[[clusters.brokers]]
id = 1
log_dirs = ["troubled-4.2.1/broker-1/log_dir"]
request_logs = ["troubled-4.2.1/broker-1/kafka-request.log*"]
timezone = "{zone}"

[[clusters]]
name = "another zone of transactions"
[[clusters.brokers]]
id = 1
log_dirs = ["markers-4.3.1/broker-1/log_dir"]
request_logs = ["markers-4.3.1/broker-1/kafka-request.log*"]
timezone = "Europe/Berlin"

[[clusters]]
name = "no request log"
[[clusters.brokers]]
id = 1
log_dirs = ["unheard/broker-1/log_dir"]

[[clusters]]
name = "an empty request log"
[[clusters.brokers]]
id = 1
log_dirs = ["empty-log/broker-1/log_dir"]
request_logs = ["empty/kafka-request.log"]

[[clusters]]
name = "another log"
[[clusters.brokers]]
id = 1
log_dirs = ["other-log/broker-1/log_dir"]
request_logs = ["other-log/broker-1/server.log"]

[[clusters]]
name = "no such directory"
[[clusters.brokers]]
id = 1
log_dirs = ["markers-4.3.1/broker-1/data"]
request_logs = ["markers-4.3.1/broker-1/kafka-request.log*"]

[[clusters]]
name = "not Kafka's"
[[clusters.brokers]]
id = 1
log_dirs = ["empty"]
request_logs = ["empty/*.log"]
"""


@dataclass(frozen=True)
class Said:
    """How a command ended, what it printed, and the whole report after it."""

    code: int
    out: str
    errors: str
    report: str

    def about(self, cluster: str) -> str:
        """What the report says of a cluster, as one line."""
        return " ".join(self.report.partition(f"\nCluster {cluster}: ")[2].partition("\nCluster ")[0].split())


@pytest.fixture(scope="module")
def folder(captures: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two captures, one of them four times, whose files no configuration below names by mistake, and a folder
    with an empty log.
    """
    folder = tmp_path_factory.mktemp("mistakes")
    shutil.copytree(captures / COMMITS, folder / COMMITS)
    for name in (TRANSACTIONS, *COPIES):
        shutil.copytree(captures / TRANSACTIONS, folder / name)
    (folder / "empty").mkdir()
    (folder / "empty" / "kafka-request.log").touch()
    return folder


def run(config: Path, text: str, command: str = "audit") -> Said:
    config.write_text(text, encoding="utf-8")
    out, errors = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(errors):
        patch.delenv("FENCEPOST_LAKE", raising=False)
        patch.setenv("TZ", "UTC")
        code = cli.main([command, "--config", str(config)])
        said = out.getvalue()
        if code not in (cli.BAD_USAGE, cli.FAILED):
            assert cli.main(["report", "--all", "--config", str(config)]) == 0
    return Said(code, said, errors.getvalue(), out.getvalue().removeprefix(said))


@pytest.fixture(scope="module")
def said(folder: Path) -> Said:
    """One audit of all mistakes that an audit finds out."""
    return run(folder / "fencepost.toml", CLUSTERS.format(zone="America/Chicago"))


def test_nothing_passes(said: Said) -> None:
    assert said.code == cli.commands.NOT_JUDGED == 3, said.errors
    assert said.out.startswith("NOT JUDGED: cluster another zone: no request can be placed in time")
    titles = [line for line in said.report.splitlines() if line.startswith("Cluster ")]
    assert len(titles) == CLUSTERS.count("[[clusters]]")
    assert all(title.endswith(": NOT JUDGED") for title in titles)
    assert "PASSED" not in said.out + said.report


@pytest.mark.parametrize(
    ("cluster", "words"),
    [
        (
            "another zone",
            "The request log of broker 1 is 1 h ahead of its records, as 354 requests show, so no request of "
            'it can be placed in time. Set timezone = "-05:00" for it (or the name of its zone, such as '
            '"America/New_York", if that has summer time): it is "America/Chicago" now.',
        ),
        ("another zone of transactions", 'Set timezone = "UTC" for it'),
        ("no request log", "no request log of the cluster has a line of a request"),
        ("an empty request log", "switch on DEBUG on kafka.request.logger"),
        ("another log", "correct request_logs in the configuration"),
        ("no such directory", "no such directory: correct log_dirs in the configuration, or mount it"),
        ("not Kafka's", "log_dirs must name the directories that log.dirs names in server.properties"),
    ],
)
def test_the_key_to_change_is_told_first(said: Said, cluster: str, words: str) -> None:
    about = said.about(cluster)
    assert words in about
    found = re.search(r" \d+ (hold|unknown:|not exercised:)", about)
    assert found is not None
    assert about.index(words) < found.start()


def test_what_is_unknown_does_not_hold(said: Said) -> None:
    about = said.about("another zone")
    unknown = about.partition(" unknown: ")[2].partition(" not exercised: ")[0]
    assert "no_zombie_accepted" in unknown
    assert "no_zombie_accepted" not in about.partition(" unknown: ")[0]
    # the counts of commits, among them those of zombies, are no all-clear
    assert re.search(r"Of \d+ of these commits it is not known whether their sender owned the part", about)


def test_a_corrected_zone_has_the_log_read_again(folder: Path, said: Said) -> None:
    corrected = run(folder / "fencepost.toml", CLUSTERS.format(zone="-05:00"))
    assert corrected.code == cli.commands.VIOLATED, corrected.errors
    assert corrected.out.startswith("FAILED: no_commit_for_anothers_partition in cluster another zone (4 of")
    assert "no_zombie_accepted" in corrected.out.partition("NOT JUDGED")[0]
    assert "another clock" not in corrected.about("another zone")


def test_a_setting_lets_such_a_run_pass_and_not_its_words(folder: Path) -> None:
    text = '[[clusters]]\nname = "empty"\n[[clusters.brokers]]\nid = 1\nlog_dirs = ["empty"]\n'
    lake = '[lake]\nwarehouse = "other/warehouse"\ncatalog = "sqlite:///other/catalog.db"\n'
    softened = run(folder / "other.toml", f'{text}{lake}[gate]\nnot_judged = "pass"\n')
    assert softened.code == cli.commands.OK, softened.errors
    assert softened.out.startswith("NOT JUDGED: cluster empty: ")


Change = Callable[[str], str]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda text: text.replace("id = 1", "id = 7"),
            "clusters[0].brokers[0].id: is 7, but {}/broker-1/log_dir/meta.properties says node.id=1",
        ),
        (
            lambda text: (
                f'{text}[[clusters.brokers]]\nid = 2\nlog_dirs = ["{TRANSACTIONS}/broker-1/log_dir"]\n'
            ),
            "clusters[0].brokers[1].log_dirs: {}/broker-1/log_dir is listed for broker 1, too.",
        ),
    ],
)
def test_another_brokers_directory_is_not_read(folder: Path, change: Change, words: str) -> None:
    text = CLUSTERS.format(zone="UTC").split("\n\n")[1] + "\n"
    refused = run(folder / "wrong.toml", change(f'[lake]\ncatalog = "sqlite:///wrong/catalog.db"\n\n{text}'))
    assert refused.code == 2
    assert words.format(folder / TRANSACTIONS) in refused.errors
