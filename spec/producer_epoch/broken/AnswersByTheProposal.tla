------------------------ MODULE AnswersByTheProposal ------------------------
\* A coordinator that should keep the shipped rule answers as proposed.
EXTENDS MCProducerEpoch

BrokenDecide(q) == DecideAsProposed(q)

=============================================================================
