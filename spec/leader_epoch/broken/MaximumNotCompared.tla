------------------------- MODULE MaximumNotCompared -------------------------
\* A client of the proposal does not look at the maximum.
EXTENDS MCLeaderEpoch

BrokenOlderMaximum(w) == FALSE

=============================================================================
