"""The parts of a protocol: what its folder defines for capture, rebuild, reports, plots and commands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from fencepost.formats.request_log import Keep
from fencepost.tables import Table

if TYPE_CHECKING:
    import datetime as dt
    from argparse import ArgumentParser, Namespace

    import pyarrow as pa

    from fencepost.capture.kinds import Kind
    from fencepost.engines import Rows
    from fencepost.reading import Reader, SqlFunction
    from fencepost.replay.evidence import Evidence
    from fencepost.replay.group_coordinator.group_replays import GroupReplay

Verdict = Mapping[str, Any]
"""A row of ``marts.fct_invariant_verdicts``."""


@dataclass(frozen=True)
class Explanation:
    """An explanation of a verdict in the protocol's terms: one or two sentences, and the line of a request
    log on which it rests, if it rests on one.
    """

    sentence: str
    file: str | None = None
    position: int | None = None


@dataclass(frozen=True)
class Plot:
    """A kind of picture that ``fencepost plot`` draws, of the entity whose name follows ``option`` (if any).
    ``column``: the column of ``marts.fct_incidents`` that has such names.

    ``read`` takes an open lake, the name, the cluster (or None), and the first and the last time (or None),
    and returns the rows. ``draw`` takes these and the kind of picture (svg, png), and returns the picture
    and its findings in a few words.
    """

    option: str | None
    metavar: str
    words: str
    column: str
    read: Callable[[Reader, str, str | None, dt.datetime | None, dt.datetime | None], Any]
    draw: Callable[[Any, str], tuple[bytes, str]]


@dataclass(frozen=True)
class Context:
    """A table of silver with the states of something, for the page of an incident: those around a verdict are
    shown. ``words``: what it is a state of; ``of``: the columns that say whose state a row is, which
    ``marts.fct_incident_verdicts`` has, too; ``shown``: the columns that are shown.
    """

    table: str
    words: str
    of: tuple[str, ...]
    shown: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command of ``fencepost`` that reads the lake.

    ``options`` adds its arguments to a parser. ``run`` takes an open lake and the arguments, and returns
    rows to print, whether nothing is wrong, which decides the exit code, and a sentence about the rows, or
    None. It raises UsageError for bad input.
    """

    name: str
    words: str
    options: Callable[[ArgumentParser], None]
    run: Callable[[Reader, Namespace], tuple[pa.Table, bool, str | None]]


@dataclass(frozen=True)
class Later:
    """The function ``module:name``, or one that returns the value of this name. Its module is imported when
    it is called: a command calls few of them.
    """

    name: str

    def __call__(self, *arguments: Any) -> Any:
        found = resolve_name(self.name)
        return found(*arguments) if callable(found) else found


class UsageError(Exception):
    """The command cannot be run with these arguments; the message says what to change."""


def no_kinds() -> tuple[Kind, ...]:
    """For a protocol that needs only the evidence that all protocols share."""
    return ()


def no_explanations(_: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """For a protocol whose verdicts have no explanations beside their values."""
    return {}


def no_names(_: Reader) -> dict[str, str]:
    """For a protocol that knows no names of topic ids."""
    return {}


def no_report(_: Reader) -> Callable[[str], list[str]]:
    """For a protocol that reports nothing beside verdicts."""
    return lambda cluster: []


@dataclass(frozen=True)
class Protocol:
    """One protocol. Its functions are imported when they are called (:class:`Later`).

    ``name`` is the name of its folders. ``rebuild`` returns the rows of ``tables`` (silver) by table name,
    and those of ``states``: what is known of logs and clients when the chapter ends. The next chapter's
    rebuild begins with these (``Evidence.state``), the first one with none. ``group_replay``: its replay of
    group coordinators' logs, which are spread once for all protocols. ``requests``: which lines of the
    request logs are kept, by Kafka's name of the API. ``kinds``: the kinds of evidence that only this
    protocol reads, into the tables ``bronze``. ``rests_on``: the evidence that its verdicts rest on beside
    its own kinds, as kinds of logs in text and as topics whose segments it reads; None for all that protocols
    share. While some of it is missing, no definition of the protocol counts as holding. ``unlogged``: tables
    of silver with a row for each change that a request made and of which the request log has no line,
    although it has earlier and later ones; they show that lines are missing, which concerns all protocols
    that rest on request logs. ``clocks``: tables of silver that say by how much request logs have another
    clock than records (``tables.clocks``). ``report`` reads the marts once and returns a function for the
    lines about one cluster. ``explain`` returns explanations of verdicts by their ids, ``names`` the names of
    topic ids. ``shown``: the columns of evidence that a sentence about a finding contains, in this order.
    ``context``: what the page of an incident shows of the time around it. ``remedies``: marts with a
    command in the column ``remedy``, and the columns of a verdict's scope and evidence that tell its row.
    ``follows``: invariants that are violated when what violated another one has ended, and the other one:
    who was told of that is not told again.
    """

    name: str
    tables: tuple[Table, ...]
    rebuild: Callable[[Evidence], Mapping[str, Rows]]
    states: tuple[Table, ...] = ()
    group_replay: Callable[[], GroupReplay] | None = None
    requests: Mapping[str, Keep] = field(default_factory=dict)
    kinds: Callable[[], tuple[Kind, ...]] = no_kinds
    bronze: tuple[Table, ...] = ()
    rests_on: frozenset[str] | None = None
    unlogged: tuple[Table, ...] = ()
    clocks: tuple[Table, ...] = ()
    report: Callable[[Reader], Callable[[str], list[str]]] = no_report
    explain: Callable[[Reader, Sequence[Verdict]], Mapping[str, Explanation]] = no_explanations
    names: Callable[[Reader], Mapping[str, str]] = no_names
    shown: tuple[str, ...] = ()
    context: tuple[Context, ...] = ()
    remedies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    follows: Mapping[str, str] = field(default_factory=dict)
    plots: tuple[Plot, ...] = ()
    functions: tuple[SqlFunction, ...] = ()
    commands: tuple[Command, ...] = ()
