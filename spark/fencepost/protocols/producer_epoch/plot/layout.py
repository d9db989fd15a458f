"""What the timeline of a transactional id shows, before it is drawn: epochs, transactions, lanes of clients.

Times are days since 1970, as Matplotlib counts them; heights are within a lane of height 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from fencepost.plots.layout import Kind, Lane, Run, Scale, clean, days, ends, extent, kept, word
from fencepost.protocols.producer_epoch.plot.reading import ProducerTimeline
from fencepost.words import counted

# Why an epoch began, from the least to the most remarkable, which is drawn last.
CAUSES = (
    Kind("end_txn", "bumped by EndTxn", "o", "#56B4E9", "none", 14),
    Kind("unknown", "begun, cause unknown", "o", "none", "#666666", 24),
    Kind("client_bump", "bumped by the client itself", "D", "#009E73", "white", 34, "bumped itself"),
    Kind("operator", "bumped by an operator", "s", "#CC79A7", "white", 38, "operator"),
    Kind("timeout", "bumped by a timeout", "v", "#E69F00", "black", 50, "timeout"),
    Kind("new_instance", "bumped by a new instance", "^", "#0072B2", "white", 56, "new instance"),
)
FENCED = Kind("fenced", "REQUEST FENCED", "X", "#D55E00", "black", 80, "fenced")
WAITED = Kind("waited", "CONCURRENT_TRANSACTIONS for a second or more", "d", "#F0E442", "#8A7F00", 40)
ENDED = Kind("ended", "forgotten by the coordinator", "p", "#22303C", "white", 40)
MARKS = (*CAUSES, ENDED, WAITED, FENCED)
OUTCOMES = {"committed": "#7FC4E8", "aborted": "#E69F00", "open": "#F0E442", "unknown": "#C3C9CE"}
# Above these many lanes, those with the least to show are left out, and the picture says so.
MOST_CLIENTS, MOST_DANGLING = 24, 12
_COORDINATOR, _NOBODY = "(the coordinator)", "(client not known)"


@dataclass(frozen=True)
class Span:
    """A stretch of time and its kind: the cause of an epoch, or the outcome of a transaction."""

    run: Run
    kind: str


@dataclass(frozen=True)
class ClientLane(Lane):
    """The lane of a client that bumped the epoch or was fenced; marks name it by its number, ``key``."""

    key: int


@dataclass(frozen=True)
class DanglingLane(Lane):
    """The lane of a dangling transaction in one partition."""

    start: float


@dataclass(frozen=True)
class ProducerLayout:
    """The picture: ``epochs`` and ``transactions`` as spans, ``producers`` (when each producer id began),
    ``marks`` (key, at, epoch, kind) in the lanes of ``clients``, ``dangling``.

    ``counts`` are of everything, by kind; ``left_out`` the numbers of clients and of dangling transactions
    that are not shown.
    """

    start: float
    end: float
    scale: Scale
    epochs: tuple[Span, ...]
    producers: tuple[tuple[float, int], ...]
    transactions: tuple[Span, ...]
    marks: pd.DataFrame
    clients: tuple[ClientLane, ...]
    dangling: tuple[DanglingLane, ...]
    counts: dict[str, int]
    left_out: tuple[int, int]


def arrange(timeline: ProducerTimeline) -> ProducerLayout:
    """The timeline as it will be drawn."""
    epochs, transactions, fencings = timeline.epochs, timeline.transactions, timeline.fencings
    spans = (epochs["from_time"], epochs["to_time"], transactions["started_at"], transactions["ended_at"])
    waited, ended = _waited(timeline.waits), _ended(timeline.ends)
    moments = (fencings["occurred_at"], timeline.dangling["since"])
    start, end = extent((*spans, *moments), timeline.start, timeline.end)
    each = [_bumps(epochs), _fenced(fencings), waited, ended]
    marks, clients = _numbered(pd.concat([rows for rows in each if len(rows)] or each, ignore_index=True))
    lanes = _lanes_that_fit(clients, marks)
    dangling = [_dangling(row) for row in timeline.dangling.to_dict("records")]
    outcomes = transactions.assign(outcome=word(transactions["outcome"]))
    return ProducerLayout(
        start,
        end,
        _scale(marks["epoch"]),
        _spans(epochs, ("from_time", "to_time", "producer_epoch"), word(epochs["cause"]), end),
        _producers(epochs),
        _spans(outcomes, ("started_at", "ended_at", "transactions"), outcomes["outcome"], end),
        marks[marks["key"].isin([lane.key for lane in lanes])],
        tuple(lanes),
        tuple(dangling[:MOST_DANGLING]),
        {
            **_sums(marks, "kind", "count"),
            **{
                f"transaction {word}": count
                for word, count in _sums(outcomes, "outcome", "transactions").items()
            },
            "dangling": len(dangling),
        },
        (len(clients) - len(lanes), max(0, len(dangling) - MOST_DANGLING)),
    )


def findings(counts: dict[str, int]) -> str:
    """The counts in words, in one line."""
    outcomes = {word: counts.get(f"transaction {word}", 0) for word in OUTCOMES}
    outcomes_in_words = ", ".join(f"{number:,} {word}" for word, number in outcomes.items() if number)
    begun = counted(sum(outcomes.values()), "transaction")
    parts = (
        counted(sum(counts.get(kind.name, 0) for kind in CAUSES), "epoch"),
        f"{begun} ({outcomes_in_words})" if outcomes_in_words else begun,
        f"{counted(counts.get(FENCED.name, 0), 'request')} fenced",
        f"{counts['dangling']:,} dangling",
    )
    return ", ".join(parts)


def _sums(rows: pd.DataFrame, by: str, count: str) -> dict[str, int]:
    return {str(key): int(number) for key, number in rows.groupby(by)[count].sum().items()}


def _spans(
    rows: pd.DataFrame, columns: tuple[str, str, str], kinds: pd.Series, end: float
) -> tuple[Span, ...]:
    """Rows as spans, by the columns of begin, end and value; an open one lasts to the end of the picture."""
    begun, ended, value = columns
    starts = days(rows[begun])
    return tuple(
        Span(Run(float(start), float(stop), None if pd.isna(number) else float(number)), str(kind))
        for start, stop, number, kind in zip(
            starts, ends(starts, rows[ended], end), rows[value], kinds, strict=True
        )
    )


def _producers(epochs: pd.DataFrame) -> tuple[tuple[float, int], ...]:
    """When each producer id began, in order."""
    with_epoch = epochs[epochs["producer_id"].notna()]
    changes = with_epoch[with_epoch["producer_id"] != with_epoch["producer_id"].shift()]
    return tuple(
        (float(at), int(producer))
        for at, producer in zip(days(changes["from_time"]), changes["producer_id"], strict=True)
    )


def _bumps(epochs: pd.DataFrame) -> pd.DataFrame:
    with_epoch = epochs[epochs["producer_epoch"].notna()]
    return pd.DataFrame(
        {
            "who": [
                _who(client, _COORDINATOR if cause == "timeout" else _NOBODY)
                for client, cause in zip(with_epoch["client_id"], with_epoch["cause"], strict=True)
            ],
            "at": days(with_epoch["from_time"]),
            "epoch": with_epoch["producer_epoch"].astype("float64"),
            "kind": word(with_epoch["cause"]),
            "count": with_epoch["epochs"],
        }
    )


def _fenced(fencings: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "who": [_who(client, _NOBODY) for client in fencings["client_id"]],
            "at": days(fencings["occurred_at"]),
            "epoch": fencings["victim_epoch"].astype("float64").fillna(-1),
            "kind": FENCED.name,
            "label": [
                "fenced" if pd.isna(epoch) else f"epoch {epoch:.0f} fenced"
                for epoch in fencings["victim_epoch"]
            ],
            "count": fencings["fencings"],
        }
    )


def _waited(waits: pd.DataFrame | None) -> pd.DataFrame:
    if waits is None or waits.empty:
        return pd.DataFrame()
    told = zip(waits["waited_ms"], waits["waited_for"], strict=True)
    return pd.DataFrame(
        {
            "who": [_who(client, _NOBODY) for client in waits["client_id"]],
            "at": days(waits["began_at"]),
            "epoch": waits["producer_epoch"].astype("float64").fillna(-1),
            "kind": WAITED.name,
            "label": [f"waits {ms / 1000:,.3g} s: {str(what).replace('_', ' ')}" for ms, what in told],
            "count": 1,
        }
    )


def _ended(ends: pd.DataFrame | None) -> pd.DataFrame:
    if ends is None or ends.empty:
        return pd.DataFrame()
    return pd.DataFrame(
        {
            "who": [_who(None, _COORDINATOR)] * len(ends),
            "at": days(ends["ended_at"]),
            "epoch": ends["producer_epoch"].astype("float64").fillna(-1),
            "kind": ENDED.name,
            "label": [str(why).replace("_", " ") for why in ends["ended_by"]],
            "count": 1,
        }
    )


def _who(client: str | None, else_: str) -> tuple[bool, str]:
    """Who it was, and whether that is a client id: a client id may be equal to one of our own words."""
    return (True, client) if isinstance(client, str) else (False, else_)


def _numbered(marks: pd.DataFrame) -> tuple[pd.DataFrame, list[ClientLane]]:
    """Marks with the ``key`` of their lane, and the lanes in the order of first appearance."""
    # keys are numbers: pandas takes strings that differ only behind a NUL for the same
    keys: dict[tuple[bool, str], int] = {}
    for _, who in sorted(zip(marks["at"], marks["who"], strict=True)):
        keys.setdefault(who, len(keys))
    marks = marks.assign(key=[keys[who] for who in marks["who"]])
    is_bump, is_fenced = marks["kind"].isin([kind.name for kind in CAUSES]), marks["kind"] == FENCED.name
    is_wait = marks["kind"] == WAITED.name
    bumps, refused, waits = (
        marks[which].groupby("key")["count"].sum() for which in (is_bump, is_fenced, is_wait)
    )
    lanes = [
        ClientLane(
            (clean(name, 27) or "(no client id)") if is_client else name,
            f"{counted(int(bumps.get(key, 0)), 'epoch')}, {int(refused.get(key, 0)):,} fenced"
            + (f", {counted(int(waits[key]), 'wait')}" if key in waits else ""),
            key,
        )
        for (is_client, name), key in keys.items()
    ]
    return marks, lanes


def _lanes_that_fit(clients: list[ClientLane], marks: pd.DataFrame) -> list[ClientLane]:
    """As many lanes as fit, those with the most remarkable marks first; their order stays."""
    rank = {kind.name: number for number, kind in enumerate(MARKS)}
    worst = marks["kind"].map(rank).groupby(marks["key"]).max().to_dict()
    count = marks.groupby("key")["count"].sum().to_dict()
    return kept(clients, MOST_CLIENTS, lambda lane: (-worst[lane.key], -count[lane.key], lane.key))


def _dangling(row: dict[str, object]) -> DanglingLane:
    name = clean(f"{row['topic']}-{row['partition']}", 27)
    since = pd.Series([row["since"]], dtype="datetime64[us]")
    return DanglingLane(name, f"dangling from offset {row['first_offset']}", float(days(since)[0]))


def _scale(epochs: Sequence[float] | pd.Series) -> Scale:
    with_epoch = [epoch for epoch in epochs if epoch >= 0]
    return Scale(min(with_epoch, default=0), max(with_epoch, default=0))
