"""Alerts of audits that failed, and of a configuration that cannot be read.

What was told is noted in a file, since a lake may be what has failed: once, until an audit has succeeded.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from fencepost import shell
from fencepost.alerts.events import CONFIGURATION, FAILED, OVER, Event
from fencepost.alerts.message import Message, one_line
from fencepost.alerts.sending import SendError, send
from fencepost.environment import without_passwords
from fencepost.places import run_folder, write_whole
from fencepost.settings import LAKE_ENV, Lake, Recipient, Settings, config_path, readable_alerts
from fencepost.words import printable

ALERT_URL_ENV = "FENCEPOST_ALERT_URL"
"""An address for Apprise, which also hears of a configuration that cannot be read at all."""
_NOTHING_KNOWN = "\n\nNothing is known about the clusters since the last run."


class _Failure(NamedTuple):
    """A kind of failure: its ``name`` in a pager's events, the ``event`` for which recipients ask, ``what``
    it is in words, the ``command`` to go on with, and what ``follows`` from it.
    """

    name: str
    event: str
    what: str
    command: str
    follows: str = _NOTHING_KNOWN


_AUDIT = _Failure(FAILED, FAILED, "the audit failed", "audit")
_LATE = _Failure("late", FAILED, "the audit is late", "report")
_TASK = _Failure("task", FAILED, "a task beside the audits failed", "doctor", "")
_CONFIGURATION = _Failure(CONFIGURATION, CONFIGURATION, "the configuration cannot be read", "doctor")

logger = logging.getLogger(__name__)


def audit_failed(settings: Settings, step: str, error: BaseException | None) -> None:
    """Tell that an audit did not run to its end: once for each step and kind of error, until one does."""
    kind, why = _kind_and_words(step, error, settings)
    _Memory(_of_audits(settings)).tell(settings, _AUDIT, settings.alerts, f"{step} {kind}", why)


def task_failed(settings: Settings, task: str, error: BaseException | None) -> None:
    """Tell that a task beside the audits failed, each time."""
    _, why = _kind_and_words(task, error, settings)
    _Memory(None).tell(settings, _TASK, settings.alerts, task, why)


def audit_is_late(settings: Settings, deadline: str) -> None:
    """Tell that an audit has not ended by its deadline: once, until one has run to its end."""
    why = f"a run has not ended by {deadline}: the log of its task says what it does or waits for"
    _Memory(_of_audits(settings)).tell(settings, _LATE, settings.alerts, _LATE.name, why)


def configuration_failed(path: Path | None, error: BaseException) -> None:
    """Tell that the configuration at ``path`` (or the default one) cannot be read: those who can be read
    there nevertheless, and the one whom the environment names.
    """
    found = config_path(path)
    recipients = [*readable_alerts(path), *from_environment()]
    why = without_passwords(str(error).partition("\n")[0])
    settings = Settings(found, Lake("", ""), ())
    _Memory(_of_configurations(found)).tell(settings, _CONFIGURATION, recipients, why, why)


def audit_succeeded(settings: Settings) -> None:
    """Tell those who were told of a failure that an audit has run to its end."""
    recipients = [*settings.alerts, *from_environment()]
    _Memory(_of_audits(settings)).end(settings, _AUDIT, recipients)
    _Memory(_of_configurations(settings.path)).end(settings, _CONFIGURATION, recipients)


def from_environment() -> list[Recipient]:
    """The recipient that the environment names."""
    return (
        [Recipient(ALERT_URL_ENV, url=f"${{{ALERT_URL_ENV}}}", on=("configuration", "over"))]
        if os.environ.get(ALERT_URL_ENV)
        else []
    )


def _of_audits(settings: Settings) -> Path:
    return run_folder(settings) / "alerts" / "failed.json"


def _of_configurations(path: Path) -> Path | None:
    """Where it is noted who was told of the configuration at ``path``; None if there is no folder for it."""
    lake = os.environ.get(LAKE_ENV)
    folder = Path(lake) if lake else path.parent / ".fencepost"
    # several configurations may lie in one folder
    return folder / "alerts" / f"{path.name}.unread.json" if path.parent.is_dir() or lake else None


class _Memory:
    """Who was told of which failure: names of recipients, each with what it was told."""

    def __init__(self, file: Path | None) -> None:
        self._file = file
        self._told: dict[str, str] = {}
        # a file that cannot be read has the same alert sent once more
        with suppress(OSError, ValueError):
            content = json.loads(file.read_text(encoding="utf-8")) if file is not None else {}
            self._told = content if isinstance(content, dict) else {}

    def tell(
        self, settings: Settings, failure: _Failure, recipients: Iterable[Recipient], what: str, why: str
    ) -> None:
        for each in recipients:
            # an Alertmanager may have forgotten it
            is_known = self._told.get(each.name) == what and each.alertmanager is None
            if (
                failure.event in each.on
                and not is_known
                and _sent(settings, each, failure.event, failure, why)
            ):
                self._told[each.name] = what
                self._write()

    def end(self, settings: Settings, failure: _Failure, recipients: Iterable[Recipient]) -> None:
        if not self._told:
            return
        by_name = {each.name: each for each in recipients}
        for name in list(self._told):
            recipient = by_name.get(name)
            if recipient is None or OVER not in recipient.on or _sent(settings, recipient, OVER, failure, ""):
                del self._told[name]
                self._write()

    def _write(self) -> None:
        if self._file is None:
            return
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._file, json.dumps(self._told).encode())
        except OSError as error:
            logger.warning("%s: %s. The same alert may come again.", self._file, error.strerror)


def _sent(settings: Settings, recipient: Recipient, event: str, failure: _Failure, why: str) -> bool:
    try:
        send(settings, recipient, _message(settings, event, failure, why))
    except SendError as error:
        logger.error("alert to %s: not sent, the next run tries again: %s", printable(recipient.name), error)
        return False
    logger.info(
        "alert to %s: told that %s",
        printable(recipient.name),
        f"{failure.what}{', and is over' * (event == OVER)}",
    )
    return True


def _message(settings: Settings, event: str, failure: _Failure, why: str) -> Message:
    if event == OVER:
        title, text = f"OVER: {failure.what}", "An audit has run to its end since."
        command = "report"
    else:
        title, text, command = failure.what, one_line(why) + failure.follows, failure.command
    words = shell.line("fencepost", command, "--config", str(settings.path))
    # one deployment's failures are one event of a pager
    about = Event(event, None, f"{failure.name} {settings.path}", "critical", failure.what)
    return Message(f"Fencepost: {title}", f"{text}\n\n{words}", [about])


def _kind_and_words(step: str, error: BaseException | None, settings: Settings) -> tuple[str, str]:
    kind = type(error).__name__ if error is not None else "no exception was reported"
    said = _in_words(error, settings) if error is not None else ""
    return kind, f"{step} failed: {kind}{said and ': '}{said}"


def _in_words(error: BaseException, settings: Settings) -> str:
    """An error in a line, without what may be secrets of the catalog and its store."""
    text = without_passwords(str(error))
    for value in (*settings.lake.catalog_properties.values(), *settings.spark.values()):
        text = text.replace(value, "***") if len(value) > 8 else text
    return text.strip()
