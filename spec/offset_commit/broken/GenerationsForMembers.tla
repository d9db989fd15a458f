----------------------- MODULE GenerationsForMembers ------------------------
\* A refused commit in a transaction is answered with the error of member epochs, which its API does not have.
EXTENDS MCOffsetCommit

BrokenRefusal(q) == IF q.member \notin Live THEN "UNKNOWN_MEMBER_ID" ELSE "STALE_MEMBER_EPOCH"

=============================================================================
