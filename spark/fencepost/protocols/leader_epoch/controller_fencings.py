"""Controllers that were followed by others, and whom quorum and controllers refused because of that.

KafkaRaftClient answers who has an epoch of before with FENCED_LEADER_EPOCH; QuorumController answers
NOT_CONTROLLER once its own is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import pyarrow as pa

from fencepost.protocols.leader_epoch.apis import QUORUM_APIS
from fencepost.protocols.leader_epoch.clocks import Window
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.tables import LEADER_EPOCH_FENCINGS, NO_LINE
from fencepost.replay.columns import Columns
from fencepost.replay.keys import METADATA_TOPIC, digest_of
from fencepost.replay.metadata_log import ControllerTerm, Hole
from fencepost.replay.requests import RequestLine, error_name, integer

CONTROLLER = "controller"
NOT_CONTROLLER = "NOT_CONTROLLER"
_CHANGED = "controller_change"
_EPOCHS = ("replicaEpoch", "candidateEpoch", "leaderEpoch")
_NODES = ("replicaId", "candidateId", "leaderId")


class Candidate(NamedTuple):
    """A node whose epoch a quorum did not take; ``answered`` is the one that it was told."""

    error: str
    node_id: int | None
    epoch: int | None
    answered: int | None


class Cause(NamedTuple):
    """What moved an epoch: ``current`` is the one that holds, None where it is not one."""

    cause: str | None = None
    current: int | None = None
    position: int | None = None
    ms: int | None = None


def deposed_controllers(cluster: str, history: ClusterHistory) -> pa.Table:
    """The rows of silver.leader_epoch_fencings of controllers: what each lost is the metadata log itself."""
    rows, terms = Columns(LEADER_EPOCH_FENCINGS), history.log.terms
    holes = [piece.position for piece in history.log.pieces if isinstance(piece, Hole)]
    for number, (before, term) in enumerate(pairwise(terms), start=1):
        if term.epoch <= before.epoch or term.controller_id == before.controller_id:
            continue
        # in a hole there may have been another one between the two
        hidden = any(before.position < position <= term.position for position in holes)
        victim, epoch = (None, None) if hidden else (before.controller_id, before.epoch)
        again = (each.ms for each in terms[number:] if victim is not None and each.controller_id == victim)
        rows.add(
            cluster, digest_of(cluster, CONTROLLER, term.epoch), CONTROLLER,
            None if victim is None else f"controller {victim}", victim, None, METADATA_TOPIC, None, 0,
            epoch, term.epoch, _CHANGED, term.position, term.ms, term.ms, next(again, None), 1, None,
            *NO_LINE,
        )  # fmt: skip
    return rows.to_arrow()


def refused_candidates(line: RequestLine) -> Iterator[Candidate]:
    """Nodes that a line about the metadata log's quorum refused; none where it is no broker's JSON."""
    if line.api_key not in QUORUM_APIS:
        return
    try:
        answers = {each["partitionIndex"]: each for each in _partitions(line.answer or {})}
        for sent in _partitions(line.sent):
            told = answers.get(sent["partitionIndex"], {})
            error = error_name(integer(told.get("errorCode")))
            if error is not None:
                node, epoch, answered = _first(sent, _NODES), _first(sent, _EPOCHS), told.get("leaderEpoch")
                yield Candidate(error, integer(node), integer(epoch), integer(answered))
    except (AttributeError, KeyError, TypeError):
        return


def _partitions(of: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for topic in of.get("topics") or ():
        yield from topic.get("partitions") or ()


def _first(of: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((of[name] for name in names if name in of), None)


def is_not_controller(answer: Any) -> bool:
    """Whether an answer says NOT_CONTROLLER anywhere: where, every API has its own place for."""
    if isinstance(answer, dict):
        code = answer.get("errorCode")
        if type(code) is int and error_name(code) == NOT_CONTROLLER:
            return True
        return any(is_not_controller(each) for each in answer.values())
    return isinstance(answer, list) and any(is_not_controller(each) for each in answer)


def followed(history: ClusterHistory, epoch: int | None, answered: int | None) -> Cause:
    """Who came after an epoch of the metadata log, if what was answered is past it."""
    if epoch is not None and answered is not None and answered > epoch:
        for term in history.log.terms:
            if epoch < term.epoch <= answered:
                return Cause(_CHANGED, answered, term.position, term.ms)
    return Cause(None, answered)


def after_controller(history: ClusterHistory, window: Window, node_id: int) -> Cause | None:
    """Who came after a node that was the active controller for certain; None where nobody had by then.

    A node that was elected is active only when it has caught up, and refuses until then.
    """
    terms = history.log.terms
    mine = [term for term in terms if term.controller_id == node_id and term.position <= window.lowest]
    after = next((term for term in terms if mine and term.epoch > mine[-1].epoch), None)
    if after is None or after.position > window.highest:
        return None
    now = [each.epoch for each in _active(terms, window) if each.controller_id != node_id]
    known = len(now) == 1 and history.is_covered(*window)
    return Cause(_CHANGED, now[0] if known else None, after.position, after.ms)


def _active(terms: tuple[ControllerTerm, ...], window: Window) -> list[ControllerTerm]:
    """Whose records may have been the newest somewhere between two offsets."""
    ends = [*(term.position for term in terms[1:]), None]
    return [
        term
        for term, end in zip(terms, ends, strict=True)
        if term.position <= window.highest and (end is None or end > window.lowest)
    ]
