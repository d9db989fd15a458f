"""What is wrong with a configuration and its logs before an audit."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fencepost.doctor import (
    Check,
    Mark,
    catalog_check,
    evidence_checks,
    in_words,
    log_kind_checks,
    machine_checks,
    request_log_checks,
    unread_log_checks,
)
from fencepost.jars import JARS_ENV, SessionError
from fencepost.pipeline import Run, audit
from fencepost.settings import load

NEWEST = datetime(2026, 11, 25, 22, 16, 27, tzinfo=UTC)
"""When the last request of broker 1 was logged, in the zone of the recording (UTC)."""


@pytest.fixture
def config(captures: Path, tmp_path: Path) -> Path:
    """The configuration of a copy of a recorded cluster."""
    home = tmp_path / "cluster"
    shutil.copytree(captures / "by-hand-4.3.1", home)
    return home / "fencepost.toml"


def _wrong(config: Path) -> list[Check]:
    return [each for each in evidence_checks(load(config)) if each.mark is Mark.WRONG]


def _of_logs(config: Path, broker: int) -> Iterator[Check]:
    of = f"cluster by-hand-4.3.1, broker {broker}"
    return (each for each in request_log_checks(load(config), NEWEST) if each.of == of)


def test_nothing_is_wrong_with_what_was_recorded(config: Path) -> None:
    assert _wrong(config) == []


@pytest.mark.parametrize(
    ("written", "ends"),
    [
        ("broker-2", ". Topics are in {}"),
        ("broker-2/log_dir/once-0", ". This one is of a partition: write {}"),
    ],
)
def test_a_directory_a_level_too_high_or_low_says_which_one_was_meant(
    config: Path, written: str, ends: str
) -> None:
    text = config.read_text().replace('"broker-2/log_dir"', f'"{written}"')
    config.write_text(text)
    (folder,) = _wrong(config)
    assert folder.remedy.startswith("holds no topic: log_dirs must name")
    assert folder.remedy.endswith(ends.format(config.parent / "broker-2/log_dir"))


def test_a_request_log_of_another_cluster_is_told(config: Path, captures: Path) -> None:
    log = config.parent / "broker-2" / "kafka-request.log"
    assert [each for each in _of_logs(config, 2) if each.mark is Mark.WRONG] == []
    shutil.copy(captures / "failover-4.3.1" / "broker-1" / "kafka-request.log", log)
    (told,) = (each for each in _of_logs(config, 2) if "cluster yA_IB7UKQommh_yc1MU01w wrote it" in each.says)
    assert told.mark is Mark.WRONG
    assert told.remedy == "correct request_logs: nothing of this log is read"


def test_what_is_missing_is_told_of_its_broker(config: Path) -> None:
    shutil.rmtree(config.parent / "broker-2" / "log_dir")
    (config.parent / "broker-3" / "kafka-request.log").unlink()
    folder, log = _wrong(config)
    assert folder.of == "cluster by-hand-4.3.1, broker 2"
    assert folder.remedy == "no such directory: correct log_dirs in the configuration, or mount it"
    assert log.of == "cluster by-hand-4.3.1, broker 3"
    assert log.says.endswith("broker-3/kafka-request.log*")
    assert "," not in folder.says  # it is named once, whatever kinds of files it lacks


def test_a_registered_broker_that_is_not_named_is_told(captures: Path) -> None:
    """By the newest metadata snapshot; nothing is said if the configuration names all of them."""
    settings = load(captures / "incarnations-4.3.1" / "fencepost.toml")
    (cluster,) = settings.clusters
    fewer = replace(settings, clusters=(replace(cluster, brokers=cluster.brokers[1:]),))
    told = [
        [each.says for each in evidence_checks(some) if "the configuration does not" in each.says]
        for some in (settings, fewer)
    ]
    assert told == [[], ["the metadata log has 1 broker that the configuration does not: 1"]]


def test_a_folder_is_no_log(config: Path) -> None:
    config.write_text(config.read_text().replace("broker-3/kafka-request.log*", "broker-3"))
    (log,) = _wrong(config)
    assert log.says.endswith("/broker-3")
    assert log.remedy == "this is a folder: name the files in it, as in /var/log/kafka/*.log*"


def test_directories_of_another_broker_are_wrong(config: Path) -> None:
    config.write_text(config.read_text().replace("broker-2/log_dir", "broker-3/log_dir"))
    assert any("says node.id=3" in each.says for each in _wrong(config))


@pytest.mark.parametrize(
    ("zone", "mark", "words"),
    [
        ("UTC", Mark.GOOD, "UTC fits"),
        ("Asia/Tokyo", Mark.NOTE, "in Asia/Tokyo the newest line is 9.00 hours before the file was written"),
        ("-03:30", Mark.WRONG, "in -03:30 the newest line is 3.50 hours after the file was written"),
    ],
)
def test_the_time_of_the_file_tells_a_wrong_zone(config: Path, zone: str, mark: Mark, words: str) -> None:
    config.write_text(config.read_text().replace('timezone = "UTC"', f'timezone = "{zone}"'))
    file = config.parent / "broker-1" / "kafka-request.log"
    os.utime(file, (NEWEST.timestamp() + 1,) * 2)
    (found,) = [each for each in _of_logs(config, 1) if each.says.startswith("timezone")]
    assert found.mark is mark
    assert words in found.says
    assert mark is Mark.GOOD or (found.remedy or "").endswith("which seem to be of UTC")


def test_a_copy_at_any_other_time_tells_nothing_of_the_zone(config: Path) -> None:
    file = config.parent / "broker-1" / "kafka-request.log"
    copied = NEWEST + timedelta(days=2, minutes=7)
    for written in (copied.timestamp(), 10.0**12):  # the latter is no date
        os.utime(file, (written,) * 2)
        found = list(_of_logs(config, 1))
        assert not [each for each in found if each.says.startswith("timezone")]
    assert "the time at which it was written is no date" in found[-1].says


def test_times_without_milliseconds_are_told(config: Path) -> None:
    def of_times() -> list[Mark]:
        return [each.mark for each in _of_logs(config, 1) if "whole seconds" in each.says]

    assert of_times() == []
    file = config.parent / "broker-1" / "kafka-request.log"
    file.write_bytes(re.sub(rb"(?m)^(\[\S+ [\d:]{8}),\d{3}\]", rb"\1,000]", file.read_bytes()))
    assert of_times() == [Mark.NOTE]


@pytest.mark.parametrize(
    "before", ["kafka-1  | ", "[pod/kafka-0/kafka] ", "2026-11-25T22:16:27.1Z stdout F "]
)
def test_what_a_collector_puts_before_a_line_changes_nothing(config: Path, before: str) -> None:
    plain = list(_of_logs(config, 1))
    log = config.parent / "broker-1" / "kafka-request.log"
    times = log.stat().st_mtime_ns
    log.write_text("".join(before + line for line in log.read_text().splitlines(keepends=True)))
    os.utime(log, ns=(times, times))
    assert list(_of_logs(config, 1)) == plain
    assert not any(str(log) in each.says for each in log_kind_checks(load(config)))


def test_lines_of_several_programs_are_told(config: Path) -> None:
    log = config.parent / "broker-1" / "kafka-request.log"
    lines = enumerate(log.read_text().splitlines(keepends=True))
    log.write_text("".join(f"kafka-{at % 2}  | {line}" for at, line in lines))
    found = [each.says for each in log_kind_checks(load(config))]
    assert found == [f"{log}, which request_logs names, has lines of several programs: kafka-0, kafka-1"]
    assert not list(_of_logs(config, 1))


def test_request_logs_of_each_other_are_told(config: Path) -> None:
    def told() -> list[Check]:
        return [each for n in (1, 2) for each in _of_logs(config, n) if "as a follower" in each.says]

    assert told() == []
    first, second = (config.parent / f"broker-{n}" / "kafka-request.log" for n in (1, 2))
    other = first.rename(first.with_name("other"))
    second.rename(first)
    other.rename(second)
    assert [(each.of[-8:], each.mark) for each in told()] == [
        ("broker 1", Mark.WRONG),
        ("broker 2", Mark.WRONG),
    ]
    assert told()[0].says == (
        f"{first}: in it broker 1 fetches as a follower, which no broker does from itself"
    )


def test_alerts_and_metrics_that_cannot_leave_are_told(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hook = "[[alerts]]\nname = '{}'\nwebhook = 'https://x/${{{}}}'\n"
    config.write_text(
        f"{config.read_text()}\n{hook.format('a', 'IS_SET')}{hook.format('b', 'NOT_SET')}"
        "[metrics]\nfile = 'no/such/fencepost.prom'\n"
    )
    monkeypatch.setenv("IS_SET", "x")
    begins = ("this environment has no", "the folder of the metrics")
    variable, folder = (each for each in machine_checks(load(config)) if each.says.startswith(begins))
    assert variable.says == "this environment has no NOT_SET, which the address of the alerts to b needs"
    assert (variable.mark, folder.mark) == (Mark.NOTE, Mark.WRONG)


@pytest.mark.parametrize(
    ("engine", "mark"),
    [("", Mark.NOTE), ('[engine]\nrun_on = "spark"\n', Mark.WRONG),
     ('[spark]\n"spark.master" = "spark://there:7077"\n', Mark.WRONG)],
)  # fmt: skip
def test_missing_jars_stop_only_a_run_on_spark(
    config: Path, monkeypatch: pytest.MonkeyPatch, engine: str, mark: Mark
) -> None:
    config.write_text(f"{config.read_text()}\n{engine}")
    settings = load(config)
    monkeypatch.setenv(JARS_ENV, str(config.parent))
    (jars,) = (each for each in machine_checks(settings) if each.says.startswith("No jars of Iceberg"))
    assert jars.mark == mark
    if mark is Mark.WRONG:
        with Run(settings) as run, pytest.raises(SessionError, match="No jars of Iceberg"):
            audit(run)


def test_a_store_that_does_not_answer_is_told_at_once(config: Path) -> None:
    store = '"s3.endpoint" = "http://127.0.0.1:9"\n"s3.region" = "x"\n'
    store += '"s3.access-key-id" = "x"\n"s3.secret-access-key" = "x"\n'
    config.write_text(
        f'{config.read_text()}\n[lake]\nwarehouse = "s3://b/lake"\n[lake.catalog_properties]\n{store}'
    )
    settings = load(config)
    ((told,), _) = catalog_check(settings)
    assert (told.mark, told.says[:27]) == (Mark.WRONG, "The store of s3://b/lake fa")
    assert any("the lake's catalog, " in each.says for each in machine_checks(settings))


def test_names_from_outside_do_not_reach_the_terminal_raw() -> None:
    said = in_words([Check("cluster \x1b[2J", Mark.WRONG, "a\nb", "\x07")])
    assert "\x1b" not in said
    assert "a\\nb" in said


_GC = "[2026-11-25T22:00:00.001+0000][info][gc,start    ] GC(0) Pause Young (Normal)\n"
_CONTROLLER = (
    "[2026-11-25 22:00:00,001] INFO [QuorumController id=1] Replayed (org.apache.kafka.controller.X)\n"
)
_CLEANER = (
    "[2026-11-25 22:00:00,001] INFO Cleaner 0: Building (org.apache.kafka.storage.internals.log.Cleaner)\n"
)
_CONSUMER = "2026-11-25 22:00:00,001 INFO [main] o.e.App - up\n" + (
    "2026-11-25 22:00:00,002 INFO [main] org.apache.kafka.clients.consumer.KafkaConsumer - Subscribed\n"
)
_DISCONNECTED = (
    "[2026-11-25 22:00:00,001] WARN Node 2 disconnected. (org.apache.kafka.clients.NetworkClient)\n"
)
_PLAIN = "[2026-11-25 22:00:00,001] INFO something\n"


@pytest.mark.parametrize(
    ("text", "looks", "remedy"),
    [
        (_GC, "a log of Java's garbage collector", "no audit reads this one"),
        (_CONTROLLER * 3, "a controller.log", "no audit reads this one"),
        (_CLEANER, "a log-cleaner.log", "no audit reads this one"),
        (_CONSUMER, "the log of a client", "name the log of a client below [[clusters.clients]]"),
        (None, "a request log", "name a request log in request_logs"),
    ],
)
def test_a_server_log_that_is_another_log_is_told(
    config: Path, text: str | None, looks: str, remedy: str
) -> None:
    """Nothing of it would be read, and what it should say would stay unknown without a word."""
    log = config.parent / "broker-1" / "server.log"
    requests = (config.parent / "broker-1" / "kafka-request.log").read_text(encoding="utf-8")
    log.write_text(requests if text is None else text, encoding="utf-8")
    (found,) = log_kind_checks(load(config))
    assert (found.of, found.mark) == ("cluster by-hand-4.3.1, broker 1", Mark.WRONG)
    assert found.says == f"{log}, which server_logs names, looks like {looks}"
    assert found.remedy == f"name a broker's server.log in server_logs; {remedy}"


@pytest.mark.parametrize("text", ["", _PLAIN, _DISCONNECTED * 9, _CONTROLLER + _CLEANER])
def test_what_may_be_a_server_log_is_none_of_others(config: Path, text: str) -> None:
    """Nothing in it, or what any log of a broker may have, or logs that are one file here."""
    log = config.parent / "broker-1" / "server.log"
    log.write_text(text, encoding="utf-8")
    assert list(log_kind_checks(load(config))) == []


def test_a_log_in_an_unknown_layout_is_told(config: Path) -> None:
    """It was one file of the client, and good."""
    log = config.parent / "broker-1" / "server.log"
    log.write_text("20.11.26 22:02 something\n" * 9, encoding="utf-8")
    (found,) = log_kind_checks(load(config))
    assert (found.mark, found.says) == (
        Mark.WRONG,
        f"{log}, which server_logs names: no line begins with a time in a known layout",
    )


def test_a_log_that_cannot_be_read_is_told_as_what_it_is(config: Path) -> None:
    """It was told to have no line of a request, as if nobody had switched the log on."""
    log = config.parent / "broker-1" / "kafka-request.log"
    text = log.read_text(encoding="utf-8")
    log.write_text(text, encoding="utf-16")
    assert list(_of_logs(config, 1)) == []
    (wrong,) = [each for each in evidence_checks(load(config)) if each.mark is Mark.WRONG]
    assert (wrong.says, "iconv" in (wrong.remedy or "")) == (str(log), True)
    log.write_text("".join(f'{{"streams": "{line[:50]}"}}\n' for line in text.splitlines()), encoding="utf-8")
    (wrong,) = _of_logs(config, 1)
    assert (wrong.mark, "its JSON has no time" in wrong.says) == (Mark.WRONG, True)


def test_a_server_log_named_as_others_is_told(config: Path) -> None:
    folder = config.parent / "broker-1"
    client = f'[[clusters.clients]]\nname = "shop"\nlogs = ["{folder}/server.log"]\n'
    text = config.read_text(encoding="utf-8").replace("broker-1/kafka-request.log*", "broker-1/server.log")
    config.write_text(f"{text}\n{client}", encoding="utf-8")
    assert [(each.says, each.remedy) for each in log_kind_checks(load(config))] == [
        (
            f"{folder}/server.log, which {key} names, looks like a broker's server.log",
            f"name {wanted} in {key}; name a broker's server.log in server_logs",
        )
        for key, wanted in (("request_logs", "a request log"), ("logs of shop", "the log of a client"))
    ]
    # and once: not again because it has no line of a request
    assert not list(_of_logs(config, 1))


def test_logs_of_other_makers_are_told_once(config: Path) -> None:
    """They were files, and good; each file was counted once for every kind of line."""
    text = config.read_text(encoding="utf-8").partition("[[clusters.clients]]")[0]
    lines = {
        "js": '{"level":"WARN","timestamp":"2026-11-30T16:41:32.000Z","logger":"kafkajs"}\n',
        "java": _CONSUMER,
        "spring": _PLAIN + "2026-11-25 22:00:00,002 INFO [Consumer clientId=a, groupId=g] Resetting\n",
    }
    for name, log in lines.items():
        (config.parent / f"{name}.log").write_text(log, encoding="utf-8")
        text += f'\n[[clusters.clients]]\nname = "{name}"\nlogs = ["{config.parent}/{name}.log"]\n'
    config.write_text(text, encoding="utf-8")
    (found,) = unread_log_checks(load(config))
    assert (found.mark, found.says.partition(":")[0]) == (Mark.NOTE, "logs of js")
    assert "3 files of 3 of 3 clients" in [each.says for each in evidence_checks(load(config))]


def test_what_was_recorded_is_what_it_is_named(captures: Path) -> None:
    for name in ("upgraded-3.9.2", "streams-3.9.2", "rebalances-4.3.1"):
        assert list(log_kind_checks(load(captures / name / "fencepost.toml"))) == []
