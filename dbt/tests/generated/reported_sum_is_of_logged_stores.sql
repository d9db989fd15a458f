-- generated from ReportedSumIsOfLoggedStores in spec/lag_report/LagReportProps.tla by `tlasql compile`; do not edit
{{ config(severity='warn', tags=['generated', 'invariant']) }}

select
  verdict_id,
  cluster,
  scope,
  witness,
  from_position,
  from_time,
  failed_conjunct,
  observed
from {{ ref('fct_invariant_verdicts') }}
where
  invariant = 'reported_sum_is_of_logged_stores' and verdict = 'violated'
