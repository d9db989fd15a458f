------------------------- MODULE EpochsNotCompared --------------------------
\* The coordinator compares producer ids alone.
EXTENDS MCProducerEpoch

BrokenDecide(q) == IF ~Known \/ SaysNone(q) \/ q.providedId = Id THEN Waiting("new") ELSE "fenced"

=============================================================================
