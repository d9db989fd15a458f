------------------------ MODULE ExpansionNotCounted -------------------------
\* A partition that is added to a topic gets the newest partition epoch once more.
EXTENDS MCLeaderEpoch

BrokenNextPartitionEpoch ==
    IF Newest.topicId = 0 THEN Newest.maxPartitionEpoch + 1 ELSE Newest.maxPartitionEpoch

=============================================================================
