"""The faults of a cluster's evidence, in words. They come before all findings, which are worth no more than
the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence

from fencepost.reading import Reader, rows
from fencepost.report.clocks import CLOCKS, brokers_with_another_clock, clock_sentences
from fencepost.report.episodes import Row
from fencepost.report.unread import NO_REQUESTS, QUARANTINE, unread_lines, unread_sentences
from fencepost.report.wording import indented
from fencepost.settings import Cluster, Settings
from fencepost.tables.clocks import OTHER_CLOCK

_FILES = "bronze.files"


class Evidence:
    """The rows of all clusters: each mart is read once, however many clusters there are."""

    def __init__(self, reader: Reader, settings: Settings) -> None:
        self._settings = settings
        self._unread = rows(reader.scan(QUARANTINE))
        # a lake that was audited before this mart, or its column finding, existed
        clocks = rows(reader.scan(CLOCKS)) if reader.has(CLOCKS) else []
        self._clocks = [{"finding": OTHER_CLOCK, **row} for row in clocks]
        self._zones = _zones_read(reader) if self._clocks else {}

    def lines(self, cluster: Cluster) -> list[str]:
        """The lines about one cluster; none if nothing is wrong."""
        of_clocks = [line for each in self._clock_sentences(cluster) for line in indented(each, "", "  ")]
        return [*of_clocks, *unread_lines(self._of(cluster, self._unread), self._settings)]

    def sentences(self, cluster: Cluster) -> list[str]:
        """What ``lines`` say, without a heading: a sentence for each fault."""
        unread = unread_sentences(self._of(cluster, self._unread), self._settings)
        return [*self._clock_sentences(cluster), *unread]

    def blind(self, cluster: Cluster) -> list[str]:
        """Why nothing can be said of any request to the cluster; empty if something can."""
        unread = self._of(cluster, self._unread)
        silent = {row["broker_id"] for row in unread if row["reason"] == NO_REQUESTS}
        if None in silent:
            return ["no request log has a line of a request that could be read"]
        clocks = self._of(cluster, self._clocks)
        others = brokers_with_another_clock(clocks)
        if others and {broker.id for broker in cluster.brokers} <= others | silent:
            if not any(row["finding"] == OTHER_CLOCK for row in clocks):
                return ["no request can be placed: the request logs do not belong to the records"]
            return ["no request can be placed in time: request logs have another clock than the records"]
        return []

    def _clock_sentences(self, cluster: Cluster) -> list[str]:
        zones = {broker.id: broker.timezone for broker in cluster.brokers}
        read = {broker: zone for (name, broker), zone in self._zones.items() if name == cluster.name}
        return clock_sentences(self._of(cluster, self._clocks), zones, read)

    @staticmethod
    def _of(cluster: Cluster, of_all: Sequence[Row]) -> list[Row]:
        return [row for row in of_all if row["cluster"] == cluster.name]


def _zones_read(reader: Reader) -> dict[tuple[str, int], str]:
    """By cluster and broker, the time zone in which its request log was last read."""
    columns = ("cluster", "broker_id", "timezone", "captured_at")
    found = rows(reader.scan(_FILES, columns, {"kind": ["request_log"]}))
    found.sort(key=lambda row: row["captured_at"])
    return {(row["cluster"], row["broker_id"]): row["timezone"] for row in found}
