"""The first steps of a newcomer, with a broker that runs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from brokers import Plan
from cluster import Cluster

from fencepost.cli import main


@pytest.mark.live
def test_a_real_broker_from_its_delivered_level_to_debug(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What docs/request_log.md says: the level can be changed while the broker runs."""
    config = tmp_path / "fencepost.toml"
    with Cluster(Plan("4.3.1"), tmp_path / "home") as cluster:
        cluster.set_logger_level("kafka.request.logger", "WARN")
        home = cluster.brokers[0].home
        os.truncate(home / "kafka-request.log", 0)
        cluster.create_topic("orders", 1)
        assert main(["init", str(home), "--name", "payments", "--out", str(config)]) == 0
        capsys.readouterr()
        assert main(["doctor", "--config", str(config)]) == 1
        said = capsys.readouterr().out
        assert said.startswith("1 to correct"), said
        assert "its end has no line of a request" in said

        cluster.set_logger_level("kafka.request.logger", "DEBUG")
        cluster.coordinator("shop")
        assert main(["doctor", "--config", str(config)]) == 0
        said = capsys.readouterr().out
        assert "FIND_COORDINATOR" in said
        assert "timezone: UTC fits" in said
