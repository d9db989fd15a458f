---------------------- MODULE RevocationEpochForgotten ----------------------
\* Completing a revocation leaves the member's revocation epoch as it was.
EXTENDS MCOffsetCommit

BrokenRevocationEpochAfter(m, newEpoch) == revocationEpoch[m]

=============================================================================
