"""The explanations of verdicts about claims, assignments and JoinGroups, in a sentence or two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from fencepost.protocols.base import Explanation, Verdict
from fencepost.protocols.ownership_claim.report import CLAIMS, JOINS, REBALANCES
from fencepost.protocols.ownership_claim.tables import CLASSIC_ASSIGNMENTS
from fencepost.protocols.witnesses import explained
from fencepost.reading import Reader, rows
from fencepost.words import printable, time_of

Row = Mapping[str, Any]
Place = tuple[str, str, int, int]

_MODULE = "OwnershipClaimProps"
_OUTCOMES = {
    "kept": "left it there",
    "given_to_another": "gave it to {to} at once",
    "both": "left it there and gave it to another as well",
    "taken_away": "took it away",
    "unknown": "assigned it in a way that is not known",
}


def explain(reader: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """Explanations by verdict id, for verdicts whose witness is a claim, an assignment or a request."""
    return explained(verdicts, _MODULE, partial(_explanations, reader))


def _explanations(reader: Reader, ids: Sequence[str]) -> dict[str, Explanation]:
    if not reader.has(CLAIMS):
        return {}
    claims = rows(reader.scan(CLAIMS, where={"claim_id": ids}))
    joins = rows(reader.scan(JOINS, where={"request_id": ids}))
    assignments = rows(reader.scan(CLASSIC_ASSIGNMENTS.name, where={"assignment_id": ids}))
    places = _places(reader, [*claims, *assignments])
    explanations = {
        row["claim_id"]: Explanation(_claim(row, *_rebalance(places, row)), *_file(places, row))
        for row in claims
    }
    explanations |= {
        row["assignment_id"]: Explanation(_assignment(row), *_file(places, row)) for row in assignments
    }
    return explanations | {
        row["request_id"]: Explanation(_join(row), row["file"], row["position"]) for row in joins
    }


def _places(reader: Reader, claims: Sequence[Row]) -> dict[Place, Row]:
    """The generations of claims, by their place in the log."""
    groups = sorted({row["group_id"] for row in claims})
    columns = (
        "cluster", "group_id", "life", "record_offset", "file", "position", "reason", "protocol",
        "leader_client_id",
    )  # fmt: skip
    rebalances = rows(reader.scan(REBALANCES, columns, where={"group_id": groups})) if groups else []
    return {_place(row): row for row in rebalances}


def _place(row: Row) -> Place:
    return row["cluster"], row["group_id"], row["life"], row["record_offset"]


def _file(places: Mapping[Place, Row], row: Row) -> tuple[str | None, int | None]:
    rebalance = places.get(_place(row))
    return (None, None) if rebalance is None else (rebalance["file"], rebalance["position"])


def _rebalance(places: Mapping[Place, Row], row: Row) -> tuple[str, str]:
    rebalance = places.get(_place(row))
    if rebalance is None:
        return "the assignor", ""
    leader = (
        f" of {printable(rebalance['leader_client_id'])}" if rebalance["leader_client_id"] is not None else ""
    )
    reason = (
        f" The group rebalanced because: {printable(rebalance['reason'])}." if rebalance["reason"] else ""
    )
    return f"assignor {printable(rebalance['protocol'])}{leader}", reason


def _claim(row: Row, assignor: str, reason: str) -> str:
    if row["unread_reason"] is not None:
        return (
            f"{time_of(row['claimed_at'])}  {_member(row)} joined generation {row['generation']} of group "
            f"{row['group_id']!r}, but its claims are not known: {row['unread_reason']}."
        )
    others = _generation(row["other_claimed_generation"])
    other = (
        f", which {printable(row['other_member_id'])} claims of {others}"
        if row["other_member_id"] is not None
        else ""
    )
    was_its_own = {
        True: "it was assigned to it then",
        False: "it was not assigned to it then",
        None: "whether it was assigned to it then is not known",
    }
    assigned = was_its_own[row["was_assigned"]]
    outcome = _OUTCOMES[row["outcome"]].format(to=printable(row["assigned_to"]))
    return (
        f"{time_of(row['claimed_at'])}  {_member(row)} joined generation {row['generation']} of group "
        f"{row['group_id']!r} and claimed {printable(row['topic'])}-{row['partition']} of "
        f"{_generation(row['claimed_generation'])}{other}; {assigned}.{_repeated(row)}\n"
        f"The claim is {row['standing']}; {assignor} {outcome}.{reason}"
    )


def _assignment(row: Row) -> str:
    partition = f"{printable(row['topic'])}-{row['partition']}" if row["topic"] else "what cannot be read"
    given = (
        f"{time_of(row['from_time'])}  generation {row['generation']} of group {row['group_id']!r} gave "
        f"{partition} to {_member(row)}."
    )
    owners = f"\nIt was assigned to {row['owners']} members." if (row["owners"] or 1) > 1 else ""
    if row["previous_owner"] in (None, row["member_id"]):
        return f"{given}{owners}"
    joined = {True: " and had joined since", False: " and had not joined since"}.get(
        row["previous_owner_joined"], ""
    )
    stays = {True: f"; it was still in the group{joined}", False: "; it was in the group no more"}.get(
        row["previous_owner_stays"], ""
    )
    return f"{given} Before, {printable(row['previous_owner'])} had it{stays}.{owners}"


def _repeated(row: Row) -> str:
    """A sentence about the same claim in later generations."""
    again = row["rebalances"] - 1
    if not again:
        return ""
    times = "once more" if again == 1 else f"{again} times more"
    return f" It made the same claim {times}, up to generation {row['last_generation']}."


def _join(row: Row) -> str:
    answer = {
        None: "the answer is not known",
        "NONE": f"the broker admitted it to generation {row['response_generation']}",
    }.get(row["error"], f"the broker refused it ({row['error']})")
    current = (
        f"generation {row['current_generation']}"
        if row["current_generation"] is not None
        else "a generation that is not known"
    )
    return (
        f"{time_of(row['requested_at'])}  {_member(row)} sent JoinGroup to group {row['group_id']!r} and "
        f"presented {_generation(row['presented_generation'])}; the group was at {current}; {answer}.\n"
        f"The shipped rule decides {row['shipped']}, KIP-792 {row['proposed']}."
    )


def _member(row: Row) -> str:
    name = printable(row["member_id"]) or "a new member"
    return f"member {name} (client {printable(row['client_id'])})" if row["member_id"] else name


def _generation(number: int | None) -> str:
    if number is None:
        return "a generation that is not known"
    return "no generation" if number < 0 else f"generation {number}"
