"""Everything that is known of producers, from the evidence: the steps of the replay, in order.

1. ``producer_requests``: the request log's lines, each for itself.
2. ``replay_partitions``: logs of partitions, each for itself. Which rows belong to a log say their columns
   ``cluster``, ``topic`` and ``partition``; quarantine is given whole, it has few rows.
3. ``replay_coordinators``: logs of ``__transaction_state``, each for itself. Its requests are those for which
   ``coordinator_partitions`` gives this partition.
4. ``meet``: the accounts of the steps before, by (cluster, producer id): ``account.pack`` spreads them.
   ``facts`` and ``newest_markers`` are what its tasks must know of each other.

Each step takes the columns of bronze and gives rows of silver, in Arrow. It may be given any number of
clusters and entities at once; an entity (a line, a log, a producer id) is given whole, its rows in any order.
``replay`` does all of it in one process.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc

from fencepost.protocols.producer_epoch import account
from fencepost.protocols.producer_epoch.asked import concerns_coordinators
from fencepost.protocols.producer_epoch.client_events import client_events
from fencepost.protocols.producer_epoch.coordinators import (
    PARTITION,
    Coordinators,
    coordinator_partitions,
    homes,
    replay_coordinators,
)
from fencepost.protocols.producer_epoch.facts import facts
from fencepost.protocols.producer_epoch.meeting import meet, newest_markers
from fencepost.protocols.producer_epoch.partitions import Partitions, replay_partitions
from fencepost.protocols.producer_epoch.producer_requests import producer_requests
from fencepost.protocols.producer_epoch.refusals import asking_connections
from fencepost.replay.metadata import ClusterMetadata
from fencepost.tables import (
    ABORTED_TRANSACTIONS,
    BATCHES,
    CLEANED,
    CLIENT_EVENTS,
    CLIENT_LINES,
    FILES,
    LOG_COVERAGE,
    PRODUCER_REQUESTS,
    PRODUCER_SNAPSHOT_ENTRIES,
    QUARANTINE,
    RECORDS,
    REQUESTS,
)


def replay(
    bronze: Mapping[str, pa.Table], metadata: Mapping[str, ClusterMetadata], tolerance_ms: int
) -> dict[str, pa.Table]:
    """Every table of silver about producers, by name, from the tables of ``bronze``, by name."""
    batches, records, quarantine = (bronze[each.name] for each in (BATCHES, RECORDS, QUARANTINE))
    requests = producer_requests(bronze[REQUESTS.name], metadata)
    partitions = Partitions(
        batches,
        records,
        bronze[PRODUCER_SNAPSHOT_ENTRIES.name],
        bronze[ABORTED_TRANSACTIONS.name],
        quarantine,
        requests.filter(pc.greater_equal(requests["base_offset"], 0)),
    )
    of_partitions = replay_partitions(partitions, asking_connections(requests))
    asked = requests.filter(concerns_coordinators(requests))
    places = coordinator_partitions(asked, metadata, homes(records))
    coordinators = Coordinators(
        batches,
        records,
        quarantine,
        bronze[CLEANED.name],
        asked.append_column(PARTITION, places),
        account.rows_of(of_partitions.account, account.WROTE),
    )
    of_coordinators = replay_coordinators(coordinators, metadata, tolerance_ms)
    told = account.together([of_partitions.account, of_coordinators.account])
    known = facts(told, bronze[FILES.name], metadata)
    met = meet(told, known, newest_markers(told, known), tolerance_ms)
    coverage = [each.tables[LOG_COVERAGE.name] for each in (of_partitions, of_coordinators)]
    return {
        **of_partitions.tables,
        **of_coordinators.tables,
        **met.tables,
        LOG_COVERAGE.name: pa.concat_tables(coverage),
        PRODUCER_REQUESTS.name: requests,
        CLIENT_EVENTS.name: client_events(bronze[CLIENT_LINES.name]),
    }
