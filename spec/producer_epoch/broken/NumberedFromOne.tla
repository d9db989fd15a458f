-------------------------- MODULE NumberedFromOne ---------------------------
\* A client begins an epoch after a local bump at sequence 1, and the partition takes it.
EXTENDS MCIdempotentProducer

BrokenFirstSequence(i, p) == 1
BrokenDecide(b) ==
    IF Remembers(b.partition, b.id) /\ b.epoch < appendedEpoch[b.partition][b.id] THEN "INVALID_PRODUCER_EPOCH"
    ELSE IF IsDuplicate(b) THEN "DUPLICATE" ELSE "NONE"

=============================================================================
