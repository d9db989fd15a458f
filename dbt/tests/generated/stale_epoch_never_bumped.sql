-- generated from StaleEpochNeverBumped in spec/producer_epoch/InitProducerIdRules.tla by `tlasql compile`; do not edit
{{ config(severity='error', tags=['generated', 'invariant']) }}

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
  invariant = 'stale_epoch_never_bumped' and verdict = 'violated'
