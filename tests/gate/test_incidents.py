"""Incidents over many runs: each is told once, however often and in whatever order its evidence is read."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

from fencepost import alerts, lake, marts, waivers
from fencepost.definitions import definition
from fencepost.gate.notes import Notes
from fencepost.incidents import Incident, incidents
from fencepost.opening import ensure, open_lake
from fencepost.report import incident_lines
from fencepost.settings import Broker, Cluster, Recipient, Settings, Waiver
from fencepost.tables import EPISODES, INCIDENT_NOTES, VERDICT_COVERAGE, WINDOWS, Table
from fencepost.words import WIDTH

BEGIN = dt.datetime(2026, 1, 2, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)
ZOMBIE, REFUSED, DANGLING = "no_zombie_accepted", "no_owner_refused", "no_dangling_transaction"
Told = list[tuple[str, str]]


class Runs:
    """Runs of marts and gate's notes on a lake whose verdicts a test writes."""

    def __init__(self, settings: Settings) -> None:
        self.settings = dataclasses.replace(settings, clusters=(Cluster("prod", (Broker(1),)),))
        self.catalog: Catalog = ensure(settings.lake)
        self.verdicts: list[dict[str, Any]] = []
        self._number = 0

    def found(
        self,
        invariant: str,
        at: dt.datetime,
        *,
        still: bool = False,
        to: dt.datetime | None = None,
        **evidence: object,
    ) -> None:
        """A verdict that the next run finds; ``group_id`` or the partition is its scope."""
        marked = definition(invariant)
        assert marked is not None
        scope = {"group_id": evidence.pop("group_id", "g"), "life": 1} if "Commit" in marked.module else {}
        self.verdicts.append(
            {
                "verdict_id": f"{invariant} {at} {evidence}",
                "module": marked.module,
                "invariant": invariant,
                "kind": marked.kind,
                "severity": marked.severity,
                "cluster": "prod",
                "scope": json.dumps(scope),
                "from_position": len(self.verdicts),
                "to_position": None if still else len(self.verdicts) + 1,
                "from_time": at,
                "to_time": None if still else to or at,
                "verdict": "violated",
                "evidence": json.dumps(evidence),
            }
        )

    def run(
        self, until: dt.datetime, *waived: Waiver, tells: bool = True
    ) -> tuple[list[str], list[Incident]]:
        """One run on logs until then: the titles of which somebody is told, and all incidents.

        ``tells``: without it the run is killed before its gate.
        """
        self._number += 1
        self._write(EPISODES, self.verdicts)
        self._write(
            VERDICT_COVERAGE, [_coverage(name) for name in {each["invariant"] for each in self.verdicts}]
        )
        self._write(WINDOWS, [{"cluster": "prod", "newest": until}])
        settings = dataclasses.replace(self.settings, waivers=waived)
        waivers.note_waivers(settings, self.catalog, until.date())
        marts.build(settings, self.catalog, _no_spark)
        with open_lake(settings) as reader:
            all_of_them = incidents(reader, {"prod"})
        notes = Notes(self.catalog)
        told = [each["title"] for each in notes.untold(all_of_them)]
        if tells:
            alerts.tell(self.settings, self.catalog, all_of_them, [], f"run {self._number}")
            notes.add(all_of_them, f"run {self._number}")
        return told, all_of_them

    def _write(self, table: Table, rows: list[dict[str, Any]]) -> None:
        lake.replace(self.catalog, table, pa.Table.from_pylist(rows, schema=table.arrow_schema))


def _coverage(invariant: str) -> dict[str, Any]:
    marked = definition(invariant)
    assert marked is not None
    counts = dict.fromkeys(("scopes", "checked", "exercised", "holds", "violated", "unknown", "unread"), 0)
    named = {
        "module": marked.module,
        "invariant": invariant,
        "kind": marked.kind,
        "severity": marked.severity,
    }
    return {**named, "cluster": "prod", **counts, "violated": 1, "status": "violated"}


def _no_spark(**_: object) -> Any:
    raise AssertionError("the marts are built in this process")


@pytest.fixture
def runs(empty_lake: Callable[[], Settings]) -> Runs:
    return Runs(empty_lake())


def commit(**more: object) -> dict[str, Any]:
    """The evidence of a commit that its broker stored."""
    evidence = {"request_id": "r", "client_id": "c", "topic": "t", "partition": 0, "broker_error": "NONE"}
    return {**evidence, **more}


def test_a_zombie_is_told_once_in_three_days_of_hourly_runs(runs: Runs) -> None:
    runs.found(ZOMBIE, BEGIN, **commit())
    states, told = [], []
    # what follows an hour in which nothing changes is the same
    for hour in (0, 1, 2, 23, 24, 25, 26, 48, 72):
        told_now, (incident,) = runs.run(BEGIN + hour * HOUR)
        told += told_now
        states.append(incident["state"])
    assert told == ["A zombie's commit was accepted: client c of group g, t-0"]
    assert states == ["new", *["ongoing"] * 4, *["over"] * 4]
    # a note when it was told, and one when it was over
    assert lake.count(runs.catalog, INCIDENT_NOTES) == 2


def test_two_clocks_that_dated_one_verdict_end_no_run(runs: Runs) -> None:
    """A client's clock is ahead of its broker's: what it began seems to have ended before."""
    runs.found(ZOMBIE, BEGIN + HOUR, to=BEGIN, **commit())
    _, (incident,) = runs.run(BEGIN + 2 * HOUR)
    seen = [incident[name] for name in ("first_seen", "last_seen")]
    assert seen == [BEGIN.replace(tzinfo=None), (BEGIN + HOUR).replace(tzinfo=None)]


def test_an_open_verdict_ahead_of_all_logs_ends_no_run(runs: Runs) -> None:
    runs.found(ZOMBIE, BEGIN + HOUR, still=True, **commit())
    _, (incident,) = runs.run(BEGIN)
    assert incident["first_seen"] == incident["last_seen"] == (BEGIN + HOUR).replace(tzinfo=None)


def test_a_recipient_hears_of_it_twice_in_three_days_of_hourly_runs(runs: Runs, tmp_path: Path) -> None:
    """When it is new, and when it is over; also a recipient who could not be reached for some hours."""
    copy = "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read().replace(b'\\n', b'') + b'\\n')"
    got = tmp_path / "got.jsonl"
    recipient = Recipient("command", command=(sys.executable, "-c", copy, str(got)))
    unreachable = dataclasses.replace(recipient, command=("/no/such/program",))
    runs.found(ZOMBIE, BEGIN, **commit())
    heard = []
    for hour in (0, 1, 2, 3, 24, 25, 26, 48, 72):
        reached = hour not in (0, 1, 25)
        runs.settings = dataclasses.replace(runs.settings, alerts=(recipient if reached else unreachable,))
        runs.run(BEGIN + hour * HOUR)
        documents = got.read_text().splitlines() if got.exists() else []
        heard.append([each["event"] for text in documents for each in json.loads(text)["events"]])
    assert heard == [[], [], ["new"], ["new"], ["new"], ["new"], *[["new", "over"]] * 3]


def test_what_lasts_is_not_over(runs: Runs) -> None:
    runs.found(DANGLING, BEGIN, still=True, transactional_id="tx", topic="t", partition=0)
    states = [runs.run(BEGIN + days * 24 * HOUR)[1][0]["state"] for days in (0, 1, 7)]
    assert states == ["new", "ongoing", "ongoing"]


def test_what_comes_back_is_told_again(runs: Runs) -> None:
    runs.found(ZOMBIE, BEGIN, **commit())
    runs.run(BEGIN)
    runs.run(BEGIN + 30 * HOUR)
    runs.found(ZOMBIE, BEGIN + 31 * HOUR, **commit())
    told, (incident,) = runs.run(BEGIN + 32 * HOUR)
    assert (len(told), incident["verdicts"]) == (1, 2)
    assert incident["first_seen"] == BEGIN.replace(tzinfo=None)


def test_late_evidence_makes_nothing_new(runs: Runs) -> None:
    """Neither of what goes on nor of what is over, whether it is of before or after what was known."""
    runs.found(ZOMBIE, BEGIN + 5 * HOUR, **commit())
    runs.run(BEGIN + 6 * HOUR)
    runs.found(ZOMBIE, BEGIN, **commit(partition=1))
    assert runs.run(BEGIN + 6 * HOUR)[0] == []
    assert runs.run(BEGIN + 48 * HOUR)[1][0]["state"] == "over"
    runs.found(ZOMBIE, BEGIN + 6 * HOUR, **commit(partition=2))
    told, (incident,) = runs.run(BEGIN + 48 * HOUR)
    assert (told, incident["state"], incident["verdicts"]) == ([], "over", 3)


def test_what_was_over_before_anybody_knew_is_told(runs: Runs) -> None:
    runs.found(ZOMBIE, BEGIN, **commit())
    later = BEGIN + 100 * HOUR
    # the second run finds nothing newer: a capture that is audited twice ends twice in the same way
    states = [runs.run(until)[1][0]["state"] for until in (later, later, later + HOUR)]
    assert states == ["new", "ongoing", "over"]


def test_a_cascade_is_one_incident_and_a_zombie_in_it_another(runs: Runs) -> None:
    """A member is refused and leaves, the group rebalances, and the next one is refused."""
    for hour, client in enumerate("abab"):
        runs.found(
            REFUSED, BEGIN + hour * HOUR, **commit(client_id=client, broker_error="ILLEGAL_GENERATION")
        )
    told, (refused,) = runs.run(BEGIN + 5 * HOUR)
    assert (len(told), refused["verdicts"], refused["client_id"]) == (1, 4, None)
    runs.found(ZOMBIE, BEGIN + 5 * HOUR, **commit())
    runs.found("no_commit_for_anothers_partition", BEGIN + 5 * HOUR, **commit())
    # another protocol judges the same commit, and names its group elsewhere
    runs.found("commit_to_live_incarnation", BEGIN + 5 * HOUR, **commit(group_id="g", broker_error=None))
    told, (zombie, same) = runs.run(BEGIN + 6 * HOUR)
    assert told == [zombie["title"]]
    assert (same["fingerprint"], same["state"]) == (refused["fingerprint"], "ongoing")
    assert zombie["invariants"] == [
        "commit_to_live_incarnation",
        "no_commit_for_anothers_partition",
        ZOMBIE,
    ]


def test_what_becomes_worse_is_told_again(runs: Runs) -> None:
    """Nobody who knows of refusals expects that a broker breaks its rule."""
    refused = commit(broker_error="STALE_MEMBER_EPOCH")
    runs.found(REFUSED, BEGIN, **refused)
    assert len(runs.run(BEGIN)[0]) == 1
    runs.found("broker_keeps_its_rule", BEGIN, **refused)
    assert len(runs.run(BEGIN)[0]) == 1
    runs.found("broker_names_its_error", BEGIN, **refused)
    assert len(runs.run(BEGIN)[0]) == 1
    runs.found("broker_names_its_error", BEGIN, **{**refused, "partition": 1})
    assert runs.run(BEGIN)[0] == []


def test_a_hanging_transaction_that_was_ended_as_advised_is_not_told_again(runs: Runs) -> None:
    """What has ended is violated otherwise, and no worse for that; a marker of the wrong type is worse."""
    hanging = {"transactional_id": "pay", "topic": "orders", "partition": 0}
    runs.found("no_dangling_transaction", BEGIN, **hanging)
    assert len(runs.run(BEGIN)[0]) == 1
    runs.verdicts.clear()
    runs.found("no_write_outside_transaction", BEGIN, **hanging)
    told, (incident,) = runs.run(BEGIN)
    assert (told, incident["state"], incident["critical"]) == (
        [],
        "ongoing",
        ["no_write_outside_transaction"],
    )
    runs.found("marker_of_the_right_type", BEGIN, **hanging)
    assert len(runs.run(BEGIN)[0]) == 1


def test_a_run_that_is_killed_before_its_gate_has_told_nobody(runs: Runs) -> None:
    runs.found(ZOMBIE, BEGIN, **commit())
    runs.run(BEGIN, tells=False)
    assert len(runs.run(BEGIN)[0]) == 1
    assert runs.run(BEGIN)[0] == []


def test_what_later_evidence_takes_back_stays_in_the_mart(runs: Runs) -> None:
    runs.found(ZOMBIE, BEGIN, **commit())
    runs.run(BEGIN)
    runs.verdicts.clear()
    runs.found(REFUSED, BEGIN, **commit(broker_error="STALE_MEMBER_EPOCH"))
    _, found = runs.run(BEGIN)
    (gone,) = (each for each in found if each["severity"] == "critical")
    assert (gone["state"], gone["verdicts"], gone["group_id"]) == ("over", 0, "g")


def test_a_waiver_counts_until_its_last_day(runs: Runs) -> None:
    """And for what it names alone: another invariant that closes the gate is told."""
    runs.found(ZOMBIE, BEGIN, **commit())
    waiver = Waiver("known", BEGIN.date(), invariant=ZOMBIE, group_id="g")
    told, (incident,) = runs.run(BEGIN, waiver)
    assert (told, incident["state"], incident["waived_because"]) == ([], "waived", "known")
    told, (incident,) = runs.run(BEGIN + 23 * HOUR, waiver)
    assert (told, incident["state"]) == ([], "waived")
    # the next day
    told, (incident,) = runs.run(BEGIN + 24 * HOUR, waiver)
    assert (len(told), incident["state"], incident["waived_until"]) == (1, "new", None)
    longer = dataclasses.replace(waiver, expires=dt.date(2026, 2, 1))
    assert runs.run(BEGIN + 24 * HOUR, longer)[1][0]["state"] == "waived"
    runs.found("no_commit_for_anothers_partition", BEGIN, **commit())
    assert len(runs.run(BEGIN + 24 * HOUR, longer)[0]) == 1


def test_names_decide_and_not_their_text(runs: Runs) -> None:
    """Two subjects whose names put together are the same text are two incidents."""
    runs.found(ZOMBIE, BEGIN, group_id="a", **commit(client_id="b|c"))
    runs.found(ZOMBIE, BEGIN, group_id="a|b", **commit(client_id="c"))
    runs.found(ZOMBIE, BEGIN, group_id="\u202e';\n--", **commit(client_id='"\\'))
    told, found = runs.run(BEGIN)
    assert len({each["fingerprint"] for each in found}) == len(told) == 3


def test_an_incident_keeps_its_time_and_its_names_where_a_line_is_too_short() -> None:
    """By the names others search for it."""
    incident = {
        **{"severity": "critical", "state": "new", "fingerprint": "0123456789abcdef", "verdicts": 3},
        **{"cluster": "c" * 40, "first_seen": BEGIN, "last_seen": BEGIN, "is_open": False},
        **{"state_before": None, "waived_until": None},
        "title": f"A consumer{' read' * 20}: client checkout-in-berlin of group checkout, orders-11",
    }
    head, about = incident_lines(incident)
    assert head.endswith(f"…, {BEGIN:%Y-%m-%d %H:%M}")
    assert "  client checkout-in-berlin of group checkout, orders-11; cluster " in about
    assert max(map(len, (head, about))) == WIDTH
