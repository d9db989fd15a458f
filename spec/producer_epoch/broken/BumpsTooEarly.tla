--------------------------- MODULE BumpsTooEarly ----------------------------
\* A client bumps its epoch while batches are in flight, and numbers them again.
EXTENDS MCIdempotentProducer

BrokenMayBump(i) == failing[i] # {}

=============================================================================
