------------------------- MODULE CompletesTooEarly --------------------------
\* A transaction is completed before every partition has its marker.
EXTENDS MCProducerEpoch

BrokenAllAcknowledged == TRUE

=============================================================================
