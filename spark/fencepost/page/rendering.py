"""Renders the templates. Every value is escaped; what would move a cursor or turn the text around is shown
as an escape.
"""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections.abc import Mapping
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape
from markupsafe import Markup, escape

from fencepost.report.on_call import with_names
from fencepost.words import printable, time_of


def render(template: str, **values: Any) -> bytes:
    """A page: the template ``<template>.html`` with these values. ``root`` is the way up to the index."""
    text: str = _environment().get_template(f"{template}.html").render(**values)
    return text.encode("utf-8", "backslashreplace")


def prose(text: str, about: Mapping[str, Any] | None = None) -> Markup:
    """A text of ours that begins with a capital; what stands between two backquotes is code, in which names
    are filled in (``with_names``), which may have backquotes, too.
    """
    parts = (text[:1].upper() + text[1:]).split("`")
    kinds = (Markup("{}"), Markup("<code>{}</code>"))
    return Markup("").join(
        kinds[number % 2].format(printable(with_names(part, about or {})))
        for number, part in enumerate(parts)
    )


@cache
def _environment() -> Any:
    environment = Environment(
        loader=PackageLoader("fencepost.page"),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    script = _text("filter.js")
    environment.globals.update(
        style=Markup(_text("style.css")),
        script=Markup(script),
        # what was put in by somebody else has another digest, and a browser does not run it
        script_digest=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    environment.filters.update(moment=_moment, lines=_lines, marked=_marked, number=_number, prose=prose)
    return environment


def _text(name: str) -> str:
    return (files("fencepost.page") / "templates" / name).read_text(encoding="utf-8")


def _shown(value: Any) -> Any:
    """What stands for a value in a page."""
    if isinstance(value, Markup):
        return value
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else printable(str(value))


def _moment(value: datetime | None, exact: bool = False) -> Markup:
    """A time of the lake, for people and for programs; ``exact``: to the millisecond."""
    if value is None:
        return Markup("(time unknown)")
    shown = time_of(value) if exact else f"{value:%Y-%m-%d %H:%M:%S} UTC"
    return Markup('<time datetime="{}Z">{}</time>').format(value.isoformat(timespec="milliseconds"), shown)


def _lines(text: str) -> Markup:
    """A text of several lines as it is."""
    return Markup("\n").join(escape(printable(line)) for line in text.splitlines())


def _marked(text: str, part: str | None) -> Markup:
    """A text of several lines in which a part is marked, where it stands there."""
    before, found, after = text.partition(part) if part else (text, "", "")
    if not found:
        return _lines(text)
    begins, ends = before[-1:] == "\n", after[:1] == "\n"
    return (
        _lines(before)
        + Markup("\n" if begins else "")
        + Markup("<mark>{}</mark>").format(_lines(found))
        + Markup("\n" if ends else "")
        + _lines(after[1:] if ends else after)
    )


def _number(value: int) -> str:
    return f"{value:,}"
