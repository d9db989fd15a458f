---------------------- MODULE AcceptedWhileRebalancing ----------------------
\* A classic group accepts plain commits while a generation has no assignment yet.
EXTENDS MCClassicGroup

BrokenAdmitsGeneration(q) == q.member \in members /\ q.clientEpoch = generation

=============================================================================
