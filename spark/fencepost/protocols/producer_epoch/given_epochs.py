"""Which client was given each producer id and epoch of a transactional id, and whether another one ended a
transaction with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from fencepost.protocols.producer_epoch.causes import Pair
from fencepost.protocols.producer_epoch.request_rows import RequestRow
from fencepost.protocols.producer_epoch.request_targets import END, INIT
from fencepost.protocols.producer_epoch.transaction_metadata import Transition


class GivenEpoch(NamedTuple):
    """The client whose request made the first record (at ``offset``) with a producer id and epoch."""

    offset: int
    producer_id: int | None
    producer_epoch: int | None
    broker_id: int
    client_id: str | None
    connection: str | None

    def is_anothers(self, request: RequestRow) -> bool | None:
        """Whether another client than this one sent a request; None if one client id has two connections, and
        if a name is missing.
        """
        if None not in (self.client_id, request.client_id) and self.client_id != request.client_id:
            return True
        own = (self.broker_id, self.client_id, self.connection)
        same = self.connection is not None and own == (
            request.broker_id,
            request.client_id,
            request.connection,
        )
        return False if same else None


GivenEpochs = Mapping[tuple[int | None, int | None], GivenEpoch]
"""By producer id and epoch. Those that the coordinator took for itself, or whose request is not surely known,
are absent.
"""


def given_epochs(
    transitions: Iterable[Transition], accepted: Iterable[Pair], before: Iterable[GivenEpoch]
) -> GivenEpochs:
    """The epochs that clients were given, in the order of the log. ``accepted``: requests and the records
    that they wrote; ``before``: what an earlier chapter handed down.
    """
    requests = {each.record.offset: each.request for each in accepted if each.sure}
    given = {(each.producer_id, each.producer_epoch): each for each in before}
    for each in transitions:
        record, previous = each.record, each.previous
        if not each.changes_identity or record.tombstone:
            continue
        pair, request = (record.producer_id, record.producer_epoch), requests.get(record.offset)
        if record.completes and previous is not None:
            # the next producer id goes to whoever has used up the one before
            exhausted = given.get((previous.producer_id, previous.producer_epoch))
            if exhausted is not None:
                given.setdefault(
                    pair,
                    exhausted._replace(offset=record.offset, producer_id=pair[0], producer_epoch=pair[1]),
                )
        elif request is not None and _gives_a_new_epoch(request, hidden=each.hidden):
            client = GivenEpoch(
                record.offset, *pair, request.broker_id, request.client_id, request.connection
            )
            given.setdefault(pair, client)
    return given


def _gives_a_new_epoch(request: RequestRow, *, hidden: bool) -> bool:
    """Whether nobody had the epoch of its record before. Behind a hole, an InitProducerId that presents an
    epoch may have been given once more what it had.
    """
    if request.api_key == END:
        return not request.moves_no_epoch
    presents_nothing = request.producer_id is None or request.producer_id < 0
    return request.api_key == INIT and (presents_nothing or not hidden)
