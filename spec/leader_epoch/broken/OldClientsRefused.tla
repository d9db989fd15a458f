------------------------- MODULE OldClientsRefused --------------------------
\* An old client is held to the rule of the new ones.
EXTENDS MCLeaderEpoch

BrokenTaken(c, words) ==
    IF \E w \in words : OlderPartition(w) \/ OlderMaximum(w) THEN {} ELSE words

=============================================================================
