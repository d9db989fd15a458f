"""Offset checkpoints of a log directory: what Kafka would read of them, and what it would refuse."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fencepost import tables
from fencepost.capture.checkpoints import DamagedCheckpointError, entries_in
from fencepost.settings import Broker

if TYPE_CHECKING:
    from conftest import Site

GOOD = b"0\n2\norders 0 12\n__consumer_offsets 49 9223372036854775807\n"


def test_a_checkpoint_is_read() -> None:
    assert entries_in(GOOD) == [("orders", 0, 12), ("__consumer_offsets", 49, 2**63 - 1)]
    assert entries_in(b"") == entries_in(b"0\n0\n") == []


DAMAGED = {
    "cut": GOOD[:-12],
    "cut in a number": GOOD[:-5] + b"x\n",
    "without its last line": b"0\n2\norders 0 12\n",
    "of one line": b"0\n",
    "of zeros": bytes(40),
    "not utf-8": GOOD.replace(b"orders", b"ord\xffrs"),
    "of another version": b"1" + GOOD[1:],
    "a large offset": GOOD.replace(b"12", b"9223372036854775808"),
    "a larger offset": GOOD.replace(b"12", b"9" * 5000),
    "a large partition": GOOD.replace(b" 49 ", b" 2147483648 "),
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_what_kafka_refuses_is_refused_whole(content: bytes) -> None:
    with pytest.raises(DamagedCheckpointError):
        entries_in(content)


def test_a_damaged_checkpoint_is_missing_evidence(site: Site) -> None:
    data = site.folder / "data"
    data.mkdir()
    for name in ("cleaner-offset-checkpoint", "log-start-offset-checkpoint"):
        (data / name).write_bytes(DAMAGED["a larger offset"])
    (data / ".kafka_cleanshutdown").write_bytes(b"[" * 100_000)
    site.capture(Broker(1, log_dirs=site.glob("data")))
    found = site.quarantine()
    assert {name: reason for name, (reason, _) in found.items()} == {
        "data": "missing",  # it has no partition
        "cleaner-offset-checkpoint": "bad_record",
        "log-start-offset-checkpoint": "bad_record",
    }
    assert site.rows(tables.LOG_STARTS) == site.rows(tables.CLEANED) == []
