---------------------- MODULE AssignmentEpochFromGroup ----------------------
\* A partition enters the assignment at the group epoch, ahead of the target's.
EXTENDS MCOffsetCommit

BrokenAssignmentEpochAfter(m, p) == IF p \in Assigned(m) THEN assignmentEpoch[m][p] ELSE groupEpoch

=============================================================================
