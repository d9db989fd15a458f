---------------------- MODULE DeposedCoordinatorWrites ----------------------
\* A coordinator that was replaced completes its transaction in the log all the same.
EXTENDS MCProducerEpoch

BrokenWritingTerm == IF Preparing /\ term > 0 THEN term - 1 ELSE term

=============================================================================
