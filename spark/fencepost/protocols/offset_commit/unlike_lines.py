"""Finds brokers whose lines about commits do not belong to the records of the coordinator's log."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from fencepost.protocols.offset_commit.request_columns import Requests
from fencepost.replay.entities import first_of_each, numbered_rows
from fencepost.replay.group_coordinator.records import GroupRecord
from fencepost.replay.logs import Log, Longs
from fencepost.replay.request_clocks import Difference
from fencepost.replay.requests import LATEST_MS
from fencepost.replay.unlike_lines import (
    are_shown,
    batches_after_gaps,
    gap_before,
    lost_records,
    unlike_lines,
)


def lines_unlike_records(
    requests: Requests, accepted: Longs, is_stored: Longs, records: Iterable[GroupRecord], log: Log
) -> list[Difference]:
    """The brokers of which most accepted commits are not of this log: it lacks what they stored, or their
    members, or they present no epoch (replay.unlike_lines).

    ``accepted``: the numbers of the commits; ``is_stored``: whether a record has the content of each;
    ``records``: those about groups.
    """
    of = requests.request[accepted]
    shown = are_shown(log, requests["requested_ms"][of], requests["responded_ms"][of])
    of, is_stored = of[shown], is_stored[shown]
    groups, members = requests.texts("group_id"), requests.texts("member_id")
    numbers = numbered_rows(groups.values[of], members.values[of])
    each = of[first_of_each(numbers)]
    of_groups = _members(records)
    committers = zip(groups.objects(each), members.objects(each), strict=True)
    is_named = [member in of_groups.get(group, (member,)) for group, member in committers]
    # a member of a group presents its epoch
    is_member = np.array(is_named, dtype=np.bool_)[numbers] & (requests["client_epoch"][of] >= 0)
    is_alone = members.values[of] == members.numbers_of([""])
    is_recorded = is_stored & (is_member | is_alone)
    broker_id, api_key, requested_ms = (
        requests[name][of] for name in ("broker_id", "api_key", "requested_ms")
    )
    return unlike_lines(broker_id, api_key, requested_ms, is_recorded)


def lost_commits(
    requests: Requests, accepted: Longs, is_stored: Longs, log: Log, *, ended: bool
) -> tuple[list[Difference], set[tuple[int, int]]]:
    """How many accepted requests of each broker have records that are gone, and the gaps in the log where
    these were (replay.unlike_lines). Parameters as above; a commit whose content is stored may have been
    written just before, if its line is late. ``ended``: nothing follows the log's newest record.
    """
    of = requests.request[accepted]
    broker_id, requested_ms, responded_ms = (
        requests[name] for name in ("broker_id", "requested_ms", "responded_ms")
    )
    from_ms = requested_ms[of] - np.where(is_stored, LATEST_MS, 0)
    after = batches_after_gaps(log, from_ms, responded_ms[of], ended=ended)
    lost = np.unique(of[after >= 0])
    found = lost_records(np.column_stack([each[lost] for each in (broker_id, requested_ms, responded_ms)]))
    return found, {gap_before(log, at) for at in set(after[after >= 0].tolist())}


def _members(records: Iterable[GroupRecord]) -> dict[str, set[str]]:
    """The members of each group that has any, as its records say."""
    members: defaultdict[str, set[str]] = defaultdict(set)
    for record in records:
        if record.classic_members:
            members[record.group_id] |= {each.member_id for each in record.classic_members}
        elif record.member_id is not None:
            members[record.group_id].add(record.member_id)
    return dict(members)
