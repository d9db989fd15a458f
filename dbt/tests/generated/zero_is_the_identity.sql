-- generated from ZeroIsTheIdentity in spec/lag_report/LagReportProps.tla by `tlasql compile`; do not edit
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
  invariant = 'zero_is_the_identity' and verdict = 'violated'
