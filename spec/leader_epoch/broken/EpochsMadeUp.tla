---------------------------- MODULE EpochsMadeUp ----------------------------
\* A client commits the epoch after the one of the last record it read.
EXTENDS MCLeaderEpoch

BrokenCommittedLeaderEpoch(c, n) == position[c][n].leaderEpoch + 1

=============================================================================
