"""The metrics file, as the parsers of OpenMetrics and of the older format read it, which collectors have."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hostile import NAMES
from prometheus_client import parser as older
from prometheus_client.openmetrics import parser as openmetrics

from fencepost.metrics import exposition, write_metrics
from fencepost.outcomes import Outcome, cluster_outcomes
from fencepost.report import Judged
from fencepost.settings import Broker, Cluster, Lake, Settings

HOSTILE = "".join(NAMES) + 'o\'brien "x" \\n \\ \n# EOF\n{}=,\r\u2028\u202e☃'
NOW = dt.datetime(2026, 1, 2, 1, tzinfo=dt.UTC)
PARSERS = [openmetrics.text_string_to_metric_families, older.text_string_to_metric_families]


def outcome(cluster: str, invariant: str, severity: str, **counts: int) -> Outcome:
    zero = dict.fromkeys(("checked", "exercised", "holds", "violated", "unknown"), 0)
    status = "violated" if counts.get("violated") else "holds"
    return Outcome(
        cluster, "M", invariant, "invariant", severity, status, description="", **{**zero, **counts}
    )


def found() -> Judged:
    outcomes = [
        outcome(HOSTILE, "a", "critical", violated=3, exercised=5, holds=2),
        outcome("d", "a", "info"),
    ]
    incidents = [{"cluster": HOSTILE, "state": "new", "severity": "critical"}] * 2
    clusters = cluster_outcomes(outcomes, [HOSTILE, "d"], {}, {(HOSTILE, "a")})
    # of a cluster without evidence nothing is said, rather than zero
    return Judged(
        outcomes, incidents, clusters, {}, {HOSTILE: NOW.replace(tzinfo=None) - dt.timedelta(hours=1)}
    )


@pytest.mark.parametrize("parse", PARSERS)
def test_names_from_outside_come_back_as_they_are(parse: Callable[[str], Any]) -> None:
    content = exposition(found(), [HOSTILE, "d"], {(HOSTILE, "not_captured"): 4, ("gone", "x"): 1}, 12.5, NOW)
    samples = {
        # by the names of the labels
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in parse(content.decode())
        for sample in family.samples
    }
    assert samples["fencepost_violations", HOSTILE, "a", "critical"] == 3
    assert samples["fencepost_violations", "d", "a", "info"] == 0
    assert samples["fencepost_holds", HOSTILE, "a", "critical"] == 2
    assert samples["fencepost_unknown", HOSTILE, "not_captured"] == 4
    assert samples["fencepost_incidents", HOSTILE, "critical", "new"] == 2
    assert samples["fencepost_incidents", "d", "critical", "new"] == 0
    assert samples["fencepost_result", HOSTILE, "FAILED"] == 1
    assert samples["fencepost_result", "d", "NOT JUDGED"] == 1
    assert samples["fencepost_result", "d", "PASSED"] == 0
    assert samples["fencepost_lag_seconds", HOSTILE] == 3600
    assert samples["fencepost_last_audit_timestamp_seconds",] == NOW.timestamp()
    assert samples["fencepost_audit_duration_seconds",] == 12.5
    assert ("fencepost_lag_seconds", "d") not in samples
    assert not [key for key in samples if "gone" in key]


def test_the_file_is_whole_or_as_it_was(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A run that cannot write it goes on, and says so."""
    folder = tmp_path / "collector"
    folder.mkdir()
    settings = Settings(
        tmp_path / "fencepost.toml",
        Lake("", ""),
        (Cluster(HOSTILE, (Broker(1),)),),
        metrics_file=folder / "fencepost.prom",
    )
    write_metrics(settings, found(), {}, None)
    (file,) = folder.iterdir()
    assert file.read_text().endswith("# EOF\n")
    assert "audit_duration" not in file.read_text()
    # others may read it, as a collector does with its own user
    assert file.stat().st_mode & 0o444

    missing = dataclasses.replace(settings, metrics_file=tmp_path / "no" / "fencepost.prom")
    write_metrics(missing, found(), {}, None)
    assert "could not be written: No such file or directory" in caplog.text
