"""The types of values in the configuration, with the mistakes that they may have."""

from __future__ import annotations

import datetime as dt
import glob
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any
from zoneinfo import available_timezones

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo

from fencepost.environment import MissingVariableError, substituted
from fencepost.formats.clock import zone_of
from fencepost.settings.mistakes import Expected, mistake, nearest, shown

DAY_MS = 86_400_000
SHORTEST_CHAPTER_MS = DAY_MS // 4
"""A chapter reads an hour beyond its begin and its end, and the rows of shorter ones may contradict those of
one rebuild of all history.
"""
MAX_INT = 2**31 - 1
SQLITE = "sqlite:///"
WITHOUT_SECRETS = ("mailto", "mailtos", "syslog")
"""Services that can be reached without a secret, besides a password."""
UNITS_MS = {"s": 1000, "m": 60_000, "h": 3_600_000, "d": DAY_MS, "w": 7 * DAY_MS}


@dataclass(frozen=True)
class Reading:
    """How a file is read: from which folder its paths are relative, and whether ``services`` of alerts are
    compared with Apprise's list, which takes a third of a CPU second to load.
    """

    base: Path
    services: bool


def written_out(path: str | None) -> str | None:
    """A path that means itself: no shell reads it, and a folder with the name of a variable would be made."""
    if path is None:
        return None
    not_blank(path)
    if "${" in path or re.search(r"(^|/)\$\w", path):
        raise mistake(f"{path!r} has a variable of the environment, and no shell reads a path. Write it out.")
    try:
        Path(path.removeprefix(SQLITE)).expanduser()
    except RuntimeError:
        user = path.removeprefix(SQLITE).partition("/")[0]
        raise mistake(f"{path!r} begins with {user!r}, and there is no such user.") from None
    return path


def _absolute(paths: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
    if info.context is None:
        return paths
    for each in paths:
        written_out(each)
        if re.search(r",\s*(/|s3://)", each):
            raise mistake(f"{each!r} has several paths in one text. Put each into quotes of its own.")
    base = Path(glob.escape(str(info.context.base)))
    return tuple(
        path.rstrip("/") if _of_store(path) else os.path.normpath(base / Path(path).expanduser())
        for path in paths
    )


def _of_store(path: str) -> bool:
    """Whether a path leads into an object store."""
    scheme, is_address, below = path.partition("://")
    # a slash or colon that is left out would make it a path beside the configuration
    is_meant = not is_address and re.match(
        r"(s3[an]?|gs|abfss?|https?|hdfs|file)(:/|//)", path, re.IGNORECASE
    )
    if is_meant or (is_address and scheme != "s3"):
        raise mistake(f"{path!r} is in no store that is read: use s3://bucket/..., or a path.")
    if is_address and below[:1] in ("", "/"):
        raise mistake(f"{path!r} names no bucket: use s3://bucket/..., or a path.")
    return bool(is_address)


def _known_zone(zone: str) -> str:
    try:
        zone_of(zone)
    except ValueError as error:
        raise mistake(
            f"{zone!r} is not an IANA time zone such as Europe/Paris, nor an offset such as +02:00."
            f"{_meant(zone)}"
        ) from error
    return zone


def _meant(zone: str) -> str:
    """A sentence with the zone that was meant, such as +02:00 by UTC+2; nothing if none is near."""
    offset = re.fullmatch(r"(?:UTC|GMT)? ?([+-])(0?\d|1[0-4])(?::?([0-5]\d))?", zone)
    if offset:
        return f" Write {offset[1]}{int(offset[2]):02}:{offset[3] or '00'}."
    # EST would be near to CEST, and is six hours away
    return nearest(zone, {each for each in available_timezones() if "/" in each})


def as_release(text: Any) -> Any:
    if not isinstance(text, str):
        return text
    match = re.fullmatch(r"(\d+)\.(\d+)(\.\d+)*(-.*)?", text)
    if not match:
        raise mistake(f"{text!r} is not a release such as 4.2.1.")
    return (int(match[1]), int(match[2]))


def not_blank(name: str) -> str:
    if not name.strip():
        raise mistake("must not be empty.")
    return name


def from_environment(text: str | None) -> str | None:
    """A text with the values of the environment in it: what containers of one configuration are told apart
    by.
    """
    try:
        return None if text is None else substituted(text)
    except MissingVariableError as error:
        raise mistake(f"{error}.") from error


def as_duration(text: Any) -> Any:
    """A length of time such as 36h or 30d, in milliseconds."""
    match = re.fullmatch(r"([1-9]\d{0,5})([smhdw])", text) if isinstance(text, str) else None
    if not match:
        raise mistake(f"{shown(text)} is not a length of time such as 36h, 30d or 8w.")
    return int(match[1]) * UNITS_MS[match[2]]


def as_chapter(text: Any) -> Any:
    """A length of time, or None for ``all``."""
    if text == "all":
        return None
    length_ms = as_duration(text)
    if length_ms < SHORTEST_CHAPTER_MS:
        raise mistake(f"{shown(text)} is too short to tell what happened near its begin. Use 6h or more.")
    return length_ms


def not_negative(number: int) -> int:
    if number < 0:
        raise mistake(f"must not be negative, it is {number}.")
    return number


def as_day(day: Any) -> Any:
    """A date of TOML, or its text."""
    if isinstance(day, str):
        try:
            return dt.date.fromisoformat(day)
        except ValueError as error:
            raise mistake(f"{day!r} is not a date such as 2026-01-31.") from error
    if not isinstance(day, dt.date) or isinstance(day, dt.datetime):
        raise mistake(f"must be a date such as 2026-01-31, without a time, not {shown(day)}.")
    return day


def known_invariant(name: str) -> str:
    from fencepost.definitions import definitions  # of all protocols; few configurations name any

    names = [each.id for each in definitions() if each.severity is not None]
    if name not in names:
        raise mistake(f"is no invariant. docs/invariants has a page for each.{nearest(name, names)}")
    return name


def http_url(url: str | None) -> str | None:
    """A URL below which files are served."""
    if url is not None and not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", url):
        raise mistake(f"{url!r} is not a URL such as https://audit.example.com/ (without ? and #).")
    return url


def _fingerprint(text: str) -> str:
    if not re.fullmatch("[0-9a-f]{8,16}", text):
        raise mistake(
            f"{text!r} is not how a fingerprint begins: 8 to 16 hexadecimal digits, as "
            "`fencepost incidents` prints them."
        )
    return text


def _without_secrets(address: str) -> str:
    """An address whose secrets are in the environment, as far as its form shows. No mistake repeats it."""
    before, _, query = address.partition("://")[2].partition("?")
    password = before.rpartition("@")[0].partition(":")[2]
    if (password and "${" not in password) or re.search(r"(^|&)(pass|password|token)=(?!\$\{)", query):
        raise mistake("has a password. Put it into the environment, and write ${NAME} in its place.")
    if left := re.search(r"\$(?!\{[A-Za-z_][A-Za-z0-9_]*\})", address):
        raise mistake(
            f"has a $ at character {left.start() + 1} that is not of ${{NAME}}, the name of a variable of "
            "the environment. Write %24 for a $."
        )
    return address


@cache
def _services() -> frozenset[str]:
    """How the addresses begin that Apprise knows; none where it is not installed, as on a collector."""
    try:
        from apprise.manager_plugins import NotificationManager
    except ImportError:
        return frozenset()
    return frozenset(NotificationManager().schemas())


def _of_a_service(address: str, info: ValidationInfo) -> str:
    """Nearly every service takes its secret as a part of its address, wherever that may be."""
    if "://" not in address and not address.startswith("${"):
        raise mistake(
            "is no address of a service, such as slack://${SLACK_TOKEN}/#kafka or mailto://${MAIL}. What is "
            "secret in it goes into the environment, as ${NAME}."
        )
    if "${" not in address and address.partition("://")[0] not in WITHOUT_SECRETS:
        raise mistake(
            "must not have its secret in the file. Put the secret, or all of the address, into the "
            "environment, and write ${NAME} in its place."
        )
    service, has_service, _ = address.partition("://")
    is_checked = has_service and "${" not in service and info.context is not None and info.context.services
    if is_checked and not _is_known(service.lower()):
        # what was written in its place may be a secret
        raise mistake(
            "begins with no service that Apprise knows, as slack:// is one."
            f"{nearest(service.lower(), sorted(_services()))}"
        )
    return address


def _is_known(service: str) -> bool:
    # web hooks' own addresses stand for their services, too
    known = service in {*WITHOUT_SECRETS, "http", "https"}
    return known or not _services() or service in _services()


def _of_http(address: str) -> str:
    if not address.startswith(("http://", "https://", "${")):
        raise mistake("must begin with http:// or https://.")
    return address


def flattened(prefix: str) -> BeforeValidator:
    """Options by their full names: ``driver.memory`` and ``"spark.driver.memory"`` are the same option."""

    def visit(flat: dict[str, str], above: str, values: Mapping[str, Any]) -> dict[str, str]:
        for key, value in values.items():
            name = f"{above}.{key}" if above else key
            if isinstance(value, dict):
                visit(flat, name, value)
            elif isinstance(value, str | int | float):
                full = name if name.startswith(prefix) else f"{prefix}{name}"
                flat[full] = str(value).lower() if isinstance(value, bool) else str(value)
            else:
                raise mistake(f"must be text, a number or true/false, not {value!r}.", name)
        return flat

    return BeforeValidator(lambda values: visit({}, "", values) if isinstance(values, dict) else values)


def each_once(key: str) -> AfterValidator:
    def check(elements: tuple[Any, ...]) -> tuple[Any, ...]:
        seen: set[object] = set()
        for name in (getattr(each, key) for each in elements):
            if name in seen:
                raise mistake(f"{name!r} is there twice. Give each its own name or id.")
            seen.add(name)
        return elements

    return AfterValidator(check)


def at_least_one(message: str) -> AfterValidator:
    def check(elements: tuple[Any, ...]) -> tuple[Any, ...]:
        if not elements:
            raise mistake(message)
        return elements

    return AfterValidator(check)


Text = Annotated[str, Field(strict=True)]
Globs = Annotated[
    tuple[Annotated[str, Field(strict=True, min_length=1)], ...],
    Expected("a list of paths or globs (text)"),
    AfterValidator(_absolute),
]
Zone = Annotated[
    Text,
    Expected("an IANA time zone such as Europe/Paris, or an offset such as +02:00"),
    AfterValidator(_known_zone),
]
Name = Annotated[Text, Expected("a name"), AfterValidator(not_blank)]
Invariant = Annotated[Text, AfterValidator(known_invariant)]
Fingerprint = Annotated[Text, AfterValidator(_fingerprint)]
_Safe = Annotated[Text, Field(min_length=1), AfterValidator(_without_secrets)]
Address = Annotated[_Safe, AfterValidator(_of_a_service)]
HttpAddress = Annotated[_Safe, AfterValidator(_of_http)]
