"""Examines the end of each broker's request log: whether it is written, what it holds, and by which clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import NamedTuple

from fencepost.capture.files import modified, opened, size
from fencepost.capture.identities import cluster_id_of
from fencepost.capture.text import matching
from fencepost.doctor.checks import Check, Mark
from fencepost.doctor.evidence import heading
from fencepost.doctor.log_kinds import REQUESTS, is_in_unknown_layout, kinds_of_file, newest, programs
from fencepost.formats.clock import LogClock, zone_of
from fencepost.formats.envelopes import lines
from fencepost.formats.request_layouts import moment, placed
from fencepost.formats.request_log import answered_clusters, api_name, has_follower
from fencepost.settings import Broker, Settings
from fencepost.words import counted

_TAIL_BYTES = 1 << 20
_QUARTER, _INEXACT = timedelta(minutes=15), timedelta(seconds=30)
_WEST, _EAST = timedelta(hours=-12), timedelta(hours=14)
_SILENT = timedelta(hours=1)
_SHOWN = 6
_ANOTHERS = (
    "correct id, or request_logs: they name another broker's log (unless the advertised listeners of others "
    "lead to this one)"
)
_SWITCH_ON = "switch on DEBUG on kafka.request.logger, or correct request_logs"


class _Tail(NamedTuple):
    """The last requests of a file: their APIs, when the newest was logged, whether all were at whole seconds,
    whether the broker fetches in it as a follower, and the ids of the clusters that brokers say they are of;
    ``fault``: why a line cannot be read.
    """

    apis: Counter[str]
    newest: datetime | None
    in_seconds: bool
    is_anothers: bool
    clusters: set[str]
    fault: str | None


def request_log_checks(settings: Settings, now: datetime) -> Iterator[Check]:
    """Checks of the newest file of each broker's request log; ``now`` tells whether it is still written."""
    for cluster in settings.clusters:
        cluster_id = cluster_id_of(cluster)
        for broker in cluster.brokers:
            file = newest(file for pattern in broker.request_logs for file in matching(pattern))
            if file and _may_be_one(file):
                yield from _of_log(heading(cluster, broker), broker, file, now, cluster_id)


def _may_be_one(file: str) -> bool:
    """Whether nothing tells that a file is no request log of one broker. Which other log it is, whose it is,
    and that no line of it can be read, are checks of their own.
    """
    kinds = kinds_of_file(file)
    is_another = REQUESTS not in kinds and (kinds or is_in_unknown_layout(file))
    return not is_another and len(programs(file)) < 2


def _of_log(of: str, broker: Broker, file: str, now: datetime, cluster_id: str | None) -> Iterator[Check]:
    tail = _read(file, broker)
    if tail.newest is None and tail.fault is not None:
        says = f"{file}: of the requests in its end none can be read: {tail.fault}"
        yield Check(of, Mark.WRONG, says, "docs/operating.md, Layouts, says what is read")
        return
    if tail.newest is None:
        yield Check(of, Mark.WRONG, f"{file}: its end has no line of a request", _SWITCH_ON)
        return
    last = counted(tail.apis.total(), "request")
    common = ", ".join(f"{name} {count:,}" for name, count in tail.apis.most_common(_SHOWN))
    yield Check(of, Mark.GOOD, f"request log: the last {last}: {common}")
    others = sorted(tail.clusters - {cluster_id})
    if cluster_id is not None and others:
        says = f"a broker of the cluster {others[0]} wrote it, and the log directories are of {cluster_id}"
        yield Check(of, Mark.WRONG, f"{file}: {says}", "correct request_logs: nothing of this log is read")
    if tail.is_anothers:
        says = f"{file}: in it broker {broker.id} fetches as a follower, which no broker does from itself"
        yield Check(of, Mark.WRONG, says, _ANOTHERS)
    if tail.in_seconds and tail.apis.total() > 1:
        says = f"{file}: its times are whole seconds, so which state a request met is often unknown"
        yield Check(of, Mark.NOTE, says, "log milliseconds, as Kafka's pattern [%d] %p %m (%c)%n does")
    try:
        written = datetime.fromtimestamp(modified(file), UTC)
    except (OverflowError, ValueError):
        says = f"{file}: the time at which it was written is no date"
        yield Check(of, Mark.NOTE, says, "copy logs so that they keep their times (cp -p, rsync -t)")
        return
    yield from _clock(of, broker, tail.newest, written)
    if now - max(tail.newest, written) > _SILENT:
        says = f"the newest request is of {tail.newest:%Y-%m-%d %H:%M} UTC"
        yield Check(of, Mark.NOTE, says, "if this is no copy: is the request log still switched on?")


def _clock(of: str, broker: Broker, newest: datetime, written: datetime) -> Iterator[Check]:
    """Compare the newest line with the time at which the file was written, which a copy may not keep."""
    ahead = newest - written
    quarters = round(ahead / _QUARTER)
    if abs(ahead) < _QUARTER / 2:
        yield Check(of, Mark.GOOD, f"timezone: {broker.timezone} fits the time at which the file was written")
    elif ahead > _INEXACT or abs(ahead - quarters * _QUARTER) < _INEXACT:
        hours = abs(ahead) / timedelta(hours=1)
        side = "after" if ahead > timedelta(0) else "before"
        says = (
            f"timezone: in {broker.timezone} the newest line is {hours:.2f} hours {side} the file was written"
        )
        mark = Mark.WRONG if ahead > _INEXACT else Mark.NOTE
        local = newest.astimezone(zone_of(broker.timezone)).utcoffset() or timedelta(0)
        offset = local + quarters * _QUARTER
        remedy = "correct timezone: it must be that of the log's local times"
        if abs(ahead - quarters * _QUARTER) < _INEXACT and _WEST <= offset <= _EAST:
            remedy += f", which seem to be of {timezone(offset)}"
        yield Check(of, mark, says, remedy if mark is Mark.WRONG else f"unless the file is a copy, {remedy}")


def _read(file: str, broker: Broker) -> _Tail:
    with opened(file) as log:
        log.seek(max(0, size(file) - _TAIL_BYTES))
        whole = log.tell() == 0
        tail = log.read(_TAIL_BYTES)
    if not whole:
        tail = tail.partition(b"\n")[2]
    apis: Counter[str] = Counter()
    clock, newest_ms, in_seconds, fault = LogClock(broker.timezone), None, True, None
    for line in lines(tail, final=True):
        try:
            found = placed(line.text)
            if found is not None:
                ms = moment(found.time, clock)
                apis[api_name(found.text, found.start) or "unknown"] += 1
                newest_ms = ms if newest_ms is None else max(newest_ms, ms)
                in_seconds = in_seconds and ms % 1000 == 0
        except ValueError as error:
            fault = str(error)
    newest = None if newest_ms is None else datetime.fromtimestamp(newest_ms / 1000, UTC)
    return _Tail(apis, newest, in_seconds, has_follower(tail, broker.id), set(answered_clusters(tail)), fault)
