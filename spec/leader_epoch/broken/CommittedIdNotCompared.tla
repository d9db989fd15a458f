----------------------- MODULE CommittedIdNotCompared -----------------------
\* The coordinator takes every topic id.
EXTENDS MCLeaderEpoch

BrokenCommitError(c, n) == "NONE"

=============================================================================
