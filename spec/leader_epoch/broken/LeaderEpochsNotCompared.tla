---------------------- MODULE LeaderEpochsNotCompared -----------------------
\* A shipped client takes every answer.
EXTENDS MCLeaderEpoch

BrokenTakenAsShipped(w) == TRUE

=============================================================================
