-------------------------- MODULE MarkersOfOneType --------------------------
\* Every marker is a COMMIT.
EXTENDS MCProducerEpoch

BrokenMarkerFor(p) == [Marker(p) EXCEPT !.type = "COMMIT"]

=============================================================================
