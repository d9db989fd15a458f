"""Who was elected to lead a partition, and how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fencepost.replay.histories import Point
from fencepost.replay.metadata_image import NO_LEADER, PartitionRegistration


class AdminRequest(NamedTuple):
    """An administrator's request that changed the cluster, and who sent it."""

    request_id: str
    principal: str | None
    client_id: str | None


@dataclass(slots=True)
class Election:
    """A leader epoch that the metadata log gave a partition. ``how`` as in silver.leader_epochs.

    ``leaders_moved``: how many partitions changed their leader in the same commit of records. ``request``:
    the request that triggered the election or created the partition; None where there was none, or its line
    is missing. ``failed_log_dir``: the id of the log directory that the leader before had its replica in, if
    that directory was not online any more; where there was none, that of the leader itself when it led last.
    """

    at: Point
    leader_epoch: int | None
    leader: int
    previous_leader: int | None
    how: str | None
    leaders_moved: int = 0
    failed_log_dir: str | None = None
    request: AdminRequest | None = None

    @property
    def moved(self) -> bool:
        """Whether the leader is another one than before; false for the first leader of a partition."""
        return self.how not in ("created", "same") and self.leader != self.previous_leader


def election_of(
    at: Point, before: PartitionRegistration | None, now: PartitionRegistration, *, created: bool
) -> Election | None:
    """The election in a change of a partition; None when the partition keeps its leader epoch, or when an
    epoch is not known.
    """
    if now.leader is None:
        return None
    if created:
        return Election(at, now.leader_epoch, now.leader, NO_LEADER, "created")
    if before is None or before.leader_epoch is None or now.leader_epoch is None:
        return None
    if before.leader_epoch == now.leader_epoch:
        return None
    return Election(at, now.leader_epoch, now.leader, before.leader, _how(before, now))


def last_leader_again(elections: Sequence[Election], election: Election) -> bool:
    """Whether an unclean election chose the broker that had led the partition last, and nobody since: as the
    last-known-leader election of KIP-966 does. So nobody else can have written to the partition.
    """
    leaders = {each.leader_epoch: each.leader for each in elections}
    if election.how != "unclean" or election.leader_epoch is None:
        return False
    epoch = election.leader_epoch - 1
    while leaders.get(epoch) == NO_LEADER:
        epoch -= 1
    # an epoch that is not known may have had another leader
    return leaders.get(epoch) == election.leader


def _how(before: PartitionRegistration, now: PartitionRegistration) -> str | None:
    if now.leader == NO_LEADER:
        return "none"
    if now.leader == before.leader:
        return "same"
    unclean = now.elected_unclean(before)
    if unclean is None:
        return None
    if unclean:
        return "unclean"
    stays = before.leader is not None and now.isr is not None and before.leader in now.isr
    return "preferred" if stays and now.replicas and now.leader == now.replicas[0] else "clean"
