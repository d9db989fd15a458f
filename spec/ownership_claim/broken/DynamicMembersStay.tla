------------------------- MODULE DynamicMembersStay -------------------------
\* A dynamic member that does not join in time stays in the group.
EXTENDS MCOwnershipClaim

BrokenMayBeAbsent == Members

=============================================================================
