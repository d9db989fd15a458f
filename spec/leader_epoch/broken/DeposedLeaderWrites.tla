------------------------ MODULE DeposedLeaderWrites -------------------------
\* After the first record a leader that was deposed goes on at its epoch.
EXTENDS MCLeaderEpoch

BrokenBatchLeaderEpoch(p) ==
    IF Len(log[p]) = 1 THEN 0 ELSE leaderEpoch[p]

=============================================================================
