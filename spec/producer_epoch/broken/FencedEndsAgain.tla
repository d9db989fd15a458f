--------------------------- MODULE FencedEndsAgain ---------------------------
\* A coordinator of the proposal takes the epoch before the current one for a retry, whoever moved it.
EXTENDS MCProducerEpoch

BrokenDecide(id, epoch, commit) == DecideEndTxnAsShipped(id, epoch, commit)

=============================================================================
