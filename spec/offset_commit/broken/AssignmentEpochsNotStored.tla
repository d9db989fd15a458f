--------------------- MODULE AssignmentEpochsNotStored ----------------------
\* Records without assignment epochs, as 4.2 writes them: every partition counts as assigned at the member epoch.
EXTENDS MCOffsetCommit

BrokenAssignmentEpochAfter(m, p) == memberEpoch'[m]

=============================================================================
