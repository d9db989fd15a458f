--------------------------- MODULE OldestClaimWins ---------------------------
\* Of several claims of a partition the assignor believes the oldest.
EXTENDS MCOwnershipClaim

BrokenBelieved(p) ==
    {m \in Claimants(p) : \A n \in Claimants(p) : subscriptions[m].generation <= subscriptions[n].generation}

=============================================================================
