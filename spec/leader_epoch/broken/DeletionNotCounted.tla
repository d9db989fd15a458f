------------------------- MODULE DeletionNotCounted -------------------------
\* A deletion does not move the counter of partition epochs.
EXTENDS MCLeaderEpoch

BrokenMaxAfterDeletion == Newest.maxPartitionEpoch

=============================================================================
