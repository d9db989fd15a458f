---- MODULE LagReportPropsMarked ----
\* generated from spec/lag_report/LagReportProps.tla by `tlasql compile`; do not edit
EXTENDS LagReportProps

NoLockedDirectoryDeletedProp ==
    [][NoLockedDirectoryDeleted]_<<deletedBy, locked>>

====
