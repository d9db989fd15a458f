"""Who asked for a producer epoch with InitProducerId: the producer itself, a new instance, or an operator.

``Admin.fenceProducers`` sends the same request as a new instance. What comes after it tells them apart: an
operator never uses the epoch, and sends nothing that a producer sends. The transaction's timeout is that of
the operator's requests, and of an instance the one that its application has set.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set

from fencepost.protocols.producer_epoch.refusals import BROKERS_OWN, Connection
from fencepost.protocols.producer_epoch.request_rows import RequestRow, granted_inits
from fencepost.protocols.producer_epoch.request_targets import INIT, MARKERS
from fencepost.protocols.producer_epoch.transaction_log import ONGOING, TransactionRecord
from fencepost.replay.requests import NONE

NEW_INSTANCE, CLIENT_BUMP, OPERATOR = "new_instance", "client_bump", "operator"

INITIALISED = "initialised"
"""A new instance that has not used its epoch, or an operator: nothing tells which. In no row."""

_ADMIN = re.compile(r"adminclient-\d+|connector-worker-adminclient-.*", re.DOTALL)
"""The client ids that Kafka itself gives an Admin: KafkaAdminClient's default, and Kafka Connect's."""

_ADMINS_TIMEOUT_MS = 60_000
"""default.api.timeout.ms, which Admin.fenceProducers sends as the transaction's timeout. It is the default of
transaction.timeout.ms, too.
"""

_Pair = tuple[int | None, int | None]
"""Producer id and epoch."""


def producers_connections(requests: Iterable[RequestRow]) -> Set[Connection]:
    """The connections on which a producer sends, as some of these requests show. An operator's has nothing
    but InitProducerId without an epoch.
    """
    return {
        (each.broker_id, each.connection)
        for each in requests
        if each.connection is not None
        and not (each.api_key == INIT and _presents_nothing(each))
        and each.api_key != MARKERS
        and not (each.client_id or "").startswith(BROKERS_OWN)
    }


class Initialisers:
    """Who sent the InitProducerId requests of one transactional id."""

    def __init__(
        self,
        requests: Sequence[RequestRow],
        records: Iterable[TransactionRecord],
        connections: Set[Connection] = frozenset(),
    ) -> None:
        """``requests`` and ``records`` of the id; ``connections``: producers_connections."""
        inits = granted_inits(requests)
        granted = Counter(map(_returned, inits))
        written = [each for each in records if each.status == ONGOING]
        used = {(each.producer_id, each.producer_epoch) for each in written}
        accepted = (each for each in requests if each.error == NONE)
        used |= {(each.producer_id, each.producer_epoch) for each in accepted}
        # a pair that a stale producer was given, too, may be used by that one
        self._used = {pair for pair in used if granted[pair] <= 1 and pair[0] is not None and pair[0] >= 0}
        # the setting of the application whose id it is
        self._timeouts = {each.timeout_ms for each in written} - {_ADMINS_TIMEOUT_MS}
        self._connections = connections | {
            (each.broker_id, each.connection)
            for each in inits
            if each.connection is not None and _returned(each) in self._used
        }

    def of(self, init: RequestRow) -> str:
        """Who sent a request: NEW_INSTANCE, CLIENT_BUMP, OPERATOR or INITIALISED."""
        if not _presents_nothing(init):
            return CLIENT_BUMP
        if self.is_used(_returned(init)) or (init.broker_id, init.connection) in self._connections:
            return NEW_INSTANCE
        if init.client_id is not None and _ADMIN.fullmatch(init.client_id):
            return OPERATOR
        return NEW_INSTANCE if init.transaction_timeout_ms in self._timeouts else INITIALISED

    def is_used(self, pair: _Pair) -> bool:
        """Whether a client that was given this pair wrote with it, or had another request accepted."""
        return pair in self._used


def _returned(init: RequestRow) -> _Pair:
    return init.returned_producer_id, init.returned_producer_epoch


def _presents_nothing(init: RequestRow) -> bool:
    return init.producer_id is None or init.producer_id < 0
