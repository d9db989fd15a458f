"""The stored captures about producers: the answers to drivers are in the logs, and show what brokers really
do.
"""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from capture import request_lines
from producer_evidence import (
    Row,
    batches,
    disagreements,
    epochs_in_client_log,
    missing_batches,
    open_transactions,
    oracle,
    rows,
)
from producer_requests import PAYLOAD
from record import CAPTURES, STORED

SCENARIOS = (
    "producers", "producers-tv1", "producers-failover", "exhausted", "ends", "markers", "fencings",
    "idempotent", "operators", "expired", "unclean",
)  # fmt: skip
FOLDERS = [CAPTURES / f"{name}-{version}" for name in SCENARIOS for version in STORED[name]]
SINGLE = [
    folder for folder in FOLDERS if folder.name.startswith(("producers-4", "producers-3", "producers-tv1"))
]
FAILOVER = [folder for folder in FOLDERS if folder.name.startswith("producers-failover")]
NONE_HANGS = [
    *FAILOVER,
    *(
        each
        for each in FOLDERS
        if each.name.startswith(("ends", "markers", "fencings", "idempotent", "expired"))
    ),
]
NEWEST = CAPTURES / "producers-4.3.1"

# The errors for a fenced producer; the last one only from transaction version 2.
REFUSALS = {
    "produce": {"INVALID_PRODUCER_EPOCH"},
    "late_produce": {"INVALID_PRODUCER_EPOCH"},
    "add_partitions": {"PRODUCER_FENCED"},
    "add_offsets": {"PRODUCER_FENCED"},
    "txn_offset_commit": {"INVALID_PRODUCER_EPOCH"},
    "end_txn": {"PRODUCER_FENCED", "INVALID_TXN_STATE"},
    "init": {"PRODUCER_FENCED"},
}
CAUSES = {"new_instance", "client_bump", "timeout", "operator", "local"}


def place(row: Row, offset: str = "first_offset") -> tuple[str, int, int, int]:
    return (row["topic"], row["partition"], row["producer_id"], row[offset])


def made(folder: Path, **wanted: str) -> list[Row]:
    """The requests with these values."""
    return [row for row in rows(folder, "producer") if wanted.items() <= row.items()]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_logs_show_every_hand_made_request(folder: Path) -> None:
    assert rows(folder, "producer")
    assert disagreements(folder) == []
    assert missing_batches(folder) == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_every_record_is_marked_and_no_log_shows_one(folder: Path) -> None:
    topics = {(row["topic"], row["partition"]) for row in rows(folder, "producer") if row["records"]}
    written = [b["records"] for p in topics for b in batches(folder, *p) if not b["control"]]
    assert written
    assert all(PAYLOAD.encode() in records for records in written)
    assert not any(PAYLOAD in json.dumps(line) for _, line in request_lines(folder))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda f: f.name)
def test_open_transactions_are_those_the_driver_left_open(folder: Path) -> None:
    hanging = {place(row) for row in rows(folder, "hanging") if row["why"] != "aborted_by_operator"}
    still_open = {
        place({**row, **told})
        for row in rows(folder, "transaction")
        if row["outcome"] == "open"
        for told in row["partitions"]
    }
    assert open_transactions(folder) == hanging | still_open


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f not in NONE_HANGS], ids=lambda f: f.name)
def test_kafkas_own_tool_finds_the_hanging_ones(folder: Path) -> None:
    said = oracle(json.loads((folder / "find_hanging.json").read_text()))
    assert said == {place(row) for row in rows(folder, "hanging") if row["hanging"]}
    assert said


@pytest.mark.parametrize("folder", SINGLE, ids=lambda f: f.name)
def test_who_is_left_behind_is_refused(folder: Path) -> None:
    refused = defaultdict(set)
    for row in rows(folder, "producer"):
        if row["victim"]:
            refused[row["step"]].add(row["error"])
    newest = folder == NEWEST
    steps = {"produce", "txn_offset_commit", "end_txn", "init"}
    assert set(refused) == steps | ({"late_produce"} if newest else {"add_partitions", "add_offsets"})
    for step, errors in refused.items():
        assert errors == REFUSALS[step] - (set() if newest else {"INVALID_TXN_STATE"})
    causes = {row["cause"] for row in rows(folder, "producer") if row["victim"]}
    assert causes == (CAUSES | {"end_txn"} if newest else CAUSES)
    assert {row["why"] for row in rows(folder, "hanging")} == {
        *("hanging", "listed", "late", "aborted_by_operator")
    }


@pytest.mark.parametrize("folder", SINGLE, ids=lambda f: f.name)
def test_a_repeated_init_gets_the_same_epoch(folder: Path) -> None:
    first = next(
        r for r in made(folder, case="client_bump", step="init", error="NONE") if r["producer_id"] >= 0
    )
    again = made(folder, case="client_bump", step="init_retry")
    assert {(r["error"], r["returned_producer_epoch"]) for r in again} == {
        ("NONE", first["returned_producer_epoch"])
    }
    # a whole transaction later: every EndTxn of transaction version 2 makes the epoch before unknown
    too_late = made(folder, case="client_bump", step="init", instance="stale")[-1]
    assert too_late["error"] == ("PRODUCER_FENCED" if folder == NEWEST else "NONE")


@pytest.mark.parametrize("folder", SINGLE, ids=lambda f: f.name)
def test_a_stale_init_aborts_the_transaction_of_another(folder: Path) -> None:
    stale = [
        row for row in made(folder, case="stale_init", step="init", instance="A") if row["producer_id"] >= 0
    ]
    assert [row["error"] for row in stale] == ["CONCURRENT_TRANSACTIONS", "PRODUCER_FENCED"] * 2
    aborted = [row for row in rows(folder, "transaction") if row["abort_cause"] == "client_bump"]
    assert len(aborted) == 2


@pytest.mark.parametrize("folder", SINGLE, ids=lambda f: f.name)
def test_a_java_producer_is_fenced(folder: Path) -> None:
    first, second = (folder / "clients" / f"ledger-{n}.log" for n in (1, 2))
    ((one, epoch),), ((two, later),) = (epochs_in_client_log(log.read_text()) for log in (first, second))
    assert one == two
    assert epoch < later
    assert "InvalidProducerEpochException" in first.read_text() or "Fenced" in first.read_text()


@pytest.mark.parametrize("folder", SINGLE, ids=lambda f: f.name)
def test_producer_state_files_are_there(folder: Path) -> None:
    logs = folder / "broker-1" / "log_dir"
    assert list(logs.glob("healthy-*/*.snapshot"))
    assert any(index.stat().st_size for index in logs.glob("healthy-*/*.txnindex"))
    assert any(len(list(partition.glob("*.log"))) > 1 for partition in logs.glob("healthy-*"))


@pytest.mark.parametrize("folder", FAILOVER, ids=lambda f: f.name)
def test_a_repeated_init_is_fenced_by_the_next_coordinator(folder: Path) -> None:
    final = [
        row["error"] for row in made(folder, step="init_retry") if row["error"] in ("NONE", "PRODUCER_FENCED")
    ]
    assert final == ["NONE", "PRODUCER_FENCED", "NONE", "PRODUCER_FENCED"]  # KAFKA-20357
    spanning = [row["outcome"] for row in rows(folder, "transaction") if row["case"] == "spanning"]
    assert set(spanning) == {"committed", "aborted"}
    coordinators = {
        log.parent.name
        for log, line in request_lines(folder)
        if line["requestHeader"]["requestApiKeyName"] == "END_TXN" and line["response"]["errorCode"] == 0
    }
    assert len(coordinators) == 2


def test_exhausted_epochs_lead_to_another_producer_id() -> None:
    (folder,) = (f for f in FOLDERS if f.name.startswith("exhausted"))
    last = {r["transactional_id"]: r["returned_producer_id"] for r in made(folder, step="drive")}
    assert len(last) == 5
    for name, producer_id in last.items():
        later = [
            row
            for row in made(folder, transactional_id=name, error="NONE")
            if row["returned_producer_id"] not in (None, producer_id)
        ]
        assert later, f"{name} has the producer id that it had"
        assert any(
            r["victim"] and r["producer_id"] == producer_id for r in made(folder, transactional_id=name)
        )
    repeated = made(folder, transactional_id="exhausted-client", step="init_retry")
    assert [row["error"] for row in repeated] == ["NONE", "CONCURRENT_TRANSACTIONS", "PRODUCER_FENCED"]


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f.name.startswith("ends")], ids=lambda f: f.name)
def test_a_fenced_producer_is_given_the_current_epoch(folder: Path) -> None:
    for name in ("timeout-newer", "timeout-older"):
        again = made(folder, transactional_id=f"ends-{name}", api="INIT_PRODUCER_ID")[1:]
        assert [row["error"] for row in again] == ["NONE"] * 3
        assert {row["returned_producer_epoch"] - row["producer_epoch"] for row in again} == {1}
    superseded = made(folder, transactional_id="ends-superseded", api="INIT_PRODUCER_ID")
    assert [(row["instance"], row["error"]) for row in superseded] == [
        ("A", "NONE"),
        ("B", "CONCURRENT_TRANSACTIONS"),
        ("A", "NONE"),
        *[("B", "CONCURRENT_TRANSACTIONS")] * (len(superseded) - 5),
        ("B", "NONE"),
        ("A", "PRODUCER_FENCED"),
    ]
    repeated = made(folder, transactional_id="ends-repeated", step="init_retry")
    assert [row["error"] for row in repeated] == ["UNKNOWN_SERVER_ERROR", "NONE", "PRODUCER_FENCED"]
    rotated = made(folder, transactional_id="ends-rotated", step="init")
    if folder.name == "ends-4.3.1":
        assert rotated[1]["error"] == "NONE"
        assert rotated[1]["returned_producer_id"] > rotated[1]["producer_id"]
    else:  # the producer id was not replaced, and is stuck at 32767
        assert rotated[1]["error"] == "UNKNOWN_SERVER_ERROR"


@pytest.mark.parametrize("folder", [f for f in FOLDERS if f.name.startswith("markers")], ids=lambda f: f.name)
def test_a_partition_of_before_4_2_takes_the_marker_of_an_earlier_transaction(folder: Path) -> None:
    (busy,) = made(folder, transactional_id="markers-busy", step="write_markers")
    (idle,) = made(folder, transactional_id="markers-idle", step="write_markers")
    before_4_2 = folder.name in ("markers-4.0.2", "markers-4.1.2")
    assert busy["error"] == ("NONE" if before_4_2 else "INVALID_PRODUCER_EPOCH")
    assert idle["error"] == "NONE"


def test_a_partition_takes_what_no_epoch_tells_from_new() -> None:
    """Records again with the next epoch; any sequence and epoch of a producer whose state is lost."""
    (folder,) = (f for f in FOLDERS if f.name.startswith("idempotent"))
    answers = defaultdict(list)
    for row in made(folder, api="PRODUCE"):
        client = row["client_id"].removeprefix("idempotent-").removesuffix("-A")
        answers[client].append((row["producer_epoch"], row["first_sequence"], row["error"]))
    assert answers["again"][-2:] == [(1, 0, "NONE"), (1, 0, "NONE")]
    assert answers["anew"] == [(0, 0, "NONE"), (0, 0, "NONE"), (0, 0, "OUT_OF_ORDER_SEQUENCE_NUMBER")]
    assert answers["skipping"] == [(0, 0, "NONE"), (0, 8, "NONE")]
    assert answers["resetting"] == [(0, 0, "NONE"), (0, 0, "NONE")]
    assert answers["stale"] == [(0, 0, "NONE"), (1, 0, "NONE"), (0, 3, "NONE")]
    assert [epoch for epoch, _, _ in answers["exhausted"]] == [32766, 32767, 0]
    assert {error for epoch, _, error in answers["bumping"] if epoch < 2} == {
        "NONE",
        "INVALID_PRODUCER_EPOCH",
    }
