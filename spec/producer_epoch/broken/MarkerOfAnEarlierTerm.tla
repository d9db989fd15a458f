----------------------- MODULE MarkerOfAnEarlierTerm ------------------------
\* A coordinator writes markers in the name of its predecessor.
EXTENDS MCProducerEpoch

BrokenMarkerFor(p) == [Marker(p) EXCEPT !.coordinatorEpoch = IF @ > 0 THEN @ - 1 ELSE @]

=============================================================================
