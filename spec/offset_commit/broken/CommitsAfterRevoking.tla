------------------------ MODULE CommitsAfterRevoking ------------------------
\* A client of the proposal forgets its rule and commits before it has heard of the next epoch.
EXTENDS MCOffsetCommit

BrokenMayCommit(m) == TRUE

=============================================================================
