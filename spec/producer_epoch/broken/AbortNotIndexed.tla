-------------------------- MODULE AbortNotIndexed ---------------------------
\* An aborted transaction does not get into the transaction index.
EXTENDS MCProducerEpoch

BrokenIndexed(type) == FALSE

=============================================================================
