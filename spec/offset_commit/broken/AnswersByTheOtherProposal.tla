--------------------- MODULE AnswersByTheOtherProposal ----------------------
\* A coordinator that should look at the partition's revocation epoch looks at the member's.
EXTENDS MCOffsetCommit

BrokenAdmitsOlder(m, p, epoch) == revocationEpoch[m] < epoch

=============================================================================
