-- generated from RetryReturnsTheSameEpoch in spec/producer_epoch/InitProducerIdRules.tla by `tlasql compile`; do not edit
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
  invariant = 'retry_returns_the_same_epoch' and verdict = 'violated'
