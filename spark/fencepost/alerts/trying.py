"""Test messages: whether each recipient can be reached, before anything is wrong."""

from __future__ import annotations

from collections.abc import Iterator
from socket import gethostname

from fencepost.alerts.events import TEST, Event
from fencepost.alerts.failures import from_environment
from fencepost.alerts.message import Message
from fencepost.alerts.sending import SendError, send
from fencepost.settings import Recipient, Settings


def everybody(settings: Settings) -> list[Recipient]:
    """All recipients, also the one of the environment."""
    return [*settings.alerts, *from_environment()]


def try_out(settings: Settings) -> Iterator[tuple[Recipient, str | None]]:
    """Send a test message to each recipient: what went wrong, None if nothing did."""
    text = f"This is a test from {gethostname()}. Nothing is wrong."
    event = Event(TEST, None, f"test {settings.path}", "info", "a test of Fencepost's alerts")
    for recipient in everybody(settings):
        try:
            send(settings, recipient, Message("Fencepost: a test", text, [event], settings.report_url))
        except SendError as error:
            yield recipient, str(error)
        else:
            yield recipient, None
