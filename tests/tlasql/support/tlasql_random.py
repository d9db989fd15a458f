"""Random states of a consumer group, right and wrong alike: small numbers, so that every rule is met and
broken.
"""

from __future__ import annotations

import random
from typing import Any

State = dict[str, Any]
MEMBERS = ("m1", "m2", 'it\'s "m"\n3')
PARTITIONS = ("p0", "p1")
_BOOLEANS = (
    "accepted",
    "unfenced",
    "memberKnown",
    "ownedAtClientEpoch",
    "uninterrupted",
    "reassignedSince",
    "ownedBySelf",
    "ownedByAnother",
    "transactional",
    "rebalancing",
    "classicMember",
    "instanceFenced",
)
_ERRORS = (
    "STALE_MEMBER_EPOCH",
    "ILLEGAL_GENERATION",
    "UNKNOWN_MEMBER_ID",
    "FENCED_INSTANCE_ID",
    "REBALANCE_IN_PROGRESS",
    "GROUP_ID_NOT_FOUND",
    "UNSUPPORTED_VERSION",
    "NOT_COORDINATOR",
)
_EPOCHS = ("clientEpoch", "memberEpoch", "revocationEpoch", "partitionRevocationEpoch")


def random_trace(chance: random.Random, length: int) -> list[State]:
    """A trace of ``length`` states; some parts change from one to the next, some stay."""
    position = chance.randrange(100)
    state = _state(chance)
    trace = []
    for _ in range(length):
        trace.append({"position": position, **state})
        position += chance.randint(1, 9)
        state = _changed(chance, state)
    return trace


def random_case_trace(chance: random.Random, length: int) -> list[State]:
    """The same for the module that holds one of each construct."""
    position = chance.randrange(100)
    trace: list[State] = []
    for _ in range(length):
        state = _case_state(chance)
        if trace and chance.random() < 0.5:
            state |= {"level": trace[-1]["level"] + chance.randint(0, 1)}
        if trace and chance.random() < 0.5:
            state |= {name: trace[-1][name] for name in ("epoch", "held")}
        trace.append({**state, "position": position})
        position += chance.randint(1, 9)
    return trace


def _case_state(chance: random.Random) -> State:
    live = [member for member in MEMBERS if chance.random() < 0.7]
    high = chance.choice((3, 6))
    return {
        "level": chance.randint(1, 5),
        "epoch": {member: chance.randint(chance.choice((0, 2)), high) for member in live},
        "held": {member: [p for p in PARTITIONS if chance.random() < 0.5] for member in live},
        "requests": _parts(chance),
        "acks": _parts(chance),
    }


def _parts(chance: random.Random) -> list[State]:
    return [
        {"id": f"r{request}", "epoch": chance.randint(0, 4) // 2 + part, "ok": chance.random() < 0.6}
        for request in range(chance.randint(0, 2))
        for part in range(chance.randint(1, 2))
    ]


def _state(chance: random.Random) -> State:
    live = [member for member in MEMBERS if chance.random() < 0.7]
    careful = chance.random() < 0.6
    group = chance.randint(2, 4)
    owned = _owned(chance, live, careful)
    return {
        "groupEpoch": group,
        "targetAssignmentEpoch": group - chance.randint(0, 1) if careful else chance.randint(1, 4),
        "memberEpoch": {member: chance.randint(1, 2 if careful else 5) for member in live},
        "revocationEpoch": {member: 0 if careful else chance.randint(0, 4) for member in live},
        "owned": owned,
        "assignmentEpoch": {
            member: {partition: 1 if careful else chance.randint(0, 5) for partition in owned[member]}
            for member in live
        },
        "partitionRevocationEpoch": {
            member: {
                partition: 0 if careful else chance.randint(0, 4)
                for partition in PARTITIONS
                if chance.random() < 0.4
            }
            for member in live
        },
        "commits": _commits(chance),
    }


def _owned(chance: random.Random, live: list[str], careful: bool) -> dict[str, list[str]]:
    owned: dict[str, list[str]] = {member: [] for member in live}
    for partition in PARTITIONS:
        for member in live:
            free = all(partition not in held for held in owned.values())
            if chance.random() < 0.5 and (free or not careful):
                owned[member].append(partition)
    return owned


def _commits(chance: random.Random) -> list[State]:
    found = []
    for request in range(chance.randint(0, 2)):
        rule = chance.choice(("generation", "strict", "assignment_epoch"))
        protocol = chance.choice(("classic", "consumer", "streams"))
        for partition in PARTITIONS[: chance.randint(1, 2)]:
            commit: State = {name: chance.random() < 0.4 for name in _BOOLEANS}
            commit |= {name: chance.randint(0, 3) for name in _EPOCHS}
            commit |= {"request": f"r{request}", "member": chance.choice(MEMBERS), "partition": partition}
            commit |= {"rule": rule, "protocol": protocol, "assignmentEpoch": chance.randint(-1, 2)}
            commit |= {name: chance.random() < 0.6 for name in ("ownedAtClientEpoch", "uninterrupted")}
            commit["memberKnown"] = chance.random() < 0.8
            commit["groupKnown"] = chance.random() < 0.9
            commit["apiVersion"] = chance.randint(4, 10)
            if rule == "generation" and chance.random() < 0.5:
                commit["memberEpoch"], commit["instanceFenced"] = commit["clientEpoch"], False
            commit["unfenced"] = chance.random() < (0.7 if commit["transactional"] else 0.1)
            commit["fenced"] = not commit["accepted"] and chance.random() < 0.7
            commit["error"] = "NONE" if commit["accepted"] else chance.choice(_ERRORS)
            found.append(commit)
    return found


def _changed(chance: random.Random, state: State) -> State:
    """Another random state that shares the members of some of its parts with ``state``."""
    if chance.random() < 0.2:
        return state
    after = _state(chance)
    if chance.random() < 0.5:
        after |= {name: state[name] for name in ("groupEpoch", "targetAssignmentEpoch")}
    if chance.random() < 0.4:
        kept = ("memberEpoch", "revocationEpoch", "owned", "assignmentEpoch", "partitionRevocationEpoch")
        after |= {name: state[name] for name in kept}
    return after
