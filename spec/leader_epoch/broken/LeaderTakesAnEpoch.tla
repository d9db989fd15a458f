------------------------- MODULE LeaderTakesAnEpoch -------------------------
\* A leader appends at an epoch that it was not given.
EXTENDS MCLeaderEpoch

BrokenBatchLeaderEpoch(p) == leaderEpoch[p] + 1

=============================================================================
