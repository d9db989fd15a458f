----------------------- MODULE AbortCompletesAsCommit -----------------------
\* A transaction that was prepared to abort is completed as committed.
EXTENDS MCProducerEpoch

BrokenCompletedStatus == "CompleteCommit"

=============================================================================
