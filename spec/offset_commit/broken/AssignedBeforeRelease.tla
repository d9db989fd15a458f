----------------------- MODULE AssignedBeforeRelease ------------------------
\* A partition is given to its new owner before the old one has released it.
EXTENDS MCOffsetCommit

BrokenFree(p, m) == TRUE

=============================================================================
