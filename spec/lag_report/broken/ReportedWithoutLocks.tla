------------------ MODULE ReportedWithoutLocks ------------------
\* A thread does not lock what it reports.
EXTENDS MCLagReport

BrokenLockedForReport(t) == {}

==============================================================================
