"""Record captures: ``python tests/lab/record.py [scenario ...] [--version V] [--out DIR]``.

Each capture has a real cluster's logs, with the requests of its drivers and their answers; see
``tests/captures/README.md``. Without arguments every stored capture is recorded again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from brokers import LabError
from capture import refused_commits, write_capture
from clients import Clients
from cluster import Cluster
from scenario import Stage
from scenarios import SCENARIOS
from truth import GroundTruth

VERSIONS = ("4.4.0", "4.3.1", "4.2.1", "4.1.2", "4.0.2", "3.9.2")
STORED = {
    "healthy": ("4.3.1", "4.2.1"),
    "troubled": ("4.3.1", "4.2.1"),
    "groups": VERSIONS,
    "early": ("4.1.2",),
    "failover": ("4.3.1",),
    "compacted": ("4.3.1",),
    "subscriptions": ("4.3.1",),
    "subscribed-again": ("4.3.1",),
    "producers": ("4.3.1", "3.9.2"),
    "producers-tv1": ("4.3.1",),
    "producers-failover": ("4.3.1", "4.2.1"),
    "exhausted": ("4.3.1",),
    "expired": ("4.3.1",),
    "ends": ("4.3.1", "4.2.1", "4.0.2"),
    "fencings": ("4.3.1",),
    "markers": ("4.3.1", "4.1.2", "4.0.2"),
    "idempotent": ("4.3.1",),
    "operators": ("4.3.1",),
    "incarnations": ("4.3.1", "4.2.1", "4.1.2", "3.9.2"),
    "by-hand": ("4.3.1",),
    "unclean": ("4.3.1",),
    "natural": ("4.3.1",),
    "makers": ("4.3.1",),
    "platformatic": ("4.3.1",),
    "old-clients": ("4.3.1",),
    "days": ("4.3.1",),
    "upgraded": ("3.9.2",),
    "zookeeper": ("3.9.2",),
    "rebalances": ("4.3.1", "3.9.2"),
    "recreated": ("4.3.1",),
    "removals": ("4.3.1",),
    "share": ("4.3.1",),
    "tiered": ("4.3.1",),
    "streams": ("4.4.0", "4.3.1", "3.9.2"),
    "lags": ("4.3.1", "3.9.2"),
}
"""The stored captures: the versions on which each scenario is recorded."""

CAPTURES = Path(__file__).resolve().parents[1] / "captures"
_ATTEMPTS = 3


def record(scenario: str, version: str, out_dir: Path) -> Path:
    """Record one scenario on one Kafka version into ``out_dir/<scenario>-<version>``, and return that folder.

    Raises ``LabError`` if a broker, a client or the scenario fails. In a clean scenario every commit must be
    accepted; if a real client's commit coincides with a rebalance and is refused, the scenario is recorded
    again.
    """
    folder = out_dir / f"{scenario}-{version}"
    for attempt in range(_ATTEMPTS):
        _record_once(scenario, version, folder)
        refused = refused_commits(folder) if SCENARIOS[scenario].clean else 0
        if not refused:
            return folder
        _say(f"{folder.name}: {refused} commits were refused, attempt {attempt + 1}")
    raise LabError(f"{folder.name}: commits were refused in each of {_ATTEMPTS} recordings")


def _record_once(scenario: str, version: str, folder: Path) -> None:
    chosen, truth, started = SCENARIOS[scenario], GroundTruth(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="fencepost-lab-") as temporary:
        home = Path(temporary)

        def say(what: str) -> None:
            _say(f"{folder.name} {time.monotonic() - started:5.1f} s  {what}")

        say("start brokers")
        with Cluster(chosen.plan(version), home) as cluster:
            with Clients(cluster, home / "clients") as clients:
                chosen.run(Stage(cluster, clients, truth, say))
                say("stop clients")
            live = chosen.live_copy(version)
            if live:
                write_capture(folder, cluster, clients, truth)
            say("stop brokers")
        if not live:
            write_capture(folder, cluster, clients, truth)
        say(f"done: {len(truth.rows)} hand-made requests")


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("scenario", nargs="*", choices=[*SCENARIOS, []], help="default: every stored capture")
    parser.add_argument("--version", choices=VERSIONS, help="default: all")
    parser.add_argument("--out", type=Path, default=CAPTURES)
    options = parser.parse_args(arguments)
    try:
        for scenario in options.scenario or STORED:
            stored = STORED.get(scenario, VERSIONS)
            asked = [options.version] if options.version else stored
            for version in asked:
                if options.scenario or version in stored:
                    record(scenario, version, options.out)
    except LabError as error:
        print(f"record: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
