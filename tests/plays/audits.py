"""Audits of performances, several as clusters of one lake, and the rows that oracles read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fencepost.opening import open_lake
from fencepost.settings import load

Rows = dict[str, list[dict[str, Any]]]

TABLES = {
    "events": "SELECT * FROM marts.fct_fencing_events",
    "commits": "SELECT * FROM marts.fct_offset_commits",
    "offsets": "SELECT * FROM marts.fct_committed_offsets",
    "extents": "SELECT * FROM marts.fct_last_stable_offsets",
    "dangling": "SELECT * FROM marts.fct_dangling_transactions",
    "transactions": "SELECT * FROM marts.fct_transactions",
    "epochs": "SELECT * FROM marts.fct_producer_epochs",
    "members": "SELECT * FROM marts.fct_member_epochs",
    "owned": "SELECT * FROM marts.fct_ownership_intervals",
    "topics": "SELECT * FROM marts.fct_topic_incarnations",
    "verdicts": "SELECT * FROM marts.fct_invariant_verdicts WHERE verdict <> 'holds'",
    "coverage": "SELECT * FROM marts.fct_invariant_coverage",
    "reasons": "SELECT cluster, invariant, reason, `unknown` FROM marts.fct_unknown_reasons",
    "leaders": "SELECT * FROM marts.fct_leader_epochs",
    "lines": "SELECT cluster, file, position, client_id, correlation_id, api_name FROM bronze.requests",
}
"""What the oracles read, by a short name."""

DONE = (0, 1, 3)
"""Exit codes of an audit that came to an end: passed, failed, not judged."""


@dataclass(frozen=True)
class Audit:
    """An audit that has ended: its exit code, what it printed, and the CPU seconds that it took."""

    config: Path
    code: int
    said: str
    cpu_s: float

    @property
    def is_done(self) -> bool:
        """Whether it came to an end, without a traceback."""
        return self.code in DONE and "Traceback" not in self.said


def configure(work: Path, sources: Mapping[str, tuple[Path, int]]) -> Path:
    """A configuration with a lake in ``work``; sources are the folder and number of brokers by cluster."""
    work.mkdir(parents=True, exist_ok=True)
    lines = ["[lake]", f'warehouse = "{work}/lake"', f'catalog = "sqlite:///{work}/catalog.db"']
    for name, (home, brokers) in sources.items():
        lines += ["", "[[clusters]]", f'name = "{name}"']
        for number in range(1, brokers + 1):
            folder = home / f"broker-{number}"
            lines += ["", "[[clusters.brokers]]", f"id = {number}", f'log_dirs = ["{folder}/log_dir"]']
            lines += [
                f'request_logs = ["{folder}/kafka-request.log*"]',
                f'server_logs = ["{folder}/server.log*"]',
            ]
    config = work / "fencepost.toml"
    config.write_text("\n".join(lines) + "\n")
    return config


def audit(config: Path) -> Audit:
    """Run ``fencepost audit`` in a process of its own."""
    command = [sys.executable, "-m", "fencepost.cli", "audit", "--config", str(config)]
    with (config.parent / "audit.out").open("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, cwd=config.parent)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    said = (config.parent / "audit.out").read_text()
    return Audit(config, process.returncode, said, used.ru_utime + used.ru_stime)


def rows_of(config: Path) -> dict[str, Rows]:
    """The rows of an audited lake, by cluster."""
    found: dict[str, Rows] = {}
    with open_lake(load(config), "duckdb") as lake:
        for name, query in TABLES.items():
            for row in lake.query(query).to_pylist():
                cluster = found.setdefault(row["cluster"], {table: [] for table in TABLES})
                cluster[name].append(row)
    return found


def forget(work: Path) -> None:
    """Remove an earlier lake."""
    shutil.rmtree(work, ignore_errors=True)
