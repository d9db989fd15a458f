"""What ``fencepost plot`` finds, reads and writes. What is drawn where: tests/protocols."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pandas as pd
import pyarrow as pa
import pytest
import yaml
from pyspark.sql import SparkSession

from fencepost import cli, commands
from fencepost.iceberg.catalog import open_catalog
from fencepost.opening import open_lake
from fencepost.plots.reading import PlotError, find
from fencepost.protocols.offset_commit.plot import reading
from fencepost.protocols.producer_epoch.plot import drawing as producer_drawing
from fencepost.protocols.producer_epoch.plot import reading as producer_reading
from fencepost.reading import ENGINES, Reader
from fencepost.reading.spark import SparkReader
from fencepost.settings import Settings
from fencepost.tables.table import ARROW

ROOT = Path(__file__).resolve().parents[1]
MODELS = {
    model["name"]: {column["name"]: column["data_type"] for column in model["columns"]}
    for file in (ROOT / "dbt" / "models").rglob("fct_*.yml")
    for model in yaml.load(file.read_text(), yaml.CSafeLoader)["models"]
}
NOON = pd.Timestamp("2026-01-02 12:00:00")
EPOCHS = [
    ("m1", 1, 0, 10), ("m1", 1, 10, 20), ("m2", 2, 10, 30),
    ("m1", 2, 20, 30), ("m1", None, 30, 40), ("m1", 3, 40, None),
]  # fmt: skip
"""Of each member: its epoch, and from when to when it had it, in seconds after noon."""


def at(seconds: float | None) -> Any:
    return None if seconds is None else NOON + pd.Timedelta(seconds=seconds)


GROUPS = [("a", "orders"), ("b", "orders"), ("a", "orders-eu"), ("a", "x\ny"), ("b", "payments")]


@pytest.mark.parametrize(
    ("group", "cluster", "found"),
    [
        ("payments", None, ("b", "payments")),
        ("orders", "b", ("b", "orders")),
        ("x\ny", None, ("a", "x\ny")),
        ("x\\ny", None, ("a", "x\ny")),
    ],
)
def test_a_group_is_found(group: str, cluster: str | None, found: tuple[str, str]) -> None:
    assert find(GROUPS, group, cluster) == found


@pytest.mark.parametrize(
    ("group", "cluster", "words"),
    [
        ("order", None, "No group 'order'. Near: 'orders', 'orders-eu'."),
        ("EU", None, "No group 'EU'. Near: 'orders-eu'."),
        ("zzz", None, "There are 4: 'orders', 'orders-eu', 'payments', 'x\\\\ny'."),
        ("payments", "a", "No group 'payments'. There are 3"),
        ("orders", None, "Several clusters have a group 'orders': 'a', 'b'. Choose one with --cluster."),
        ("orders", "c", "No cluster 'c'. There are: 'a', 'b'."),
    ],
)
def test_a_group_is_not_found(group: str, cluster: str | None, words: str) -> None:
    with pytest.raises(PlotError) as caught:
        find(GROUPS, group, cluster)
    assert words in str(caught.value)


def test_what_is_looked_for_is_named() -> None:
    with pytest.raises(PlotError, match=r"No transactional id 'tx'\. There is none"):
        find([], "tx", None, "transactional id")
    with pytest.raises(PlotError, match="Several clusters have a transactional id 'orders': 'a', 'b'"):
        find(GROUPS, "orders", None, "transactional id")


@pytest.fixture(scope="module")
def lake(
    new_lake: Callable[[], tuple[SparkSession, Settings]],
) -> tuple[SparkSession, Settings]:
    """A lake with the marts a picture is drawn from: group orders in two clusters, group other in one."""
    spark, settings = new_lake()
    catalog = open_catalog(settings.lake)
    catalog.create_namespace_if_not_exists("marts")

    def fill(mart: str, rows: list[dict[str, Any]]) -> None:
        schema = pa.schema([(name, ARROW[kind]) for name, kind in MODELS[mart].items()])
        named = [{name: row.get(name) for name in schema.names} for row in rows]
        catalog.create_table(f"marts.{mart}", schema).append(pa.Table.from_pylist(named, schema=schema))

    groups = (("a", "orders"), ("b", "orders"), ("a", "other"))
    members = [
        {
            "cluster": cluster,
            "group_id": group,
            "member_id": member_id,
            "client_id": "client",
            "protocol": "consumer",
            "life": 1,
            "from_position": begin,
            "member_epoch": epoch,
            "group_epoch": 1,
            "target_assignment_epoch": 1,
            "from_time": at(begin),
            "to_time": at(end),
        }
        for cluster, group in groups
        for member_id, epoch, begin, end in EPOCHS
    ]
    commits = [
        {
            "cluster": cluster,
            "group_id": group,
            "member_id": "m1",
            "client_id": "client",
            "client_epoch": 1,
            "truth": "zombie" if second == 25 else "owner",
            "broker_answer": "accept",
            "responded_at": at(second + part / 1000),
        }
        for cluster, group in groups
        for second in (5, 25, 3600)
        for part in (0, 1, 2)
    ]
    fill("fct_member_epochs", members)
    fill("fct_offset_commits", commits)
    fill("fct_invariant_verdicts", [])
    fill_producers(fill)
    return spark, settings


def fill_producers(fill: Callable[[str, list[dict[str, Any]]], None]) -> None:
    """Transactional id tx in cluster a: two epochs, a hole and a third; one that was only ever fenced."""
    own = {"cluster": "a", "transactional_id": "tx", "producer_id": 7}
    epochs: list[dict[str, Any]] = [
        {**own, "producer_epoch": 0, "cause": "new_instance", "caused_by_client_id": "x", "from_position": 1},
        {**own, "producer_epoch": 1, "cause": "end_txn", "caused_by_client_id": "x", "from_position": 2},
        {**own, "producer_id": None, "from_position": 3},
        {**own, "producer_epoch": 4, "from_position": 4},
        {"cluster": "a", "producer_id": 9, "producer_epoch": 0, "from_time": at(0)},
    ]
    for row, start, end in zip(epochs, (0, 10, None, 30), (10, 20, 30, None), strict=False):
        row["from_time"] = None if start is None else at(start)
        row["to_time"] = None if end is None else at(end)
    fill("fct_producer_epochs", epochs)
    fill(
        "fct_transactions",
        [
            {**own, "outcome": "committed", "started_at": at(5), "completed_at": at(11)},
            {**own, "started_at": at(15), "prepared_at": at(16)},
            {**own, "outcome": "open", "started_at": at(35), "prepared_at": at(36)},
            {**own, "transactional_id": "other", "outcome": "open", "started_at": at(35)},
        ],
    )
    victim = {
        "cluster": "a",
        "protocol": "producer_epoch",
        "victim_kind": "transactional_id",
        "victim_epoch": 1,
        "evidence": '{"client_id":"AddPartitionsManager-client-1","victim_client_id":"old"}',
    }
    fill(
        "fct_fencing_events",
        [
            {**victim, "victim": "tx", "occurred_at": at(31)},
            {**victim, "victim": "tx", "occurred_at": at(31), "evidence": '{"client_id":"old"}'},
            {**victim, "victim": "tx", "occurred_at": at(31), "victim_kind": "member"},
            {**victim, "victim": "fenced", "occurred_at": at(31)},
        ],
    )
    fill(
        "fct_dangling_transactions",
        [
            {**own, "topic": "t", "partition": 0, "first_offset": 3, "since": at(32)},
            {**own, "transactional_id": None, "topic": "t", "partition": 1, "since": at(32)},
        ],
    )


@pytest.fixture(params=ENGINES)
def reader(lake: tuple[SparkSession, Settings], request: pytest.FixtureRequest) -> Iterator[Reader]:
    """The lake, read by DuckDB and by Spark."""
    spark, settings = lake
    if request.param == "spark":
        yield SparkReader(spark)
    else:
        with open_lake(settings) as opened:
            assert opened.engine == "duckdb"
            yield opened


@pytest.fixture
def plot(
    lake: tuple[SparkSession, Settings], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[..., int]]:
    """Calls ``fencepost plot`` in this process."""
    _, settings = lake
    config = tmp_path / "fencepost.toml"
    config.write_text(
        f'[lake]\nwarehouse = "{settings.lake.warehouse}"\ncatalog = "{settings.lake.catalog}"\n'
        '[[clusters]]\nname = "a"\n[[clusters.brokers]]\nid = 1\n'
        f'log_dirs = ["{tmp_path}"]\nrequest_logs = ["{tmp_path}/*.log"]\n'
    )
    monkeypatch.setenv("TZ", "UTC")
    monkeypatch.chdir(tmp_path)
    yield lambda *arguments: cli.main(["plot", *arguments, "--config", str(config)])
    monkeypatch.undo()
    time.tzset()


def test_rows_are_read_and_thinned(reader: Reader) -> None:
    found = reading.read(reader, "other")
    assert list(found.members["from_time"]) == [at(begin) for _, _, begin, _ in EPOCHS]
    assert list(found.commits["commits"]) == [3, 3, 3]
    assert set(found.commits["answered_at"]) == {at(5), at(25), at(3600)}
    start, end = NOON.to_pydatetime(), at(25.001).to_pydatetime()
    part = reading.read(reader, "orders", "b", start + dt.timedelta(seconds=15), end)
    assert part.cluster == "b"
    assert list(part.commits["truth"]) == ["zombie", "zombie"]
    assert list(part.members["from_position"]) == [10, 10, 20]
    with pytest.raises(PlotError, match="Nothing is known of group 'other' in that time"):
        reading.read(reader, "other", end=start - dt.timedelta(days=1))


def test_the_command_writes_a_picture(
    plot: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plot("other") == commands.OK
    assert "other-epochs.svg: 9 commits: 3 zombies accepted, 0 owners refused" in capsys.readouterr().out
    ElementTree.fromstring((tmp_path / "other-epochs.svg").read_bytes())
    limits = ("--from", "2026-01-02T13:00:20+01:00", "--to", "2026-01-02T12:00:30Z")
    assert plot("orders", "--cluster", "b", "--out", "b.png", *limits) == commands.OK
    assert (tmp_path / "b.png").read_bytes().startswith(b"\x89PNG")
    assert "b.png: 3 commits: 3 zombies accepted" in capsys.readouterr().out


def test_rows_of_a_transactional_id_are_read(reader: Reader) -> None:
    found = producer_reading.read(reader, "tx")
    assert [None if pd.isna(number) else int(number) for number in found.epochs["producer_epoch"]] == [
        *(0, 1, None, 4),
    ]
    # what a hole hides begins where it was last known
    assert list(found.epochs["from_time"]) == [at(0), at(10), at(20), at(30)]
    assert list(found.epochs["to_time"])[:3] == [at(10), at(20), at(30)]
    assert pd.isna(found.epochs["to_time"][3])
    assert list(found.transactions["ended_at"].dropna()) == [at(11), at(16)]
    assert list(found.fencings["client_id"]) == ["old"]
    assert list(found.fencings["fencings"]) == [2]
    assert list(found.dangling["partition"]) == [0]
    assert producer_drawing.picture(found, "svg")[1] == (
        "3 epochs, 3 transactions (1 committed, 1 open, 1 unknown), 2 requests fenced, 1 dangling"
    )
    part = producer_reading.read(reader, "tx", "a", at(12).to_pydatetime(), at(18).to_pydatetime())
    assert list(part.epochs["producer_epoch"]) == [1]
    assert [len(rows) for rows in (part.transactions, part.fencings, part.dangling)] == [1, 0, 0]
    only = producer_reading.read(reader, "fenced")
    assert [len(rows) for rows in (only.epochs, only.fencings)] == [0, 1]
    with pytest.raises(PlotError, match="Nothing is known of transactional id 'tx' in that time"):
        producer_reading.read(reader, "tx", end=at(-60).to_pydatetime())


def test_the_command_draws_a_transactional_id(
    plot: Callable[..., int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert plot("--transactional-id", "tx") == commands.OK
    assert "tx-epochs.svg: 3 epochs, 3 transactions" in capsys.readouterr().out
    ElementTree.fromstring((tmp_path / "tx-epochs.svg").read_bytes())
    assert plot("--transactional-id", "tx", "--cluster", "a", "--out", "tx.png") == commands.OK
    assert (tmp_path / "tx.png").read_bytes().startswith(b"\x89PNG")
    assert plot("--transactional-id", "t") == cli.BAD_USAGE
    assert "No transactional id 't'. Near: 'tx'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [[], ["orders", "--transactional-id", "tx"]])
def test_one_group_or_transactional_id_is_drawn(
    plot: Callable[..., int], capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        plot(*arguments)
    assert caught.value.code == cli.BAD_USAGE
    assert "GROUP" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["othr"], "No group 'othr'. Near: 'other'."),
        (["orders"], "Choose one with --cluster"),
        (["orders", "--cluster", "c"], "No cluster 'c'"),
        (["other", "--out", "picture.gif"], ".svg or .png"),
        (["other", "--out", "none/picture.svg"], "no such folder"),
        (["other", "--out", "folder.svg"], "folder.svg"),
        (["other", "--from", "2026-01-03", "--to", "2026-01-02"], "--from must be before --to"),
        (["other", "--to", "2025-01-01"], "in that time"),
    ],
)
def test_what_cannot_be_drawn_is_bad_usage(
    plot: Callable[..., int],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    words: str,
) -> None:
    (tmp_path / "folder.svg").mkdir()
    assert plot(*arguments) == cli.BAD_USAGE
    assert words in capsys.readouterr().err
    assert [path for path in tmp_path.rglob("*.*g") if path.is_file()] == []


def test_a_wrong_time_is_bad_usage(plot: Callable[..., int], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        plot("other", "--from", "yesterday")
    assert caught.value.code == cli.BAD_USAGE
    assert "is no time like" in capsys.readouterr().err
