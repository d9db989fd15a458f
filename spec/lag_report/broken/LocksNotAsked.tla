--------------------- MODULE LocksNotAsked ---------------------
\* The cleaner does not look at the locks.
EXTENDS MCLagReport

BrokenMayDelete(d) == TRUE

==============================================================================
