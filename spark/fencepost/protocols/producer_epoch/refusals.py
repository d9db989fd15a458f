"""Refused requests of producers, and the epochs that they presented."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.request_rows import COORDINATED, FENCED, RequestRow, is_refusal
from fencepost.protocols.producer_epoch.request_targets import PRODUCE
from fencepost.replay.requests import NONE

BROKERS_OWN = "AddPartitionsManager-client-"
"""The beginning of a broker's client id when it asks a coordinator about a producer's transaction."""

_APART_MS = 600_000
"""No two clocks of a cluster are taken to be further apart."""


class KnownEpoch(NamedTuple):
    """A producer id and epoch, and when a request or its answer had them."""

    at_ms: int
    producer_id: int
    epoch: int


Connection = tuple[int, str]
"""Broker id and connection."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request, with the producer id and epoch that it presented, None if not known.

    ``known_before`` is the last epoch that its connection is known to have had before, ``highest_before`` the
    highest one, ``presented_later`` the epoch of the connection's next request. ``asked`` is the request by
    which the broker asked the coordinator meanwhile, which refused it: None if no line shows it, or if the
    coordinator itself answered.
    """

    request: RequestRow
    producer_id: int | None
    victim_epoch: int | None
    known_before: KnownEpoch | None = None
    presented_later: KnownEpoch | None = None
    asked: RequestRow | None = None
    highest_before: KnownEpoch | None = None

    @property
    def decided(self) -> RequestRow:
        """The request that was refused where the epochs are known: its times are by that broker's clock."""
        return self.asked or self.request


def connections_refused_produce(requests: pa.Table) -> set[str]:
    """The connections that had a Produce refused, among rows of ``silver.producer_requests``.

    A line of Produce has neither producer id nor epoch. They may be those of the batches that its connection
    wrote before.
    """
    refused = requests.filter(pc.and_(is_refusal(requests), pc.equal(requests["api_key"], PRODUCE)))
    return {each for each in refused["connection"].unique().to_pylist() if each is not None}


def refusals(
    requests: Sequence[RequestRow],
    epochs_written: Mapping[Connection, Sequence[KnownEpoch]],
    tolerance_ms: int,
) -> list[Refusal]:
    """The refused requests among those of one transactional id (or of none), in the order of answers.

    A request has the first of its errors. The epoch that a Produce presented is in the line in which the
    broker asked the coordinator about it meanwhile (KIP-890); without that line it is what its connection
    was granted or had written with (``epochs_written``). A broker's own request is a refusal only if the
    producer's line is missing. Some of these requests were refused for another reason (STALE_END, an epoch
    that never existed).
    """
    refused = [each for each in requests if _is_refused(each)]
    if not refused:
        return []
    of_producers = _firsts(each for each in refused if not is_brokers(each))
    of_brokers = _BrokersRequests((each for each in refused if is_brokers(each)), tolerance_ms)
    epochs_of_connections = _epochs_of_connections(requests, epochs_written)
    answered: set[str] = set()
    refused_requests = []
    during = {each.request_id: of_brokers.during(each) for each in of_producers}
    told = _told_apart(of_producers, during)
    for each in of_producers:
        answered.update(verification.request_id for verification in during[each.request_id])
        refused_requests.append(_refusal(each, told[each.request_id], epochs_of_connections))
    refused_requests = _with_later_epochs(refused_requests)
    refused_requests += [
        Refusal(each, each.producer_id, each.producer_epoch)
        for each in _firsts(of_brokers.requests)
        if each.request_id not in answered
    ]
    return sorted(refused_requests, key=lambda refusal: refusal.request.order)


def _firsts(rows: Iterable[RequestRow]) -> list[RequestRow]:
    """The first row of each request."""
    firsts: dict[str, RequestRow] = {}
    for each in rows:
        firsts.setdefault(each.request_id, each)
    return list(firsts.values())


def _is_refused(request: RequestRow) -> bool:
    # concerns_coordinators has applied is_refusal already: other requests here were granted, or are commits
    return request.error in FENCED or request.is_stale_end


def is_brokers(request: RequestRow) -> bool:
    """Whether a broker asked a coordinator about a producer's transaction."""
    return request.client_id is not None and request.client_id.startswith(BROKERS_OWN)


def _told_apart(
    refused: Sequence[RequestRow], during: Mapping[str, Sequence[RequestRow]]
) -> dict[str, list[RequestRow]]:
    """By refused request, the brokers' requests about it, of those that were made ``during`` it.

    A request that a leader refused by itself has none. So where several refused requests may be the one that
    a broker asked about, and it asked less often, nothing tells which of them it was.
    """
    candidates: dict[str, dict[str, RequestRow]] = {}
    asked: dict[str, RequestRow] = {}
    for each in refused:
        for question in during[each.request_id]:
            asked[question.request_id] = question
            candidates.setdefault(question.request_id, {})[each.request_id] = each
    asked_for: dict[str, set[str]] = {}
    for request_id, found in candidates.items():
        # by the times as they are; a line may be late, but then it is the only one
        lasting = {name for name, each in found.items() if _lasts(each, asked[request_id])}
        asked_for[request_id] = lasting or set(found)
    told = {}
    for each in refused:
        own = [other for other in during[each.request_id] if each.request_id in asked_for[other.request_id]]
        questions = {question.request_id for question in own}
        others = set().union(*(asked_for[request_id] for request_id in questions))
        told[each.request_id] = own if len(questions) >= len(others) else []
    return told


def _lasts(request: RequestRow, asked: RequestRow) -> bool:
    """Whether a request lasted for all of another one."""
    return request.requested_ms <= asked.requested_ms and asked.responded_ms <= request.responded_ms


def _asker(request: RequestRow) -> str:
    """The broker that asked, as its client id names it."""
    return (request.client_id or "").removeprefix(BROKERS_OWN)


def _refusal(
    request: RequestRow,
    verifications: Sequence[RequestRow],
    epochs_of_connections: Mapping[Connection, Sequence[KnownEpoch]],
) -> Refusal:
    place = (request.topic, request.partition)
    asked = [each for each in verifications if request.topic is None or (each.topic, each.partition) == place]
    last = asked[-1] if asked and request.api_key not in COORDINATED else None
    if request.producer_id is not None:
        return Refusal(request, request.producer_id, request.producer_epoch, asked=last)
    known_epochs = (
        epochs_of_connections.get((request.broker_id, request.connection), ())
        if request.connection is not None
        else ()
    )
    # times are rounded; but a connection has one request at a time, so its earlier answers came before
    until_ms = max(request.requested_ms, request.responded_ms - 1)
    at = bisect_right(known_epochs, until_ms, key=lambda each: each.at_ms)
    known_before = known_epochs[at - 1] if at else None
    presented = {(each.producer_id, each.producer_epoch) for each in asked}
    producer_id, epoch = presented.pop() if len(presented) == 1 else (None, None)
    if producer_id is None and known_before is not None:
        producer_id = known_before.producer_id
    highest = max(known_epochs[:at], key=lambda each: each[1:], default=None)
    return Refusal(request, producer_id, epoch, known_before, asked=last, highest_before=highest)


def _with_later_epochs(refused: Sequence[Refusal]) -> list[Refusal]:
    """The refusals; one whose epoch is not known gets the epoch of the next request of its connection."""
    refusals_with_later: list[Refusal] = []
    later: dict[Connection, KnownEpoch] = {}
    for each in sorted(refused, key=lambda refusal: refusal.request.order, reverse=True):
        request = each.request
        place = (request.broker_id, request.connection or "")
        is_known = each.producer_id is not None and each.victim_epoch is not None and each.victim_epoch >= 0
        if is_known and request.connection is not None:
            later[place] = KnownEpoch(request.requested_ms, each.producer_id or 0, each.victim_epoch or 0)
        refusals_with_later.append(each if is_known else replace(each, presented_later=later.get(place)))
    return refusals_with_later


def _epochs_of_connections(
    requests: Iterable[RequestRow], epochs_written: Mapping[Connection, Sequence[KnownEpoch]]
) -> dict[Connection, list[KnownEpoch]]:
    """The epochs that each connection was granted or wrote with, in the order of time."""
    epochs: dict[Connection, list[KnownEpoch]] = {
        place: list(known_epochs) for place, known_epochs in epochs_written.items()
    }
    for each in requests:
        epoch, producer_id = each.returned_producer_epoch, each.returned_producer_id
        is_granted = each.error == NONE and epoch is not None and epoch >= 0 and producer_id is not None
        if is_granted and each.connection is not None and epoch is not None and producer_id is not None:
            place = (each.broker_id, each.connection)
            epochs.setdefault(place, []).append(KnownEpoch(each.responded_ms, producer_id, epoch))
    for known_epochs in epochs.values():
        known_epochs.sort()
    return epochs


class _BrokersRequests:
    """The refused requests of brokers on behalf of producers, in the order of their times."""

    def __init__(self, requests: Iterable[RequestRow], tolerance_ms: int) -> None:
        self.requests = sorted(requests, key=lambda each: (each.requested_ms, each.request_id))
        self._requested = [each.requested_ms for each in self.requests]
        presented = [(each.producer_id, each.producer_epoch) for each in self.requests]
        # how often, up to each of them, one presented something else than the one before
        self._changes = [0, *accumulate(one != other for one, other in pairwise(presented))]
        self._tolerance_ms = tolerance_ms

    def during(self, producers_request: RequestRow) -> list[RequestRow]:
        """The requests that the answering broker made while a producer waited for its answer, about any
        partition. If another broker answered them, its clock is another one: then only if all that it refused
        then presented the same.
        """
        if producers_request.transactional_id is None:
            return []
        broker_id, since_ms = producers_request.broker_id, producers_request.requested_ms - self._tolerance_ms
        latest = producers_request.responded_ms + self._tolerance_ms
        first, last = self._places(since_ms, latest)
        own = [each for each in self.requests[first:last] if _asker(each) == str(broker_id)]
        found = [each for each in own if each.responded_ms <= latest]
        if all(each.broker_id == broker_id for each in found):
            return found
        first, last = self._places(since_ms - _APART_MS, latest + _APART_MS)
        is_one = self._changes[first] == self._changes[last - 1]
        return found if is_one else [each for each in found if each.broker_id == broker_id]

    def _places(self, from_ms: int, to_ms: int) -> tuple[int, int]:
        return bisect_left(self._requested, from_ms), bisect_right(self._requested, to_ms)
