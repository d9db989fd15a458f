"""Pictures of a group's rebalances: what is drawn where little is known."""

from __future__ import annotations

from functools import partial

import pandas as pd
from pictures import assert_sound, at

from fencepost.protocols.ownership_claim.plot import drawing, layout
from fencepost.protocols.ownership_claim.plot.reading import GroupTimeline


def test_a_group_without_claims_is_drawn() -> None:
    rebalances = pd.DataFrame(
        {
            "generation": [1, 2],
            "prepared_at": [at(0), at(10)],
            "stabilized_at": [at(1), at(11)],
            "members": [1, 0],
            "members_joined": [["m"], None],
            "members_left": [None, ["m"]],
            "is_stuck": [False, False],
        }
    )
    marks = pd.DataFrame({name: [] for name in ("member_id", "client_id", "kind", "marks")})
    marks["at"] = pd.Series([], dtype="datetime64[us]")
    timeline = GroupTimeline("prod", "orders", rebalances, marks, None, None)
    (lane,) = layout.arrange(timeline).members
    assert (lane.name, lane.detail, len(lane.runs)) == ("m", "0 claims", 1)
    assert_sound(partial(drawing.picture, timeline))
