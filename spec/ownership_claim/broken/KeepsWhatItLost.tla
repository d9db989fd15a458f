--------------------------- MODULE KeepsWhatItLost ---------------------------
\* A client goes on with what an assignment took from it.
EXTENDS MCOwnershipClaim

BrokenOwnedAfter(m) == clientOwned[m] \cup assigned[m]

=============================================================================
