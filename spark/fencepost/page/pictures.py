"""Pictures of incidents. To draw one takes a third of a CPU second, so a run draws few, and none again that
would show the same.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from fencepost.incidents import Incident
from fencepost.page.addresses import digest, incident_file
from fencepost.page.folder import Folder
from fencepost.page.stories import plot_of
from fencepost.protocols.base import Plot
from fencepost.reading import Reader

LOOK = "2"
"""To be changed with the look of the pictures: those that were drawn before are drawn again."""

_AIR = dt.timedelta(minutes=1)
_LONGEST = dt.timedelta(days=1)

_log = logging.getLogger(__name__)


class Pictures:
    """The pictures of incidents, those drawn before included. ``most``: how many are drawn in this run."""

    def __init__(self, reader: Reader, folder: Folder, incidents: Sequence[Incident], most: int) -> None:
        self.new: dict[str, bytes] = {}
        self.kept: set[str] = set()
        self._of: dict[tuple[str, str], str] = {}
        for incident in incidents:
            plot = plot_of(incident)
            if plot is None or incident["first_seen"] is None:
                continue
            file = _file(incident)
            size = folder.size(file)
            if size is not None:
                self.kept.add(file)
            elif len(self.new) < most:
                self.new[file] = _drawn(reader, plot, incident)
                size = len(self.new[file])
            if size:
                self._of[incident["cluster"], incident["fingerprint"]] = file

    def of(self, incident: Incident) -> str | None:
        """The file of an incident's picture, None if there is none."""
        return self._of.get((incident["cluster"], incident["fingerprint"]))


def _file(incident: Incident) -> str:
    """The name says what the picture shows: one that is there need not be drawn again."""
    shown = (incident[name] for name in ("first_seen", "last_seen", "verdicts", "invariants", "protocol"))
    name = incident_file(incident["fingerprint"]).removeprefix("incidents/").removesuffix(".html")
    return f"pictures/{name}-{digest(LOOK, *map(str, shown))}.svg"


def _drawn(reader: Reader, plot: Plot, incident: Incident) -> bytes:
    """A picture; empty if none can be drawn, which the next run need not try again."""
    start, end = _limits(incident["first_seen"], incident["last_seen"])
    try:
        rows = plot.read(reader, incident[plot.column], incident["cluster"], start, end)
        content, _ = plot.draw(_clipped(rows, start, end), "svg")
    except Exception as error:
        # a page without a picture says more than no page
        _log.warning("no picture of incident %s: %s", incident["fingerprint"], error)
        return b""
    return content


def _clipped(timeline: Any, start: dt.datetime, end: dt.datetime) -> Any:
    """A timeline that begins with its first row and ends with its last one, where these are nearer than the
    limits.
    """
    times = [
        moment
        for each in fields(timeline)
        for name, column in getattr(getattr(timeline, each.name), "items", dict)()
        if getattr(column, "dtype", None) is not None and column.dtype.kind == "M"
        for moment in (column.dropna().min(), column.dropna().max())
        if column.notna().any()
    ]
    if not times:
        return timeline
    air = (min(end, max(times)) - max(start, min(times))) / 20
    return replace(timeline, start=max(start, min(times) - air), end=min(end, max(times) + air))


def _limits(first: dt.datetime, last: dt.datetime) -> tuple[dt.datetime, dt.datetime]:
    """Some time before and after an incident; of a long one the end, which is what goes on."""
    last = max(first, last)
    air = max(_AIR, (last - first) / 4)
    return max(first - air, last - _LONGEST), last + air
