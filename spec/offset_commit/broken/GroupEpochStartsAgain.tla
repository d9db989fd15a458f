----------------------- MODULE GroupEpochStartsAgain ------------------------
\* The group epoch starts again when the last member goes.
EXTENDS MCOffsetCommit

BrokenGroupEpochAfterRemoving(m) == IF Live = {m} THEN 1 ELSE groupEpoch + 1

=============================================================================
