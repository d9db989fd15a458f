------------------------- MODULE DuplicateAppended --------------------------
\* The partition appends a batch that it has already.
EXTENDS MCIdempotentProducer

BrokenDecide(b) ==
    IF Remembers(b.partition, b.id) /\ b.epoch < appendedEpoch[b.partition][b.id] THEN "INVALID_PRODUCER_EPOCH"
    ELSE IF IsDuplicate(b) \/ ~Remembers(b.partition, b.id) \/ Follows(b) THEN "NONE"
    ELSE "OUT_OF_ORDER_SEQUENCE_NUMBER"

=============================================================================
