-- generated from spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
-- one pass for no_two_valid_claims, no_stale_claim_wins, no_handover_before_revocation, claim_was_assigned
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    claim_id,
    from_position,
    to_position,
    from_time,
    to_time,
    is_held AS "c.held",
    claimed_generation AS "c.claimedGeneration",
    greatest_claim_of_others AS "c.greatestClaimOfOthers",
    assigned_to_self AS "c.assignedToSelf",
    assigned_to_another AS "c.assignedToAnother",
    was_assigned AS "c.wasAssigned"
  FROM silver.ownership_claims
), judged AS (
  SELECT
    *,
    "c.held" AS antecedent_1,
    NOT "c.claimedGeneration" = "c.greatestClaimOfOthers" AS c1_1,
    "c.held" AND "c.claimedGeneration" < "c.greatestClaimOfOthers" AS antecedent_2,
    NOT "c.assignedToSelf" AS c1_2,
    "c.held" AND "c.claimedGeneration" > "c.greatestClaimOfOthers" AS antecedent_3,
    NOT "c.assignedToAnother" AS c1_3,
    "c.held" AS antecedent_4,
    "c.wasAssigned" AS c1_4
  FROM frame
), weighed AS (
  SELECT
    cluster,
    group_id,
    life,
    claim_id,
    from_position,
    to_position,
    from_time,
    to_time,
    "c.held",
    "c.claimedGeneration",
    "c.greatestClaimOfOthers",
    "c.assignedToSelf",
    "c.assignedToAnother",
    "c.wasAssigned",
    NOT antecedent_1 OR c1_1 AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE WHEN antecedent_1 AND NOT c1_1 THEN '~Contradicted(c)' END AS failed_conjunct_1,
    NOT antecedent_2 OR c1_2 AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE WHEN antecedent_2 AND NOT c1_2 THEN '~c.assignedToSelf' END AS failed_conjunct_2,
    NOT antecedent_3 OR c1_3 AS verdict_3,
    COALESCE(antecedent_3, FALSE) AS exercised_3,
    CASE WHEN antecedent_3 AND NOT c1_3 THEN '~c.assignedToAnother' END AS failed_conjunct_3,
    NOT antecedent_4 OR c1_4 AS verdict_4,
    COALESCE(antecedent_4, FALSE) AS exercised_4,
    CASE WHEN antecedent_4 AND NOT c1_4 THEN 'c.wasAssigned' END AS failed_conjunct_4
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    claim_id
  FROM silver.ownership_claims
  GROUP BY
    cluster,
    claim_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    claim_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'group_id': group_id, 'life': life, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'failed_conjunct_4': failed_conjunct_4, 'c.held': "c.held", 'c.claimedGeneration': "c.claimedGeneration", 'c.greatestClaimOfOthers': "c.greatestClaimOfOthers", 'c.assignedToSelf': "c.assignedToSelf", 'c.assignedToAnother': "c.assignedToAnother", 'c.wasAssigned': "c.wasAssigned"} AS first_state,
    CASE WHEN COALESCE(verdict_1, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_1, FALSE) THEN FALSE END AS verdict_1,
    exercised_1 AS exercised_1,
    CASE WHEN verdict_1 IS NULL THEN CASE WHEN "c.greatestClaimOfOthers" IS NULL THEN 'unread' END END AS reason_1,
    CASE WHEN COALESCE(verdict_2, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_2, FALSE) THEN FALSE END AS verdict_2,
    exercised_2 AS exercised_2,
    CASE
      WHEN verdict_2 IS NULL
      THEN CASE WHEN "c.greatestClaimOfOthers" IS NULL OR "c.assignedToSelf" IS NULL THEN 'unread' END
    END AS reason_2,
    CASE WHEN COALESCE(verdict_3, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_3, FALSE) THEN FALSE END AS verdict_3,
    exercised_3 AS exercised_3,
    CASE
      WHEN verdict_3 IS NULL
      THEN CASE WHEN "c.greatestClaimOfOthers" IS NULL OR "c.assignedToAnother" IS NULL THEN 'unread' END
    END AS reason_3,
    CASE WHEN COALESCE(verdict_4, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_4, FALSE) THEN FALSE END AS verdict_4,
    exercised_4 AS exercised_4
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.claim_id IS NOT DISTINCT FROM weighed.claim_id
    )
  UNION ALL
  SELECT
    cluster,
    claim_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ANY_VALUE(
      {'group_id': group_id, 'life': life, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'failed_conjunct_3': failed_conjunct_3, 'failed_conjunct_4': failed_conjunct_4, 'c.held': "c.held", 'c.claimedGeneration': "c.claimedGeneration", 'c.greatestClaimOfOthers': "c.greatestClaimOfOthers", 'c.assignedToSelf': "c.assignedToSelf", 'c.assignedToAnother': "c.assignedToAnother", 'c.wasAssigned': "c.wasAssigned"}
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    BOOL_AND(exercised_1) AS exercised_1,
    MIN(CASE WHEN verdict_1 IS NULL THEN CASE WHEN "c.greatestClaimOfOthers" IS NULL THEN 'unread' END END) AS reason_1,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    BOOL_AND(exercised_2) AS exercised_2,
    MIN(
      CASE
        WHEN verdict_2 IS NULL
        THEN CASE WHEN "c.greatestClaimOfOthers" IS NULL OR "c.assignedToSelf" IS NULL THEN 'unread' END
      END
    ) AS reason_2,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_3, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_3, FALSE))
      THEN FALSE
    END AS verdict_3,
    BOOL_AND(exercised_3) AS exercised_3,
    MIN(
      CASE
        WHEN verdict_3 IS NULL
        THEN CASE WHEN "c.greatestClaimOfOthers" IS NULL OR "c.assignedToAnother" IS NULL THEN 'unread' END
      END
    ) AS reason_3,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_4, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_4, FALSE))
      THEN FALSE
    END AS verdict_4,
    BOOL_AND(exercised_4) AS exercised_4
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.claim_id IS NOT DISTINCT FROM weighed.claim_id
    )
  GROUP BY
    cluster,
    claim_id
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN witness END AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  STRUCT_EXTRACT(each, 'verdict') AS verdict,
  STRUCT_EXTRACT(each, 'exercised') AS exercised,
  STRUCT_EXTRACT(each, 'failed_conjunct') AS failed_conjunct,
  STRUCT_EXTRACT(each, 'reason') AS reason,
  STRUCT_EXTRACT(each, 'observed') AS observed,
  CASE WHEN NOT COALESCE(STRUCT_EXTRACT(each, 'verdict'), FALSE) THEN evidence END AS evidence
FROM (
  SELECT
    cluster,
    scope,
    witness,
    from_position,
    to_position,
    from_time,
    to_time,
    evidence,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      CAST(JSON_OBJECT(
        'group_id',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'group_id'), ownership_claims.group_id),
        'life',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'life'), ownership_claims.life)
      ) AS TEXT) AS scope,
      CASE
        WHEN NOT (
          COALESCE(agreed.verdict_1, FALSE)
          AND COALESCE(agreed.verdict_2, FALSE)
          AND COALESCE(agreed.verdict_3, FALSE)
          AND COALESCE(agreed.verdict_4, FALSE)
        )
        THEN CAST(JSON_OBJECT('c', claim_id) AS TEXT)
      END AS witness,
      agreed.from_position,
      agreed.to_position,
      COALESCE(agreed.from_time, ownership_claims.from_time) AS from_time,
      COALESCE(agreed.to_time, ownership_claims.to_time) AS to_time,
      CASE
        WHEN NOT (
          COALESCE(agreed.verdict_1, FALSE)
          AND COALESCE(agreed.verdict_2, FALSE)
          AND COALESCE(agreed.verdict_3, FALSE)
          AND COALESCE(agreed.verdict_4, FALSE)
        )
        THEN CAST(JSON_OBJECT(
          'coordinator_partition',
          ownership_claims.coordinator_partition,
          'generation',
          ownership_claims.generation,
          'member_id',
          ownership_claims.member_id,
          'client_id',
          ownership_claims.client_id,
          'instance_id',
          ownership_claims.instance_id,
          'topic',
          ownership_claims.topic,
          'partition',
          ownership_claims."partition",
          'claim_source',
          ownership_claims.claim_source,
          'contradicted_by',
          ownership_claims.contradicted_by,
          'assigned_to',
          ownership_claims.assigned_to,
          'record_offset',
          ownership_claims.record_offset,
          'unread_reason',
          ownership_claims.unread_reason
        ) AS TEXT)
      END AS evidence,
      [
        {'definition': 'no_two_valid_claims', 'verdict': agreed.verdict_1, 'exercised': COALESCE(agreed.exercised_1, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_1 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_1') END, 'reason': CASE
          WHEN agreed.verdict_1 IS NULL
          THEN COALESCE(agreed.reason_1, ownership_claims.was_assigned_unknown, 'unread')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_1, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.held',
            STRUCT_EXTRACT(agreed.first_state, 'c.held'),
            'c.claimedGeneration',
            STRUCT_EXTRACT(agreed.first_state, 'c.claimedGeneration'),
            'c.greatestClaimOfOthers',
            STRUCT_EXTRACT(agreed.first_state, 'c.greatestClaimOfOthers')
          ) AS TEXT)
        END},
        {'definition': 'no_stale_claim_wins', 'verdict': agreed.verdict_2, 'exercised': COALESCE(agreed.exercised_2, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_2 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_2') END, 'reason': CASE
          WHEN agreed.verdict_2 IS NULL
          THEN COALESCE(agreed.reason_2, ownership_claims.was_assigned_unknown, 'unread')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_2, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.held',
            STRUCT_EXTRACT(agreed.first_state, 'c.held'),
            'c.claimedGeneration',
            STRUCT_EXTRACT(agreed.first_state, 'c.claimedGeneration'),
            'c.greatestClaimOfOthers',
            STRUCT_EXTRACT(agreed.first_state, 'c.greatestClaimOfOthers'),
            'c.assignedToSelf',
            STRUCT_EXTRACT(agreed.first_state, 'c.assignedToSelf')
          ) AS TEXT)
        END},
        {'definition': 'no_handover_before_revocation', 'verdict': agreed.verdict_3, 'exercised': COALESCE(agreed.exercised_3, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_3 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_3') END, 'reason': CASE
          WHEN agreed.verdict_3 IS NULL
          THEN COALESCE(agreed.reason_3, ownership_claims.was_assigned_unknown, 'unread')
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_3, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.held',
            STRUCT_EXTRACT(agreed.first_state, 'c.held'),
            'c.claimedGeneration',
            STRUCT_EXTRACT(agreed.first_state, 'c.claimedGeneration'),
            'c.greatestClaimOfOthers',
            STRUCT_EXTRACT(agreed.first_state, 'c.greatestClaimOfOthers'),
            'c.assignedToAnother',
            STRUCT_EXTRACT(agreed.first_state, 'c.assignedToAnother')
          ) AS TEXT)
        END},
        {'definition': 'claim_was_assigned', 'verdict': agreed.verdict_4, 'exercised': COALESCE(agreed.exercised_4, FALSE), 'failed_conjunct': CASE WHEN NOT agreed.verdict_4 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_4') END, 'reason': CASE WHEN agreed.verdict_4 IS NULL THEN COALESCE(ownership_claims.was_assigned_unknown, 'unread') END, 'observed': CASE
          WHEN NOT agreed.states IS NULL AND NOT COALESCE(agreed.verdict_4, FALSE)
          THEN CAST(JSON_OBJECT(
            'c.held',
            STRUCT_EXTRACT(agreed.first_state, 'c.held'),
            'c.wasAssigned',
            STRUCT_EXTRACT(agreed.first_state, 'c.wasAssigned')
          ) AS TEXT)
        END}
      ] AS rows_
    FROM silver.ownership_claims AS ownership_claims
    FULL OUTER JOIN agreed
      USING (cluster, claim_id)
  ) AS judged_together
) AS fanned
