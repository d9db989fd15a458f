---------------------- MODULE OlderGenerationsAccepted ----------------------
\* A classic group accepts the generation before the current one.
EXTENDS MCClassicGroup

BrokenAdmitsGeneration(q) == q.member \in members /\ q.clientEpoch \in {generation - 1, generation}

=============================================================================
