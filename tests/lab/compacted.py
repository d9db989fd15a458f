"""The scenario ``compacted``: the log cleaner has removed the records before the commits of the cases."""

from __future__ import annotations

import struct
import time
from pathlib import Path

import classic
import classic_cases
from brokers import LabError, Plan
from cases import CASES, OTHER_TOPIC, TOPIC
from members import Group, Member
from scenario import ROLL_BYTES, Scenario, Stage, play_cases, prepare

_OFFSETS = "__consumer_offsets"
_SEGMENT_MS = "1000"
_TOPIC_CONFIG = {
    "min.cleanable.dirty.ratio": "0.01",
    "min.compaction.lag.ms": "0",
    "delete.retention.ms": "0",
}
_ROUNDS = 12
_PAUSE_S = 0.05
_PATIENCE_S = 60.0


def play(stage: Stage) -> None:
    """Many rebalances, compaction, and then commits whose history is partly gone."""
    prepare(stage, {TOPIC: 4, OTHER_TOPIC: 1}, _SEGMENT_MS)
    for name, value in _TOPIC_CONFIG.items():
        stage.cluster.set_topic_config(_OFFSETS, name, value)
    modern = Group(stage.cluster, stage.truth, "compacted-consumer", _PAUSE_S)
    older = Group(stage.cluster, stage.truth, "compacted-classic", _PAUSE_S, "classic")
    try:
        a = modern.member("compacted-consumer-a", [TOPIC]).join()
        modern.settle(a)
        b = classic_cases.alone(older)
        ancient = (a.epoch, b.generation)
        stage.say("rebalances")
        for _ in range(_ROUNDS):
            _restless(modern, a)
            _restless_classic(older, b)
        stage.say("compaction")
        _await_compaction(stage.cluster.brokers[0].log_dir, a)
        # From here on nothing is compacted any more: the cases lie in the tail.
        stage.cluster.set_topic_config(_OFFSETS, "min.compaction.lag.ms", "86400000")
        stage.cluster.set_topic_config(_OFFSETS, "segment.ms", "5000")
        time.sleep(1)
        stage.say("after the compaction")
        _consumer(modern, a, ancient[0])
        _classic(older, b, ancient[1])
    finally:
        modern.close()
        older.close()
    chosen = ("late-kept", "late-moved", "pending-revocation", "regained", "left-member", "transactional")
    play_cases(stage, {group_id: CASES[group_id] for group_id in chosen}, pause_s=_PAUSE_S)
    chosen = ("classic-late-kept", "classic-late-moved", "classic-rebalancing")
    play_cases(stage, {name: classic_cases.CASES[name] for name in chosen}, "classic", _PAUSE_S)


def _restless(group: Group, a: Member) -> None:
    """A new member gets its share and leaves: the partitions that moved come back."""
    everything = set(a.owned)
    newcomer = group.member(f"{group.group_id}-newcomer", [TOPIC]).join()
    group.settle(a, newcomer)
    newcomer.commit("compacted_newcomer", newcomer.epoch, newcomer.owned, "owner")
    newcomer.leave()
    group.await_held(a, everything)
    a.commit("compacted_before", a.epoch, a.owned, "owner")


def _restless_classic(group: Group, b: classic.ClassicMember) -> None:
    newcomer = classic.member(group, "newcomer", [TOPIC])
    classic.rebalance(b, newcomer)
    newcomer.commit("compacted_classic_newcomer", newcomer.generation, newcomer.owned, "owner")
    newcomer.leave()
    classic.await_rebalance(b)
    classic.rebalance(b)
    b.commit("compacted_classic_before", b.generation, b.owned, "owner")


def _consumer(group: Group, a: Member, ancient: int) -> None:
    """The cases of a consumer group that is older than its log."""
    first, second, third, fourth = sorted(a.owned)
    kept_since = a.epoch
    a.commit("compacted_owner", a.epoch, a.owned, "owner")
    bystander = group.member(f"{group.group_id}-bystander", [OTHER_TOPIC]).join()
    group.settle(a, bystander)
    truth = group.ownership.truth(a.member_id, ancient, fourth)
    a.commit("compacted_ancient_epoch", ancient, [fourth], truth)
    a.commit("compacted_ancient_epoch_kept", ancient, [first], "owner")
    a.commit("compacted_late_kept", kept_since, [second, third], "owner")
    old = a.epoch
    b = group.member(f"{group.group_id}-b", [TOPIC]).join()
    before = set(a.owned)
    group.settle(a, b, bystander)
    moved = sorted(before - a.owned)
    group.await_held(b, set(moved))
    a.commit("compacted_late_moved", old, moved[:1], "zombie")
    a.commit("compacted_ancient_moved", ancient, moved[1:], "zombie")
    a.commit("compacted_late_kept", old, sorted(a.owned)[:1], "owner")
    a.commit("compacted_current_anothers_partition", a.epoch, moved[:1], "not_owner")
    b.commit("compacted_owner", b.epoch, b.owned, "owner")
    last, theirs = b.epoch, sorted(b.owned)
    b.leave()
    group.await_held(a, before)
    b.commit("compacted_left", last, theirs[:1], "zombie")
    a.commit("compacted_owner", a.epoch, a.owned, "owner")


def _classic(group: Group, b: classic.ClassicMember, ancient: int) -> None:
    """The cases of a classic group that is older than its log."""
    first, *_ = sorted(b.owned)
    old = b.generation
    b.commit("compacted_classic_owner", b.generation, b.owned, "owner")
    b.commit("compacted_classic_ancient_generation", ancient, [first], "owner")
    before = b.owned
    c = classic.member(group, "c", [TOPIC])
    classic.rebalance(b, c)
    moved = sorted(before - b.owned)
    b.commit("compacted_classic_late_kept", old, [min(b.owned)], "owner")
    b.commit("compacted_classic_late_moved", old, moved[:1], "zombie")
    b.commit("compacted_classic_ancient_moved", ancient, moved[1:], "zombie")
    c.commit("compacted_classic_owner", c.generation, c.owned, "owner")


def _await_compaction(log_dir: Path, a: Member) -> None:
    """Wait until everything written so far is compacted, and records of it are gone."""
    folder = log_dir / f"{_OFFSETS}-0"
    goal = _end(folder)
    deadline = time.monotonic() + _PATIENCE_S
    while (dirty := first_dirty_offset(log_dir)) < goal or records_before(folder, dirty) > dirty / 2:
        if time.monotonic() > deadline:
            raise LabError(f"the cleaner is at {dirty}, {goal} is wanted; see {folder}")
        time.sleep(0.5)
        a.commit("compacted_before", a.epoch, [min(a.owned)], "owner")


def first_dirty_offset(log_dir: Path, topic: str = _OFFSETS) -> int:
    """How far the cleaner has come in the topic's partition 0, by its checkpoint."""
    checkpoint = log_dir / "cleaner-offset-checkpoint"
    lines = checkpoint.read_text().splitlines() if checkpoint.exists() else []
    found = [line.split() for line in lines if line.startswith(f"{topic} 0 ")]
    return int(found[0][2]) if found else 0


def _batches(folder: Path) -> list[tuple[int, int, int]]:
    """Base offset, last offset and count of records of every batch, in order."""
    found = []
    for log in sorted(folder.glob("*.log")):
        data, position = log.read_bytes(), 0
        while position + 61 <= len(data):
            base, size = struct.unpack_from(">qi", data, position)
            (last,) = struct.unpack_from(">i", data, position + 23)
            (count,) = struct.unpack_from(">i", data, position + 57)
            found.append((base, base + last, count))
            position += 12 + size
    return found


def _end(folder: Path) -> int:
    return _batches(folder)[-1][1] + 1


def records_before(folder: Path, before: int) -> int:
    """How many records are left of those below an offset."""
    return sum(count for base, _, count in _batches(folder) if base < before)


def plan(version: str) -> Plan:
    """One broker whose cleaner is never idle for long, and whose replaced segments are gone soon."""
    settings: dict[str, object] = {
        "log.cleaner.enable": "true",
        "log.cleaner.backoff.ms": 200,
        "log.cleaner.dedupe.buffer.size": 4_194_304,
        "log.segment.delete.delay.ms": 200,
    }
    return Plan(version, roll_bytes=ROLL_BYTES, settings=settings)


SCENARIO = Scenario(plan, play)
