"""What a protocol brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fencepost.formats.request_log import Keep
from fencepost.tables import Table

if TYPE_CHECKING:
    import datetime as dt
    from argparse import ArgumentParser, Namespace

    import pyarrow as pa

    from fencepost.capture.kinds import Kind
    from fencepost.engines import Rows
    from fencepost.reading import Reader
    from fencepost.replay.evidence import Evidence

Verdict = Mapping[str, Any]
"""A row of ``marts.fct_invariant_verdicts``."""


@dataclass(frozen=True)
class Explanation:
    """What a verdict is about, in the protocol's own words: one or two sentences, and where it was read."""

    sentence: str
    file: str
    position: int


@dataclass(frozen=True)
class Plot:
    """Something that ``fencepost plot`` draws: it is asked for by its name, after ``option`` if there is one.

    ``read`` takes an open lake, the name, the cluster (or None), and from when to when (or None); ``draw``
    what was read and the kind of picture (svg, png), and gives the picture and what it shows in a few words.
    """

    option: str | None
    metavar: str
    words: str
    read: Callable[[Reader, str, str | None, dt.datetime | None, dt.datetime | None], Any]
    draw: Callable[[Any, str], tuple[bytes, str]]


@dataclass(frozen=True)
class SqlFunction:
    """A function that queries of the lake may call, in DuckDB and in Spark.

    ``call`` takes a value for each of ``parameters`` and gives one of ``returns`` (Spark's types: int,
    binary); a ValueError ends the query with its message. Where an argument is null, so is the result.
    """

    name: str
    call: Callable[..., Any]
    parameters: tuple[str, ...]
    returns: str


@dataclass(frozen=True)
class Command:
    """A command of ``fencepost`` that reads the lake.

    ``options`` adds its arguments to a parser. ``run`` takes an open lake and the arguments, and gives rows
    to print and whether they are as they should be: the exit code. It raises UsageError for bad input.
    """

    name: str
    words: str
    options: Callable[[ArgumentParser], None]
    run: Callable[[Reader, Namespace], tuple[pa.Table, bool]]


class UsageError(Exception):
    """The command cannot be carried out as asked; the message says what to change."""


def no_kinds() -> tuple[Kind, ...]:
    """Only the evidence that all protocols share is read."""
    return ()


def no_explanations(_: Reader, verdicts: Sequence[Verdict]) -> dict[str, Explanation]:
    """There is nothing to say of a verdict beyond its values."""
    return {}


def no_names(_: Reader) -> dict[str, str]:
    """No id has a name."""
    return {}


def no_report(_: Reader) -> Callable[[str], list[str]]:
    """There is nothing to report of a cluster beyond its verdicts."""
    return lambda cluster: []


@dataclass(frozen=True)
class Protocol:
    """One protocol. Functions import what they need when they are called: a command needs few of them.

    ``name`` is that of its folders, ``package`` its folder of code. ``tables`` are those of silver, which
    ``rebuild`` gives, by name; ``handed_down`` are tables that it gives beside them, which the next chapter's
    rebuild is told (``Evidence.before``). ``requests`` says which lines of the request logs are kept, by
    Kafka's name of the API; ``kinds`` which evidence is read that no other protocol needs, into the tables
    ``bronze``. ``report`` reads the marts once and gives the lines of each cluster; ``explain`` says
    what verdicts are about, by their ids; ``names`` what ids of topics are called. ``shown`` are the columns
    of evidence that a sentence about a finding names, in their order.
    """

    name: str
    package: Path
    tables: tuple[Table, ...]
    rebuild: Callable[[Evidence], Mapping[str, Rows]]
    handed_down: tuple[Table, ...] = ()
    requests: Mapping[str, Keep] = field(default_factory=dict)
    kinds: Callable[[], tuple[Kind, ...]] = no_kinds
    bronze: tuple[Table, ...] = ()
    report: Callable[[Reader], Callable[[str], list[str]]] = no_report
    explain: Callable[[Reader, Sequence[Verdict]], Mapping[str, Explanation]] = no_explanations
    names: Callable[[Reader], Mapping[str, str]] = no_names
    shown: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()
    functions: tuple[SqlFunction, ...] = ()
    commands: tuple[Command, ...] = ()

    @property
    def compiled(self) -> Path:
        """The folder of what ``tlasql compile`` made of its specification."""
        return self.package / "compiled"
