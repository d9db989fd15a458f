----------------------- MODULE DivergenceNotReported ------------------------
\* A leader does not compare the epoch of the last record that was fetched.
EXTENDS MCLeaderEpoch

BrokenDiverges(c, p, n) == FALSE

=============================================================================
