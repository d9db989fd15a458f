"""The leader epochs that the metadata log gave partitions, with which their own logs are compared."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from fencepost.protocols.leader_epoch.cluster import ClusterHistory, PartitionLife
from fencepost.protocols.leader_epoch.elections import Election, last_leader_again
from fencepost.protocols.leader_epoch.partition_logs import LogPlace, LostOffsets
from fencepost.protocols.leader_epoch.tables import METADATA_TOPIC_ID
from fencepost.reasons import IN_ZOOKEEPER, NOT_CAPTURED

_LATE_MS = 60_000
"""A batch that a broker dated this long before the newest record of the metadata log was appended
before it.
"""


@dataclass(frozen=True, slots=True)
class MetadataEpochs:
    """The leader epochs that the metadata log gave a partition: from ``first`` to ``last``.

    ``first`` is None where earlier ones are not known, ``last`` where none is. ``final``: the partition is
    gone, so there will be no more. ``lives``: it belongs to the newest incarnation of its topic, which
    exists. ``known_ms``: the time of the newest record of the metadata log. ``unknown_reason``: why it is not
    known whether it gave an epoch, where that is so; ``earlier``: the same of epochs before ``elections``.
    """

    elections: tuple[Election, ...] = ()
    first: int | None = None
    last: int | None = None
    final: bool = False
    lives: bool = False
    known_ms: int | None = None
    unknown_reason: str = NOT_CAPTURED
    earlier: str = NOT_CAPTURED

    def why_unknown(self, leader_epoch: int) -> str:
        """Why it is not known whether the metadata log gave the partition this epoch."""
        given = [each.leader_epoch for each in self.elections if each.leader_epoch is not None]
        return self.earlier if given and leader_epoch < min(given) else self.unknown_reason

    def gave(self, leader_epoch: int, dated_ms: int | None) -> bool | None:
        """Whether the metadata log gave the partition this epoch; None where that is not known.

        ``dated_ms``: when a broker appended a batch with the epoch, None where no broker dated one.
        """
        if self.last is None:
            return None
        if leader_epoch > self.last:
            late = dated_ms is not None and self.known_ms is not None and dated_ms + _LATE_MS < self.known_ms
            return False if self.final or late else None
        if self.first is None:
            return True if any(each.leader_epoch == leader_epoch for each in self.elections) else None
        return leader_epoch >= self.first


def metadata_epochs(
    history: ClusterHistory | None, place: LogPlace, *, in_zookeeper: bool = False
) -> MetadataEpochs:
    """The leader epochs that a cluster's metadata log gave one partition. ``in_zookeeper``: the cluster keeps
    its metadata there.
    """
    if in_zookeeper and (history is None or not history.log.pieces):
        return MetadataEpochs(unknown_reason=IN_ZOOKEEPER)
    life = None if history is None else history.partition(place.topic_id, place.partition)
    if history is None or life is None or place.topic_id == METADATA_TOPIC_ID:
        return MetadataEpochs()
    epochs = [each.leader_epoch for each in life.elections if each.leader_epoch is not None]
    epochs += [state.leader_epoch for state in life.states.states if state and state.leader_epoch is not None]
    whole = (
        history.is_covered(life.states.begins[0].position, _end(history, life))
        if life.states.begins
        else False
    )
    gone = history.topics[place.topic_id or ""].gone
    created = any(each.how == "created" for each in life.elections)
    return MetadataEpochs(
        tuple(life.elections),
        min(epochs, default=None) if created and whole else None,
        max(epochs, default=None) if whole else None,
        gone is not None and whole,
        _lives(history, place),
        history.log.known_ms,
        earlier=IN_ZOOKEEPER if history.log.is_migrated else NOT_CAPTURED,
    )


def _lives(history: ClusterHistory, place: LogPlace) -> bool:
    newest = history.by_name.get(place.topic, [])[-1:]
    return any(life.topic_id == place.topic_id and life.gone is None and life.known for life in newest)


def _end(history: ClusterHistory, life: PartitionLife) -> int:
    last = life.states.begins[-1].position
    return last if life.states.newest is None else max(last, history.log.known_to - 1)


def lost_of(
    metadata_epochs: MetadataEpochs,
    epoch: int,
    lost: Mapping[int, LostOffsets],
    has_all: Callable[[int], bool],
) -> LostOffsets | None:
    """The offsets that an epoch overwrote. They are none where it has no leader, or the leader was elected
    from the ISR, or had been the last one, and no batch shows otherwise; None where that is not known.

    ``has_all``: whether the log of a leader (its broker id) has all that it acknowledged.
    """
    if epoch in lost:
        return lost[epoch]
    election = next((each for each in metadata_epochs.elections if each.leader_epoch == epoch), None)
    if election is None or election.how is None:
        return None
    is_again = last_leader_again(metadata_epochs.elections, election)
    if election.how == "unclean" and not (is_again and has_all(election.leader)):
        return None
    return LostOffsets(0, 0, -1, ())
