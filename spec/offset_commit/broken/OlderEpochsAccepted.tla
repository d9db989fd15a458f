------------------------ MODULE OlderEpochsAccepted -------------------------
\* The coordinator accepts every older epoch, whatever the member owns.
EXTENDS MCOffsetCommit

BrokenAdmits(q, p) == q.clientEpoch < 0 \/ (q.member \in Live /\ q.clientEpoch <= memberEpoch[q.member])

=============================================================================
