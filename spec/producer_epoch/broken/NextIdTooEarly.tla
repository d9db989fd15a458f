--------------------------- MODULE NextIdTooEarly ---------------------------
\* The next producer id is taken one epoch before the last.
EXTENDS MCProducerEpoch

BrokenNextId(epoch) == IF TransactionVersion = 2 /\ epoch = MaxEpoch - 1 THEN issuedIds + 1 ELSE -1

=============================================================================
