-------------------------- MODULE OtherEndAccepted ---------------------------
\* An EndTxn that is sent again is accepted, also when the transaction has the other end.
EXTENDS MCProducerEpoch

BrokenDecide(id, epoch, commit) ==
    IF Known /\ id = Id /\ epoch + 1 = Epoch THEN "NONE" ELSE "PRODUCER_FENCED"

=============================================================================
