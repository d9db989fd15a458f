-- generated from NextProducerIdAtExhaustion in spec/producer_epoch/TransactionLogRules.tla by `tlasql compile`; do not edit
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
  invariant = 'next_producer_id_at_exhaustion' and verdict = 'violated'
