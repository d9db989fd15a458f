------------------------ MODULE EqualMaximumRefused -------------------------
\* A client of the proposal takes only what has a larger maximum.
EXTENDS MCLeaderEpoch

BrokenOlderMaximum(w) == w.maxPartitionEpoch <= w.cachedMaxPartitionEpoch

=============================================================================
