----------------------------- MODULE GivenAtOnce -----------------------------
\* The assignor gives a partition to its next owner before the one that has it was told to give it up.
EXTENDS MCOwnershipClaim

BrokenMayGo(f, p) == f[p] # {}

=============================================================================
