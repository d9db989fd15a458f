-- generated from ProducerEpochSteps in spec/producer_epoch/TransactionLogRules.tla by `tlasql compile`; do not edit
{{ config(severity='error', tags=['generated', 'step']) }}

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
  invariant = 'producer_epoch_steps' and verdict = 'violated'
