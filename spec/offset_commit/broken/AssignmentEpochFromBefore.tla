--------------------- MODULE AssignmentEpochFromBefore ----------------------
\* A partition that comes back to a member counts as assigned since it had it before.
EXTENDS MCOffsetCommit

BrokenAssignmentEpochAfter(m, p) ==
    IF p \in Assigned(m) THEN assignmentEpoch[m][p]
    ELSE IF p \in DOMAIN partitionRevocationEpoch[m] THEN partitionRevocationEpoch[m][p]
    ELSE targetAssignmentEpoch

=============================================================================
