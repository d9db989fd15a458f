"""What recipients are told over many runs: each change of an incident once, however often runs find it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import pytest
from pyiceberg.catalog import Catalog

from fencepost import lake
from fencepost.alerts import tell
from fencepost.alerts.events import Event
from fencepost.alerts.message import sentence
from fencepost.alerts.notes import AlertNotes
from fencepost.alerts.sending import MOST_PAGES
from fencepost.opening import ensure
from fencepost.outcomes import ClusterOutcome
from fencepost.settings import Broker, Cluster, Recipient, Settings
from fencepost.tables import ALERT_NOTES

if TYPE_CHECKING:
    from alerts.conftest import Web

CLUSTERS = (Cluster("prod", (Broker(1),)), Cluster("test", (Broker(1),)))
Told = list[tuple[str, str]]


def incident(fingerprint: str, state: str = "new", severity: str = "critical", **more: Any) -> dict[str, Any]:
    row = {
        "cluster": "prod",
        "fingerprint": fingerprint,
        "state": state,
        "severity": severity,
        "title": f"{fingerprint} is violated",
        "critical": [fingerprint] if severity == "critical" else [],
        "first_seen": dt.datetime(2026, 1, 2),
        "last_seen": dt.datetime(2026, 1, 2),
    }
    return {**row, **more}


class Runs:
    """Ends of runs on one lake, whose recipient is a web hook."""

    def __init__(self, settings: Settings, web: Web) -> None:
        self._web = web
        self.settings = dataclasses.replace(settings, clusters=CLUSTERS, alerts=(self.hook(),))
        self.catalog: Catalog = ensure(settings.lake)

    def hook(self, **more: Any) -> Recipient:
        return Recipient("hook", webhook=self._web.address, **more)

    def run(self, *found: dict[str, Any], blind: Sequence[str] = (), **settings: Any) -> Told:
        """What the recipient is told: event and fingerprint."""
        clusters = [
            ClusterOutcome(each.name, (), (), ("no line",) if each.name in blind else (), ())
            for each in CLUSTERS
        ]
        tell(dataclasses.replace(self.settings, **settings), self.catalog, found, clusters, "run")
        posted = [each for _, content in self._web.taken() for each in content["events"]]
        return [(each["event"], each["key"].removeprefix("prod/")) for each in posted]


@pytest.fixture
def runs(empty_lake: Callable[[], Settings], web: Web) -> Runs:
    return Runs(empty_lake(), web)


def test_each_change_is_told_once(runs: Runs) -> None:
    told = [
        runs.run(*found)
        for found in (
            [incident("a"), incident("b", severity="warning")],
            # the marts are not built anew where nothing has changed
            [incident("a")],
            [incident("a", "ongoing")],
            [incident("a", "new", critical=["a", "c"]), incident("b", "ongoing")],
            [incident("a", "ongoing", critical=["c"]), incident("b", "ongoing")],
            [incident("a", "over"), incident("b", "ongoing")],
            [incident("a", "over"), incident("b", "waived")],
            [incident("a", "over"), incident("b", "waived")],
            [incident("a", "new")],
        )
    ]
    assert told == [
        [("new", "a")],
        [],
        [],
        [("worse", "a"), ("new", "b")],
        [],
        [("over", "a")],
        [("over", "b")],
        [],
        [("new", "a")],
    ]


def test_what_was_over_when_somebody_began_to_listen_is_not_told(runs: Runs) -> None:
    assert runs.run(incident("a", "over"), incident("b", "ongoing")) == [("new", "b")]


def test_what_is_gone_from_the_marts_is_over(runs: Runs) -> None:
    """Also if the run that told it was killed before the gate had noted it; not in a cluster that nobody
    audits any more.
    """
    assert runs.run(incident("a"), incident("b", cluster="test")) == [("new", "a"), ("new", "test/b")]
    assert runs.run(clusters=CLUSTERS[:1]) == [("over", "a")]
    assert runs.run() == [("over", "test/b")]


def test_who_cannot_be_reached_is_told_later(runs: Runs, web: Web, caplog: pytest.LogCaptureFixture) -> None:
    """And nobody else waits for it."""
    other = Recipient("other", command=(sys.executable, "-c", ""))
    both = (runs.hook(), other)
    web.status = 500
    assert runs.run(incident("a"), alerts=both) == [("new", "a")]
    assert "alert to hook: not sent, the next run tries again: it answered 500" in caplog.text
    assert [row["recipient"] for row in lake.scan(runs.catalog, ALERT_NOTES).to_pylist()] == ["other"]
    web.status = 200
    assert runs.run(incident("a", "ongoing"), alerts=both) == [("new", "a")]
    assert runs.run(incident("a", "ongoing"), alerts=both) == []


def test_a_run_that_is_killed_loses_nothing(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it has noted what it sent, one alert comes twice."""

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(AlertNotes, "add", killed)
        with pytest.raises(KeyboardInterrupt):
            runs.run(incident("a"))
    assert runs.run(incident("a")) == [("new", "a"), ("new", "a")]
    assert runs.run(incident("a")) == []


@pytest.mark.parametrize(
    ("wants", "told"),
    [
        ({}, [[("new", "a")], [("over", "a")]]),
        ({"severity": "warning"}, [[("new", "a"), ("new", "w")], [("over", "a")]]),
        ({"severity": "info"}, [[("new", "a"), ("new", "w"), ("new", "i")], [("over", "a")]]),
        ({"clusters": ("test",)}, [[("new", "test/t")], []]),
        # what is over was new for it, although it did not want to know
        ({"on": ("over",)}, [[], [("over", "a")]]),
        ({"on": ("new",)}, [[("new", "a")], []]),
    ],
)
def test_a_recipient_is_told_what_it_wants_to_know(
    runs: Runs, wants: dict[str, Any], told: list[Told]
) -> None:
    of_test = [incident("t", cluster="test", severity="critical")] if "clusters" in wants else []
    others = [incident("w", severity="warning"), incident("i", severity="info"), *of_test]
    recipients = (runs.hook(**wants),)
    first = runs.run(incident("a"), *others, alerts=recipients)
    assert [first, runs.run(incident("a", "over"), *others, alerts=recipients)] == told


def test_a_cluster_that_is_not_judged_is_told_as_an_incident_is(runs: Runs) -> None:
    assert [
        runs.run(blind=("prod",)),
        runs.run(blind=("prod",)),
        runs.run(incident("a"), blind=("prod",)),
        runs.run(incident("a")),
    ] == [[("new", "not judged")], [], [("new", "a")], [("over", "not judged")]]
    assert runs.run(incident("a"), blind=("prod",), not_judged_passes=True) == []


def test_an_alertmanager_is_told_again_what_is_open(runs: Runs, web: Web) -> None:
    """It forgets when it starts again. With the labels that it was told: else it would be another alert."""
    recipients = (Recipient("am", alertmanager=web.address),)

    def run(*found: dict[str, Any]) -> list[tuple[str, str, bool]]:
        tell(dataclasses.replace(runs.settings, alerts=recipients), runs.catalog, found, [], "run")
        now = dt.datetime.now(dt.UTC).isoformat()
        return [
            (each["labels"]["incident"], each["labels"]["severity"], each["endsAt"] > now)
            for _, content in web.taken()
            for each in content
        ]

    assert run(incident("a")) == [("a", "critical", True)]
    assert run(incident("a", "ongoing")) == [("a", "critical", True)]
    assert run(incident("a", "ongoing", "warning")) == [("a", "critical", True)]
    assert run(incident("a", "over", "warning")) == [("a", "critical", False)]
    assert run(incident("a", "over", "warning")) == []


def test_a_pager_is_not_flooded(
    runs: Runs, web: Web, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What it was not told yet, the next runs tell it."""
    import apprise.plugins.pagerduty as plugin

    monkeypatch.setitem(plugin.PAGERDUTY_API_LOOKUP, "us", web.address)
    monkeypatch.setenv("PAGER", "pagerduty://key@key/fencepost")
    found = [incident(f"{number:02}") for number in range(MOST_PAGES + 3)]
    told = []
    for _ in range(3):
        pager = (Recipient("pager", url="${PAGER}"),)
        tell(dataclasses.replace(runs.settings, alerts=pager), runs.catalog, found, [], "run")
        told.append([each["dedup_key"] for _, each in web.taken()])
    assert [len(each) for each in told] == [MOST_PAGES, 3, 0]
    assert len(set(told[0] + told[1])) == MOST_PAGES + 3


def test_nobody_to_tell_costs_nothing(runs: Runs) -> None:
    """Neither a scan of the lake nor a library."""
    code = (
        "import sys, fencepost.gate, fencepost.cli, fencepost.alerts\n"
        "print({'apprise', 'requests', 'prometheus_client'} & set(sys.modules))"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said.strip() == "set()"
    tell(dataclasses.replace(runs.settings, alerts=()), None, [incident("a")], [], "")  # type: ignore[arg-type]


def test_the_notes_are_of_one_recipient(runs: Runs) -> None:
    """A new name is a new recipient: it is told what is open."""
    assert runs.run(incident("a")) == [("new", "a")]
    renamed = (dataclasses.replace(runs.hook(), name="another"),)
    assert runs.run(incident("a", "ongoing"), alerts=renamed) == [("new", "a")]


@pytest.mark.parametrize(
    ("kind", "issues", "said"),
    [
        ("new", ["marker_is_lost"], "since 2026-01-02 00:00 UTC, perhaps KAFKA-20734."),
        ("new", ["marker_is_lost", "election_loses_a_marker"], "perhaps KAFKA-20716 or KAFKA-20734."),
        # too many for a phone, none that has a ticket, none at all, and nothing to do any more
        ("new", ["marker_is_lost", "election_loses_a_marker", "late_batch"], "since 2026-01-02 00:00 UTC."),
        ("new", ["operator_aborts"], "since 2026-01-02 00:00 UTC."),
        ("new", None, "since 2026-01-02 00:00 UTC."),
        ("over", ["marker_is_lost"], "last seen 2026-01-02 00:00 UTC."),
    ],
)
def test_an_alert_names_the_tickets_that_may_be_behind_it(
    kind: str, issues: list[str] | None, said: str
) -> None:
    row = incident("f", known_issues=issues)
    event = Event(kind, "prod", "f", "critical", row["title"], incident=row)
    assert sentence(event).endswith(said)
