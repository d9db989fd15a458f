-------------------------- MODULE RetriesBumpAgain --------------------------
\* A retry is given a further epoch.
EXTENDS MCProducerEpoch

BrokenRetriedEpoch == Epoch + 1

=============================================================================
