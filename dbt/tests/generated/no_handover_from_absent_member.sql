-- generated from NoHandoverFromAbsentMember in spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
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
  invariant = 'no_handover_from_absent_member' and verdict = 'violated'
