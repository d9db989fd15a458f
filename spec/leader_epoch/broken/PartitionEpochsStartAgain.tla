--------------------- MODULE PartitionEpochsStartAgain ----------------------
\* The counter of partition epochs starts again when the topic is deleted.
EXTENDS MCLeaderEpoch

BrokenMaxAfterDeletion == 0

=============================================================================
