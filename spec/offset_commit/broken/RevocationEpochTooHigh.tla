----------------------- MODULE RevocationEpochTooHigh -----------------------
\* Completing a revocation raises the revocation epoch to the new member epoch instead of the old one.
EXTENDS MCOffsetCommit

BrokenRevocationEpochAfter(m, newEpoch) == IF pendingRevocation[m] # {} THEN newEpoch ELSE revocationEpoch[m]

=============================================================================
