"""Requests that were refused because of a leader epoch, a broker epoch, a topic id or a new controller."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.leader_epoch.apis import CONTROLLER_APIS, QUORUM_APIS, VOTE
from fencepost.protocols.leader_epoch.client_requests import ClientRequest, client_requests, each_request
from fencepost.protocols.leader_epoch.clocks import Window, controller_at
from fencepost.protocols.leader_epoch.cluster import ClusterHistory
from fencepost.protocols.leader_epoch.cluster_evidence import ClusterEvidence
from fencepost.protocols.leader_epoch.controller_fencings import (
    CONTROLLER,
    NOT_CONTROLLER,
    Cause,
    after_cause,
    after_controller,
    followed,
    is_not_controller,
    refused_candidates,
)
from fencepost.protocols.leader_epoch.instances import software_of
from fencepost.protocols.leader_epoch.lines import (
    ALTER_PARTITION,
    APIS,
    BROKER_HEARTBEAT,
    BROKER_REGISTRATION,
    CLIENT_APIS,
    CONTROLLED_SHUTDOWN,
)
from fencepost.protocols.leader_epoch.live_partitions import LivePartition, live_partition
from fencepost.protocols.leader_epoch.tables import LEADER_EPOCH_FENCINGS, METADATA_TOPIC_ID
from fencepost.replay.columns import Columns
from fencepost.replay.histories import Point
from fencepost.replay.keys import METADATA_TOPIC, ZERO_ID, digest_of
from fencepost.replay.logs import by_log
from fencepost.replay.requests import RequestLine, each_line, error_name, host_of, integer

LEADER_EPOCH, TOPIC_ID, BROKER_EPOCH = "leader_epoch", "topic_id", "broker_epoch"
_NOT_CONTROLLER = "not_controller"
FENCED = "FENCED_LEADER_EPOCH"
_OLDER_VERSION, _NOT_REGISTERED = "INVALID_UPDATE_VERSION", "BROKER_ID_NOT_REGISTERED"
_KINDS = {
    FENCED: LEADER_EPOCH,
    "UNKNOWN_LEADER_EPOCH": LEADER_EPOCH,
    _OLDER_VERSION: LEADER_EPOCH,
    "UNKNOWN_TOPIC_ID": TOPIC_ID,
    "INCONSISTENT_TOPIC_ID": TOPIC_ID,
    "STALE_BROKER_EPOCH": BROKER_EPOCH,
    _NOT_REGISTERED: BROKER_EPOCH,
}
REFUSABLE = {**APIS, **QUORUM_APIS, **CONTROLLER_APIS}
"""The APIs whose refusals become rows."""

_ANY_ERROR = '"errorCode": *-?[1-9]'
_OF_BROKERS = (CONTROLLED_SHUTDOWN, ALTER_PARTITION, BROKER_REGISTRATION, BROKER_HEARTBEAT)


class _Refused(NamedTuple):
    """What the answer in a line refused. ``epoch``: the one that the request presented. ``partition`` is None
    where the request as a whole was refused. ``answered``: the epoch in the answer; ``voting``: to a
    candidate. ``version``: the partition's epoch (KRaft's) that an AlterPartition presented.
    """

    kind: str
    error: str
    topic: str | None
    topic_id: str | None
    partition: int | None
    epoch: int | None
    broker_id: int | None
    answered: int | None = None
    voting: bool = False
    version: int | None = None


def refused_requests(requests: pa.Table, known: Mapping[str, ClusterEvidence]) -> pa.Table:
    """The rows of silver.leader_epoch_fencings about refused requests, from any rows of
    ``bronze.requests``.
    """
    rows = Columns(LEADER_EPOCH_FENCINGS)
    for (cluster,), lines in sorted(by_log(requests, "cluster").items(), key=str):
        if cluster not in known:
            continue
        software = software_of(lines)
        # most requests are not refused: they are sorted out before their JSON is parsed
        refused = lines.filter(pc.match_substring_regex(lines["response"], _ANY_ERROR))
        client_requests_by_id = {
            each.request_id: each for each in each_request(client_requests(refused), CLIENT_APIS)
        }
        for line in each_line(refused, REFUSABLE):
            for each in _refused(line, client_requests_by_id.get(line.request_id)):
                client_software = software.get((line.broker_id, line.connection or ""), (None, None))
                row = _row(str(cluster), known[str(cluster)], line, each, client_software)
                if row is not None:
                    rows.add(*row)
    return rows.to_arrow()


def _refused(line: RequestLine, of_client: ClientRequest | None) -> Iterator[_Refused]:
    sent, answer = line.sent, line.answer or {}
    replica = -1 if of_client is None else of_client.replica_id
    broker_id = sent.get("brokerId") if line.api_key in _OF_BROKERS else replica if replica >= 0 else None
    request_error = error_name(answer.get("errorCode"))
    for node in refused_candidates(line):
        if node.error in _KINDS:
            yield _Refused(
                CONTROLLER,
                node.error,
                METADATA_TOPIC,
                None,
                0,
                node.epoch,
                node.node_id,
                node.answered,
                voting=line.api_key == VOTE,
            )
    if is_not_controller(answer):
        yield _Refused(_NOT_CONTROLLER, NOT_CONTROLLER, None, None, None, None, broker_id)
    elif line.api_key in _OF_BROKERS and request_error in _KINDS:
        yield _Refused(
            _KINDS[request_error], request_error, None, None, None, sent.get("brokerEpoch"), broker_id
        )
    elif line.api_key == ALTER_PARTITION:
        yield from _alter_partition(sent, answer, broker_id)
    for each in () if of_client is None else of_client.partitions:
        error = error_name(each.error)
        if error in _KINDS:
            epoch = None if each.leader_epoch < 0 else each.leader_epoch
            yield _Refused(_KINDS[error], error, *each.requested, epoch, broker_id, each.leader_told)


def _alter_partition(
    sent: Mapping[str, Any], answer: Mapping[str, Any], broker_id: Any
) -> Iterator[_Refused]:
    try:
        presented = {
            (topic.get("topicId"), each["partitionIndex"]): (
                each.get("leaderEpoch"),
                each.get("partitionEpoch"),
            )
            for topic in sent.get("topics") or ()
            for each in topic["partitions"]
        }
        for topic in answer.get("topics") or ():
            for each in topic["partitions"]:
                error = error_name(each.get("errorCode"))
                place = (topic.get("topicId"), each["partitionIndex"])
                if error in _KINDS:
                    topic_id = None if place[0] == ZERO_ID else place[0]
                    epoch, version = presented.get(place, (None, None))
                    yield _Refused(
                        _KINDS[error],
                        error,
                        None,
                        topic_id,
                        place[1],
                        epoch,
                        broker_id,
                        version=integer(version),
                    )
    except (AttributeError, KeyError, TypeError):
        return


def _row(
    cluster: str,
    known: ClusterEvidence,
    line: RequestLine,
    each: _Refused,
    software: tuple[str | None, str | None],
) -> tuple[Any, ...] | None:
    host = host_of(line.connection)
    history = known.history
    life = history.topics.get(each.topic_id) if each.topic_id is not None else None
    topic = each.topic or (life.topic if life is not None else None)
    window = known.moments.window(line.broker_id, line.requested_ms, line.responded_ms)
    cause = _cause(known, window, each, topic, line)
    if cause is None:
        return None
    cause = _in_order(known, cause, line)
    broker, role = each.broker_id, CONTROLLER if each.kind == CONTROLLER else "broker"
    return (
        cluster, digest_of(line.request_id, topic, each.topic_id, each.partition), each.kind,
        f"{line.client_id}@{host}" if broker is None else f"{role} {broker}", broker, each.error, topic,
        each.topic_id, each.partition, each.epoch, cause.current, cause.cause, cause.position, cause.ms,
        line.responded_ms, after_cause(history, cause, line.broker_id, line.responded_ms), None, None, None,
        None, line.client_id, host, *software, line.connection,
        line.request_id, line.broker_id, REFUSABLE[line.api_key], line.api_version, line.correlation_id,
        line.requested_ms, line.responded_ms, line.file, line.position,
    )  # fmt: skip


def _cause(
    known: ClusterEvidence, window: Window, each: _Refused, topic: str | None, line: RequestLine
) -> Cause | None:
    """Why a request was refused; None where that fenced nobody: the broker that answered had not been a
    controller before.
    """
    history = known.history
    if each.kind == _NOT_CONTROLLER:
        return after_controller(history, window, line.broker_id)
    if each.kind == BROKER_EPOCH:
        return _registered(history, window, each)
    if each.topic_id == METADATA_TOPIC_ID or topic == METADATA_TOPIC:
        return _followed(history, window, each)
    if topic is None or each.partition is None:
        return Cause()
    if each.kind == TOPIC_ID:
        return _replaced(known, window, each, line)
    return _moved(history, window, each, topic, each.partition)


def _followed(history: ClusterHistory, window: Window, each: _Refused) -> Cause:
    # a node that is ahead of the one that answers is refused, too
    if each.error == "UNKNOWN_LEADER_EPOCH":
        return Cause("stale_metadata", each.answered)
    cause = followed(history, each.epoch, each.answered)
    # an epoch begins when nodes vote, and its first record is written after that
    return cause.without_record() if each.voting else cause.if_there(window)


def _in_order(known: ClusterEvidence, cause: Cause, line: RequestLine) -> Cause:
    """The cause without its record if that was written after the answer, as the first one of a controller
    may be after the one before has resigned; without its time if only the controller's clock says so.
    """
    if cause.position is None or cause.ms is None or cause.ms <= line.responded_ms:
        return cause
    caused = (controller_at(known.history, cause.position), cause.ms)
    if known.moments.is_later(caused, (line.broker_id, line.responded_ms)):
        return cause.without_record()
    return cause._replace(ms=None)


def _moved(history: ClusterHistory, window: Window, each: _Refused, topic: str, partition: int) -> Cause:
    now = live_partition(history, window, topic, partition)
    named = history.by_name.get(topic, ())
    topic_id = each.topic_id or now.topic_id or (named[0].topic_id if len(named) == 1 else None)
    if each.error == "UNKNOWN_LEADER_EPOCH":
        return Cause("stale_metadata", now.leader_epoch)
    life = history.partition(topic_id, partition)
    if each.error == FENCED:
        # in a fetch session the request may not list the partition, so its epoch is not known
        epochs = [] if life is None else [(at.leader_epoch, at.at) for at in life.elections]
        return _next_epoch("leader_change", now, epochs, each.epoch, window)
    # ReplicationControlManager compares leader epochs first: so only the partition's own epoch is older
    changes = [] if life is None else zip(life.states.states, life.states.begins, strict=True)
    versions = [(None if state is None else state.partition_epoch, at) for state, at in changes]
    return _next_epoch("partition_change", now, versions, each.version, window)


def _next_epoch(
    name: str,
    now: LivePartition,
    epochs: Iterable[tuple[int | None, Point]],
    presented: int | None,
    window: Window,
) -> Cause:
    """The change after the presented epoch. Epochs follow one another, so a refusal shows that the next one
    was there; a later one may have begun only afterwards.
    """
    for epoch, at in epochs:
        if presented is not None and epoch is not None and epoch > presented:
            cause = Cause(name, now.leader_epoch, at.position, at.ms)
            return cause if epoch == presented + 1 else cause.if_there(window)
    return Cause(name, now.leader_epoch)


def _replaced(known: ClusterEvidence, window: Window, each: _Refused, line: RequestLine) -> Cause:
    """Why a topic id was refused: its topic is gone, or the broker had not applied its creation yet."""
    history = known.history
    life = history.topics.get(each.topic_id) if each.topic_id is not None else None
    if life is None or life.gone is None or life.gone.position > window.highest:
        return Cause("stale_metadata" if life is not None and life.known else None)
    applied = known.moments.answered_from(line.broker_id, line.requested_ms, line.responded_ms)
    if life.gone.position > window.lowest and life.begins.position > applied.lowest:
        return Cause()
    after = history.next_begins(life)
    again = after is not None and after.position <= window.lowest
    name, removed = "topic_recreated" if again else "topic_deleted", life.removed
    return Cause(name) if removed is None else Cause(name, None, removed.offset, removed.timestamp_ms)


def _registered(history: ClusterHistory, window: Window, each: _Refused) -> Cause:
    broker = history.brokers.get(each.broker_id) if each.broker_id is not None else None
    if broker is None:
        return Cause()
    states = list(zip(broker.states.begins, broker.states.states, strict=True))
    if each.error == _NOT_REGISTERED:
        before = [one for one in states if one[0].position <= window.lowest]
        at, state = before[-1] if before else (None, None)
        is_gone = at is not None and state is None
        return Cause("unregistered", None, at.position, at.ms) if at is not None and is_gone else Cause()
    for at, state in states:
        if at.position > window.highest:
            break
        if state is None:
            continue
        epoch = state[0].epoch
        if epoch is not None and each.epoch is not None and epoch > each.epoch:
            known = history.is_covered(*window)
            return Cause("restart", epoch if known else None, at.position, at.ms)
    return Cause()
