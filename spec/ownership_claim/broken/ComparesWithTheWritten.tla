----------------------- MODULE ComparesWithTheWritten -----------------------
\* The check at JoinGroup compares with the generation that was written, not with the one that has begun.
EXTENDS MCOwnershipClaim

BrokenRefusal(m, s, named) ==
    IF named /\ m \notin members THEN "UNKNOWN_MEMBER_ID"
    ELSE IF s.generation # NoGeneration /\ s.generation < generation THEN "ILLEGAL_GENERATION"
    ELSE "NONE"

=============================================================================
