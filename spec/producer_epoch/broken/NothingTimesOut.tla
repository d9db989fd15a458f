------------------------- MODULE NothingTimesOut -------------------------
\* The coordinator aborts nothing for its age.
EXTENDS MCProducerEpoch

BrokenTimeOut == FALSE

==========================================================================
