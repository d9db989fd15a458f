------------------------- MODULE TransactionsNotVerified -------------------------
\* Partitions do not ask the coordinator: a late batch opens what nobody ends.
EXTENDS MCProducerEpoch

BrokenVerified(b) == TRUE

==================================================================================
