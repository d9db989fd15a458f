"""The gate on a real lake with the compiled suite: what closes it, what it says, what it must see."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from fencepost import lake
from fencepost.definitions import definitions
from fencepost.gate import GateError, GateFailed, notify, run_gate
from fencepost.settings import Broker, Cluster, Lake, Settings
from fencepost.words import printable

ROOT = Path(__file__).resolve().parents[2]
MODELS = {
    model["name"]: {column["name"]: column["data_type"] for column in model["columns"]}
    for file in (ROOT / "dbt" / "models").rglob("fct_*.yml")
    for model in yaml.load(file.read_text(), yaml.CSafeLoader)["models"]
}
MARKED = {found.id: found for found in definitions() if found.kind != "decision"}
CRITICAL, WARNING = "no_commit_for_anothers_partition", "no_owner_refused"
HOSTILE = 'o\'brien\n"x"\u202e'
COUNTS = {
    "holds": {"checked": 5, "exercised": 3, "holds": 5},
    "violated": {"checked": 5, "exercised": 3, "holds": 4, "violated": 1},
    "unknown": {"checked": 5, "exercised": 3, "holds": 4, "unknown": 1},
    "not_exercised": {"checked": 5},
}
Publish = Callable[..., Settings]
ARROW = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
}


@pytest.fixture(scope="module")
def publish(tmp_path_factory: pytest.TempPathFactory) -> Publish:
    """Call it with statuses by invariant (the rest hold) for a lake whose marts say so."""
    folder = tmp_path_factory.mktemp("gate")
    settings = Settings(
        path=folder / "fencepost.toml",
        lake=Lake(str(folder / "warehouse"), f"sqlite:///{folder / 'catalog.db'}"),
        clusters=(Cluster("prod", (Broker(1),)),),
    )
    catalog = lake.ensure(settings.lake)

    def fill(mart: str, rows: list[dict[str, Any]]) -> None:
        schema = pa.schema([(name, ARROW.get(kind, pa.string())) for name, kind in MODELS[mart].items()])
        table = catalog.create_table_if_not_exists(f"marts.{mart}", schema)
        named = [{name: row.get(name) for name in schema.names} for row in rows]
        table.overwrite(pa.Table.from_pylist(named, schema=schema))

    def make(episodes: tuple[str, ...] = (), without: str = "", **statuses: str) -> Settings:
        fill(
            "fct_invariant_coverage",
            [_coverage(each, statuses.get(each, "holds")) for each in MARKED if each != without],
        )
        fill("fct_invariant_verdicts", [_episode(each, number) for each in episodes for number in range(5)])
        fill("fct_offset_commits", [_commit()])
        fill("fct_ownership_intervals", [])
        return settings

    return make


def _coverage(invariant: str, status: str) -> dict[str, Any]:
    found = MARKED[invariant]
    zero = dict.fromkeys(("scopes", "checked", "exercised", "holds", "violated", "unknown", "unread"), 0)
    return {
        **zero,
        **COUNTS[status],
        "cluster": "prod",
        "module": found.module,
        "invariant": invariant,
        "kind": found.kind,
        "severity": found.severity,
        "status": status,
        "description": f"What {invariant} means.",
    }


def _episode(invariant: str, number: int) -> dict[str, Any]:
    return {
        "verdict_id": f"{invariant}-{number}",
        "module": "OffsetCommitProps",
        "invariant": invariant,
        "kind": "invariant",
        "severity": MARKED[invariant].severity,
        "cluster": "prod",
        "scope": json.dumps({"group_id": HOSTILE, "life": 1}),
        "from_time": dt.datetime(2026, 1, 2, 0, 0, number, tzinfo=dt.UTC),
        "verdict": "violated",
        "failed_conjunct": "~c.ownedByAnother",
        "values": json.dumps({"c.ownedByAnother": True}),
        "evidence": json.dumps({"commit_id": "anothers"}),
    }


def _commit() -> dict[str, Any]:
    return {
        "cluster": "prod",
        "commit_id": "anothers",
        "group_id": HOSTILE,
        "member_id": "m1",
        "client_id": "c1",
        "topic": "orders",
        "partition": 1,
        "committed_offset": 12,
        "client_epoch": 5,
        "requested_at": dt.datetime(2026, 1, 2, 0, 0, 2, tzinfo=dt.UTC),
        "broker_error": "NONE",
        "shipped_error": "NONE",
        "truth": "not_owner",
        "owner_member_id": "m2",
        **{
            f"decision_{policy}": "accept"
            for policy in ("strict", "member_revocation", "partition_revocation")
        },
        "decision_assignment_epoch": "accept",
        "file": "/logs/kafka-request.log",
        "position": 200,
    }


def test_a_critical_violation_closes_the_gate_and_alerts(publish: Publish) -> None:
    settings = publish(episodes=(CRITICAL,), **{CRITICAL: "violated", WARNING: "violated"})
    heard: list[tuple[str, str]] = []
    with pytest.raises(
        GateFailed, match=f"Critical and violated: {CRITICAL} in cluster prod \\(1 of 5\\)"
    ) as caught:
        run_gate(settings, sinks=[lambda title, text: heard.append((title, text))])
    result = caught.value.result
    assert [each.invariant for each in result.critical] == [CRITICAL]
    assert [each.invariant for each in result.warnings] == [WARNING]
    assert result.data_docs.is_file()
    assert result.alert is not None
    title, text = heard[0]
    assert result.alert.read_text() == f"{title}\n\n{text}"
    assert CRITICAL in title
    said = " ".join(text.split())
    for needed in (
        f"What {CRITICAL} means.",
        "member m1 (client c1)",
        "orders-1 at epoch 5",
        "m2",
        "the broker accepted it",
        "2026-01-02 00:00:02",
        "False: ~c.ownedByAnother",
        "/logs/kafka-request.log at byte 200",
        f"fencepost explain {CRITICAL}-0",
        "fencepost sql",
        f"docs/invariants/{CRITICAL}.md",
        "On call:",
        f"Warnings: {WARNING} in cluster prod",
    ):
        assert needed in said
    assert f"{CRITICAL}-3" not in text  # five episodes, capped
    assert "\u202e" not in text


def test_what_is_not_critical_is_reported_and_lets_the_run_pass(publish: Publish) -> None:
    unknown, unexercised = "epoch_order", CRITICAL
    settings = publish(**{WARNING: "violated", unknown: "unknown", unexercised: "not_exercised"})
    result = run_gate(settings)
    assert result.passed
    assert result.alert is None
    reported = (result.critical, result.warnings, result.unknown, result.not_exercised)
    names = [[each.invariant for each in group] for group in reported]
    assert names == [[], [WARNING], [unknown], [unexercised]]
    assert result.holding == len(MARKED) - 3
    assert _failed_in_data_docs(result.data_docs) == {"unknown": unknown, "not_exercised": unexercised}


def _failed_in_data_docs(page: Path) -> dict[str, str]:
    """What the suite ``coverage`` shows as failed: status -> invariant."""
    stored = (page.parents[2] / "validations" / "coverage").rglob("*.json")
    newest = max(stored, key=lambda path: path.stat().st_mtime)
    return {
        each["expectation_config"]["kwargs"]["value_set"][0]: each["result"]["unexpected_index_list"][0][
            "invariant"
        ]
        for each in json.loads(newest.read_text())["results"]
        if not each["success"]
    }


def test_the_configuration_decides_severities(publish: Publish) -> None:
    settings = publish(**{CRITICAL: "violated", WARNING: "violated"})
    assert run_gate(dataclasses.replace(settings, severities={CRITICAL: "warning"})).passed
    with pytest.raises(GateFailed, match=WARNING):
        run_gate(dataclasses.replace(settings, severities={CRITICAL: "info", WARNING: "critical"}))


def test_a_definition_that_was_not_judged_is_not_let_through(publish: Publish) -> None:
    settings = publish(without=CRITICAL)
    with pytest.raises(GateError, match=CRITICAL):
        run_gate(settings)


def test_a_broken_sink_does_not_silence_the_others(tmp_path: Path) -> None:
    def broken(title: str, text: str) -> None:
        raise OSError(title + text)

    notify.send("title", "text\n", [broken, notify.file_sink(tmp_path / "new" / "alert.txt")])
    assert (tmp_path / "new" / "alert.txt").read_text() == "title\n\ntext\n"


def test_names_from_outside_stay_on_their_line() -> None:
    assert printable("a\nb\x1b[31m\u202eé") == "a\\nb\\x1b[31m\\u202eé"
