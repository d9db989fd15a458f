---- MODULE LeaderEpochPropsMarked ----
\* generated from spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
EXTENDS LeaderEpochProps

PartitionEpochGrowsProp ==
    [][PartitionEpochGrows]_<<newestPartitionEpoch, newestTopicId>>

LeaderEpochNeverFallsProp ==
    [][LeaderEpochNeverFalls]_<<leaderEpoch>>

BrokerEpochNeverFallsProp ==
    [][BrokerEpochNeverFalls]_<<brokerEpoch>>

BatchLeaderEpochsInOrderProp ==
    [][BatchLeaderEpochsInOrder]_<<appendedLeaderEpoch>>

====
