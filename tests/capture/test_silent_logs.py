"""Brokers of which no request line was read: which are told, and which are not."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fencepost import lake
from fencepost.capture import capture
from fencepost.engines.tasks import TaskEngine
from fencepost.opening import ensure
from fencepost.settings import Broker, Cluster, Settings
from fencepost.tables import QUARANTINE, REQUESTS

CAPTURE = "markers-4.3.1"


def _captured(settings: Settings, *brokers: Broker) -> dict[int | None, tuple[str, str]]:
    """Reason and detail of each broker's fault, after a run with these brokers."""
    settings = replace(settings, clusters=(Cluster("test", brokers),))
    catalog = ensure(settings.lake)
    capture(settings, catalog, lambda *_: TaskEngine(catalog), "run", lambda line: None)
    return {
        row["broker_id"]: (row["reason"], row["detail"]) for row in lake.scan(catalog, QUARANTINE).to_pylist()
    }


@pytest.fixture
def heard(captures: Path) -> Broker:
    """A broker with a request log."""
    return Broker(1, request_logs=(str(captures / CAPTURE / "broker-1" / "kafka-request.log*"),))


def test_a_silent_broker_is_told_until_it_speaks(
    empty_lake: Callable[[], Settings], heard: Broker, captures: Path, tmp_path: Path
) -> None:
    settings = empty_lake()
    log = tmp_path / "kafka-request.log"
    log.touch()
    other = Broker(2, request_logs=(str(log),))
    found = _captured(settings, heard, other)
    assert found.keys() == {2}
    assert found[2][0] == "no_requests"
    assert "no line in it is of a request" in found[2][1]
    shutil.copy(captures / "failover-4.3.1" / "broker-2" / "kafka-request.log", log)
    assert _captured(settings, heard, other) == {}


def test_where_all_are_silent_the_cluster_is_told(empty_lake: Callable[[], Settings], tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("[2026-11-20 22:02:40,024] INFO Kafka version: 4.3.1 (org.apache.kafka.common.utils)\n")
    found = _captured(empty_lake(), Broker(1), Broker(2, request_logs=(str(log),)))
    assert {broker: reason for broker, (reason, _) in found.items()} == {None: "no_requests"}


def test_where_no_line_can_be_read_none_is_asked_to_switch_it_on(
    empty_lake: Callable[[], Settings], heard: Broker, tmp_path: Path
) -> None:
    log, settings = tmp_path / "kafka-request.log", empty_lake()
    log.write_text("22:02:40 DEBUG Completed request:{} (kafka.request.logger)\n" * 2)
    unreadable = Broker(2, request_logs=(str(log),))
    for _ in range(2):  # the second run reads nothing
        found = _captured(settings, unreadable)
        assert {broker: reason for broker, (reason, _) in found.items()} == {
            None: "no_requests",
            2: "bad_line",
        }
        assert found[None][1].endswith("what is wrong with each file is said of it")
        assert {reason for reason, _ in _captured(settings, heard, unreadable).values()} == {"bad_line"}


def test_no_request_log_is_asked_of_a_controller(
    empty_lake: Callable[[], Settings], heard: Broker, captures: Path, tmp_path: Path
) -> None:
    log_dir = captures / CAPTURE / "broker-1" / "log_dir"
    shutil.copytree(log_dir / "__cluster_metadata-0", tmp_path / "controller" / "__cluster_metadata-0")
    controller, broker = Broker(3, (str(tmp_path / "controller"),)), Broker(4, (str(tmp_path / "broker"),))
    shutil.copytree(tmp_path / "controller", tmp_path / "broker")
    shutil.copytree(log_dir / "__consumer_offsets-0", tmp_path / "broker" / "__consumer_offsets-0")
    found = _captured(empty_lake(), heard, controller, broker)
    assert {broker_id: reason for broker_id, (reason, _) in found.items()} == {4: "no_requests"}
    assert "none is configured" in found[4][1]


@pytest.mark.parametrize("name", ["incarnations-4.3.1", "healthy-4.3.1"])
def test_a_broker_that_the_configuration_does_not_name_is_told(
    empty_lake: Callable[[], Settings], captures: Path, name: str
) -> None:
    """Its registration is in a snapshot of the metadata log; of a young cluster, in the log."""
    home, settings = captures / name, empty_lake()

    def broker(number: int) -> Broker:
        log = home / f"broker-{number}" / "kafka-request.log*"
        return Broker(number, request_logs=(str(log),))

    metadata = str(home / "broker-3" / "log_dir")
    brokers = [replace(broker(3), log_dirs=(metadata,)), broker(1)]
    found = _captured(settings, *brokers)
    assert {broker_id: reason for broker_id, (reason, _) in found.items()} == {2: "no_requests"}
    assert "the configuration does not" in found[2][1]
    assert _captured(settings, *brokers, broker(2)) == {}
    # its lines are in the lake
    assert _captured(settings, *brokers) == {}


def test_a_corrected_zone_moves_each_line_once(empty_lake: Callable[[], Settings], heard: Broker) -> None:
    settings = empty_lake()

    def times() -> list[int]:
        rows = lake.scan(ensure(settings.lake), REQUESTS, ("logged_at_ms",))
        return sorted(rows["logged_at_ms"].to_pylist())

    _captured(settings, heard)
    first = times()
    # the same local time
    _captured(settings, replace(heard, timezone="Etc/UTC"))
    assert times() == first
    _captured(settings, replace(heard, timezone="+01:00"))
    assert times() == [each - 3_600_000 for each in first]
    _captured(settings, replace(heard, timezone="+01:00"))
    assert len(times()) == len(first)
