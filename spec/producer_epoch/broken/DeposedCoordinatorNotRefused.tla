-------------------- MODULE DeposedCoordinatorNotRefused --------------------
\* A partition takes the marker of a coordinator that was replaced.
EXTENDS MCProducerEpoch

BrokenAcceptsMarker(m) == Remembers(m.partition, m.id) => m.epoch >= appendedEpoch[m.partition][m.id]

=============================================================================
