-------------------- MODULE UnsubscribesIntoTheNextEpoch --------------------
\* A member that gives up what it does not subscribe to any more moves to the group epoch that its own change begins.
EXTENDS MCOffsetCommit

BrokenEpochWhileUnsubscribing(m) == groupEpoch + 1

=============================================================================
