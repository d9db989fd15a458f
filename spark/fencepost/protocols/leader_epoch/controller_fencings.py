"""Controllers that were followed by others, and the nodes and clients that were refused because of that.

KafkaRaftClient answers a node that presents an earlier epoch with FENCED_LEADER_EPOCH; QuorumController
answers NOT_CONTROLLER once its own epoch is over.
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
    """A node whose epoch the quorum refused; ``answered`` is the epoch in the answer."""

    error: str
    node_id: int | None
    epoch: int | None
    answered: int | None


class Cause(NamedTuple):
    """What moved an epoch on. ``current``: the epoch in force, None where several may be. ``position`` and
    ``ms``: offset and time of the record that moved it.
    """

    cause: str | None = None
    current: int | None = None
    position: int | None = None
    ms: int | None = None

    def without_record(self) -> Cause:
        """The same, but nothing tells which record moved the epoch."""
        return self._replace(position=None, ms=None)

    def if_there(self, window: Window) -> Cause:
        """The same, without its record unless that certainly was there before something in a window."""
        # a window from 0 on may begin before the first record
        is_there = self.position is not None and self.position <= window.lowest and window.lowest > 0
        return self if is_there else self.without_record()


def deposed_controllers(cluster: str, history: ClusterHistory) -> pa.Table:
    """The rows of silver.leader_epoch_fencings about controllers; each counts as one leader that moved, that
    of the metadata log.
    """
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
            epoch, term.epoch, _CHANGED, term.position, term.ms, term.ms, None, next(again, None), 1, None,
            *NO_LINE,
        )  # fmt: skip
    return rows.to_arrow()


def refused_candidates(line: RequestLine) -> Iterator[Candidate]:
    """The nodes that the answer in a line of the quorum's APIs refused; none if the JSON is not a
    broker's.
    """
    if line.api_key not in QUORUM_APIS:
        return
    try:
        answers = {each["partitionIndex"]: each for each in _partitions(line.answer or {})}
        for sent in _partitions(line.sent):
            answer = answers.get(sent["partitionIndex"], {})
            error = error_name(integer(answer.get("errorCode")))
            if error is not None:
                node, epoch, answered = _first(sent, _NODES), _first(sent, _EPOCHS), answer.get("leaderEpoch")
                yield Candidate(error, integer(node), integer(epoch), integer(answered))
    except (AttributeError, KeyError, TypeError):
        return


def _partitions(message: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for topic in message.get("topics") or ():
        yield from topic.get("partitions") or ()


def _first(message: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    return next((message[name] for name in names if name in message), None)


def is_not_controller(answer: Any) -> bool:
    """Whether an answer has the error NOT_CONTROLLER anywhere: each API has it in another member."""
    if isinstance(answer, dict):
        code = answer.get("errorCode")
        if type(code) is int and error_name(code) == NOT_CONTROLLER:
            return True
        return any(is_not_controller(each) for each in answer.values())
    return isinstance(answer, list) and any(is_not_controller(each) for each in answer)


def followed(history: ClusterHistory, epoch: int | None, answered: int | None) -> Cause:
    """The controller that followed an epoch of the metadata log, if the answered epoch is a later one."""
    if epoch is not None and answered is not None and answered > epoch:
        for term in history.log.terms:
            if epoch < term.epoch <= answered:
                return Cause(_CHANGED, answered, term.position, term.ms)
    return Cause(None, answered)


def after_cause(history: ClusterHistory, cause: Cause, node_id: int, ms: int) -> int | None:
    """How many milliseconds after its cause something happened at a node (``ms``), if that node wrote the
    record: None if another clock dated it, or if the clock was set back in between.
    """
    terms = [term for term in history.log.terms if cause.position and term.position <= cause.position]
    if cause.ms is None or cause.ms > ms or not terms or terms[-1].controller_id != node_id:
        return None
    return ms - cause.ms


def after_controller(history: ClusterHistory, window: Window, node_id: int) -> Cause | None:
    """The controller that followed a node that certainly was the active one; None where none had by then.

    A node that was elected becomes active only when it has caught up, and refuses requests until then.
    """
    terms = history.log.terms
    own_terms = [term for term in terms if term.controller_id == node_id and term.position <= window.lowest]
    after = next((term for term in terms if own_terms and term.epoch > own_terms[-1].epoch), None)
    if after is None or after.position > window.highest:
        return None
    current = [each.epoch for each in _active(terms, window) if each.controller_id != node_id]
    known = len(current) == 1 and history.is_covered(*window)
    return Cause(_CHANGED, current[0] if known else None, after.position, after.ms)


def _active(terms: tuple[ControllerTerm, ...], window: Window) -> list[ControllerTerm]:
    """The controllers that may have been active somewhere in a window of the metadata log."""
    ends = [*(term.position for term in terms[1:]), None]
    return [
        term
        for term, end in zip(terms, ends, strict=True)
        if term.position <= window.highest and (end is None or end > window.lowest)
    ]
