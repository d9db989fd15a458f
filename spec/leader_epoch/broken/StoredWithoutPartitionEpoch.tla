-------------------- MODULE StoredWithoutPartitionEpoch ---------------------
\* Offsets of the proposal are stored without their partition epoch.
EXTENDS MCLeaderEpoch

BrokenStored(c, n, id, epoch) ==
    LET at == position[c][n]
    IN  [set |-> TRUE, offset |-> at.offset, leaderEpoch |-> epoch, partitionEpoch |-> -1, topicId |-> id,
         incarnation |-> at.incarnation, record |-> at.record]

=============================================================================
