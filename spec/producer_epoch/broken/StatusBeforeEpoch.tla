------------------------- MODULE StatusBeforeEpoch --------------------------
\* A coordinator of the proposal looks at the status before it compares epochs.
EXTENDS MCProducerEpoch

BrokenDecide(q) == IF Closed THEN DecideAsProposed(q) ELSE Waiting("")

=============================================================================
