"""A capture of producers whose files were altered so that they break the rules of epochs and sequences.

Each fault is one edit of one file, with the definition that must see it; faults that have nothing to do with
each other share a copy. CRCs are made right again: the audit must not be able to tell the files from a
broker's.
"""

from __future__ import annotations

import re
import shutil
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import broken_groups
import numpy as np
from altered_files import Batch, Fault, Segment, change_first, segments

from fencepost.formats.crc32c import crc32c

WHOLE, BROKEN = "producers-4.3.1", "broken"
"""The capture that is altered, and what the clusters' names begin with then."""

_LEADER_EPOCH, _BASE_TIMESTAMP, _PRODUCER_ID, _EPOCH, _SEQUENCE, _RECORDS = 12, 27, 43, 51, 53, 61
_COMPLETE_COMMIT, _PREPARE_COMMIT, _ONGOING = 4, 2, 1


def _segment(folder: Path, partition: str, number: int = 0) -> Segment:
    return segments(folder, partition)[number]


def _same_epoch(segment: Segment) -> Batch:
    return next(
        b for a, b in segment.following(is_control=False) if a["producer_epoch"] == b["producer_epoch"]
    )


def gap(folder: Path) -> None:
    segment = _segment(folder, "idempotent-0")
    batch = _same_epoch(segment)
    segment.put(batch, _SEQUENCE, ">i", batch["base_sequence"] + 4)


def reset(folder: Path) -> None:
    segment = _segment(folder, "idempotent-1")
    segment.put(_same_epoch(segment), _SEQUENCE, ">i", 0)


def written_again(folder: Path) -> None:
    """The first batch of the next epoch has the records of the last one before it."""
    segment = _segment(folder, "idempotent-0")
    before, batch = next(
        (a, b) for a, b in segment.following(is_control=False) if a["producer_epoch"] < b["producer_epoch"]
    )
    assert before["size"] == batch["size"]
    for at, size in ((_BASE_TIMESTAMP, 16), (_RECORDS, batch["size"] - _RECORDS)):
        start = before["position"] + at
        segment.put(batch, at, f">{size}s", bytes(segment.data[start : start + size]))


def late_start(folder: Path) -> None:
    segment = _segment(folder, "healthy-0")
    _, batch = next(segment.following(is_control=True))
    segment.put(batch, _SEQUENCE, ">i", 5)


def zombie(folder: Path) -> None:
    segment = _segment(folder, "two_instances-0")
    before, batch = list(segment.following(is_control=True))[-1]
    assert before["producer_epoch"] > 0
    segment.put(batch, _EPOCH, ">h", 0)


def fallen_marker(folder: Path) -> None:
    segment = _segment(folder, "healthy-1")
    marker = segment.markers()[0]
    # the value is the end of the record: int16 version, int32 coordinator epoch, and the count of headers
    segment.put(marker, marker["size"] - 5, ">i", 9)


def wrong_marker(folder: Path) -> None:
    segment = _segment(folder, "healthy-2")
    marker = next(m for m in segment.markers() if _kind(segment, m) == 1)
    segment.put(marker, _kind_at(segment, marker), ">h", 0)


def lost_marker(folder: Path) -> None:
    segment = _segment(folder, "two_instances-2")
    segment.put(segment.markers()[0], _PRODUCER_ID, ">q", 77_777)


def _kind_at(segment: Segment, marker: Batch) -> int:
    record = bytes(segment.data[marker["position"] + 61 : marker["position"] + marker["size"]])
    # length, attributes, timestamp and offset deltas, length of the key (8 for 4 bytes), int16 version 0
    return 61 + record.index(b"\x08\x00\x00") + 3


def _kind(segment: Segment, marker: Batch) -> int:
    (kind,) = struct.unpack_from(">h", segment.data, marker["position"] + _kind_at(segment, marker))
    return int(kind)


def _state(folder: Path, number: int, status: int, skip: int = 0) -> tuple[Segment, Batch, int, int]:
    """A record of ``__transaction_state`` with a status: where its value begins, and its epoch."""
    segment = _segment(folder, "__transaction_state-0", number)
    for batch in segment.batches:
        start, end = batch["position"] + 61, batch["position"] + batch["size"]
        found = re.search(
            rb"\x00\x01(?=\x00{6}..)(.{8})(..)(....)" + bytes([status]), segment.data[start:end], re.DOTALL
        )
        if found and (skip := skip - 1) < 0:
            (epoch,) = struct.unpack(">h", found[2])
            return segment, batch, 61 + found.start(), epoch
    raise AssertionError(f"no record with status {status}")


def impossible_status(folder: Path) -> None:
    segment, batch, at, _ = _state(folder, 1, _ONGOING)
    segment.put(batch, at + 16, ">b", _COMPLETE_COMMIT)


def leaping_epoch(folder: Path) -> None:
    segment, batch, at, epoch = _state(folder, 1, _ONGOING, skip=3)
    segment.put(batch, at + 10, ">h", epoch + 7)


def no_bump(folder: Path) -> None:
    segment, batch, at, epoch = _state(folder, 2, _PREPARE_COMMIT)
    segment.put(batch, at + 10, ">h", epoch - 1)


def stuck_at_the_end(folder: Path) -> None:
    segment, batch, at, _ = _state(folder, 2, _PREPARE_COMMIT, skip=3)
    segment.put(batch, at + 10, ">h", 32_767)


def late_coordinator(folder: Path) -> None:
    """The last transactions as if by a later coordinator, their markers by the one before."""
    segment = _segment(folder, "__transaction_state-0", -1)
    for batch in segment.batches:
        segment.put(batch, _LEADER_EPOCH, ">i", 3)


def forgotten_producer(folder: Path) -> None:
    (file,) = (folder / "broker-1/log_dir/idempotent-3").glob("*.snapshot")
    data = bytearray(file.read_bytes())
    # int16 version, uint32 CRC, int32 count; an entry begins with int64 producer id, int16 epoch
    struct.pack_into(">i", data, 10 + 10, 41)
    struct.pack_into(">I", data, 2, int(crc32c(np.frombuffer(bytes(data), dtype=np.uint8), 6, len(data))))
    file.write_bytes(data)


def unindexed(folder: Path) -> None:
    for file in (folder / "broker-1/log_dir/offsets-0").glob("*.txnindex"):
        file.write_bytes(b"")


def stale_and_granted(folder: Path) -> None:
    """A producer that asked with its current epoch was granted a new one: as if its epoch had been stale."""

    def change(line: dict[str, Any]) -> bool:
        sent, answer = line["request"], line["response"]
        if (
            sent.get("producerEpoch", -1) < 1
            or answer["errorCode"]
            or answer["producerEpoch"] == sent["producerEpoch"]
        ):
            return False
        sent["producerEpoch"] = 9_999
        return True

    _change_first(folder, "INIT_PRODUCER_ID", change)


def another_epoch_given(folder: Path) -> None:
    """A commit was answered with an epoch that is not the next one."""

    def change(line: dict[str, Any]) -> bool:
        sent, answer = line["request"], line["response"]
        if answer["errorCode"] or not sent["committed"] or answer.get("producerEpoch", -1) < 1:
            return False
        answer["producerEpoch"] += 7
        return True

    _change_first(folder, "END_TXN", change)


def stale_and_added(folder: Path) -> None:
    """A partition was added at an epoch that never was."""

    def change(line: dict[str, Any]) -> bool:
        (sent, *_), (answer, *_) = line["request"]["transactions"], line["response"]["resultsByTransaction"]
        codes = [
            each["partitionErrorCode"]
            for topic in answer["topicResults"]
            for each in topic["resultsByPartition"]
        ]
        if any(codes) or sent["verifyOnly"]:
            return False
        sent["producerEpoch"] = 9_999
        return True

    _change_first(folder, "ADD_PARTITIONS_TO_TXN", change)


def _change_first(folder: Path, api: str, change: Callable[[dict[str, Any]], bool]) -> None:
    """Of the requests that name a transactional id."""

    def of_transactions(line: dict[str, Any]) -> bool:
        sent = line["request"]
        return bool(sent.get("transactionalId") or sent.get("transactions")) and change(line)

    change_first(folder, api, of_transactions)


FAULTS: dict[str, Fault] = {
    "no_sequence_gap": Fault(gap),
    # a sequence that begins again leaves a gap too
    "no_sequence_reset": Fault(reset, frozenset({"no_sequence_gap"})),
    "new_epoch_starts_at_sequence_zero": Fault(late_start),
    # the marker that ends the zombie's batch is its successor's
    "no_write_after_fence": Fault(zombie, frozenset({"no_write_outside_transaction"})),
    "no_records_written_twice": Fault(written_again),
    "marker_coordinator_epoch_never_falls": Fault(fallen_marker),
    # the marker that was due is not there, and the index has no such aborted transaction
    "marker_of_the_right_type": Fault(
        wrong_marker, frozenset({"every_marker_is_written", "aborted_transactions_are_indexed"})
    ),
    # the next marker ends the transaction with its own
    "every_marker_is_written": Fault(lost_marker, frozenset({"no_write_outside_transaction"})),
    "status_transitions": Fault(impossible_status),
    # an EndTxn was given the epoch that the log leaps over
    "producer_epoch_steps": Fault(
        leaping_epoch,
        frozenset({"end_txn_bumps_epoch", "broker_keeps_its_end_txn_rule", "no_stale_end_granted"}),
    ),
    # the marker in the partition is not of the epoch that was prepared, but ends the transaction alike
    "end_txn_bumps_epoch": Fault(no_bump),
    # an epoch that leaps to the end is no step, and no marker has it
    "next_producer_id_at_exhaustion": Fault(
        stuck_at_the_end,
        frozenset(
            {
                "epoch_headroom",
                "end_txn_bumps_epoch",
                "producer_epoch_steps",
                "every_marker_is_written",
            }
        ),
    ),
    "marker_coordinator_epoch_in_order": Fault(late_coordinator),
    "producer_state_is_kept": Fault(forgotten_producer),
    "aborted_transactions_are_indexed": Fault(unindexed),
    # nor is it what the broker's own rule answers
    "stale_epoch_never_bumped": Fault(
        stale_and_granted, frozenset({"broker_keeps_its_init_rule", "no_stale_epoch_granted"})
    ),
    "broker_keeps_its_end_txn_rule": Fault(another_epoch_given),
    "broker_keeps_its_add_partitions_rule": Fault(stale_and_added),
}
"""The fault that each definition must see."""

TOGETHER = (
    ("no_sequence_gap", "new_epoch_starts_at_sequence_zero", "no_write_after_fence", "status_transitions",
     "producer_state_is_kept", "stale_epoch_never_bumped"),
    ("no_sequence_reset", "marker_coordinator_epoch_never_falls", "every_marker_is_written",
     "producer_epoch_steps"),
    ("next_producer_id_at_exhaustion", "aborted_transactions_are_indexed",
     "broker_keeps_its_add_partitions_rule", "marker_coordinator_epoch_in_order"),
    ("end_txn_bumps_epoch", "marker_of_the_right_type", "no_records_written_twice",
     "broker_keeps_its_end_txn_rule"),
)  # fmt: skip
"""Faults of producers that share a copy: in files, partitions and transactions that have nothing to do with
each other, and no two of them break the same definition.
"""


@dataclass(frozen=True)
class Copy:
    """A copy of the capture ``whole``, with faults; each breaks what no other one does."""

    whole: str
    faults: tuple[Fault, ...]
    broken: tuple[str, ...]

    def make(self, whole: Path, folder: Path) -> None:
        """Copy a capture's files and plant the faults in them."""
        shutil.copytree(whole, folder)
        for fault in self.faults:
            fault.plant(folder)


def _copy(whole: str, faults: Mapping[str, Fault]) -> Copy:
    broken = [each for invariant, fault in faults.items() for each in (invariant, *sorted(fault.also))]
    assert len(broken) == len(set(broken))
    return Copy(whole, tuple(faults.values()), tuple(broken))


COPIES = {
    **{f"{BROKEN}-{names[0]}": _copy(WHOLE, {each: FAULTS[each] for each in names}) for names in TOGETHER},
    **{
        f"{BROKEN}-{invariant}": _copy(broken_groups.WHOLE, {invariant: fault})
        for invariant, fault in broken_groups.FAULTS.items()
    },
}
"""By the cluster's name: producers' faults together, those of groups, which are small, each alone."""
assert sorted(each for names in TOGETHER for each in names) == sorted(FAULTS)
