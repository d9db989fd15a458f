"""What is wrong with the times of a broker's request log, in words, with the time zone that would fit."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta, tzinfo
from zoneinfo import available_timezones

from fencepost.formats.clock import zone_of
from fencepost.report.episodes import Row
from fencepost.tables.clocks import (
    DATED_BY_OTHERS,
    LINES_MISSING,
    OTHER_CLOCK,
    OTHER_LOG,
    RECORDS_LOST,
    WENT_BACK,
    WHOLE_SECONDS,
)
from fencepost.words import as_utc, counted, listed, time_of

CLOCKS = "marts.fct_request_clocks"
_QUARTER = timedelta(minutes=15)
_INEXACT = timedelta(seconds=30)
"""Zones differ by quarters of an hour. A difference further from a quarter than this has another cause."""
_MOST = timedelta(hours=15)
_MANY = 4
_FEW = 20
"""An offset that fewer than one in so many requests have is of requests that were matched by mistake."""
_COMMON = (
    "Europe/Berlin", "Europe/London", "Europe/Helsinki", "America/New_York", "America/Chicago",
    "America/Denver", "America/Los_Angeles", "America/Sao_Paulo", "Asia/Kolkata", "Asia/Shanghai",
    "Asia/Tokyo", "Asia/Singapore", "Asia/Dubai", "Australia/Sydney",
)  # fmt: skip
"""Of the zones that fit, one of these is named rather than another."""
_AREAS = ("Africa/", "America/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")
_LONG = timedelta(seconds=2)
"""Lines are seldom later: if times go back so far, the broker's clock was set back."""
_BLIND = (OTHER_CLOCK, OTHER_LOG)
_INEXACT_TIMES = {
    DATED_BY_OTHERS: (
        "the times at which a program collected its lines, not the broker's: a request may have come in the "
        "minute before",
        "Give the lines with the times that the broker wrote.",
    ),
    WHOLE_SECONDS: (
        "times of whole seconds: a request may have come at any moment of its second",
        "Log milliseconds, as Kafka's own pattern [%d] %p %m (%c)%n does.",
    ),
}
"""What lines of such a log tell, and what to do."""

Offset = tuple[datetime, timedelta]
"""A moment, and how far local time was from UTC then."""


def brokers_with_another_clock(rows: Iterable[Row]) -> set[int]:
    """The brokers of which so many requests differ by the same that it is no coincidence, or so many have no
    records.
    """
    alike: Counter[tuple[int, int | None]] = Counter()
    for row in rows:
        if row["finding"] in _BLIND:
            ahead_ms = row["ahead_ms"]
            quarter = None if ahead_ms is None else round(timedelta(milliseconds=ahead_ms) / _QUARTER)
            alike[row["broker_id"], quarter] += row["requests"]
    return {broker for (broker, _), requests in alike.items() if requests >= _MANY}


def clock_sentences(
    rows: Iterable[Row], zones: Mapping[int, str], read: Mapping[int, str] | None = None
) -> list[str]:
    """What ``rows`` of CLOCKS say, all of one cluster: a sentence for all brokers with the same fault.
    ``zones``: the zones that are configured, by broker; ``read``: those in which the audit read the logs, if
    they are known.
    """
    by_broker: dict[str, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        # so short a time matters to single verdicts, which say so
        if row["finding"] != WENT_BACK or row["last_at"] - row["first_at"] >= _LONG:
            by_broker[row["finding"]][row["broker_id"]].append(row)
    told: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for finding in (RECORDS_LOST, LINES_MISSING, OTHER_LOG, OTHER_CLOCK, *_INEXACT_TIMES, WENT_BACK):
        for broker, of in sorted(by_broker[finding].items()):
            zone = zones.get(broker, "UTC")
            sentence, alike = _fault(finding, broker, of, zone, (read or {}).get(broker))
            told[alike].append((broker, sentence))
    return [f"{each[0][1]}{_others([broker for broker, _ in each[1:]])}" for each in told.values()]


def _others(brokers: Sequence[int]) -> str:
    if not brokers:
        return ""
    return f" The same is true of broker{'s' if len(brokers) > 1 else ''} {listed(map(str, brokers))}."


def _fault(finding: str, broker: int, rows: Sequence[Row], zone: str, read: str | None) -> tuple[str, str]:
    """What is wrong with the log of a broker, and a text that is the same for all with the same fault."""
    if finding == OTHER_LOG:
        return _of_another_log(broker, rows), finding
    if finding == OTHER_CLOCK:
        return _of_another_clock(broker, rows, zone, read)
    if finding == WENT_BACK:
        return _of_times_that_went_back(broker, rows)
    if finding == RECORDS_LOST:
        return _of_lost_records(broker, rows)
    if finding == LINES_MISSING:
        return _of_times_without_lines(broker, rows)
    fault, remedy = _INEXACT_TIMES[finding]
    sentence = (
        f"The request log of broker {broker} has {fault}. Where it may have met either of two states, its "
        f"verdict is unknown. {remedy}"
    )
    return sentence, finding


def _of_times_that_went_back(broker: int, rows: Sequence[Row]) -> tuple[str, str]:
    times, more = _times(rows)
    text = f"the time {times} passed twice{more}. The order of times there tells nothing."
    return f"The clock of broker {broker} was set back while it ran: {text}", text


def _of_times_without_lines(broker: int, rows: Sequence[Row]) -> tuple[str, str]:
    times, more = _times(rows)
    text = (
        f"has no line {times}{more}, although clients sent requests then: their correlation ids go on after "
        "it. Its logger was switched off, or a part of it is missing. What was asked then is in no mart, and "
        "nothing that rests on request logs counts as holding. Give the missing files, or switch the logger "
        "on for good (docs/request_log.md)."
    )
    return f"The request log of broker {broker} {text}", text


def _of_lost_records(broker: int, rows: Sequence[Row]) -> tuple[str, str]:
    first, last = min(row["first_at"] for row in rows), max(row["last_at"] for row in rows)
    requests = sum(row["requests"] for row in rows)
    text = (
        f"accepted from {time_of(first)} to {time_of(last)} is gone: "
        f"{counted(requests, 'accepted request has', 'accepted requests have')} no record, and the logs of "
        "coordinators go on without them. Its disk was restored from an older copy, lost what was not "
        "flushed, or an unclean election took them. What the coordinators knew then is unknown, and records "
        "of that time may be gone, too."
    )
    return f"What broker {broker} {text}", text


def _times(rows: Sequence[Row]) -> tuple[str, str]:
    """The first of the times that rows are about, and that there are more."""
    first = min(rows, key=lambda row: row["first_at"])
    more = f", and {counted(len(rows) - 1, 'later time')}" if len(rows) > 1 else ""
    return f"from {time_of(first['first_at'])} to {time_of(first['last_at'])}", more


def _of_another_log(broker: int, rows: Sequence[Row]) -> str:
    requests = sum(row["requests"] for row in rows)
    shown = counted(requests, "accepted request names", "accepted requests name")
    return (
        f"The request log of broker {broker} does not belong to its records: {shown} groups, members, ids, "
        "epochs or topics of which no record of that time tells, so nothing that rests on the log is judged. "
        "It is the log of another broker or cluster, or a program has replaced names or numbers in it: give "
        "the log as the broker wrote it."
    )


def _of_another_clock(broker: int, rows: Sequence[Row], zone: str, read: str | None) -> tuple[str, str]:
    requests = sum(row["requests"] for row in rows)
    apart: Counter[int] = Counter()
    for row in rows:
        # by the second, which is how exactly it can be told
        apart[round(row["ahead_ms"] / 1000)] += row["requests"]
    ahead = timedelta(seconds=apart.most_common(1)[0][0]) or timedelta(milliseconds=rows[0]["ahead_ms"])
    difference = f"{_length(abs(ahead))} {'ahead of' if ahead > timedelta() else 'behind'}"
    if read in (None, zone):
        remedy = _remedy(rows, zone)
    else:
        remedy = (
            f'It was read with timezone = "{read}", and that is "{zone}" now: the next audit reads it again.'
        )
    shown = counted(requests, "request shows", "requests show")
    sentence = (
        f"The request log of broker {broker} is {difference} its records, as {shown}, so "
        f"no request of it can be placed in time. {remedy}"
    )
    return sentence, f"{difference} {remedy}"


def _remedy(rows: Sequence[Row], zone: str) -> str:
    offsets = _offsets(rows, zone)
    if offsets is None:
        return (
            "No time zone is so far from its own: its lines must have the times that the broker wrote, not "
            "those of a program that collects them."
        )
    named = next(_fitting(offsets), None)
    fixed = {offset for _, offset in offsets}
    if len(fixed) == 1:
        example = f' (or the name of its zone, such as "{named}", if that has summer time)' if named else ""
        return f'Set timezone = "{_name(*fixed)}" for it{example}: it is "{zone}" now.'
    if named is None:
        return f'Its files are of several time zones: configure those of one. Its timezone is "{zone}" now.'
    return f'Set timezone = "{named}" for it, or another zone with the same summer time: it is "{zone}" now.'


def _offsets(rows: Sequence[Row], zone: str) -> list[Offset] | None:
    """When the log's local time was how far from UTC; None if no time zone is so."""
    configured, requests = zone_of(zone), sum(row["requests"] for row in rows)
    counts: Counter[timedelta] = Counter()
    found = []
    for row in rows:
        ahead, at = timedelta(milliseconds=row["ahead_ms"]), as_utc(row["first_at"])
        offset = _at(configured, at + ahead) + ahead
        rounded = round(offset / _QUARTER) * _QUARTER
        is_configured = rounded == _at(configured, at + ahead)
        if abs(offset - rounded) > _INEXACT or abs(rounded) > _MOST or is_configured:
            return None
        counts[rounded] += row["requests"]
        found.append((at, rounded))
    return [(at, offset) for at, offset in found if counts[offset] * _FEW >= requests]


def _fitting(offsets: Sequence[Offset]) -> Iterator[str]:
    """The names of the zones in which local time was so, common ones first."""
    others = sorted(name for name in available_timezones() if name.startswith(_AREAS))
    for name in (*_COMMON, *others):
        zone = zone_of(name)
        if all(_at(zone, at) == offset for at, offset in offsets):
            yield name


def _at(zone: tzinfo, moment: datetime) -> timedelta:
    """How far a zone's local time is from UTC at a moment."""
    return moment.astimezone(zone).utcoffset() or timedelta()


def _name(offset: timedelta) -> str:
    """An offset as the key ``timezone`` has it."""
    minutes = int(abs(offset).total_seconds()) // 60
    return f"{'-' if offset < timedelta() else '+'}{minutes // 60:02}:{minutes % 60:02}" if minutes else "UTC"


def _length(time: timedelta) -> str:
    """A length of time in its two largest units."""
    seconds = int(time.total_seconds())
    if not seconds:
        return "less than a second"
    if seconds < 60:
        return f"{seconds} s"
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{minutes} min {rest} s" if rest else f"{minutes} min"
