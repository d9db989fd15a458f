----------------------- MODULE BrokerEpochStartsAgain -----------------------
\* Every second registration of a broker gets epoch 0.
EXTENDS MCLeaderEpoch

BrokenRegisteredEpoch(b) == IF brokerEpoch[b] > 0 THEN 0 ELSE Len(metadataLog)

=============================================================================
