---------------------- MODULE OlderGenerationsAccepted ----------------------
\* The coordinator accepts commits of every generation of a member.
EXTENDS MCOwnershipClaim

BrokenAdmitsCommit(m) == m \in members

=============================================================================
