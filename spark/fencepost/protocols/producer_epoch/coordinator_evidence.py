"""The evidence of one coordinator's log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from fencepost.protocols.producer_epoch.id_state import IdState, Moment
from fencepost.replay.coordinator_logs import ONLY, Incarnation
from fencepost.replay.log_ends import NO_END, LogEnd


@dataclass(frozen=True)
class CoordinatorEvidence:
    """The rows of one coordinator's log.

    ``key``: cluster, topic, partition and partition_key, which is None if there is no log. ``incarnation``:
    the one of ``__transaction_state`` whose log it is. ``end``: where it ends.
    ``states``: by transactional id, what is known
    of it before the first record; ``began``: the offsets from and to which the log was known then.
    ``dumped_at``: where the states are dumped, None if they are not.
    """

    key: tuple[str, str, int | None, str | None]
    batches: pa.Table
    records: pa.Table
    quarantine: pa.Table
    cleaned_to: Sequence[int]
    incarnation: Incarnation = ONLY
    end: LogEnd = NO_END
    states: Mapping[str, IdState] = field(default_factory=dict)
    began: tuple[int, int] | None = None
    dumped_at: Moment | None = None
