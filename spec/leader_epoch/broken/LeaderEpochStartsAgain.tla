----------------------- MODULE LeaderEpochStartsAgain -----------------------
\* The second election gives out the first leader epoch again.
EXTENDS MCLeaderEpoch

BrokenElectedEpoch(p) == IF leaderEpoch[p] = 1 THEN 0 ELSE leaderEpoch[p] + 1

=============================================================================
