"""Whether the broker that is named in the configuration wrote the lines of a request log."""

from __future__ import annotations

from fencepost.capture.plan import OTHER_BROKER, OTHER_CLUSTER, REQUEST_LOG, Source
from fencepost.formats.request_log import answered_clusters, has_follower

_OF_ANOTHER_CLUSTER = (
    "a broker of the cluster {} wrote it, and the log directories are of {}: nothing of it is read; correct "
    "request_logs in the configuration"
)
_OF_ANOTHER_BROKER = (
    "broker {} fetches in it as a follower, which no broker does from itself, so nothing of it is read: "
    "correct id, or request_logs, which name another broker's log (unless the advertised listeners of others "
    "lead to this one)"
)


class Writer:
    """Who wrote a request log, by the lines that were looked at. What one line says is true of those behind
    it, until another one says otherwise: disks may be formatted again, and get another cluster's id.
    """

    def __init__(self, source: Source) -> None:
        self._source = source if source.kind == REQUEST_LOG else None
        self._other_cluster: str | None = None
        self._is_other_broker = False

    def fault_of(self, lines: bytes) -> tuple[str, str] | None:
        """The reason and the sentence for which these lines are not read, which follow those before; None
        if nothing tells of another writer.
        """
        if self._source is None or self._source.broker_id is None:
            return None
        own = self._source.cluster_id
        named = [None if each == own else each for each in answered_clusters(lines)] if own else []
        other = next(filter(None, named), None if named else self._other_cluster)
        self._other_cluster = named[-1] if named else self._other_cluster
        if other is not None:
            return OTHER_CLUSTER, _OF_ANOTHER_CLUSTER.format(other, own)
        self._is_other_broker = self._is_other_broker or has_follower(lines, self._source.broker_id)
        return (
            (OTHER_BROKER, _OF_ANOTHER_BROKER.format(self._source.broker_id))
            if self._is_other_broker
            else None
        )
