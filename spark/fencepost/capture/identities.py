"""Compares the configured ids of brokers with those that Kafka writes into each log directory.

A request line does not say which broker wrote it, nor does a segment: evidence that is captured under another
broker's id, or another cluster's name, stays wrong. So this is checked before anything is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fencepost.capture.files import content, expand, inside, resolved
from fencepost.formats.properties import META_PROPERTIES, NODE_ID, properties_in
from fencepost.settings import Broker, Cluster, Settings, SettingsError


def check_identities(settings: Settings) -> None:
    """Raises SettingsError if a log directory is another broker's, of another cluster than the first, or if
    two brokers, or two clusters, list it. A directory without a readable ``meta.properties`` has no id to
    compare.
    """
    owners: dict[str, tuple[str, int]] = {}
    mistakes = [
        f"{settings.path}: {mistake}"
        for number, cluster in enumerate(settings.clusters)
        for mistake in (
            *_wrong_ids(number, cluster),
            *_shared(number, cluster, owners),
            *_mixed(number, cluster),
        )
    ]
    if mistakes:
        raise SettingsError("\n".join(mistakes))


def _wrong_ids(number: int, cluster: Cluster) -> Iterator[str]:
    for at, broker in enumerate(cluster.brokers):
        for path in log_dirs(broker):
            written = {name: value for name, value in meta_properties(path).items() if name in NODE_ID}
            if written and str(broker.id) not in written.values():
                name, value = next(iter(written.items()))
                yield (
                    f"clusters[{number}].brokers[{at}].id: is {broker.id}, but {path}/{META_PROPERTIES} says "
                    f"{name}={value}: the directory is that broker's. Correct id, or log_dirs."
                )


def _shared(number: int, cluster: Cluster, owners: dict[str, tuple[str, int]]) -> Iterator[str]:
    for at, broker in enumerate(cluster.brokers):
        for path in dict.fromkeys(map(resolved, log_dirs(broker))):
            of, first = owners.setdefault(path, (cluster.name, broker.id))
            if (of, first) != (cluster.name, broker.id):
                whose = f"broker {first}" if of == cluster.name else f"broker {first} of cluster {of}"
                yield (
                    f"clusters[{number}].brokers[{at}].log_dirs: {path} is listed for {whose}, too. "
                    "Each broker has directories of its own: correct one of them."
                )


def _mixed(number: int, cluster: Cluster) -> Iterator[str]:
    first: dict[str, str] = {}
    for at, broker in enumerate(cluster.brokers):
        for path in log_dirs(broker):
            if cluster_id := meta_properties(path).get("cluster.id"):
                first.setdefault(cluster_id, path)
                known = next(iter(first))
                if cluster_id != known:
                    yield (
                        f"clusters[{number}].brokers[{at}].log_dirs: {path} is of the cluster {cluster_id}, "
                        f"but {first[known]} of {known}. Give each a [[clusters]] of its own."
                    )


def cluster_id_of(cluster: Cluster) -> str | None:
    """Kafka's id of a cluster, as its log directories say it."""
    ids = (meta_properties(path).get("cluster.id") for broker in cluster.brokers for path in log_dirs(broker))
    return next(filter(None, ids), None)


def log_dirs(broker: Broker) -> list[str]:
    """The log directories of a broker that are there."""
    return [path for pattern in broker.log_dirs for path in expand(pattern)]


def meta_properties(path: str) -> Mapping[str, str]:
    """The properties in a directory's file; none if it cannot be read."""
    try:
        return properties_in(content(inside(path, META_PROPERTIES)))
    except (OSError, UnicodeDecodeError):
        return {}
