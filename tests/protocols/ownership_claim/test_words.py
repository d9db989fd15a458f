"""Reports, explanations and pictures of rebalances and claims, from the marts' golden rows, without Spark."""

from __future__ import annotations

import datetime as dt
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from golden_marts import GOLDEN, open_golden_marts

from fencepost.plots.reading import PlotError
from fencepost.protocols.ownership_claim import explanation, report
from fencepost.protocols.ownership_claim.plot import drawing, layout, reading
from fencepost.reading import Reader

EXPECTED = GOLDEN / "expected"
REPORT = Path(__file__).with_name("report.txt")
HOSTILE = "pay'ments:\n$1 stuck"


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """A lake with the golden rows of the marts of this protocol, in cluster prod; cluster quiet has none."""
    with open_golden_marts(tmp_path_factory.mktemp("lake"), "ownership_claim") as opened:
        yield opened


def test_the_report_shows_what_rebalances_cost(reader: Reader) -> None:
    lines = "\n".join(report.Rebalances(reader)("prod")) + "\n"
    if os.environ.get("FENCEPOST_UPDATE"):
        REPORT.write_text(lines, encoding="utf-8")
    assert lines == REPORT.read_text(encoding="utf-8")


def test_a_quiet_cluster_has_no_report(reader: Reader) -> None:
    assert report.Rebalances(reader)("quiet") == []


@pytest.mark.parametrize(
    ("group", "words"),
    [
        (
            "different_topics",
            "member b (client client-b) joined generation 6 of group 'different_topics' and claimed t-0 of "
            "generation 3, which a claims of generation 5; it was not assigned to it then.\nThe claim is "
            "stale; assignor cooperative-sticky of client-a left it there.",
        ),
        (
            "same_generation",
            "The claim is contradicted; assignor cooperative-sticky of client-a took it away.",
        ),
        ("same_generation", "gave it to a at once."),
        ("versions", "its claims are not known: its fields are in the order of KIP-792's text"),
        ("versions", "claimed t-1 of no generation; whether it was assigned to it then is not known."),
    ],
)
def test_a_verdict_on_a_claim_is_explained(reader: Reader, group: str, words: str) -> None:
    claims = json.loads((EXPECTED / "fct_ownership_claims.json").read_text(encoding="utf-8"))
    verdicts = [
        _verdict(row["claim_id"], {"claim": row["claim_id"]}) for row in claims if row["group_id"] == group
    ]
    explanations = explanation.explain(reader, verdicts)
    assert len(explanations) == len(verdicts)
    assert any(words in each.sentence for each in explanations.values())
    assert {each.file for each in explanations.values()} == {"log"}


def test_a_verdict_on_a_join_is_explained(reader: Reader) -> None:
    joins = json.loads((EXPECTED / "fct_join_decisions.json").read_text(encoding="utf-8"))
    (stale,) = [row for row in joins if row["is_stale_admitted"]]
    (explained,) = explanation.explain(reader, [_verdict("v", {"join": stale["request_id"]})]).values()
    assert (
        "presented generation 1; the group was at generation 2; the broker admitted it" in explained.sentence
    )
    assert explained.sentence.endswith("The shipped rule decides NONE, KIP-792 ILLEGAL_GENERATION.")
    assert explained.position == stale["position"]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, " Before, b had it; it was still in the group and had not joined since."),
        ({"previous_owner_joined": None}, " Before, b had it; it was still in the group."),
        ({"previous_owner_stays": False}, " Before, b had it; it was in the group no more."),
        ({"previous_owner": "a"}, "gave t-0 to member a (client client-a)."),
        ({"previous_owner": None, "owners": 2}, "(client client-a).\nIt was assigned to 2 members."),
        ({"topic": None, "previous_owner": None}, "gave what cannot be read to member a"),
    ],
)
def test_a_verdict_on_an_assignment_is_explained(changed: dict[str, Any], words: str) -> None:
    row = {
        "from_time": dt.datetime(2026, 1, 1), "generation": 4, "group_id": "g", "topic": "t", "partition": 0,
        "member_id": "a", "client_id": "client-a", "owners": 1, "previous_owner": "b",
        "previous_owner_stays": True, "previous_owner_joined": False,
    }  # fmt: skip
    told = explanation._assignment({**row, **changed})
    assert told.startswith("2026-01-01 00:00:00.000 UTC  generation 4 of group 'g' gave ")
    assert words in told


def test_an_assignment_that_no_log_has_names_no_file(reader: Reader) -> None:
    assert explanation._file({}, {"cluster": "c", "group_id": "g", "life": 0, "record_offset": 0}) == (
        None,
        None,
    )


def _verdict(name: str, witness: dict[str, str]) -> dict[str, Any]:
    return {"verdict_id": name, "module": "OwnershipClaimProps", "witness": json.dumps(witness)}


def test_a_group_with_a_hostile_name_is_drawn(reader: Reader) -> None:
    timeline = reading.read(reader, HOSTILE)
    arranged = layout.arrange(timeline)
    assert arranged.counts == {"rebalances": 8, "stuck": 3, "valid": 10}
    assert [lane.name for lane in arranged.members] == ["a", "b"]
    content, words = drawing.picture(timeline, "svg")
    assert (
        words == "8 rebalances, 3 without effect, 10 claims, 0 stale, 0 contradicted, 0 handed over at once"
    )
    assert content == drawing.picture(timeline, "svg")[0]
    gids = {each.get_gid() for each in drawing.draw(timeline, arranged).axes[0].get_children()}
    assert {"rebalances", "stuck", "members", "marks:valid", "lane:0", "lane:2"} <= gids


def test_only_the_chosen_time_is_drawn(reader: Reader) -> None:
    at = dt.datetime(1970, 1, 1, 0, 0, 5)
    arranged = layout.arrange(reading.read(reader, HOSTILE, start=at))
    assert arranged.counts["rebalances"] == 4
    # members that joined before the chosen time are members in it
    assert [lane.name for lane in arranged.members] == ["a", "b"]
    with pytest.raises(PlotError, match="did not rebalance in that time"):
        reading.read(reader, HOSTILE, start=at.replace(year=2026))
