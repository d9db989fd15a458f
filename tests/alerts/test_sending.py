"""Each kind of recipient against a real server or command: what arrives, and what a failure says."""

from __future__ import annotations

import datetime as dt
import email
import email.policy
import json
import logging
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hostile import NAMES

from fencepost.alerts import events, message, sending, try_out
from fencepost.alerts.events import Event
from fencepost.alerts.sending import SendError, send
from fencepost.settings import Lake, Recipient, Settings

if TYPE_CHECKING:
    from alerts.conftest import Mailbox
    from web_server import Web

CONFIG = Path("/etc/fence post.toml")
SETTINGS = Settings(CONFIG, Lake("", ""), ())
PAGES = Settings(CONFIG, Lake("", ""), (), report_url="https://pages.example/kafka/")
SECRET = "T0ken-of/somebody@home"
HOSTILE = 'o\'brien <!channel> @everyone [a](https://evil.example)\n*b* `c` "x"\u202e'
SINCE = dt.datetime(2026, 1, 2, 3, 4, 5)
ROW: dict[str, Any] = {
    "cluster": "prod",
    "fingerprint": "049f09362f9f22d4",
    "state": "new",
    "severity": "critical",
    "title": f"no_zombie_accepted is violated: client checkout of group {HOSTILE}",
    "critical": ["no_zombie_accepted"],
    "client_id": "checkout",
    "group_id": HOSTILE,
    "host": "10.0.0.7",
    "topic": "orders",
    "partition": 3,
    "first_seen": SINCE,
    "last_seen": SINCE,
}
ZOMBIE = events.event("new", ROW)
OVER = events.event("over", {**ROW, "state": "over"}, {"event": "new", "severity": "critical"})


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", SECRET)


def sent(recipient: Recipient, *found: Event, settings: Settings = SETTINGS) -> None:
    send(settings, recipient, message.message(settings, found))


def test_the_text_fits_a_phone() -> None:
    """Whatever names are, and however many incidents: a headline, five sentences, and what to do."""
    long = {**ROW, "title": HOSTILE * 99, "cluster": HOSTILE * 99, "host": HOSTILE * 99}
    found = message.message(PAGES, [events.event("new", long)] * 4 + [events.event("over", long)] * 4)
    assert len(found.title) < 100
    assert found.title.endswith(": 4 new (4 critical), 4 over (4 critical)")
    *sentences, rest, link = found.text.split("\n\n")
    assert [each.split()[0] for each in sentences] == ["NEW"] * 4 + ["OVER"]
    assert max(map(len, sentences)) < 350
    assert (rest, link) == ("And 3 more.", "https://pages.example/kafka/")
    # nothing in it is a mention, a link or a line of its own, and no text runs backwards
    assert not set("\n<>@*`\u202e") & set("".join((found.title, *sentences)))
    assert "evil.example" in found.text and "https://evil" not in found.text and "](" not in found.text


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_no_name_begins_a_line_or_mentions_anybody(name: str) -> None:
    row = {**ROW, "title": f"x: group {name}", "cluster": name, "host": name, "client_id": name}
    said = message.message(PAGES, [events.event("new", row)])
    (title, sentence, _) = (said.title, *said.text.split("\n\n"))
    assert title.isprintable() and sentence.isprintable()
    assert not set("<>@*`&") & set(title + sentence) and "](" not in sentence and "://" not in sentence


def test_a_sentence_says_who_where_and_when() -> None:
    row = {**ROW, "title": "no_zombie_accepted is violated: group g, orders-3"}
    said = message.message(SETTINGS, [events.event("worse", row)])
    assert said.title == "Fencepost prod: 1 worse (1 critical)"
    assert said.text == (
        "WORSE critical: no_zombie_accepted is violated: group g, orders-3, client checkout, host 10.0.0.7, "
        "cluster prod, since 2026-01-02 03:04 UTC.\n\n"
        "fencepost incidents 049f0936 --config '/etc/fence post.toml'"
    )
    linked = message.message(PAGES, [events.event("worse", row)])
    assert linked.text.endswith("\n\nhttps://pages.example/kafka/incidents/049f09362f9f22d4.html")


def test_mail(mailbox: Mailbox) -> None:
    address = f"mailto://127.0.0.1:{mailbox.port}?from=a@example.org&to=oncall@example.org&mode=insecure"
    sent(Recipient("mail", url=address), ZOMBIE)
    (raw,) = mailbox.received
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert (mail["subject"], mail["to"]) == ("Fencepost prod: 1 new (1 critical)", "oncall@example.org")
    assert "client checkout of group o'brien" in "".join(mail.get_content().splitlines())


@pytest.mark.parametrize("name", [name for name in NAMES if "\r" in name or "\x85" in name], ids=ascii)
def test_no_name_adds_a_header_to_a_mail(mailbox: Mailbox, name: str) -> None:
    address = f"mailto://127.0.0.1:{mailbox.port}?from=a@example.org&to=oncall@example.org&mode=insecure"
    for cluster in ("prod", name):
        sent(Recipient("mail", url=address), events.event("new", {**ROW, "cluster": cluster}))
    tame, hostile = (email.message_from_bytes(raw, policy=email.policy.default) for raw in mailbox.received)
    assert hostile.keys() == tame.keys()
    assert hostile["to"] == tame["to"]


def test_a_chat(web: Web) -> None:
    sent(Recipient("chat", url=f"mmost://127.0.0.1:{web.port}/${{SECRET}}"), ZOMBIE)
    ((path, posted),) = web.received
    assert path == f"/hooks/{SECRET}"
    assert posted["username"] == "Fencepost"
    assert "NEW critical: no_zombie_accepted" in posted["text"]
    # no picture is fetched from anywhere
    assert posted.keys() == {"text", "username"}


def test_a_web_hook_and_a_command_get_all_of_it(web: Web, tmp_path: Path) -> None:
    copy = "import sys; open(sys.argv[1], 'wb').write(sys.stdin.buffer.read())"
    sent(Recipient("hook", webhook=f"{web.address}/${{SECRET}}"), ZOMBIE, OVER, settings=PAGES)
    sent(
        Recipient("command", command=(sys.executable, "-c", copy, str(tmp_path / "got"))),
        ZOMBIE,
        OVER,
        settings=PAGES,
    )
    ((_, posted),) = web.received
    assert json.loads((tmp_path / "got").read_text(encoding="utf-8")) == posted
    assert [each["event"] for each in posted["events"]] == ["new", "over"]
    first = posted["events"][0]
    assert {each["key"] for each in posted["events"]} == {"prod/049f09362f9f22d4"}
    assert first["incident"]["group_id"] == HOSTILE
    assert first["incident"]["first_seen"] == "2026-01-02T03:04:05.000Z"
    assert first["link"] == "https://pages.example/kafka/incidents/049f09362f9f22d4.html"
    assert posted["text"].startswith("NEW critical: ")


def test_an_alertmanager_learns_what_is_open_and_what_is_over(web: Web) -> None:
    alertmanager = Recipient("alertmanager", alertmanager=f"{web.address}/")
    graver = events.event("worse", ROW, {"event": "new", "severity": "warning"})
    for each in (ZOMBIE, graver, OVER):
        sent(alertmanager, each, settings=PAGES)
    assert {path for path, _ in web.received} == {"/api/v2/alerts"}
    now = dt.datetime.now(dt.UTC)
    told = [
        [(each["labels"]["severity"], dt.datetime.fromisoformat(each["endsAt"]) > now) for each in alerts]
        for _, alerts in web.received
    ]
    # one whose severity changes is another alert: the one before ends
    assert told == [[("critical", True)], [("warning", False), ("critical", True)], [("critical", False)]]
    first = web.received[0][1][0]
    assert first["labels"] == {
        "alertname": "FencepostIncident",
        "cluster": "prod",
        "incident": "049f09362f9f22d4",
        "severity": "critical",
    }
    assert first["startsAt"] == "2026-01-02T03:04:05+00:00"
    assert first["annotations"]["summary"].startswith("NEW critical: ")
    assert first["generatorURL"].endswith("incidents/049f09362f9f22d4.html")


def test_a_pager_opens_and_closes_each_incident(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    """Apprise's own request, sent to a server of this machine."""
    import apprise.plugins.pagerduty as plugin

    monkeypatch.setitem(plugin.PAGERDUTY_API_LOOKUP, "us", f"{web.address}/v2/enqueue")
    pager = Recipient("pager", url="pagerduty://${SECRET}@${SECRET}/fencepost")
    sent(pager, ZOMBIE, events.event("new", {**ROW, "fingerprint": "ffff"}))
    sent(pager, OVER)
    told = [(each["event_action"], each["dedup_key"]) for _, each in web.received]
    assert told == [
        ("trigger", "prod/049f09362f9f22d4"),
        ("trigger", "prod/ffff"),
        ("resolve", "prod/049f09362f9f22d4"),
    ]
    first = web.received[0][1]
    assert (first["routing_key"], first["payload"]["severity"]) == (SECRET, "critical")
    assert "images" not in first
    assert sending.most_at_once(pager) == sending.MOST_PAGES


def refused() -> int:
    """A port on which nobody listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.mark.parametrize("status", [302, 404, 500])
def test_an_answer_that_is_no_success_is_a_failure(web: Web, status: int) -> None:
    """A redirect, too: a POST that was answered so would be repeated as a GET, and that might succeed."""
    web.status, web.headers = status, {"Location": f"{web.address}/elsewhere", "Content-Length": "0"}
    with pytest.raises(SendError, match=str(status)):
        sent(Recipient("hook", webhook=web.address), ZOMBIE)
    assert [path for path, _ in web.received] == ["/"]


@pytest.mark.parametrize(
    ("recipient", "why"),
    [
        ({"webhook": "http://127.0.0.1:{port}/${{SECRET}}"}, "Connection refused"),
        ({"alertmanager": "http://user:${{SECRET}}@127.0.0.1:{port}"}, "Connection refused"),
        ({"webhook": "${{SECRET}}"}, "MissingSchema"),
        ({"url": "jsons://127.0.0.1:{port}/${{SECRET}}"}, "Connection error"),
        ({"url": "mailto://user:${{SECRET}}@127.0.0.1:{port}?to=a@example.org"}, ""),
        ({"url": "slack://${{SECRET}}"}, "a form that Apprise does not know"),
        ({"url": "slack://${{NOT_SET}}/"}, "the environment has no NOT_SET: set it where the audit runs"),
        ({"command": ["/no/such/program", "x"]}, "/no/such/program: No such file or directory"),
        ({"command": [sys.executable, "-c", "import sys; sys.exit('{SECRET}')"]}, "ended with exit code 1"),
    ],
    ids=str,
)
def test_a_failure_says_why_and_no_secret(
    recipient: dict[str, Any], why: str, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    port = refused()
    filled = {
        key: [each.replace("{SECRET}", SECRET) for each in value]
        if isinstance(value, list)
        else value.format(port=port)
        for key, value in recipient.items()
    }
    with pytest.raises(SendError) as caught:
        sent(Recipient("r", **filled), ZOMBIE)
    assert why in str(caught.value)
    assert caught.value.__cause__ is None
    out, err = capfd.readouterr()
    said = "".join((str(caught.value), caplog.text, out, err))
    for piece in (SECRET, "T0ken", "somebody"):
        assert piece not in said


def test_success_logs_no_secret_either(web: Web, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    sent(Recipient("hook", webhook=f"{web.address}/${{SECRET}}"), ZOMBIE)
    sent(Recipient("chat", url=f"mmost://127.0.0.1:{web.port}/${{SECRET}}"), ZOMBIE)
    assert len(web.received) == 2
    assert "T0ken" not in caplog.text
    # what was quiet may speak again
    assert logging.getLogger("urllib3").propagate


def test_each_recipient_is_tried(web: Web) -> None:
    """Also when one before it cannot be reached."""
    recipients = (
        Recipient("gone", webhook=f"http://127.0.0.1:{refused()}"),
        Recipient("hook", webhook=web.address),
        Recipient("alertmanager", alertmanager=web.address),
    )
    settings = Settings(CONFIG, Lake("", ""), (), alerts=recipients)
    came_of = {each.name: failure for each, failure in try_out(settings)}
    assert came_of == {"gone": "Connection refused", "hook": None, "alertmanager": None}
    (_, hook), (_, (alert,)) = web.received
    assert hook["title"] == "Fencepost: a test"
    # it ends soon by itself
    soon = dt.datetime.fromisoformat(alert["endsAt"]) - dt.datetime.now(dt.UTC)
    assert soon < dt.timedelta(minutes=6)
