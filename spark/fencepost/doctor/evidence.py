"""Examines the files of evidence as capture would find them; of their content it reads who is registered."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from types import MappingProxyType

from fencepost.capture import readers
from fencepost.capture.files import is_readable
from fencepost.capture.identities import check_identities
from fencepost.capture.packed import why_not_read
from fencepost.capture.plan import READ_WHOLE, REQUEST_LOG, SEGMENT, Fault, Source, is_text
from fencepost.capture.server_logs import SERVER_LOG
from fencepost.doctor.checks import Check, Mark
from fencepost.doctor.collected import Collected, Places
from fencepost.doctor.registrations import registration_checks
from fencepost.settings import Broker, Cluster, Settings, SettingsError
from fencepost.words import counted

_OFFSETS, _TRANSACTIONS, _METADATA = "__consumer_offsets", "__transaction_state", "__cluster_metadata"
_MISSING_TOPICS = {
    _OFFSETS: "nothing is known of consumer groups, unless nobody uses any",
    _TRANSACTIONS: "nothing is known of transactional ids, unless nobody uses any",
    _METADATA: "nothing is known of topics created again, and of leaders (with ZooKeeper there is none)",
}
_SHOWN = 3


_NOTHING: Places = MappingProxyType({})


def evidence_checks(settings: Settings, collected: Places = _NOTHING) -> Iterator[Check]:
    """Checks of every cluster's brokers and clients: what is found, what is missing or cannot be read;
    ``collected``: what the lake has of brokers whose logs are read elsewhere.
    """
    try:
        check_identities(settings)
    except SettingsError as error:
        for line in str(error).splitlines():
            yield Check("ids of brokers", Mark.WRONG, line)
    else:
        yield Check("ids of brokers", Mark.GOOD, "no configured id contradicts meta.properties")
    yield from _unnamed(settings, collected)
    for cluster in settings.clusters:
        sources: list[Source] = []
        faults: list[Fault] = []
        for find in readers.finds():
            found, missing = find(cluster)
            sources += found
            faults += missing
        yield from _of_cluster(cluster, sources, faults, collected)
        yield from registration_checks(cluster, sources)
        for broker in cluster.brokers:
            if broker.paths:
                yield from _of_broker(cluster, broker, sources, faults, collected)
            else:
                yield _of_elsewhere(cluster, broker, collected.get((cluster.name, broker.id)))
        yield from _of_clients(cluster, sources, faults, collected)


def _unnamed(settings: Settings, collected: Places) -> Iterator[Check]:
    """What the lake has of brokers that a configuration does not name which audits what was collected."""
    if all(broker.paths for cluster in settings.clusters for broker in cluster.brokers):
        return
    named = {(cluster.name, broker.id) for cluster in settings.clusters for broker in cluster.brokers}
    for cluster_name, broker_id in sorted((name, id) for name, id in collected if id is not None):
        if (cluster_name, broker_id) not in named:
            says = f"the lake has logs of cluster {cluster_name}, broker {broker_id}, which is not named here"
            remedy = "name it, or correct name or id where it is collected: nothing of it is judged"
            yield Check("ids of brokers", Mark.NOTE, says, remedy)


def heading(cluster: Cluster, broker: Broker) -> str:
    """How a broker is called here."""
    return f"cluster {cluster.name}, broker {broker.id}"


def _of_cluster(
    cluster: Cluster, sources: Sequence[Source], faults: Sequence[Fault], collected: Places
) -> Iterator[Check]:
    of = f"cluster {cluster.name}"
    topics = {source.topic for source in sources}
    topics |= {
        topic for (name, _), each in collected.items() if name == cluster.name for topic, _ in each.partitions
    }
    for topic, without in _MISSING_TOPICS.items():
        if topic not in topics:
            yield Check(of, Mark.NOTE, f"no broker's directory has a partition of {topic}: {without}")
    yield from _wrong(of, [each for each in faults if each.broker_id is None and each.kind == REQUEST_LOG])


def _of_elsewhere(cluster: Cluster, broker: Broker, lake: Collected | None) -> Check:
    """A check of a broker without any path, whose logs are collected where it runs."""
    of = heading(cluster, broker)
    if lake is None:
        says = "no log_dirs, and the lake has nothing of this broker"
        remedy = "run `fencepost collect` where it runs, or write Kafka's log.dirs here"
        return Check(of, Mark.WRONG, says, remedy)
    says = (
        f"collected: {counted(len(lake.partitions), 'partition')}, {_logs(lake)}; "
        f"the newest of it on {lake.newest:%F %H:%M} UTC"
    )
    if lake.partitions and REQUEST_LOG in lake.logs:
        return Check(of, Mark.GOOD, says)
    # `fencepost doctor` on its machine says which of them should be there: a controller may have none
    return Check(of, Mark.NOTE, says, "run `fencepost doctor` with the configuration that collects it")


def _logs(lake: Collected) -> str:
    return ", ".join(f"{each.replace('_', ' ')}s" for each in sorted(lake.logs)) or "no log in text"


def _of_broker(
    cluster: Cluster, broker: Broker, sources: Sequence[Source], faults: Sequence[Fault], collected: Places
) -> Iterator[Check]:
    of = heading(cluster, broker)
    lake = collected.get((cluster.name, broker.id), Collected())
    own = [source for source in sources if source.broker_id == broker.id]
    partitions = {(source.topic, source.partition) for source in own if source.kind == SEGMENT}
    if partitions:
        kafkas = sum(topic in READ_WHOLE for topic, _ in partitions)
        says = f"log_dirs: {counted(len(partitions), 'partition')}, {kafkas:,} of Kafka's own topics"
        yield Check(of, Mark.GOOD, says)
    elif not broker.log_dirs and not lake.partitions:
        yield Check(of, Mark.WRONG, "no log_dirs", "write Kafka's log.dirs there")
    if not broker.request_logs and REQUEST_LOG not in lake.logs:
        remedy = "set the logger kafka.request.logger to DEBUG, and write the path of its file"
        says = "no request_logs: what clients asked this broker, and whom it refused, is not known"
        yield Check(of, Mark.WRONG, says, remedy)
    if not broker.server_logs and SERVER_LOG not in lake.logs:
        says = (
            "no server_logs: why groups rebalanced, what removed members and offsets, and how the broker is "
            "configured may stay unknown"
        )
        yield Check(of, Mark.NOTE, says)
    yield from _wrong(of, [each for each in faults if each.broker_id == broker.id])
    yield from _unreadable(of, own)


def _of_clients(
    cluster: Cluster, sources: Sequence[Source], faults: Sequence[Fault], collected: Places
) -> Iterator[Check]:
    of = f"cluster {cluster.name}, clients"
    if not cluster.clients and (lake := collected.get((cluster.name, None))) is not None:
        yield Check(
            of, Mark.GOOD, f"collected: {_logs(lake)}; the newest of it on {lake.newest:%F %H:%M} UTC"
        )
        return
    if not cluster.clients:
        says = "no [[clusters.clients]]: nothing is known of Kafka Streams' state directories"
        yield Check(of, Mark.NOTE, says)
        return
    own = [source for source in sources if source.client is not None]
    names = {source.client for source in own}
    clients = counted(len(cluster.clients), "client")
    # one file is a source of several kinds
    files = counted(len({source.file for source in own}), "file")
    yield Check(of, Mark.GOOD, f"{files} of {len(names):,} of {clients}")
    yield from _wrong(of, [each for each in faults if each.broker_id is None and each.kind != REQUEST_LOG])
    yield from _unreadable(of, own)


def _wrong(of: str, faults: Iterable[Fault]) -> Iterator[Check]:
    """A check for each reason, with some of the files."""
    by_detail: defaultdict[str, list[str]] = defaultdict(list)
    for each in faults:
        by_detail[each.detail].append(each.file)
    for detail, files in by_detail.items():
        yield Check(of, Mark.WRONG, _some(files), detail)


def _unreadable(of: str, sources: Sequence[Source]) -> Iterator[Check]:
    files = sorted({source.file for source in sources if not is_readable(source.file)})
    if files:
        yield Check(of, Mark.WRONG, _some(files), "this user may not read it: check its permissions")
    not_read: defaultdict[str, list[str]] = defaultdict(list)
    for file in sorted({source.file for source in sources if is_text(source.kind)} - set(files)):
        if detail := why_not_read(file):
            not_read[detail].append(file)
    for detail, some in not_read.items():
        yield Check(of, Mark.WRONG, _some(some), detail)


def _some(found: Iterable[str]) -> str:
    files = list(dict.fromkeys(found))
    more = f" and {len(files) - _SHOWN:,} more" if len(files) > _SHOWN else ""
    return f"{', '.join(files[:_SHOWN])}{more}"
