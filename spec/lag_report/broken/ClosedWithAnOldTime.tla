------------------ MODULE ClosedWithAnOldTime ------------------
\* A task that is closed leaves its directory as old as it was (KAFKA-20805).
EXTENDS MCLagReport

BrokenTouchedByClosing(d) == modified[d]

==============================================================================
