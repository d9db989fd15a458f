------------------------- MODULE AnswersNotCompared -------------------------
\* A client of the proposal does not compare the partition epoch of an answer with that of its offset.
EXTENDS MCLeaderEpoch

BrokenOtherIncarnation(c, b, n) == FALSE

=============================================================================
