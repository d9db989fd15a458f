"""Refused requests of producers, and what they presented."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch.request_rows import FENCED, RequestRow, is_refusal
from fencepost.protocols.producer_epoch.request_targets import PRODUCE
from fencepost.replay.requests import NONE

BROKERS_OWN = "AddPartitionsManager-client-"
"""What the client id of a broker begins with that asks a coordinator for a producer."""


class KnownEpoch(NamedTuple):
    """A producer id and epoch, and when they were told."""

    at_ms: int
    producer_id: int
    epoch: int


Connection = tuple[int, str]
"""Broker and connection."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A refused request, with what it presented as far as that is known.

    ``began`` is what its connection is known to have had before, ``went_on`` what it presented afterwards.
    """

    asked: RequestRow
    producer_id: int | None
    victim_epoch: int | None
    began: KnownEpoch | None = None
    went_on: KnownEpoch | None = None


def asking_connections(requests: pa.Table) -> set[str]:
    """The connections that were refused a Produce, among rows of ``silver.producer_requests``.

    A Produce line has neither producer id nor epoch: what its connection wrote before may tell.
    """
    refused = requests.filter(pc.and_(is_refusal(requests), pc.equal(requests["api_key"], PRODUCE)))
    return {each for each in refused["connection"].unique().to_pylist() if each is not None}


def refusals(
    asked: Sequence[RequestRow], wrote: Mapping[Connection, Sequence[KnownEpoch]], tolerance_ms: int
) -> list[Refusal]:
    """The refused requests among those of one transactional id (or of none), in the order of answers.

    The first error stands for the request. What a Produce presented is told by the line in which the broker
    asks the coordinator for it meanwhile (KIP-890), or else by what its connection was granted or ``wrote``.
    A broker's own line stands alone only where the producer's is missing. Among them are requests that were
    refused for another reason (STALE_END, an epoch that never was).
    """
    refused = [each for each in asked if _is_refused(each)]
    if not refused:
        return []
    own = _firsts(each for each in refused if not _is_brokers(each))
    brokers = _Meanwhile((each for each in refused if _is_brokers(each)), tolerance_ms)
    had = _connections(asked, wrote)
    answered: set[str] = set()
    found = []
    for each in own:
        theirs = brokers.during(each)
        answered.update(their.request_id for their in theirs)
        found.append(_presented(each, theirs, had))
    found = _with_what_followed(found)
    found += [
        Refusal(each, each.producer_id, each.producer_epoch)
        for each in _firsts(brokers.asked)
        if each.request_id not in answered
    ]
    return sorted(found, key=lambda refusal: refusal.asked.order)


def _firsts(rows: Iterable[RequestRow]) -> list[RequestRow]:
    """The first row of each request."""
    found: dict[str, RequestRow] = {}
    for each in rows:
        found.setdefault(each.request_id, each)
    return list(found.values())


def _is_refused(asked: RequestRow) -> bool:
    # is_refusal has left nothing else but what was granted, and what ended a transaction
    return asked.error in FENCED or asked.ends_stale


def _is_brokers(asked: RequestRow) -> bool:
    return asked.client_id is not None and asked.client_id.startswith(BROKERS_OWN)


def _presented(
    asked: RequestRow, theirs: Sequence[RequestRow], had: Mapping[Connection, Sequence[KnownEpoch]]
) -> Refusal:
    if asked.producer_id is not None:
        return Refusal(asked, asked.producer_id, asked.producer_epoch)
    known = had.get((asked.broker_id, asked.connection), ()) if asked.connection is not None else ()
    # a connection has one request at a time: what was answered before came before, times are rounded
    until_ms = max(asked.requested_ms, asked.responded_ms - 1)
    at = bisect_right(known, until_ms, key=lambda each: each.at_ms)
    began = known[at - 1] if at else None
    place = (asked.topic, asked.partition)
    said = {
        (their.producer_id, their.producer_epoch)
        for their in theirs
        if asked.topic is None or (their.topic, their.partition) == place
    }
    producer_id, epoch = said.pop() if len(said) == 1 else (None, None)
    if producer_id is None and began is not None:
        producer_id = began.producer_id
    return Refusal(asked, producer_id, epoch, began)


def _with_what_followed(refused: Sequence[Refusal]) -> list[Refusal]:
    """Where nothing tells what a request presented: what the next one of its connection did."""
    found: list[Refusal] = []
    later: dict[Connection, KnownEpoch] = {}
    for each in sorted(refused, key=lambda refusal: refusal.asked.order, reverse=True):
        asked = each.asked
        place = (asked.broker_id, asked.connection or "")
        told = each.producer_id is not None and each.victim_epoch is not None and each.victim_epoch >= 0
        if told and asked.connection is not None:
            later[place] = KnownEpoch(asked.requested_ms, each.producer_id or 0, each.victim_epoch or 0)
        found.append(each if told or each.began is not None else replace(each, went_on=later.get(place)))
    return found


def _connections(
    asked: Iterable[RequestRow], wrote: Mapping[Connection, Sequence[KnownEpoch]]
) -> dict[Connection, list[KnownEpoch]]:
    """What each connection was granted or wrote, in the order of time."""
    found: dict[Connection, list[KnownEpoch]] = {place: list(had) for place, had in wrote.items()}
    for each in asked:
        epoch, producer_id = each.returned_producer_epoch, each.returned_producer_id
        told = each.error == NONE and epoch is not None and epoch >= 0 and producer_id is not None
        if told and each.connection is not None and epoch is not None and producer_id is not None:
            place = (each.broker_id, each.connection)
            found.setdefault(place, []).append(KnownEpoch(each.responded_ms, producer_id, epoch))
    for had in found.values():
        had.sort()
    return found


class _Meanwhile:
    """The brokers' own refused requests, by when they were made."""

    def __init__(self, asked: Iterable[RequestRow], tolerance_ms: int) -> None:
        self.asked = sorted(asked, key=lambda each: (each.requested_ms, each.request_id))
        self._requested = [each.requested_ms for each in self.asked]
        self._tolerance_ms = tolerance_ms

    def during(self, own: RequestRow) -> list[RequestRow]:
        """Those made while the producer waited for this answer, of all partitions."""
        if own.transactional_id is None:
            return []
        latest = own.responded_ms + self._tolerance_ms
        first = bisect_left(self._requested, own.requested_ms - self._tolerance_ms)
        last = bisect_right(self._requested, latest)
        return [each for each in self.asked[first:last] if each.responded_ms <= latest]
