---------------------- MODULE NamesTheGroupsGeneration ----------------------
\* A client that joins again names the group's generation instead of the one that its claims are of.
EXTENDS MCOwnershipClaim

BrokenSubscription(m) ==
    [claims |-> clientOwned[m] \cup remembered[m], generation |-> currentGeneration, given |-> given[m]]

=============================================================================
