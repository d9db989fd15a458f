------------------------- MODULE OlderBatchAppended -------------------------
\* The partition appends a batch of an epoch before the local bump.
EXTENDS MCIdempotentProducer

BrokenDecide(b) == IF IsDuplicate(b) THEN "DUPLICATE" ELSE "NONE"

=============================================================================
