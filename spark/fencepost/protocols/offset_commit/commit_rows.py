"""Rows about commits: columns of the request log are copied for many commits at once, other values are added
commit by commit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from fencepost.protocols.offset_commit.outcomes import Outcomes
from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.protocols.offset_commit.tables import COMMIT_STATES, COMMITS
from fencepost.replay.columns import Columns, array_of, as_type
from fencepost.replay.logs import Longs
from fencepost.tables import Table

_OF_COMMITS = {
    **{
        name: name
        for name in (
            "broker_id", "group_id", "member_id", "client_id", "correlation_id", "api_key", "api_version",
            "topic", "topic_id", "partition", "partition_key", "committed_offset", "client_epoch",
            "is_transactional", "transactional_id", "producer_id", "producer_epoch", "broker_error", "file",
            "position",
        )
    },
    "requested_at": "requested_ms",
    "responded_at": "responded_ms",
}  # fmt: skip
"""Columns of COMMITS, and below those of COMMIT_STATES, with the attribute of the commit or its request."""
_OF_STATES = {
    **{name: name for name in ("group_id", "member_id", "partition_key", "client_epoch", "api_version")},
    "error": "broker_error",
    "transactional": "is_transactional",
    "from_time": "requested_ms",
    "to_time": "responded_ms",
}


class CommitRows(Columns):
    """The rows of one table. ``add`` takes a commit's number, and a value for each column that ``columns_of``
    does not compute from such numbers, in the table's order.
    """

    def __init__(self, table: Table, columns_of: Callable[[Longs], Mapping[str, pa.Array]]) -> None:
        super().__init__(table)
        self._columns_of = columns_of

    def _arrays(self, schema: pa.Schema, columns: Sequence[Sequence[Any]]) -> list[pa.Array]:
        numbers, *added = columns
        copied, added_columns = self._columns_of(np.array(numbers, dtype=np.int64)), iter(added)
        return [
            as_type(copied[field.name], field.type)
            if field.name in copied
            else array_of(next(added_columns), field.type)
            for field in schema
        ]


def commit_rows(cluster: str, requests: Requests, outcomes: Outcomes) -> CommitRows:
    """Rows of COMMITS."""
    return CommitRows(COMMITS, partial(_columns_of_commits, cluster, requests, outcomes))


def state_rows(cluster: str, requests: Requests) -> CommitRows:
    """Rows of COMMIT_STATES."""
    return CommitRows(COMMIT_STATES, partial(_columns_of_states, cluster, requests))


def _columns_of_commits(
    cluster: str, requests: Requests, outcomes: Outcomes, commits: Longs
) -> Mapping[str, pa.Array]:
    return {
        **outcomes.columns(commits),
        "cluster": pa.repeat(cluster, len(commits)),
        "commit_id": requests.commit_ids(commits),
        "request_id": requests.request_ids(commits),
        "fenced": requests.fenced(commits),
        **{name: requests.column(attribute, commits) for name, attribute in _OF_COMMITS.items()},
    }


def _columns_of_states(cluster: str, requests: Requests, commits: Longs) -> Mapping[str, pa.Array]:
    return {
        "cluster": pa.repeat(cluster, len(commits)),
        "commit_id": requests.commit_ids(commits),
        "request_id": requests.request_ids(commits),
        "accepted": requests.accepted(commits),
        "fenced": requests.fenced(commits),
        **{name: requests.column(attribute, commits) for name, attribute in _OF_STATES.items()},
    }
