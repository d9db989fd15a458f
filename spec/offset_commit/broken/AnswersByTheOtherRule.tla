----------------------- MODULE AnswersByTheOtherRule ------------------------
\* A coordinator that should follow KIP-1251 answers by the strict rule.
EXTENDS MCOffsetCommit

BrokenAdmits(q, p) == q.clientEpoch < 0 \/ (q.member \in Live /\ q.clientEpoch = memberEpoch[q.member])

=============================================================================
