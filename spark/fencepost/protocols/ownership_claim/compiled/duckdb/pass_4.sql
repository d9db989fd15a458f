-- generated from spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
-- one pass for broker_keeps_its_join_rule, no_stale_join_admitted
WITH frame AS (
  SELECT
    cluster,
    group_id,
    life,
    request_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    elsewhere AS "j.elsewhere",
    has_member_id AS "j.hasMemberId",
    error AS "j.error",
    protocols_supported AS "j.protocolsSupported",
    is_static AS "j.static",
    api_version AS "j.apiVersion",
    instance_known AS "j.instanceKnown",
    instance_fenced AS "j.instanceFenced",
    member_known AS "j.memberKnown",
    presented_generation AS "j.presentedGeneration",
    current_generation AS "j.currentGeneration"
  FROM silver.group_join_states
), given_1 AS (
  SELECT
    *,
    CASE (
        NOT "j.protocolsSupported"
      )
      WHEN TRUE
      THEN 'INCONSISTENT_GROUP_PROTOCOL'
      WHEN FALSE
      THEN CASE (
          NOT "j.static" AND "j.apiVersion" >= 4
        )
        WHEN TRUE
        THEN 'MEMBER_ID_REQUIRED'
        WHEN FALSE
        THEN 'NONE'
        ELSE CASE WHEN 'MEMBER_ID_REQUIRED' = 'NONE' THEN 'MEMBER_ID_REQUIRED' END
      END
      ELSE CASE
        WHEN 'INCONSISTENT_GROUP_PROTOCOL' = CASE (
            NOT "j.static" AND "j.apiVersion" >= 4
          )
          WHEN TRUE
          THEN 'MEMBER_ID_REQUIRED'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'MEMBER_ID_REQUIRED' = 'NONE' THEN 'MEMBER_ID_REQUIRED' END
        END
        THEN 'INCONSISTENT_GROUP_PROTOCOL'
      END
    END AS "given.1",
    CASE (
        NOT "j.protocolsSupported"
      )
      WHEN TRUE
      THEN 'INCONSISTENT_GROUP_PROTOCOL'
      WHEN FALSE
      THEN CASE (
          (
            "j.static" AND "j.instanceKnown"
          ) AND "j.instanceFenced"
        )
        WHEN TRUE
        THEN 'FENCED_INSTANCE_ID'
        WHEN FALSE
        THEN CASE (
            (
              "j.static" AND NOT "j.instanceKnown"
            ) OR NOT "j.memberKnown"
          )
          WHEN TRUE
          THEN 'UNKNOWN_MEMBER_ID'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'UNKNOWN_MEMBER_ID' = 'NONE' THEN 'UNKNOWN_MEMBER_ID' END
        END
        ELSE CASE
          WHEN 'FENCED_INSTANCE_ID' = CASE (
              (
                "j.static" AND NOT "j.instanceKnown"
              ) OR NOT "j.memberKnown"
            )
            WHEN TRUE
            THEN 'UNKNOWN_MEMBER_ID'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'UNKNOWN_MEMBER_ID' = 'NONE' THEN 'UNKNOWN_MEMBER_ID' END
          END
          THEN 'FENCED_INSTANCE_ID'
        END
      END
      ELSE CASE
        WHEN 'INCONSISTENT_GROUP_PROTOCOL' = CASE (
            (
              "j.static" AND "j.instanceKnown"
            ) AND "j.instanceFenced"
          )
          WHEN TRUE
          THEN 'FENCED_INSTANCE_ID'
          WHEN FALSE
          THEN CASE (
              (
                "j.static" AND NOT "j.instanceKnown"
              ) OR NOT "j.memberKnown"
            )
            WHEN TRUE
            THEN 'UNKNOWN_MEMBER_ID'
            WHEN FALSE
            THEN 'NONE'
            ELSE CASE WHEN 'UNKNOWN_MEMBER_ID' = 'NONE' THEN 'UNKNOWN_MEMBER_ID' END
          END
          ELSE CASE
            WHEN 'FENCED_INSTANCE_ID' = CASE (
                (
                  "j.static" AND NOT "j.instanceKnown"
                ) OR NOT "j.memberKnown"
              )
              WHEN TRUE
              THEN 'UNKNOWN_MEMBER_ID'
              WHEN FALSE
              THEN 'NONE'
              ELSE CASE WHEN 'UNKNOWN_MEMBER_ID' = 'NONE' THEN 'UNKNOWN_MEMBER_ID' END
            END
            THEN 'FENCED_INSTANCE_ID'
          END
        END
        THEN 'INCONSISTENT_GROUP_PROTOCOL'
      END
    END AS "given.2",
    CASE (
        "j.presentedGeneration" > 0 AND "j.presentedGeneration" < "j.currentGeneration"
      )
      WHEN TRUE
      THEN 'ILLEGAL_GENERATION'
      WHEN FALSE
      THEN 'NONE'
      ELSE CASE WHEN 'ILLEGAL_GENERATION' = 'NONE' THEN 'ILLEGAL_GENERATION' END
    END AS "given.4"
  FROM frame
), given_2 AS (
  SELECT
    *,
    CASE (
        NOT "j.hasMemberId"
      )
      WHEN TRUE
      THEN "given.1"
      WHEN FALSE
      THEN "given.2"
      ELSE CASE WHEN "given.1" = "given.2" THEN "given.1" END
    END AS "given.3"
  FROM given_1
), judged AS (
  SELECT
    *,
    (
      NOT "j.elsewhere"
      AND NOT (
        NOT "j.hasMemberId" AND (
          "j.error" = 'UNKNOWN_MEMBER_ID' OR "j.error" = 'FENCED_INSTANCE_ID'
        )
      )
    )
    AND (
      "j.error" = 'NONE'
      OR "j.error" = 'MEMBER_ID_REQUIRED'
      OR "j.error" = 'UNKNOWN_MEMBER_ID'
      OR "j.error" = 'FENCED_INSTANCE_ID'
      OR "j.error" = 'INCONSISTENT_GROUP_PROTOCOL'
      OR "j.error" = 'ILLEGAL_GENERATION'
    ) AS antecedent_1,
    "j.error" = CASE (
        NOT "j.hasMemberId"
      )
      WHEN TRUE
      THEN "given.1"
      WHEN FALSE
      THEN "given.2"
      ELSE CASE WHEN "given.1" = "given.2" THEN "given.1" END
    END AS c1_1,
    (
      NOT "j.elsewhere" AND "j.error" = 'NONE'
    ) AND "j.presentedGeneration" > 0 AS antecedent_2,
    NOT CASE (
        NOT CASE (
            NOT "j.hasMemberId"
          )
          WHEN TRUE
          THEN "given.1"
          WHEN FALSE
          THEN "given.2"
          ELSE CASE WHEN "given.1" = "given.2" THEN "given.1" END
        END = 'NONE'
      )
      WHEN TRUE
      THEN "given.3"
      WHEN FALSE
      THEN "given.4"
      ELSE CASE WHEN "given.3" = "given.4" THEN "given.3" END
    END = 'ILLEGAL_GENERATION' AS c1_2
  FROM given_2
), weighed AS (
  SELECT
    cluster,
    group_id,
    life,
    request_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    "j.elsewhere",
    "j.hasMemberId",
    "j.error",
    "j.protocolsSupported",
    "j.static",
    "j.apiVersion",
    "j.instanceKnown",
    "j.instanceFenced",
    "j.memberKnown",
    "j.presentedGeneration",
    "j.currentGeneration",
    NOT antecedent_1 OR c1_1 AS verdict_1,
    COALESCE(antecedent_1, FALSE) AS exercised_1,
    CASE WHEN antecedent_1 AND NOT c1_1 THEN 'j.error = ShippedJoin(j)' END AS failed_conjunct_1,
    NOT antecedent_2 OR c1_2 AS verdict_2,
    COALESCE(antecedent_2, FALSE) AS exercised_2,
    CASE WHEN antecedent_2 AND NOT c1_2 THEN 'ProposedJoin(j) # "ILLEGAL_GENERATION"' END AS failed_conjunct_2
  FROM judged
), several_agreed AS (
  SELECT
    cluster,
    request_id
  FROM silver.group_join_states
  GROUP BY
    cluster,
    request_id
  HAVING
    COUNT(*) > 1
), agreed AS (
  SELECT
    cluster,
    request_id,
    from_position AS from_position,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_position END AS to_position,
    from_time AS from_time,
    CASE WHEN CAST(1 AS BIGINT) = CAST(NOT to_position IS NULL AS BIGINT) THEN to_time END AS to_time,
    CAST(1 AS BIGINT) AS states,
    {'group_id': group_id, 'life': life, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'j.elsewhere': "j.elsewhere", 'j.hasMemberId': "j.hasMemberId", 'j.error': "j.error", 'j.protocolsSupported': "j.protocolsSupported", 'j.static': "j.static", 'j.apiVersion': "j.apiVersion", 'j.instanceKnown': "j.instanceKnown", 'j.instanceFenced': "j.instanceFenced", 'j.memberKnown': "j.memberKnown", 'j.presentedGeneration': "j.presentedGeneration", 'j.currentGeneration': "j.currentGeneration"} AS first_state,
    CASE WHEN COALESCE(verdict_1, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_1, FALSE) THEN FALSE END AS verdict_1,
    exercised_1 AS exercised_1,
    CASE WHEN verdict_1 AND NOT verdict_1 THEN 'several_states' END AS reason_1,
    CASE WHEN COALESCE(verdict_2, FALSE) THEN TRUE WHEN COALESCE(NOT verdict_2, FALSE) THEN FALSE END AS verdict_2,
    exercised_2 AS exercised_2,
    CASE
      WHEN verdict_2 AND NOT verdict_2
      THEN 'several_states'
      ELSE CASE WHEN verdict_2 IS NULL THEN CASE WHEN "j.presentedGeneration" IS NULL THEN 'unread' END END
    END AS reason_2
  FROM weighed
  WHERE
    NOT EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.request_id IS NOT DISTINCT FROM weighed.request_id
    )
  UNION ALL
  SELECT
    cluster,
    request_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    ARG_MIN(
      {'group_id': group_id, 'life': life, 'failed_conjunct_1': failed_conjunct_1, 'failed_conjunct_2': failed_conjunct_2, 'j.elsewhere': "j.elsewhere", 'j.hasMemberId': "j.hasMemberId", 'j.error': "j.error", 'j.protocolsSupported': "j.protocolsSupported", 'j.static': "j.static", 'j.apiVersion': "j.apiVersion", 'j.instanceKnown': "j.instanceKnown", 'j.instanceFenced': "j.instanceFenced", 'j.memberKnown': "j.memberKnown", 'j.presentedGeneration': "j.presentedGeneration", 'j.currentGeneration': "j.currentGeneration"},
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_1, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_1, FALSE))
      THEN FALSE
    END AS verdict_1,
    BOOL_AND(exercised_1) AS exercised_1,
    CASE WHEN BOOL_OR(verdict_1) AND BOOL_OR(NOT verdict_1) THEN 'several_states' END AS reason_1,
    CASE
      WHEN BOOL_AND(COALESCE(verdict_2, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict_2, FALSE))
      THEN FALSE
    END AS verdict_2,
    BOOL_AND(exercised_2) AS exercised_2,
    CASE
      WHEN BOOL_OR(verdict_2) AND BOOL_OR(NOT verdict_2)
      THEN 'several_states'
      ELSE MIN(CASE WHEN verdict_2 IS NULL THEN CASE WHEN "j.presentedGeneration" IS NULL THEN 'unread' END END)
    END AS reason_2
  FROM weighed
  WHERE
    EXISTS(
      SELECT
        1
      FROM several_agreed
      WHERE
        several_agreed.cluster IS NOT DISTINCT FROM weighed.cluster
        AND several_agreed.request_id IS NOT DISTINCT FROM weighed.request_id
    )
  GROUP BY
    cluster,
    request_id
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
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'group_id'), group_joins.group_id),
        'life',
        COALESCE(STRUCT_EXTRACT(agreed.first_state, 'life'), group_joins.life)
      ) AS TEXT) AS scope,
      CASE
        WHEN NOT (
          COALESCE(CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_2 END, FALSE)
        )
        THEN CAST(JSON_OBJECT('j', request_id) AS TEXT)
      END AS witness,
      agreed.from_position,
      agreed.to_position,
      COALESCE(agreed.from_time, group_joins.requested_at) AS from_time,
      COALESCE(agreed.to_time, group_joins.responded_at) AS to_time,
      CASE
        WHEN NOT (
          COALESCE(CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_1 END, FALSE)
          AND COALESCE(CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_2 END, FALSE)
        )
        THEN CAST(JSON_OBJECT(
          'request_id',
          request_id,
          'broker_id',
          group_joins.broker_id,
          'client_id',
          group_joins.client_id,
          'instance_id',
          group_joins.instance_id,
          'reason',
          group_joins.reason,
          'claims',
          group_joins.claims,
          'response_generation',
          group_joins.response_generation,
          'unread_reason',
          group_joins.unread_reason,
          'unknown_detail',
          group_joins.unknown_detail,
          'file',
          group_joins.file,
          'position',
          group_joins."position"
        ) AS TEXT)
      END AS evidence,
      [
        {'definition': 'broker_keeps_its_join_rule', 'verdict': CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_1 END, 'exercised': COALESCE(agreed.exercised_1, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = group_joins.candidates
          THEN CASE WHEN NOT agreed.verdict_1 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_1') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_1 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = group_joins.candidates THEN agreed.reason_1 END,
            group_joins.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_1 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'j.elsewhere',
            STRUCT_EXTRACT(agreed.first_state, 'j.elsewhere'),
            'j.hasMemberId',
            STRUCT_EXTRACT(agreed.first_state, 'j.hasMemberId'),
            'j.error',
            STRUCT_EXTRACT(agreed.first_state, 'j.error'),
            'j.protocolsSupported',
            STRUCT_EXTRACT(agreed.first_state, 'j.protocolsSupported'),
            'j.static',
            STRUCT_EXTRACT(agreed.first_state, 'j.static'),
            'j.apiVersion',
            STRUCT_EXTRACT(agreed.first_state, 'j.apiVersion'),
            'j.instanceKnown',
            STRUCT_EXTRACT(agreed.first_state, 'j.instanceKnown'),
            'j.instanceFenced',
            STRUCT_EXTRACT(agreed.first_state, 'j.instanceFenced'),
            'j.memberKnown',
            STRUCT_EXTRACT(agreed.first_state, 'j.memberKnown')
          ) AS TEXT)
        END},
        {'definition': 'no_stale_join_admitted', 'verdict': CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_2 END, 'exercised': COALESCE(agreed.exercised_2, FALSE), 'failed_conjunct': CASE
          WHEN agreed.states = group_joins.candidates
          THEN CASE WHEN NOT agreed.verdict_2 THEN STRUCT_EXTRACT(agreed.first_state, 'failed_conjunct_2') END
        END, 'reason': CASE
          WHEN CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_2 END IS NULL
          THEN COALESCE(
            CASE WHEN agreed.states = group_joins.candidates THEN agreed.reason_2 END,
            group_joins.unknown_reason,
            'not_captured'
          )
        END, 'observed': CASE
          WHEN NOT agreed.states IS NULL
          AND NOT COALESCE(CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict_2 END, FALSE)
          THEN CAST(JSON_OBJECT(
            'j.elsewhere',
            STRUCT_EXTRACT(agreed.first_state, 'j.elsewhere'),
            'j.error',
            STRUCT_EXTRACT(agreed.first_state, 'j.error'),
            'j.presentedGeneration',
            STRUCT_EXTRACT(agreed.first_state, 'j.presentedGeneration'),
            'j.hasMemberId',
            STRUCT_EXTRACT(agreed.first_state, 'j.hasMemberId'),
            'j.protocolsSupported',
            STRUCT_EXTRACT(agreed.first_state, 'j.protocolsSupported'),
            'j.static',
            STRUCT_EXTRACT(agreed.first_state, 'j.static'),
            'j.apiVersion',
            STRUCT_EXTRACT(agreed.first_state, 'j.apiVersion'),
            'j.instanceKnown',
            STRUCT_EXTRACT(agreed.first_state, 'j.instanceKnown'),
            'j.instanceFenced',
            STRUCT_EXTRACT(agreed.first_state, 'j.instanceFenced'),
            'j.memberKnown',
            STRUCT_EXTRACT(agreed.first_state, 'j.memberKnown'),
            'j.currentGeneration',
            STRUCT_EXTRACT(agreed.first_state, 'j.currentGeneration')
          ) AS TEXT)
        END}
      ] AS rows_
    FROM silver.group_joins AS group_joins
    FULL OUTER JOIN agreed
      USING (cluster, request_id)
  ) AS judged_together
) AS fanned
