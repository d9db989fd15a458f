"""Which fencing rule each broker implements."""

from __future__ import annotations

from typing import NamedTuple

from fencepost.replay.metadata import ClusterMetadata


class Since(NamedTuple):
    """A release of Kafka, and the first metadata.version that only it and later ones support."""

    release: tuple[int, int]
    metadata_version: int


RELAXED_SINCE = {"consumer": Since((4, 3), 30), "streams": Since((4, 2), 28)}
"""The first release whose groups decide commits by assignment epochs: KIP-1251, and apache/kafka#20760."""

NAMES_MISSING_GROUPS = Since((4, 0), 22)
"""The first release that always has the new group coordinator, which answers GROUP_ID_NOT_FOUND."""

PRODUCERS_NEED_NO_MEMBER = Since((4, 0), 22)
"""The first release whose consumer groups take a transactional commit without member and epoch whatever state
they are in (ConsumerGroup.validateOffsetCommit); the previews of 3.7 to 3.9 take it while they are empty."""

FIRST_EPOCH_IS_ONE = {
    "consumer": Since((4, 3), 30), "share": Since((4, 3), 30), "streams": Since((4, 2), 28),
}  # fmt: skip
"""The first release whose groups have the group epoch and the target assignment epoch 1 before any is written
(ModernGroup, StreamsGroup, TargetAssignmentMetadata.INITIAL); a member that waits for its regular expression
to be looked up joins at it. The first members of a streams group join at it while its first assignment is
delayed, in 4.2 too (GroupMetadataManager.streamsGroupHeartbeat: at least 1)."""

SHARE = "share"
GENERATION, STRICT, ASSIGNMENT_EPOCH, NONE_ACCEPTED = (
    "generation",
    "strict",
    "assignment_epoch",
    "none_accepted",
)


def rule_of(
    metadata: ClusterMetadata, broker_id: int, ms: int, group_type: str | None, *, alive: bool
) -> str | None:
    """The rule by which a broker decided a commit to a group of this type; None if its release is not known.

    A broker treats a missing group (not ``alive``) as an empty classic one: every release decides by the
    generation. A share group takes no commits, whoever sends them. A broker since RELAXED_SINCE decides by
    assignment epochs, an older one strictly. The release is the configured one, else it follows from the
    range of metadata.version with which the broker registered when it last started before ``ms``.
    """
    if not alive or group_type == "classic":
        return GENERATION
    if group_type == SHARE:
        return NONE_ACCEPTED
    since = RELAXED_SINCE["streams" if group_type == "streams" else "consumer"]
    relaxed = is_since(metadata, broker_id, ms, since)
    return None if relaxed is None else ASSIGNMENT_EPOCH if relaxed else STRICT


def is_since(metadata: ClusterMetadata, broker_id: int, ms: int, since: Since) -> bool | None:
    """Whether a broker had this release or a later one at ``ms``; None if that is not known."""
    if broker_id in metadata.releases:
        return metadata.releases[broker_id] >= since.release
    registration = metadata.registration(broker_id, ms)
    if registration is None or registration.metadata_version is None:
        return None
    return registration.metadata_version >= since.metadata_version
