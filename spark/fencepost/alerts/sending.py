"""Hands an alert to a recipient: by Apprise, by HTTP, or by a command."""

from __future__ import annotations

import logging
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from io import StringIO
from typing import Any
from urllib.parse import urlencode

from fencepost.alerts.events import TEST, Event
from fencepost.alerts.message import Message, document, link_to, message, sentence
from fencepost.environment import MissingVariableError, filled, masked
from fencepost.output import write_json
from fencepost.settings import Recipient, Settings
from fencepost.words import as_utc

_HTTP_SECONDS, _COMMAND_SECONDS = 10, 60
_STANDS, _TEST_STANDS = timedelta(days=30), timedelta(minutes=5)
"""How long an Alertmanager keeps an alert that nobody repeats. Each run repeats it."""
MOST_PAGES = 20
"""A pager gets so many incidents from one run; the next run tells of more."""
_LONGEST_KEY = 255
"""Of a pager, in characters."""
_PAGERS = ("pagerduty",)
_LOUD = ("apprise", "urllib3", "requests")
"""Libraries that log addresses, and so secrets."""


class SendError(Exception):
    """An alert could not be handed over; the message says why, and has no secret."""


def most_at_once(recipient: Recipient) -> int | None:
    """How many events a recipient gets from one run; None: all."""
    return MOST_PAGES if _is_pager(recipient) else None


def send(settings: Settings, recipient: Recipient, alert: Message, standing: Sequence[Event] = ()) -> None:
    """Hand an alert to a recipient. Raises SendError.

    ``standing``: what the recipient was told before and is still so, for one that may have forgotten.
    """
    try:
        _hand_over(settings, recipient, alert, standing)
    except SendError:
        raise
    except MissingVariableError as error:
        raise SendError(str(error)) from None
    except Exception as error:  # whatever a library raises, it must not fail the run
        raise SendError(_why(error)) from None


def _hand_over(settings: Settings, recipient: Recipient, alert: Message, standing: Sequence[Event]) -> None:
    if recipient.alertmanager is not None:
        told = (*alert.events, *standing)
        alerts = [each for event in told for each in _for_alertmanager(settings, event)]
        _post(f"{filled(recipient.alertmanager).rstrip('/')}/api/v2/alerts", alerts)
    elif recipient.webhook is not None:
        _post(filled(recipient.webhook), document(settings, alert))
    elif recipient.command:
        _run(recipient.command, _json(document(settings, alert)))
    elif recipient.url is not None and _is_pager(recipient):
        for event in alert.events:
            key = sha256(event.key.encode()).hexdigest() if len(event.key) > _LONGEST_KEY else event.key
            options = {"dedup": key, "action": "map", "image": "no"}
            _notify(recipient.url, alert if len(alert.events) == 1 else message(settings, [event]), options)
    elif recipient.url is not None:
        _notify(recipient.url, alert, {})


def _is_pager(recipient: Recipient) -> bool:
    """Whether each incident is to be an alert of its own, which the recipient closes when it is over."""
    try:
        return recipient.url is not None and filled(recipient.url).partition("://")[0].lower() in _PAGERS
    except MissingVariableError:
        return False


def _notify(address: str, alert: Message, options: dict[str, str]) -> None:
    import apprise  # only if something is sent

    asset = apprise.AppriseAsset(
        app_id="Fencepost",
        app_desc="Fencepost",
        app_url="",
        # nothing is fetched from the library's home
        image_url_mask="",
        image_url_logo="",
        async_mode=False,
    )
    kind = apprise.NotifyType.FAILURE if alert.is_critical else apprise.NotifyType.WARNING
    url = filled(address)
    with _quiet() as said:
        known = apprise.Apprise.instantiate(_with_options(url, options), asset=asset)
        if known is None:
            raise SendError(
                "its address has a form that Apprise does not know, or a variable of the environment has "
                "a wrong value: compare it with Apprise's documentation of the service"
            )
        said.clear()
        sent = known.notify(
            body=alert.text,
            title=alert.title,
            notify_type=apprise.NotifyType.SUCCESS if alert.is_over else kind,
            body_format=apprise.NotifyFormat.TEXT,
        )
    if not sent:
        raise SendError(masked(" ".join(said) or "it was not sent", address))


def _with_options(url: str, options: dict[str, str]) -> str:
    if not options:
        return url
    return f"{url}{'&' if '?' in url else '?'}{urlencode(options)}"


def _post(address: str, content: Any) -> None:
    import requests  # only if something is sent

    with _quiet():
        answer = requests.post(
            address,
            data=_json(content).encode("utf-8"),
            headers={"Content-Type": "application/json", "User-Agent": "Fencepost"},
            timeout=_HTTP_SECONDS,
            # another place than the configured one; and a POST would become a GET
            allow_redirects=False,
        )
    if not 200 <= answer.status_code < 300:
        raise SendError(f"it answered {answer.status_code} {answer.reason or ''}".rstrip())


def _run(command: Sequence[str], content: str) -> None:
    try:
        ended = subprocess.run(
            command,
            input=content.encode("utf-8"),
            # what it says may have secrets
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_COMMAND_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise SendError(f"{command[0]} did not end within {_COMMAND_SECONDS} s") from None
    except (OSError, ValueError) as error:
        raise SendError(f"{command[0]}: {_why(error)}") from None
    if ended.returncode:
        raise SendError(f"{command[0]} ended with exit code {ended.returncode}")


def _for_alertmanager(settings: Settings, event: Event) -> Iterator[dict[str, Any]]:
    """The alert in an Alertmanager's form. Its labels are its identity: with another severity it is another
    one, and the one before is over.
    """
    now = datetime.now(UTC)
    if event.is_over:
        yield _alertmanagers(settings, event, event.was or event.severity, None, now)
        return
    if event.was not in (None, event.severity):
        yield _alertmanagers(settings, event, str(event.was), None, now)
    since = event.incident.get("first_seen")
    begun = as_utc(since) if since is not None and as_utc(since) < now else None
    stands = _TEST_STANDS if event.kind == TEST else _STANDS
    yield _alertmanagers(settings, event, event.severity, begun, now + stands)


def _alertmanagers(
    settings: Settings, event: Event, severity: str, since: datetime | None, until: datetime
) -> dict[str, Any]:
    labels = {
        "alertname": "FencepostIncident" if event.cluster is not None else "FencepostAudit",
        "cluster": event.cluster,
        "incident": event.fingerprint,
        "severity": severity,
    }
    found = {
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {"summary": sentence(event)},
        "endsAt": until.isoformat(),
    }
    if since is not None:
        found["startsAt"] = since.isoformat()
    if link := link_to(settings, event):
        found["generatorURL"] = link
    return found


def _json(content: Any) -> str:
    out = StringIO()
    write_json(content, out)
    return out.getvalue()


def _why(error: BaseException) -> str:
    """Why something was not reached: in the system's words, since those of libraries have addresses."""
    causes, each = [], error
    while each is not None and each not in causes:
        causes.append(each)
        each = each.__cause__ or each.__context__  # type: ignore[assignment]
    of_system = (each.strerror for each in reversed(causes) if isinstance(each, OSError) and each.errno)
    return next((str(words) for words in of_system if words), type(error).__name__)


@contextmanager
def _quiet() -> Iterator[list[str]]:
    """Keep libraries from logging addresses. Gives the warnings of Apprise, which say why it sent nothing."""
    said: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    loggers = [logging.getLogger(name) for name in _LOUD]
    before = [(each.level, each.propagate, each.handlers[:]) for each in loggers]
    for each in loggers:
        each.setLevel(logging.WARNING)
        each.propagate = False
        each.handlers[:] = [handler if each.name == "apprise" else logging.NullHandler()]
    try:
        yield said
    finally:
        for each, (level, propagate, handlers) in zip(loggers, before, strict=True):
            each.setLevel(level)
            each.propagate = propagate
            each.handlers[:] = handlers
