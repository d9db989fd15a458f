"""A group of which the log shows nothing, with many JoinGroups and commits: each commit looks at few."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fencepost.protocols.offset_commit.answers import Arrival
from fencepost.protocols.offset_commit.replay import replay

COUNT = 300


@pytest.mark.parametrize("error", ["NONE", "UNKNOWN_MEMBER_ID", "MEMBER_ID_REQUIRED"])
def test_commits_look_at_few_joins(
    error: str, decode: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = []
    looked = Arrival.may_precede

    def look(arrival: Arrival, request: Any) -> bool:
        looks.append(request)
        return looked(arrival, request)

    monkeypatch.setattr(Arrival, "may_precede", look)
    evidence, metadata = decode("many", _case(error))
    rows = replay(evidence, metadata, 5)
    assert rows["silver.offset_commit_states"].num_rows == COUNT
    assert COUNT <= len(looks) < 10 * COUNT


def _case(error: str) -> dict[str, Any]:
    requests: list[dict[str, Any]] = []
    for number in range(COUNT):
        ms, member = 1000 + 20 * number, f"m{number}"
        join = {"api": "join", "group": "g", "member": member, "connection": "a"}
        new = error != "UNKNOWN_MEMBER_ID"
        requests.append({**join, "ms": [ms, ms + 1], "new": new, "generation": 1, "error": error})
        if error == "MEMBER_ID_REQUIRED":
            requests.append({**join, "ms": [ms + 1, ms + 2], "error": "UNKNOWN_MEMBER_ID"})
        commit = {"group": "g", "member": "stranger", "epoch": 1, "by_name": True, "connection": "b"}
        answer = ["orders", 0, number, "UNKNOWN_MEMBER_ID"]
        requests.append({**commit, "ms": [ms + 10, ms + 11], "commits": [answer]})
    times = (1, 1000 + 20 * COUNT)
    records = [{"commit": ["orders", 0, 1], "group": "other"}]
    return {"batches": [{"ms": ms, "records": records} for ms in times], "requests": requests}
