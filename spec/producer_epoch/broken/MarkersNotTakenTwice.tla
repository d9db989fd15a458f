------------------------- MODULE MarkersNotTakenTwice -------------------------
\* A partition refuses the marker that it has, and the next coordinator sends it for ever (before KAFKA-19999).
EXTENDS MCProducerEpoch

BrokenAcceptsMarker(m) ==
    Remembers(m.partition, m.id) =>
        /\ m.coordinatorEpoch >= markerCoordinatorEpoch[m.partition][m.id]
        /\ m.epoch > appendedEpoch[m.partition][m.id]

===============================================================================
