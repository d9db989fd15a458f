---------------------- MODULE MemberEpochAheadOfTarget ----------------------
\* A member moves to the group epoch although no assignment was computed for it yet.
EXTENDS MCOffsetCommit

BrokenEpochReached(m) == groupEpoch

=============================================================================
