----------------------- MODULE CheckpointNotTruncated -----------------------
\* The entries that a truncation contradicts stay in the checkpoint.
EXTENDS MCLeaderEpoch

BrokenAssigned(entries, epoch, start) ==
    Append(entries, [leaderEpoch |-> epoch, startOffset |-> start])

=============================================================================
