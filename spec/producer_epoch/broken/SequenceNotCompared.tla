------------------------ MODULE SequenceNotCompared -------------------------
\* The partition compares epochs and no sequences.
EXTENDS MCIdempotentProducer

BrokenDecide(b) ==
    IF Remembers(b.partition, b.id) /\ b.epoch < appendedEpoch[b.partition][b.id] THEN "INVALID_PRODUCER_EPOCH"
    ELSE IF IsDuplicate(b) THEN "DUPLICATE" ELSE "NONE"

=============================================================================
