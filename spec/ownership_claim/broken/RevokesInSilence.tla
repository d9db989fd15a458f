-------------------------- MODULE RevokesInSilence --------------------------
\* A client that has to give a partition up does not join again after it has.
EXTENDS MCOwnershipClaim

BrokenJoinsAgain(m) == FALSE

=============================================================================
