"""Metrics of the last audit as an OpenMetrics file, which node_exporter's textfile collector reads, too."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from itertools import product
from typing import Any

from fencepost.incidents import STATES
from fencepost.outcomes import FAILED, NOT_JUDGED, PASSED
from fencepost.places import write_whole
from fencepost.report import Judged
from fencepost.settings import SEVERITIES, Settings
from fencepost.words import as_utc

logger = logging.getLogger(__name__)


def write_metrics(
    settings: Settings, found: Judged, unknown: Mapping[tuple[str, str], int], took_s: float | None
) -> None:
    """Write ``[metrics] file``, completely or not at all. A file that cannot be written is a line in the log,
    and the run goes on.
    """
    if settings.metrics_file is None:
        return
    clusters = [each.name for each in settings.clusters]
    content = exposition(found, clusters, unknown, took_s, datetime.now(UTC))
    try:
        write_whole(settings.metrics_file, content)
    except OSError as error:
        logger.error("metrics: %s could not be written: %s", settings.metrics_file, error.strerror)


def exposition(
    found: Judged,
    clusters: Sequence[str],
    unknown: Mapping[tuple[str, str], int],
    took_s: float | None,
    now: datetime,
) -> bytes:
    """The metrics as text. All are gauges: each audit counts anew what the lake holds."""
    from prometheus_client import CollectorRegistry, Gauge  # only if somebody collects them
    from prometheus_client.openmetrics.exposition import generate_latest

    registry = CollectorRegistry()

    def gauge(
        name: str, words: str, labels: Sequence[str], samples: Iterable[tuple[tuple[Any, ...], float]]
    ) -> None:
        family = Gauge(f"fencepost_{name}", words, labels, registry=registry)
        for values, value in samples:
            (family.labels(*values) if labels else family).set(value)

    def by_invariant(what: str) -> Iterable[tuple[tuple[str, ...], float]]:
        return (
            ((each.cluster, each.invariant, each.severity), getattr(each, what)) for each in found.outcomes
        )

    states = Counter((each["cluster"], each["state"], each["severity"]) for each in found.incidents)
    results = {each.cluster: each.headline for each in found.clusters}
    of_invariant = ("cluster", "invariant", "severity")
    gauge("violations", "Checks that found an invariant violated.", of_invariant, by_invariant("violated"))
    gauge("holds", "Checks that found an invariant holding.", of_invariant, by_invariant("holds"))
    gauge(
        "unknown",
        "Checks that could not tell, by the reason why.",
        ("cluster", "reason"),
        sorted(((cluster, why), number) for (cluster, why), number in unknown.items() if cluster in clusters),
    )
    gauge(
        "incidents",
        "Incidents, by state and severity.",
        ("cluster", "state", "severity"),
        ((key, states[key]) for key in product(clusters, STATES, SEVERITIES)),
    )
    gauge(
        "result",
        "1 for the result of the cluster.",
        ("cluster", "result"),
        (
            ((cluster, result), float(results.get(cluster) == result))
            for cluster, result in product(clusters, (PASSED, FAILED, NOT_JUDGED))
        ),
    )
    gauge(
        "evidence_timestamp_seconds",
        "Time of the newest evidence.",
        ("cluster",),
        (((name,), as_utc(newest).timestamp()) for name, newest in found.evidence_until.items()),
    )
    gauge(
        "lag_seconds",
        "How far the newest evidence was behind when the audit ended.",
        ("cluster",),
        (((name,), (now - as_utc(newest)).total_seconds()) for name, newest in found.evidence_until.items()),
    )
    gauge("last_audit_timestamp_seconds", "When the last audit ended.", (), [((), now.timestamp())])
    if took_s is not None:
        gauge("audit_duration_seconds", "How long the last audit took.", (), [((), took_s)])
    return bytes(generate_latest(registry))  # type: ignore[no-untyped-call]
