------------------------ MODULE TopicIdsNotCompared -------------------------
\* A client compares leader epochs alone, whatever the topic id (KAFKA-12257).
EXTENDS MCLeaderEpoch

BrokenTakenAsShipped(w) ==
    w.told => ~w.cached \/ w.leaderEpoch >= w.cachedLeaderEpoch

=============================================================================
