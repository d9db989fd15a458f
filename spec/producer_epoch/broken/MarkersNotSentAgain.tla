------------------------- MODULE MarkersNotSentAgain -------------------------
\* A coordinator that takes over leaves the markers of prepared transactions to its predecessor.
EXTENDS MCProducerEpoch

BrokenMarkerFor(p) == IF coordinatorEpoch[TransactionalId] = term THEN Marker(p) ELSE [Marker(p) EXCEPT !.coordinatorEpoch = -2]

==============================================================================
