--------------------- MODULE MutexNotAsked ---------------------
\* The cleaner does not ask for the mutex.
EXTENDS MCLagReport

BrokenMayBegin(i) == TRUE

==============================================================================
