----------------------- MODULE MemberEpochStartsAgain -----------------------
\* Confirming a revocation sets the member epoch back to the one after its last revocation.
EXTENDS MCOffsetCommit

BrokenEpochReached(m) == IF pendingRevocation[m] # {} THEN revocationEpoch[m] + 1 ELSE targetAssignmentEpoch

=============================================================================
