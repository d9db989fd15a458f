"""The gate on a real lake with the compiled suite: what closes it, what it says, what it must see."""

from __future__ import annotations

import argparse
import dataclasses
import datetime as dt
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pytest
import yaml

from fencepost import audit_runs, commands, lake, report, waivers
from fencepost.definitions import definitions
from fencepost.doctor import Mark, last_audit_checks
from fencepost.gate import GateError, GateFailed, notify, run_gate
from fencepost.opening import ensure, open_lake
from fencepost.report.screen import changed_sentence, coverage_sentence
from fencepost.settings import Broker, Cluster, Lake, Recipient, Report, Settings, Waiver
from fencepost.tables import AUDIT_RUNS, INCIDENT_NOTES, WAIVERS
from fencepost.words import printable

ROOT = Path(__file__).resolve().parents[2]
MODELS = {
    model["name"]: {column["name"]: column["data_type"] for column in model["columns"]}
    for file in (ROOT / "dbt" / "models").rglob("fct_*.yml")
    for model in yaml.load(file.read_text(), yaml.CSafeLoader)["models"]
}
MARKED = {found.id: found for found in definitions() if found.kind != "decision"}
CRITICAL, WARNING = "no_commit_for_anothers_partition", "no_owner_refused"
HOSTILE = 'o\'brien\n"x"\u202e'
COUNTS = {
    "holds": {"checked": 5, "exercised": 3, "holds": 3},
    "violated": {"checked": 5, "exercised": 3, "holds": 2, "violated": 1},
    "holds_partly": {"checked": 5, "exercised": 3, "holds": 2, "unknown": 1},
    "unknown": {"checked": 5, "unknown": 1},
    "judged_nowhere": {"checked": 5, "exercised": 3, "unknown": 3},
    "not_exercised": {"checked": 5},
}
"""The counts of each status; a definition that is judged nowhere is unknown."""
Publish = Callable[..., Settings]
ARROW = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "timestamp": pa.timestamp("us", "UTC"),
    "array<string>": pa.list_(pa.string()),
}


@pytest.fixture(scope="module")
def publish(tmp_path_factory: pytest.TempPathFactory) -> Publish:
    """Call it with statuses by invariant (the rest as ``others``), and rows about evidence that is unread or
    has another clock, for a lake whose marts say so.
    """
    folder = tmp_path_factory.mktemp("gate")
    settings = Settings(
        path=folder / "fencepost.toml",
        lake=Lake(str(folder / "warehouse"), f"sqlite:///{folder / 'catalog.db'}"),
        clusters=(Cluster("prod", (Broker(1),)),),
        report=Report(page=False),
    )
    catalog = ensure(settings.lake)

    def fill(mart: str, rows: list[dict[str, Any]]) -> None:
        schema = pa.schema([(name, ARROW.get(kind, pa.string())) for name, kind in MODELS[mart].items()])
        table = catalog.create_table_if_not_exists(f"marts.{mart}", schema)
        named = [{name: row.get(name) for name in schema.names} for row in rows]
        table.overwrite(pa.Table.from_pylist(named, schema=schema))

    def make(  # noqa: PLR0917 (named by every caller)
        episodes: tuple[str, ...] = (),
        without: str = "",
        others: str = "holds",
        unread: tuple[dict[str, Any], ...] = (),
        clocks: tuple[dict[str, Any], ...] = (),
        states: Mapping[str, str] = MappingProxyType({}),
        more: tuple[dict[str, Any], ...] = (),
        told: tuple[dict[str, Any], ...] = (),
        **statuses: str,
    ) -> Settings:
        violated = [each for each, status in statuses.items() if status == "violated"]
        # what earlier tests were told is not told again
        lake.replace(catalog, INCIDENT_NOTES, INCIDENT_NOTES.arrow_schema.empty_table())
        lake.replace(catalog, AUDIT_RUNS, AUDIT_RUNS.arrow_schema.empty_table())
        fill("fct_incidents", [*(_incident(each, states.get(each, "new")) for each in violated), *more])
        fill(
            "fct_incident_verdicts",
            [_of_incident(_episode(each, number)) for each in episodes for number in range(5)],
        )
        fill(
            "fct_invariant_coverage",
            [_coverage(each, statuses.get(each, others)) for each in MARKED if each != without],
        )
        of_episodes = [_episode(each, number) for each in episodes for number in range(5)]
        fill("fct_invariant_verdicts", [*told, *of_episodes])
        fill("fct_offset_commits", [_commit()])
        fill("fct_ownership_intervals", [])
        fill("fct_quarantine", [{"cluster": "prod", "kind": "request_log", **each} for each in unread])
        fill("fct_unknown_reasons", [{"cluster": "prod", "reason": "not_captured", "unknown": 7}])
        fill("fct_request_clocks", [{"cluster": "prod", **each} for each in clocks])
        return settings

    return make


def _coverage(invariant: str, status: str) -> dict[str, Any]:
    found = MARKED[invariant]
    zero = dict.fromkeys(("scopes", "checked", "exercised", "holds", "violated", "unknown", "unread"), 0)
    return {
        **zero,
        **COUNTS[status],
        "cluster": "prod",
        "module": found.module,
        "invariant": invariant,
        "kind": found.kind,
        "severity": found.severity,
        "status": "unknown" if status == "judged_nowhere" else status,
        "reason": "not_captured" if "unknown" in COUNTS[status] else None,
        "description": f"What {invariant} means.",
    }


def _episode(invariant: str, number: int) -> dict[str, Any]:
    return {
        "verdict_id": f"{invariant}-{number}",
        "module": "OffsetCommitProps",
        "invariant": invariant,
        "kind": "invariant",
        "severity": MARKED[invariant].severity,
        "cluster": "prod",
        "scope": json.dumps({"group_id": HOSTILE, "life": 1}),
        "from_time": dt.datetime(2026, 1, 2, 0, 0, number, tzinfo=dt.UTC),
        "verdict": "violated",
        "failed_conjunct": "~c.ownedByAnother",
        "observed": json.dumps({"c.ownedByAnother": True}),
        "evidence": json.dumps({"commit_id": "anothers"}),
    }


def _incident(invariant: str, state: str) -> dict[str, Any]:
    severity = MARKED[invariant].severity
    return {
        "cluster": "prod",
        "fingerprint": f"incident of {invariant}",
        "state": state,
        "severity": severity,
        "title": f"{MARKED[invariant].violated}: group {HOSTILE}",
        "invariants": [invariant],
        "critical": [invariant] if severity == "critical" else [],
        "verdicts": 5,
        "first_seen": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        "last_seen": dt.datetime(2026, 1, 2, 0, 0, 4, tzinfo=dt.UTC),
        "is_open": False,
    }


def _of_incident(episode: dict[str, Any]) -> dict[str, Any]:
    return {**episode, "fingerprint": f"incident of {episode['invariant']}"}


def _commit() -> dict[str, Any]:
    return {
        "cluster": "prod",
        "commit_id": "anothers",
        "group_id": HOSTILE,
        "member_id": "m1",
        "client_id": "c1",
        "topic": "orders",
        "partition": 1,
        "committed_offset": 12,
        "client_epoch": 5,
        "requested_at": dt.datetime(2026, 1, 2, 0, 0, 2, tzinfo=dt.UTC),
        "broker_error": "NONE",
        "shipped_error": "NONE",
        "truth": "not_owner",
        "owner_member_id": "m2",
        **{
            f"decision_{policy}": "accept"
            for policy in ("strict", "member_revocation", "partition_revocation")
        },
        "decision_assignment_epoch": "accept",
        "file": "/logs/kafka-request.log",
        "position": 200,
    }


def test_a_critical_violation_closes_the_gate_and_alerts(publish: Publish) -> None:
    settings = publish(episodes=(CRITICAL,), **{CRITICAL: "violated", WARNING: "violated"})
    settings = dataclasses.replace(settings, report=Report())
    heard: list[tuple[str, str]] = []
    with pytest.raises(GateFailed, match=f"^FAILED: {CRITICAL} in cluster prod \\(1 of 5\\)\\.") as caught:
        run_gate(settings, sinks=[lambda title, text: heard.append((title, text))])
    result = caught.value.result
    assert [each.invariant for each in result.critical] == [CRITICAL]
    assert [each.invariant for each in result.lesser] == [WARNING]
    assert result.data_docs is None
    assert result.page is not None
    assert f"Page: {result.page}" in str(caught.value)
    assert CRITICAL in Path(result.page).read_text()
    assert result.alert is not None
    title, text = heard[0]
    assert result.alert.read_text() == f"{title}\n\n{text}"
    assert CRITICAL in title
    said = " ".join(text.split())
    for needed in (
        f"{MARKED[CRITICAL].violated}: group o'brien\\n",
        "No commit of a group member is accepted for a partition",
        "member m1 (client c1)",
        "orders-1 at epoch 5",
        "m2",
        "the broker accepted it",
        "2026-01-02 00:00:02",
        f"False: ~c.ownedByAnother ({MARKED[CRITICAL].file}:",
        "/logs/kafka-request.log at byte 200",
        f"fencepost explain {CRITICAL}-0",
        "fencepost sql",
        f"docs/invariants/{CRITICAL}.md",
        "On call:",
        f"Warning: {WARNING} in cluster prod",
    ):
        assert needed in said
    assert f"{CRITICAL}-3" not in text  # five episodes, capped
    assert "\u202e" not in text


def test_what_is_not_critical_is_reported_and_lets_the_run_pass(publish: Publish) -> None:
    statuses = {
        WARNING: "violated",
        "group_epoch_never_falls": "holds_partly",
        "epoch_order": "unknown",
        CRITICAL: "not_exercised",
    }
    settings = dataclasses.replace(publish(**statuses), report=Report(page=False, data_docs=True))
    result = run_gate(settings)
    assert result.passed
    assert (result.page, result.pages) == (None, f"Data Docs: {result.data_docs}")
    assert result.data_docs is not None
    assert result.alert is None
    assert (result.headline, result.critical) == ("PASSED", ())
    reported = (result.lesser, result.partly, result.unknown, result.not_exercised)
    assert [[each.invariant for each in group] for group in reported] == [[each] for each in statuses]
    assert result.holding == len(MARKED) - len(statuses)
    failed = {status: name for name, status in statuses.items() if status != "violated"}
    assert _failed_in_data_docs(result.data_docs) == failed


NO_REQUESTS = {"reason": "no_requests", "file": "", "entries": 1, "detail": "switch it on"}
AN_HOUR_AHEAD = {
    "broker_id": 1,
    "compared_in": "commit_clocks",
    "finding": "other_clock",
    "ahead_ms": 3_600_004,
    "requests": 7,
    "first_at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
    "last_at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
}


@pytest.mark.parametrize(
    ("marts", "why", "of_evidence"),
    [
        ({"others": "not_exercised"}, "no critical invariant could be judged anywhere", ""),
        ({"others": "unknown"}, "no critical invariant could be judged anywhere", ""),
        (
            {CRITICAL: "judged_nowhere"},
            f"put to the test, and unknown each time: {CRITICAL} (3, not_captured)",
            "what would settle it: The missing segments and request logs: check log_dirs and request_logs of",
        ),
        ({"unread": (NO_REQUESTS,)}, "no request log has a line of a request", "no requests: switch it on"),
        (
            {"clocks": (AN_HOUR_AHEAD,)},
            "request logs have another clock than the records",
            "The request log of broker 1 is 1 h ahead of its records, as 7 requests show, so no request of "
            'it can be placed in time. Set timezone = "+01:00" for it',
        ),
    ],
)
def test_a_cluster_that_was_not_judged_does_not_pass(
    publish: Publish, marts: dict[str, Any], why: str, of_evidence: str
) -> None:
    settings = publish(**marts)
    heard: list[tuple[str, str]] = []
    with pytest.raises(GateFailed, match=r"^NOT JUDGED: cluster prod: ") as caught:
        run_gate(settings, [lambda title, text: heard.append((title, text))], run_id="the first one")
    assert why in str(caught.value)
    ((title, text),) = heard
    assert title.startswith("Fencepost: NOT JUDGED: cluster prod: ")
    said = " ".join(text.split())
    assert why in said
    assert of_evidence in said
    assert said.startswith("Evidence of cluster prod Not judged: ")


@pytest.mark.parametrize("marts", [{"others": "unknown"}, {"unread": (NO_REQUESTS,)}])
def test_a_cluster_that_is_still_not_judged_is_told_once_and_may_pass(
    publish: Publish, marts: dict[str, Any]
) -> None:
    settings = publish(**marts)
    heard = list[str]()
    for run in ("the first one", "the next one"):
        with pytest.raises(GateFailed, match=r"^NOT JUDGED: ") as caught:
            run_gate(settings, [lambda title, _: heard.append(title)], run_id=run)
    assert str(caught.value).endswith("Nothing of it is new: the alert was sent before.")
    assert (caught.value.result.alert, len(heard)) == (None, 1)
    softened = run_gate(dataclasses.replace(settings, not_judged_passes=True))
    assert (softened.passed, softened.headline) == (True, "NOT JUDGED")


def test_a_violation_counts_more_than_evidence_that_is_missing(publish: Publish) -> None:
    settings = publish(episodes=(CRITICAL,), unread=(NO_REQUESTS,), **{CRITICAL: "violated"})
    with pytest.raises(GateFailed, match=r"^FAILED: "):
        run_gate(dataclasses.replace(settings, not_judged_passes=True))


def test_one_blind_cluster_of_several_does_not_pass(publish: Publish) -> None:
    settings = publish()
    clusters = (*settings.clusters, Cluster("blind", (Broker(1),)))
    with pytest.raises(GateFailed, match=r"^NOT JUDGED: cluster blind: no audit has judged anything of it"):
        run_gate(dataclasses.replace(settings, clusters=clusters))


def _failed_in_data_docs(page: Path) -> dict[str, str]:
    """What the suite ``coverage`` shows as failed: status -> invariant."""
    stored = (page.parents[2] / "validations" / "coverage").rglob("*.json")
    newest = max(stored, key=lambda path: path.stat().st_mtime)
    return {
        each["expectation_config"]["kwargs"]["value_set"][0]: each["result"]["unexpected_index_list"][0][
            "invariant"
        ]
        for each in json.loads(newest.read_text())["results"]
        if not each["success"]
    }


def test_what_was_told_is_not_told_again(publish: Publish) -> None:
    """A gate that is repeated, or that runs on the same marts, closes and sends no alert."""
    settings = publish(episodes=(CRITICAL,), **{CRITICAL: "violated"})
    heard: list[str] = []
    for _ in range(2):
        with pytest.raises(GateFailed) as caught:
            run_gate(settings, [lambda title, text: heard.append(text)])
    assert (len(heard), caught.value.result.alert) == (1, None)
    assert "the alert was sent before" in str(caught.value)


def test_an_alert_that_was_cut_off_is_sent_again(publish: Publish, monkeypatch: pytest.MonkeyPatch) -> None:
    """A gate that is killed before it has noted what it told tells it once more, rather than never."""
    settings = publish(episodes=(CRITICAL,), **{CRITICAL: "violated"})
    heard: list[str] = []

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("fencepost.gate.Notes.add", killed)
        with pytest.raises(KeyboardInterrupt):
            run_gate(settings, [lambda title, text: heard.append(text)])
    with pytest.raises(GateFailed):
        run_gate(settings, [lambda title, text: heard.append(text)])
    assert len(heard) == 2


def test_the_gate_tells_recipients_and_writes_metrics(publish: Publish, tmp_path: Path) -> None:
    """Also of what does not close it; once, and whatever became of the recipients before."""
    settings = publish(episodes=(WARNING,), **{WARNING: "violated"})
    hears = "import sys; open(sys.argv[1], 'ab').write(sys.stdin.buffer.read())"
    got = tmp_path / "got.json"
    settings = dataclasses.replace(
        settings,
        alerts=(
            Recipient("gone", command=("/no/such/program",), severity="info"),
            Recipient("hears", command=(sys.executable, "-c", hears, str(got)), severity="warning"),
        ),
        metrics_file=tmp_path / "fencepost.prom",
    )
    catalog = ensure(settings.lake)
    for run in ("one", "two"):
        audit_runs.begin(catalog, run)
        assert run_gate(settings, catalog=catalog, run_id=run).passed
    (told,) = json.loads(got.read_text())["events"]
    assert (told["event"], told["severity"], told["incident"]["invariants"]) == ("new", "warning", [WARNING])
    metrics = settings.metrics_file
    assert metrics is not None
    text = metrics.read_text()
    assert f'fencepost_violations{{cluster="prod",invariant="{WARNING}",severity="warning"}} 1.0' in text
    assert 'fencepost_unknown{cluster="prod",reason="not_captured"} 7.0' in text
    assert "fencepost_audit_duration_seconds" in text

    elsewhere = dataclasses.replace(settings, metrics_file=tmp_path / "no" / "such" / "folder.prom")
    assert run_gate(elsewhere).passed


@pytest.mark.parametrize("state", ["over", "waived"])
def test_what_is_over_or_waived_does_not_close_the_gate(publish: Publish, state: str) -> None:
    settings = publish(episodes=(CRITICAL,), states={CRITICAL: state}, **{CRITICAL: "violated"})
    result = run_gate(settings)
    assert (result.passed, result.headline, result.critical) == (True, "PASSED", ())
    assert [each.invariant for each in result.past] == [CRITICAL]


def test_a_violation_without_an_incident_is_not_let_through(publish: Publish) -> None:
    settings = publish(**{CRITICAL: "violated"})
    ensure(settings.lake).load_table("marts.fct_incidents").delete()
    with pytest.raises(GateError, match=f"No incident has the violations of {CRITICAL}"):
        run_gate(settings)


def test_a_run_that_did_not_end_has_no_end(publish: Publish) -> None:
    settings = publish()
    catalog = ensure(settings.lake)
    for run in ("killed", "ended"):
        audit_runs.begin(catalog, run)
        audit_runs.captured(catalog, run, 3)
    audit_runs.captured(catalog, "ended", 4)
    run_gate(settings, catalog=catalog, run_id="ended")
    rows = {row["run_id"]: row for row in lake.scan(catalog, AUDIT_RUNS).to_pylist()}
    assert (rows["killed"]["finished_at"], rows["killed"]["result"]) == (None, None)
    ended = rows["ended"]
    assert (ended["rows_read"], ended["result"], ended["not_judged"]) == (7, "PASSED", [])
    assert ended["started_at"] < ended["finished_at"]
    assert (ended["definitions"], ended["holds"]) == (len(MARKED), 3 * len(MARKED))


def test_waivers_that_expired_or_match_nothing_are_named(publish: Publish) -> None:
    """Only those that count are handed to the marts."""
    settings = publish(episodes=(CRITICAL,), **{CRITICAL: "violated"})
    day = dt.date(2026, 2, 1)
    settings = dataclasses.replace(
        settings,
        waivers=(
            Waiver("known", day, invariant=CRITICAL),
            Waiver("known", day - dt.timedelta(1), invariant=CRITICAL),
            Waiver("known", day, group_id=HOSTILE + "?"),
        ),
    )
    catalog = ensure(settings.lake)
    for _ in range(2):
        waivers.note_waivers(settings, catalog, day)
    assert [row["waiver"] for row in lake.scan(catalog, WAIVERS).to_pylist()] == [1, 3]
    assert len(catalog.load_table(WAIVERS.name).snapshots()) == 1
    with open_lake(settings) as reader:
        expired, unmatched = waivers.waiver_sentences(reader, settings, day)
    assert expired.startswith(f"Waiver 2 (invariant {CRITICAL}) expired on 2026-01-31")
    assert unmatched.startswith("Waiver 3 (group_id o'brien\\n") and "matches nothing" in unmatched


def test_a_cluster_with_many_incidents_leaves_room_for_others(publish: Publish) -> None:
    many = tuple(
        {
            **_incident(CRITICAL, "ongoing"),
            "cluster": cluster,
            "fingerprint": f"{cluster:>16}{number:04}"[-16:],
            "severity": severity,
            "title": f"{cluster} {number}",
        }
        for cluster, count, severity in (
            ("loud", 20, "critical"),
            ("prod", 3, "critical"),
            ("calm", 3, "info"),
        )
        for number in range(count)
    )
    settings = publish(more=many)
    clusters = tuple(
        dataclasses.replace(settings.clusters[0], name=name) for name in ("loud", "prod", "calm")
    )
    settings = dataclasses.replace(settings, clusters=clusters)
    with open_lake(settings) as reader:
        shown = [each for each in report.screen(reader, settings).splitlines() if each.startswith(" " * 10)]
    assert [
        sum(f"cluster {name};" in line or f"cluster {name}," in line for line in shown)
        for name in ("loud", "prod", "calm")
    ] == [7, 3, 0], shown


def test_a_lake_without_incidents_says_so(publish: Publish) -> None:
    settings = publish(episodes=(CRITICAL,), **{CRITICAL: "violated"})
    with open_lake(settings) as reader:
        found = dataclasses.replace(report.judged(reader, settings), incidents=[], knows_incidents=False)
        assert changed_sentence(found, []) == (
            "Incidents are not known: an older release audited this lake. The next audit tells them."
        )
        assert changed_sentence(dataclasses.replace(found, knows_incidents=True), []).startswith(
            "In the first"
        )


def test_the_report_is_one_screen_whatever_the_lake_holds(publish: Publish) -> None:
    """Names of any length, more incidents than have room, and much to say of the evidence and of waivers."""
    long = HOSTILE * 40
    many = tuple(
        {**_incident(CRITICAL, state), "fingerprint": f"{number:016}", "title": f"{long} {number}"}
        for state in ("ongoing", "new", "over")
        for number in range(20)
    )
    unread = tuple({**NO_REQUESTS, "file": f"/{long}", "broker_id": number} for number in range(20))
    settings = publish(episodes=(CRITICAL,), unread=unread, more=many, **{CRITICAL: "violated"})
    day = dt.date(2026, 1, 1)
    settings = dataclasses.replace(
        settings,
        path=Path("fencepost.toml").absolute(),
        waivers=tuple(Waiver("known", day, group_id=f"{long} {number}") for number in range(9)),
    )
    with open_lake(settings) as reader:
        lines = report.screen(reader, settings).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 200
    # what has a word of a whole line, as a path may be
    assert sum(len(each) > 100 for each in lines) <= 5
    said = "\n".join(lines)
    assert said.startswith(f"FAILED: {CRITICAL} in cluster prod (1 of 5).\n")
    shown = [line for line in lines if line.startswith("CRITICAL")]
    assert len(shown) == 10
    # the new ones first
    assert all(" new " in line for line in shown)
    assert "41 incidents, 41 critical, 21 new:" in lines
    assert "and 31 more: fencepost incidents" in lines
    assert "  fencepost report --all" in lines


def test_what_may_have_been_put_to_the_test_was_not_exercised(publish: Publish) -> None:
    """Nothing was captured, so nothing was exercised. Two clusters have twice as many invariants."""
    settings = publish(others="unknown", **{CRITICAL: "holds"})
    with open_lake(settings) as reader:
        found = report.judged(reader, settings)
    of_two = [*found.outcomes, *(dataclasses.replace(each, cluster="d") for each in found.outcomes)]
    once = coverage_sentence(found)
    twice = coverage_sentence(dataclasses.replace(found, outcomes=of_two))
    assert once.startswith(f"1 of {len(MARKED)} invariants were exercised, 1 judged, 1 hold throughout; ")
    assert twice.startswith(f"2 of {2 * len(MARKED)} invariants ({len(MARKED)} in each of 2 clusters) were ")


def test_clusters_that_were_not_judged_are_named_on_the_screen(publish: Publish) -> None:
    settings = publish(episodes=(CRITICAL,), **{CRITICAL: "violated"})
    blind = tuple(Cluster(f"the-blind-one-of-region-{number}", (Broker(1),)) for number in range(3))
    with open_lake(settings) as reader:
        few = report.screen(reader, dataclasses.replace(settings, clusters=(*settings.clusters, *blind)))
        many = report.screen(
            reader, dataclasses.replace(settings, clusters=(*settings.clusters, *blind * 20))
        )
    said = " ".join(few.split("incident, ")[0].split())
    assert all(f"; cluster {each.name}:" in said or f": cluster {each.name}:" in said for each in blind)
    # what has no room is said to be there, and no word is cut
    cut = [line for line in many.splitlines() if line.endswith(" (and more)")]
    assert cut
    assert "…" not in "".join(line for line in many.splitlines() if "more" in line)
    assert max(map(len, cut)) <= 100


def test_a_story_can_be_copied_and_has_only_what_is_known(publish: Publish) -> None:
    episode = {**_episode(CRITICAL, 0), "evidence": json.dumps({"topic": "orders", "unknown_detail": None})}
    settings = publish(told=(episode,), **{CRITICAL: "violated"})
    with open_lake(settings) as reader:
        said = report.explain(reader, report.verdict(reader, settings, episode["verdict_id"]))
    # no command is broken at a hyphen
    assert "--to-offset N" in " ".join(said.split())
    assert "  topic: orders\n" in said
    assert "unknown_detail" not in said


def test_the_doctor_names_what_was_wrong_with_the_evidence(publish: Publish) -> None:
    missing = {
        "reason": "missing",
        "kind": "segment",
        "file": "orders-0/7.log",
        "detail": "put it back",
        "entries": 1,
    }
    settings = publish(unread=(missing,), clocks=(AN_HOUR_AHEAD,))
    with open_lake(settings) as reader:
        checks = list(last_audit_checks(reader, settings))
    said = [each.says for each in checks if each.mark is Mark.NOTE]
    assert "segment orders-0/7.log: missing: put it back" in said
    assert any("Set timezone = " in each for each in said)


def test_the_doctor_names_a_cluster_that_no_audit_has_judged(publish: Publish) -> None:
    settings = publish()
    added = dataclasses.replace(settings.clusters[0], name="added")
    with open_lake(settings) as reader:
        (check,) = last_audit_checks(reader, dataclasses.replace(settings, clusters=(added,)))
    assert (check.of, check.mark) == ("cluster added, last audit", Mark.NOTE)
    assert (check.says, check.remedy) == ("no audit has judged it yet", "run `fencepost audit`")


def test_a_cluster_without_incidents_that_was_not_judged_says_so(
    publish: Publish, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No incident is no all-clear where nobody looked."""
    settings = publish()
    added = dataclasses.replace(settings.clusters[0], name="added")
    settings = dataclasses.replace(settings, clusters=(*settings.clusters, added))
    asked = argparse.Namespace(cluster="added", state=None, fingerprint=None, format="text")
    assert commands.incidents(settings, asked) == 0
    said = "No incident of cluster added.\nNot judged: cluster added: no audit has judged anything of it\n"
    assert capsys.readouterr().out == said
    asked = argparse.Namespace(cluster="added", state="over", fingerprint=None, format="text")
    assert commands.incidents(settings, asked) == 0
    assert capsys.readouterr().out == "No incident of cluster added that is over.\n"
    with open_lake(settings) as reader:
        said = report.unknown_by_reason(reader, ["added"])
        screen = report.screen(reader, settings)
    assert said.splitlines()[-1] == "No audit has judged anything of it."
    # once: the result says it, and what comes after it says the rest
    assert screen.count("no audit has judged anything of it") == 1


def test_the_configuration_decides_severities(publish: Publish) -> None:
    settings = publish(**{CRITICAL: "violated", WARNING: "violated"})
    assert run_gate(dataclasses.replace(settings, severities={CRITICAL: "warning"})).passed
    with pytest.raises(GateFailed, match=WARNING):
        run_gate(dataclasses.replace(settings, severities={CRITICAL: "info", WARNING: "critical"}))


def test_a_definition_that_was_not_judged_is_not_let_through(publish: Publish) -> None:
    settings = publish(without=CRITICAL)
    with pytest.raises(GateError, match=CRITICAL):
        run_gate(settings)


def test_a_broken_sink_does_not_silence_the_others(tmp_path: Path) -> None:
    def broken(title: str, text: str) -> None:
        raise OSError(title + text)

    notify.send("title", "text\n", [broken, notify.file_sink(tmp_path / "new" / "alert.txt")])
    assert (tmp_path / "new" / "alert.txt").read_text() == "title\n\ntext\n"


def test_names_from_outside_stay_on_their_line() -> None:
    assert printable("a\nb\x1b[31m\u202eé") == "a\\nb\\x1b[31m\\u202eé"


def test_a_page_that_cannot_be_written_prevents_nothing(
    publish: Publish, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "page").write_text("no folder")
    settings = publish(episodes=(CRITICAL,), **{CRITICAL: "violated"})
    settings = dataclasses.replace(settings, report=Report(folder=tmp_path / "page"))
    heard: list[str] = []
    with pytest.raises(GateFailed, match=r"^FAILED: ") as closed:
        run_gate(settings, [lambda title, text: heard.append(text)], run_id="one")
    assert len(heard) == 1
    assert "Page: " not in str(closed.value)
    assert f"the page could not be written ({tmp_path}/page: File exists)" in caplog.text
    assert "Traceback" not in caplog.text
    assert audit_runs.last_finished(ensure(settings.lake), but="") is not None
