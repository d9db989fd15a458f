------------------------ MODULE FencedAddsPartitions -------------------------
\* The coordinator compares producer ids alone when a partition is added.
EXTENDS MCProducerEpoch

BrokenDecide(i) == IF ~Known \/ instances[i].id # Id THEN "INVALID_PRODUCER_ID_MAPPING" ELSE "NONE"

=============================================================================
