"""What the engineer on call does: the text of a definition with the names of what it is about, and the
commands that marts have (``Protocol.remedies``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fencepost import shell
from fencepost.definitions import definition
from fencepost.protocols import protocols
from fencepost.reading import Reader, rows
from fencepost.report.wording import parsed

_BEGINS = "On call: "
_BLANKS = {
    "--group G": ("group_id",),
    "--transactional-id ID": ("transactional_id",),
    "--topic T:P": ("topic", "partition"),
    "--topic T": ("topic",),
    "--input-topic T:P": ("topic", "partition"),
    "--input-topic T": ("topic",),
    "--partition P": ("partition",),
    "--start-offset N": ("first_offset",),
}
"""What a text has for a name, and the columns that have the name."""
_BLANK = re.compile("|".join(rf"{re.escape(blank)}(?![\w:])" for blank in _BLANKS))


_GROUPS = "marts.dim_group"
_OF_GROUPS = re.compile(r"kafka-consumer-groups\.sh --bootstrap-server [^`]*")
_TOOLS = {"streams": "kafka-streams-groups.sh", "share": "kafka-share-groups.sh"}
"""Of kinds of groups that kafka-consumer-groups.sh does not find."""


class GroupTypes:
    """Of which kind the groups are that some rows name (``cluster``, ``group_id``)."""

    def __init__(self, reader: Reader, named: Iterable[Mapping[str, Any]]) -> None:
        groups = sorted({each["group_id"] for each in named if each.get("group_id")})
        found = {"group_id": groups} if groups and reader.has(_GROUPS) else None
        columns = ("cluster", "group_id", "group_type")
        self._types = {
            (row["cluster"], row["group_id"]): row["group_type"]
            for row in (rows(reader.scan(_GROUPS, columns, found)) if found else ())
        }

    def added(self, named: Mapping[str, Any]) -> dict[str, Any]:
        """A row with the kind of its group as ``group_type``."""
        return {**named, "group_type": self._types.get((named["cluster"], named.get("group_id")))}


def what_to_do(invariant: str, about: Mapping[str, Any]) -> str | None:
    """``told_on_call`` with names."""
    text = told_on_call(invariant)
    return with_names(text, about) if text else None


def told_on_call(invariant: str) -> str | None:
    """What the text of a definition tells the engineer on call, in one paragraph; None if it does not say."""
    found = definition(invariant)
    told = (" ".join(each.split()) for each in (found.prose if found else "").split("\n\n"))
    return next((each.removeprefix(_BEGINS) for each in told if each.startswith(_BEGINS)), None)


def with_names(text: str, about: Mapping[str, Any]) -> str:
    """The text with the names that its commands leave open, and with the tool that knows the group.
    ``about``: the names of what is violated, by column (an incident, or ``names_of`` a verdict;
    ``GroupTypes.added``). What it does not name stays as the text has it.
    """
    group_type = about.get("group_type")
    text = _OF_GROUPS.sub(lambda command: of_group(command[0], group_type), text)
    return _BLANK.sub(lambda blank: _filled(blank[0], about), text)


def of_group(command: str, group_type: str | None) -> str:
    """A command of kafka-consumer-groups.sh as the tool for groups of this kind takes it."""
    tool = _TOOLS.get(group_type or "")
    if tool is None:
        return command
    if group_type == "streams":
        command = command.replace("--topic ", "--input-topic ")
        if command.endswith("--describe --group G"):  # which shows no committed offset there
            command = f"{command} --offsets --verbose"
    return command.replace("kafka-consumer-groups.sh", tool)


def _filled(blank: str, about: Mapping[str, Any]) -> str:
    first, *others = (about.get(column) for column in _BLANKS[blank])
    if first in (None, ""):
        return blank
    # an incident of several partitions names their topic alone
    blanks = blank.partition(":")[2].split(":")
    others = [left if name is None else name for name, left in zip(others, blanks, strict=False)]
    return shell.line(*shell.option(blank.partition(" ")[0], ":".join(map(str, [first, *others]))))


def names_of(verdict: Mapping[str, Any]) -> dict[str, Any]:
    """What a verdict (a row of ``marts.fct_invariant_verdicts``) names: in its scope and its evidence, and as
    the partition that it is about. The scope may be another one, the coordinator's log.
    """
    named = {**parsed(verdict["scope"]), **parsed(verdict["evidence"])}
    named |= {column: verdict[column] for column in ("topic", "partition")}
    return {name: value for name, value in named.items() if value is not None}


class Remedies:
    """The commands that end what some verdicts are about."""

    def __init__(self, reader: Reader, verdicts: Sequence[Mapping[str, Any]]) -> None:
        self._found: dict[tuple[str, ...], str] = {}
        named = [names_of(each) for each in verdicts]
        for table, key in _tables().items():
            wanted = {each[key[0]] for each in named if all(name in each for name in key)}
            if not wanted or not reader.has(table):
                continue
            for row in rows(reader.scan(table, ("cluster", *key, "remedy"), {key[0]: sorted(wanted)})):
                if row["remedy"]:
                    self._found[_key(row["cluster"], row, key)] = row["remedy"]

    def of(self, verdict: Mapping[str, Any]) -> str | None:
        """The command of a verdict, if there is one."""
        named = names_of(verdict)
        found = (self._found.get(_key(verdict["cluster"], named, key)) for key in _tables().values())
        return next(filter(None, found), None)


def _tables() -> dict[str, Sequence[str]]:
    return {table: key for protocol in protocols() for table, key in protocol.remedies.items()}


def _key(cluster: str, named: Mapping[str, Any], key: Sequence[str]) -> tuple[str, ...]:
    return (cluster, *(f"{name}={named.get(name)}" for name in key))
