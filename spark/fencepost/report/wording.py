"""Scopes, witnesses and definitions of verdicts in words."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from typing import Any

from fencepost.words import WIDTH, printable
from tlasql.lang.words import as_tla

_DIGEST = re.compile(r"[0-9a-f]{64}")
_COMMAND = re.compile(r"`(?:kafka-|fencepost )[^`]*`")
_BLANK = "\ue000"
"""A blank at which no line is broken: a character that has no meaning."""


def first_paragraph(prose: str) -> str:
    """The meaning of a definition: its prose up to the first empty line."""
    return " ".join(prose.split("\n\n", maxsplit=1)[0].split())


def first_sentence(prose: str) -> str:
    """The first sentence of a definition's prose."""
    return first_paragraph(prose).split(". ")[0].rstrip(".") + "."


def indented(text: str, first: str = "    ", rest: str = "      ") -> list[str]:
    """Lines of a text. A path or a command stays in one line: it is copied from there."""
    whole = _COMMAND.sub(lambda found: found[0].replace(" ", _BLANK), text)
    return [
        line.replace(_BLANK, " ")
        for part in whole.splitlines()
        for line in textwrap.wrap(
            part,
            WIDTH,
            initial_indent=first,
            subsequent_indent=rest,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def wrapped(text: str, first: str, rest: str | None = None) -> list[str]:
    """Lines of a text from outside, ``first`` before the first one and ``rest`` (as ``first`` by default)
    before the others.
    """
    rest = first if rest is None else rest
    return [
        line
        for number, part in enumerate(text.splitlines())
        for line in indented(printable(part), rest if number else first, rest)
    ]


def parsed(text: str | None) -> dict[str, Any]:
    parsed = json.loads(text) if text else {}
    return parsed if isinstance(parsed, dict) else {"value": parsed}


def named(members: Mapping[str, Any], names: Mapping[str, str] | None = None) -> str:
    """Names and values in words; ``<topic id>:<partition>`` becomes ``topic-partition``."""
    return ", ".join(
        f"{name.replace('_', ' ')} {_readable(value, names or {})!r}" for name, value in members.items()
    )


def values_of(observed: str | None) -> dict[str, str]:
    """The values of a definition that were observed, as TLA+ writes them."""
    return {name: as_tla(value) for name, value in parsed(observed).items()}


def evidence_of(evidence: str | None) -> dict[str, str]:
    """What a verdict's evidence names, as columns have it, without its place in a file
    (``Finding.logged_at``).
    """
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in parsed(evidence).items()
        if value is not None and name not in ("file", "position")
    }


def place(scope: str | None) -> dict[str, Any]:
    """The scope of a verdict; a log is named by its topic and partition alone."""
    return {name: value for name, value in parsed(scope).items() if name != "partition_key"}


def log_of(scope: str | None) -> str:
    """The name of the log to which a verdict's positions belong."""
    place = parsed(scope)
    if "group_id" in place:
        return "the group's partition of __consumer_offsets"
    if "log" in place:
        return printable(place["log"].rpartition(":")[2])
    return f"{printable(place.get('topic'))}-{place.get('partition')}"


def without_digests(witness: Mapping[str, Any]) -> dict[str, Any]:
    """The quantified variables that a reader understands: not those that name a record by a digest."""
    return {name: value for name, value in witness.items() if not _DIGEST.fullmatch(str(value))}


def _readable(value: Any, topics: Mapping[str, str]) -> Any:
    topic_id, colon, partition = value.partition(":") if isinstance(value, str) else (value, "", "")
    return f"{topics[topic_id]}-{partition}" if colon and topic_id in topics else value
