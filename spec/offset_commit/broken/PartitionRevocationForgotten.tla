-------------------- MODULE PartitionRevocationForgotten --------------------
\* Nothing remembers at which epoch a partition was revoked.
EXTENDS MCOffsetCommit

BrokenPartitionRevocationEpochsAfter(m) == partitionRevocationEpoch[m]

=============================================================================
