"""Audits that fail, and configurations that cannot be read: told once, also by whoever runs the audit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fencepost import alerts, cli, pipeline
from fencepost.callbacks import report_late
from fencepost.settings import SettingsError, load

if TYPE_CHECKING:
    from web_server import Web

SECRET = "p4ssword-of-the-catalog"


class Deployment:
    """A configuration whose broker is another one than it says, so that an audit fails."""

    def __init__(self, folder: Path, web: Web) -> None:
        self._web = web
        self.config = folder / "fencepost.toml"
        data = folder / "data"
        data.mkdir()
        (data / "meta.properties").write_text("version=1\nnode.id=7\ncluster.id=x\n")
        self.write()

    def write(self, more: str = "", name: str = "hook") -> None:
        self.config.write_text(
            '[[clusters]]\nname = "prod"\n[[clusters.brokers]]\nid = 1\nlog_dirs = ["data"]\n'
            f"[[alerts]]\nname = '{name}'\nwebhook = '{self._web.address}'\n{more}"
        )

    def told(self) -> list[tuple[str, str, str]]:
        """What the recipient was told since the last call: the event, what it is about, and the text."""
        return [
            (each["event"], each["title"], content["text"])
            for _, content in self._web.taken()
            for each in content["events"]
        ]

    def audit(self) -> int:
        return cli.main(["audit", "--config", str(self.config)])


@pytest.fixture
def deployment(tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch) -> Deployment:
    monkeypatch.setenv("TZ", "UTC")
    return Deployment(tmp_path, web)


def test_an_audit_that_fails_is_told_once_until_one_succeeds(deployment: Deployment, web: Web) -> None:
    """By the command and by the DAG, which tell the same."""
    assert deployment.audit() == cli.BAD_USAGE
    ((event, title, text),) = deployment.told()
    assert (event, title) == ("failed", "the audit failed")
    assert text.startswith("audit failed: SettingsError: ")
    assert "node.id" in text
    assert "Nothing is known about the clusters since the last run." in text
    assert text.endswith(f"fencepost audit --config {deployment.config}")

    assert deployment.audit() == cli.BAD_USAGE
    assert deployment.told() == []

    pipeline.report_failure("rebuild", RuntimeError("torn"), str(deployment.config), "run")
    ((event, _, text),) = deployment.told()
    assert text.startswith("rebuild failed: RuntimeError: torn")

    settings = load(deployment.config)
    web.status = 500
    alerts.audit_succeeded(settings)
    assert [event for event, *_ in deployment.told()] == ["over"]
    web.status = 200
    # whoever did not hear that it is over hears it from the next run
    for told in (["over"], []):
        alerts.audit_succeeded(settings)
        assert [event for event, *_ in deployment.told()] == told


def test_who_could_not_be_told_of_a_failure_is_told_by_the_next_one(
    deployment: Deployment, web: Web, caplog: pytest.LogCaptureFixture
) -> None:
    web.status = 404
    assert deployment.audit() == cli.BAD_USAGE
    assert "alert to hook: not sent, the next run tries again: it answered 404" in caplog.text
    web.status = 200
    deployment.told()
    assert deployment.audit() == cli.BAD_USAGE
    assert [event for event, *_ in deployment.told()] == ["failed"]


def test_a_configuration_that_cannot_be_read_is_told_to_those_who_can_be_read_there(
    deployment: Deployment, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And to the address in the environment, which needs no configuration."""
    monkeypatch.setenv(alerts.ALERT_URL_ENV, f"json://127.0.0.1:{web.port}/environment")
    deployment.write("[gate]\nnot_judged = 'perhaps'\n[[alerts]]\nname = 'wrong'\nwebhook = 7\n")
    for _ in range(2):
        assert deployment.audit() == cli.BAD_USAGE
    posted = dict(web.taken())
    assert posted.keys() == {"/", "/environment"}
    assert posted["/"]["events"][0]["event"] == "configuration"
    assert posted["/environment"]["title"] == "Fencepost: the configuration cannot be read"
    assert "gate.not_judged: must be fail or pass, not 'perhaps'" in posted["/environment"]["message"]
    assert "fencepost doctor" in posted["/environment"]["message"]

    deployment.config.write_text("[[clusters]\n")
    assert deployment.audit() == cli.BAD_USAGE
    assert [path for path, _ in web.taken()] == ["/environment"]

    deployment.write()
    another = deployment.config.with_name("another.toml")
    another.write_text(deployment.config.read_text())
    alerts.audit_succeeded(load(another))
    assert web.taken() == []
    alerts.audit_succeeded(load(deployment.config))
    assert sorted(path for path, _ in web.taken()) == ["/", "/environment"]


def test_the_dag_tells_of_a_configuration_that_cannot_be_read(
    deployment: Deployment, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Airflow's task ends with the error that the configuration gave."""
    deployment.write("[clock]\ntolerance_ms = 'much'\n")
    with pytest.raises(SettingsError) as caught:
        pipeline.run_step("capture", str(deployment.config), "run")
    pipeline.report_failure("capture", caught.value, str(deployment.config), "run")
    assert [event for event, *_ in deployment.told()] == ["configuration"]


def test_a_path_where_nothing_is_gets_no_folder(
    tmp_path: Path, web: Web, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then nothing can be noted, and the alert comes with each run."""
    monkeypatch.setenv(alerts.ALERT_URL_ENV, f"json://127.0.0.1:{web.port}")
    for _ in range(2):
        assert cli.main(["audit", "--config", str(tmp_path / "no" / "such.toml")]) == cli.BAD_USAGE
    assert [
        each["message"].split("\n")[0].endswith("--config or FENCEPOST_CONFIG.") for _, each in web.taken()
    ]
    assert list(tmp_path.iterdir()) == []


def test_only_an_audit_alerts(deployment: Deployment) -> None:
    deployment.config.write_text("[[clusters]\n")
    assert cli.main(["report", "--config", str(deployment.config)]) == cli.BAD_USAGE
    assert deployment.told() == []


def test_no_secret_of_the_catalog_leaves_the_machine(deployment: Deployment) -> None:
    deployment.write(
        "[lake.catalog_properties]\ntype = 'rest'\nuri = 'http://catalog.example'\n"
        f"token = '{SECRET}'\n[lake]\nwarehouse = 'w'\n"
    )
    error = RuntimeError(f"GET http://user:{SECRET}@catalog.example with {SECRET}: refused")
    pipeline.report_failure("capture", error, str(deployment.config), "run")
    ((_, _, text),) = deployment.told()
    assert "catalog" in text
    assert SECRET not in text


def test_a_run_that_misses_its_deadline_is_told_of_once(deployment: Deployment) -> None:
    """As Airflow calls it, with the configuration of the run."""
    run = {"dag_run_id": "scheduled", "conf": {"config": str(deployment.config)}}
    context = {"dag_run": run, "deadline": {"id": "x", "deadline_time": "2026-02-01 10:00:00+00:00"}}
    for _ in range(2):
        report_late(context)
    ((_, title, text),) = deployment.told()
    assert title == "the audit is late"
    assert "has not ended by 2026-02-01 10:00:00" in text
    alerts.audit_succeeded(load(deployment.config))
    assert [event for event, *_ in deployment.told()] == ["over"]


def test_a_task_beside_the_audits_says_nothing_of_them(deployment: Deployment) -> None:
    for _ in range(2):
        pipeline.report_failure("maintain", RuntimeError("torn"), str(deployment.config), "run")
    told = deployment.told()
    assert [title for _, title, _ in told] == ["a task beside the audits failed"] * 2
    assert "maintain failed: RuntimeError: torn" in told[0][2]
    assert "Nothing is known" not in told[0][2]
    (*_, alert) = sorted((deployment.config.parent / ".fencepost" / "alerts").glob("*.txt"))
    assert "Audits go on without it" in alert.read_text()


def test_a_note_that_cannot_be_read_has_the_alert_sent_once_more(deployment: Deployment) -> None:
    settings = load(deployment.config)
    for _ in range(2):
        alerts.audit_failed(settings, "judge", ValueError("x"))
    (note,) = deployment.config.parent.rglob("failed.json")
    assert json.loads(note.read_text()) == {"hook": "judge ValueError"}
    note.write_text("{")
    alerts.audit_failed(settings, "judge", ValueError("x"))
    assert len(deployment.told()) == 2


def test_where_nothing_can_be_noted_the_alert_comes_again(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    settings = load(deployment.config)
    folder = deployment.config.parent / ".fencepost"
    folder.write_text("a file where a folder should be")
    for _ in range(2):
        alerts.audit_failed(settings, "judge", ValueError("x"))
    assert len(deployment.told()) == 2
    assert "The same alert may come again." in caplog.text


def test_the_command_lists_recipients_and_tries_them(
    deployment: Deployment, web: Web, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(alerts.ALERT_URL_ENV, "bogus://x")
    command = ["alerts", "--config", str(deployment.config)]
    deployment.write("on = ['new', 'over']\nclusters = ['prod']\n", name="ho\u202eok")
    assert cli.main(command) == 0
    assert capsys.readouterr().out.splitlines() == [
        "ho\\u202eok (webhook): on new, over; incidents from severity critical in prod",
        "FENCEPOST_ALERT_URL (url): on configuration, over; incidents from severity critical",
    ]
    assert deployment.told() == []

    assert cli.main([*command, "--test"]) == 1
    sent, failed = capsys.readouterr().out.splitlines()
    assert sent == "ho\\u202eok (webhook): sent"
    assert failed.startswith(
        "FENCEPOST_ALERT_URL (url): not sent: its address has a form that Apprise does not"
    )
    ((event, _, text),) = deployment.told()
    assert (event, text.split(". ")[-1]) == ("test", "Nothing is wrong.")
    # nothing is created by trying
    assert sorted(each.name for each in deployment.config.parent.iterdir()) == ["data", "fencepost.toml"]

    monkeypatch.delenv(alerts.ALERT_URL_ENV)
    assert cli.main([*command, "--test"]) == 0
