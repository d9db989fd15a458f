--------------------------- MODULE LateMarkerWins ---------------------------
\* A commit that becomes final replaces what was stored after it.
EXTENDS MCOffsetCommit

BrokenMaterialised(pendingAt, at) == pendingAt

=============================================================================
