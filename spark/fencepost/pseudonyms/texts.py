"""Replaces names inside texts that brokers and clients log.

A text is taken apart by the words that Kafka writes; what is between them is replaced. A text that Kafka does
not write may hold any name in any place, so it is left out.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from fencepost.pseudonyms.names import Pseudonyms

LEFT_OUT = "left out"
"""In place of a text in which names cannot be told from other words."""

_NO_INSTANCE = ("null", "None")
_IN_MEMBERS = re.compile(r"\A(?:Set\(|HashSet\(|List\(|\[|\{)|, |[)\]}]\Z")
_IN_ASSIGNMENTS = re.compile(
    r"\A\{|=Assignment\(partitions=\[(?:[\w.-]+-\d+(?:, )?)*\](?:, userDataSize=\d+)?\)(?:, |\}\Z)"
    r"|\{\}|\A\Z",
    re.ASCII,
)
_TASKS = r"\(\[[\w=, .-]*\]\)"
_PROCESS = re.compile(
    rf"(?P<process>[0-9a-f]{{8}}(?:-[0-9a-f]{{4}}){{3}}-[0-9a-f]{{12}})(?P<active>=\[activeTasks: {_TASKS} "
    rf"standbyTasks: {_TASKS} )(?:(?! changelogOffsetTotalsByTask: |=\[activeTasks: ).)*"
    rf"(?P<sums> changelogOffsetTotalsByTask: {_TASKS} taskLagTotals: {_TASKS})",
    re.DOTALL | re.ASCII,
)
_PATHS, _CLIENT = ("state.dir",), "client.id"
_BEHIND = re.compile(", (?:groupId|transactionalId)=")
_UP_TO_ERROR = re.compile(
    r"(.*?(?:due to|Error:) [\w.$]*|The broker returned [\w.$]*)"
    r"( for topic-partition [\w.-]+ with producerId -?\d+, epoch -?\d+, and sequence number -?\d+\Z)?",
    re.ASCII | re.DOTALL,
)

# in braces: M a member id, MS member ids, I a group.instance.id, R the reason of a client
_WORDS = {
    "{M}": "(?P<member>.+)",
    "{MS}": "(?P<members>.+)",
    "{I}": "(?P<instance>.+?)",
    "{R}": "(?P<reason>.*)",
}
_OF_COORDINATORS = (
    "Adding new member {M} with group instance id {I}; client reason: {R}",
    "Updating metadata for static member {M} with instance id {I}; client reason: {R}",
    r"Updating metadata for member {M} during \w+; client reason: {R}",
    r"Leader {M} re-joining group during \w+; client reason: {R}",
    "Group's selectedProtocol will change because static member {M} with instance id {I} joined with change "
    "of protocol; client reason: {R}",
    "[Rr]emoving member {M} on LeaveGroup; client reason: {R}",
    "[Rr]emoving member {M} on heartbeat expiration",
    r"explicit `LeaveGroup` request for \({MS}\) members",
    r"Error \w+ when storing group assignment during SyncGroup \(member: {M}\)",
    "Downgrade group migration from consumer to classic for member leaving",
    "the member session expired",
    r"it failed to transition from epoch -?\d+ within -?\d+ms",
)  # fmt: skip
"""GroupMetadataManager and GroupCoordinator, Kafka 3.9 to 4.4."""
_OF_CLIENTS = (
    "the consumer is being closed",
    "consumer pro-actively leaving the group",
    "group is already rebalancing",
    "not provided",
    "unknown reason",
    r"need to revoke partitions \[(?:[\w.-]+-\d+(?:, )?)*\] as indicated by the current assignment and "
    "re-join",
    "need to revoke partitions and re-join",
    r"triggered followup rebalance scheduled for -?\d+",
    r"rebalance failed due to \w+",
    r"rebalance failed due to '(?P<words>.*)' \(\w+\)",
    r"encountered \w+ from \w+ response",
    "need to re-join with the given member-id: {M}",
    r"consumer poll timeout has expired\.",
    "",
)
"""ConsumerCoordinator and AbstractCoordinator of the Java client, Kafka 3.9 to 4.4."""


def _compiled(words: tuple[str, ...]) -> tuple[re.Pattern[str], ...]:
    patterns = []
    for each in words:
        pattern = each
        for name, group in _WORDS.items():
            pattern = pattern.replace(name, group)
        patterns.append(re.compile(rf"{pattern}(?P<end>\.?)", re.DOTALL | re.ASCII))
    return tuple(patterns)


_COORDINATORS, _CLIENTS = _compiled(_OF_COORDINATORS), _compiled(_OF_CLIENTS)


def between(words: re.Pattern[str], text: str, replace: Callable[[str], str]) -> str:
    """A text in which all that is not one of ``words`` was replaced."""
    parts, at = [], 0
    for word in words.finditer(text):
        if word.start() > at:
            parts.append(replace(text[at : word.start()]))
        parts.append(word[0])
        at = word.end()
    return "".join([*parts, replace(text[at:]) if at < len(text) else ""])


def members(pseudonyms: Pseudonyms, text: str) -> str:
    """Member ids in brackets, as Scala or Java prints a collection."""
    return between(_IN_MEMBERS, text, pseudonyms.member)


def assignments(pseudonyms: Pseudonyms, text: str) -> str:
    """A map of member ids to assignments: ``{member=Assignment(partitions=[...]), ...}``."""
    return between(_IN_ASSIGNMENTS, text, pseudonyms.member)


def reason(pseudonyms: Pseudonyms, text: str) -> str:
    """A reason in the words of Kafka's coordinators or of the Java client."""
    for pattern in (*_COORDINATORS, *_CLIENTS):
        if match := pattern.fullmatch(text):
            break
    else:
        return LEFT_OUT
    replaced: dict[str, Callable[[str], str]] = {
        "member": pseudonyms.member,
        "members": lambda ids: members(pseudonyms, ids),
        "instance": lambda name: name if name in _NO_INSTANCE else pseudonyms.client(name),
        "reason": lambda sent: reason(pseudonyms, sent),
        "words": lambda _: LEFT_OUT,
    }
    parts, at = [], 0
    for name in sorted(pattern.groupindex, key=match.start):
        if name in replaced:
            parts += [text[at : match.start(name)], replaced[name](match[name])]
            at = match.end(name)
    return "".join([*parts, text[at:]])


def message(text: str) -> str:
    """What a producer logged, up to the class or the name of its error."""
    match = _UP_TO_ERROR.match(text)
    return text if match is None else match[0]


def behind_client(text: str) -> str | None:
    """A group or transactional id that was logged behind a client.id; None if it may begin with a part of
    that, which then has the words between them.
    """
    return None if _BEHIND.search(text) else text


def settings(pseudonyms: Pseudonyms, text: str) -> str | None:
    """The settings of Kafka Streams that bronze keeps: a JSON object of texts."""
    try:
        named = json.loads(text)
    except ValueError:
        return None
    for name, value in named.items():
        if name == _CLIENT:
            named[name] = pseudonyms.client(value)
        elif name in _PATHS:
            named[name] = pseudonyms.path(value)
    return json.dumps(named, sort_keys=True)


def processes(text: str) -> str:
    """A leader's decision, without what ClientState prints between its tasks and their sums."""
    told = (f"{each['process']}{each['active']}{each['sums']}]" for each in _PROCESS.finditer(text))
    return "{" + ", ".join(told) + "}"
