"""Scopes, witnesses and definitions of verdicts in words."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping
from typing import Any

from fencepost.words import WIDTH, printable


def first_paragraph(prose: str) -> str:
    """The meaning of a definition: its prose up to the first empty line."""
    return " ".join(prose.split("\n\n", maxsplit=1)[0].split())


def first_sentence(prose: str) -> str:
    """The first sentence of a definition's prose."""
    return first_paragraph(prose).split(". ")[0].rstrip(".") + "."


def indented(text: str, first: str = "    ", rest: str = "      ") -> list[str]:
    return [
        line
        for part in text.splitlines()
        for line in textwrap.wrap(
            part,
            WIDTH,
            initial_indent=first,
            subsequent_indent=rest,
            # a path or a command that is broken cannot be copied
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


def in_tla(value: Any) -> str:
    """A value of a verdict as the specification writes it."""
    match value:
        case None:
            return "unknown"
        case bool():
            return "TRUE" if value else "FALSE"
        case str():
            return json.dumps(value, ensure_ascii=False)
        case list():
            return "<<" + ", ".join(map(in_tla, value)) + ">>"
        case dict():
            return "[" + ", ".join(f"{name} |-> {in_tla(each)}" for name, each in value.items()) + "]"
    return str(value)


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


def _readable(value: Any, topics: Mapping[str, str]) -> Any:
    topic_id, colon, partition = value.partition(":") if isinstance(value, str) else (value, "", "")
    return f"{topics[topic_id]}-{partition}" if colon and topic_id in topics else value
