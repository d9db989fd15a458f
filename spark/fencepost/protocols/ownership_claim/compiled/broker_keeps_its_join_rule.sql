-- generated from BrokerKeepsItsJoinRule in spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
--
-- BrokerKeepsItsJoinRule == \A j \in joins : ByTheRule(j) => j.error = ShippedJoin(j)
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
    elsewhere AS `j.elsewhere`,
    has_member_id AS `j.hasMemberId`,
    error AS `j.error`,
    protocols_supported AS `j.protocolsSupported`,
    is_static AS `j.static`,
    api_version AS `j.apiVersion`,
    instance_known AS `j.instanceKnown`,
    instance_fenced AS `j.instanceFenced`,
    member_known AS `j.memberKnown`
  FROM silver.group_join_states
), judged AS (
  SELECT
    *,
    (
      NOT `j.elsewhere`
      AND NOT (
        NOT `j.hasMemberId` AND (
          `j.error` = 'UNKNOWN_MEMBER_ID' OR `j.error` = 'FENCED_INSTANCE_ID'
        )
      )
    )
    AND (
      `j.error` = 'NONE'
      OR `j.error` = 'MEMBER_ID_REQUIRED'
      OR `j.error` = 'UNKNOWN_MEMBER_ID'
      OR `j.error` = 'FENCED_INSTANCE_ID'
      OR `j.error` = 'INCONSISTENT_GROUP_PROTOCOL'
      OR `j.error` = 'ILLEGAL_GENERATION'
    ) AS antecedent,
    `j.error` = TRY_ELEMENT_AT(
      TRANSFORM(
        ARRAY(
          CASE (
              NOT `j.protocolsSupported`
            )
            WHEN TRUE
            THEN 'INCONSISTENT_GROUP_PROTOCOL'
            WHEN FALSE
            THEN CASE (
                NOT `j.static` AND `j.apiVersion` >= 4
              )
              WHEN TRUE
              THEN 'MEMBER_ID_REQUIRED'
              WHEN FALSE
              THEN 'NONE'
              ELSE CASE WHEN 'MEMBER_ID_REQUIRED' = 'NONE' THEN 'MEMBER_ID_REQUIRED' END
            END
            ELSE CASE
              WHEN 'INCONSISTENT_GROUP_PROTOCOL' = CASE (
                  NOT `j.static` AND `j.apiVersion` >= 4
                )
                WHEN TRUE
                THEN 'MEMBER_ID_REQUIRED'
                WHEN FALSE
                THEN 'NONE'
                ELSE CASE WHEN 'MEMBER_ID_REQUIRED' = 'NONE' THEN 'MEMBER_ID_REQUIRED' END
              END
              THEN 'INCONSISTENT_GROUP_PROTOCOL'
            END
          END
        ),
        then_1 -> TRY_ELEMENT_AT(
          TRANSFORM(
            ARRAY(
              CASE (
                  NOT `j.protocolsSupported`
                )
                WHEN TRUE
                THEN 'INCONSISTENT_GROUP_PROTOCOL'
                WHEN FALSE
                THEN CASE (
                    (
                      `j.static` AND `j.instanceKnown`
                    ) AND `j.instanceFenced`
                  )
                  WHEN TRUE
                  THEN 'FENCED_INSTANCE_ID'
                  WHEN FALSE
                  THEN CASE (
                      (
                        `j.static` AND NOT `j.instanceKnown`
                      ) OR NOT `j.memberKnown`
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
                          `j.static` AND NOT `j.instanceKnown`
                        ) OR NOT `j.memberKnown`
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
                        `j.static` AND `j.instanceKnown`
                      ) AND `j.instanceFenced`
                    )
                    WHEN TRUE
                    THEN 'FENCED_INSTANCE_ID'
                    WHEN FALSE
                    THEN CASE (
                        (
                          `j.static` AND NOT `j.instanceKnown`
                        ) OR NOT `j.memberKnown`
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
                            `j.static` AND NOT `j.instanceKnown`
                          ) OR NOT `j.memberKnown`
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
              END
            ),
            other_2 -> CASE (
                NOT `j.hasMemberId`
              )
              WHEN TRUE
              THEN then_1
              WHEN FALSE
              THEN other_2
              ELSE CASE WHEN then_1 = other_2 THEN then_1 END
            END
          ),
          1
        )
      ),
      1
    ) AS c1
  FROM frame
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
    `j.elsewhere`,
    `j.hasMemberId`,
    `j.error`,
    `j.protocolsSupported`,
    `j.static`,
    `j.apiVersion`,
    `j.instanceKnown`,
    `j.instanceFenced`,
    `j.memberKnown`,
    NOT antecedent OR c1 AS verdict,
    COALESCE(antecedent, FALSE) AS exercised,
    CASE WHEN antecedent AND NOT c1 THEN 'j.error = ShippedJoin(j)' END AS failed_conjunct
  FROM judged
), agreed AS (
  SELECT
    cluster,
    request_id,
    MIN(from_position) AS from_position,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_position) END AS to_position,
    MIN(from_time) AS from_time,
    CASE WHEN COUNT(*) = COUNT(to_position) THEN MAX(to_time) END AS to_time,
    COUNT(*) AS states,
    MIN_BY(
      NAMED_STRUCT(
        'group_id',
        group_id,
        'life',
        life,
        'failed_conjunct',
        failed_conjunct,
        'j.elsewhere',
        `j.elsewhere`,
        'j.hasMemberId',
        `j.hasMemberId`,
        'j.error',
        `j.error`,
        'j.protocolsSupported',
        `j.protocolsSupported`,
        'j.static',
        `j.static`,
        'j.apiVersion',
        `j.apiVersion`,
        'j.instanceKnown',
        `j.instanceKnown`,
        'j.instanceFenced',
        `j.instanceFenced`,
        'j.memberKnown',
        `j.memberKnown`
      ),
      candidate
    ) AS first_state,
    CASE
      WHEN BOOL_AND(COALESCE(verdict, FALSE))
      THEN TRUE
      WHEN BOOL_AND(COALESCE(NOT verdict, FALSE))
      THEN FALSE
    END AS verdict,
    BOOL_AND(exercised) AS exercised,
    CASE WHEN BOOL_OR(verdict) AND BOOL_OR(NOT verdict) THEN 'several_states' END AS reason
  FROM weighed
  GROUP BY
    cluster,
    request_id
)
SELECT
  cluster,
  TO_JSON(
    STRUCT(
      COALESCE(agreed.first_state.`group_id`, group_joins.group_id) AS group_id,
      COALESCE(agreed.first_state.`life`, group_joins.life) AS life
    ),
    MAP('ignoreNullFields', 'false')
  ) AS scope,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(STRUCT(request_id AS j), MAP('ignoreNullFields', 'false'))
  END AS witness,
  agreed.from_position,
  agreed.to_position,
  COALESCE(agreed.from_time, group_joins.requested_at) AS from_time,
  COALESCE(agreed.to_time, group_joins.responded_at) AS to_time,
  CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict END AS verdict,
  COALESCE(agreed.exercised, FALSE) AS exercised,
  CASE
    WHEN agreed.states = group_joins.candidates
    THEN CASE WHEN NOT agreed.verdict THEN agreed.first_state.`failed_conjunct` END
  END AS failed_conjunct,
  CASE
    WHEN CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = group_joins.candidates THEN agreed.reason END,
      group_joins.unknown_reason,
      'not_captured'
    )
  END AS reason,
  CASE
    WHEN NOT agreed.states IS NULL
    AND NOT COALESCE(CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict END, FALSE)
    THEN TO_JSON(
      STRUCT(
        agreed.first_state.`j.elsewhere` AS `j.elsewhere`,
        agreed.first_state.`j.hasMemberId` AS `j.hasMemberId`,
        agreed.first_state.`j.error` AS `j.error`,
        agreed.first_state.`j.protocolsSupported` AS `j.protocolsSupported`,
        agreed.first_state.`j.static` AS `j.static`,
        agreed.first_state.`j.apiVersion` AS `j.apiVersion`,
        agreed.first_state.`j.instanceKnown` AS `j.instanceKnown`,
        agreed.first_state.`j.instanceFenced` AS `j.instanceFenced`,
        agreed.first_state.`j.memberKnown` AS `j.memberKnown`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS observed,
  CASE
    WHEN NOT (
      COALESCE(CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict END, FALSE)
    )
    THEN TO_JSON(
      STRUCT(
        request_id,
        group_joins.broker_id,
        group_joins.client_id,
        group_joins.instance_id,
        group_joins.reason,
        group_joins.claims,
        group_joins.response_generation,
        group_joins.unread_reason,
        group_joins.unknown_detail,
        group_joins.file,
        group_joins.`position`
      ),
      MAP('ignoreNullFields', 'false')
    )
  END AS evidence
FROM silver.group_joins AS group_joins
FULL OUTER JOIN agreed
  USING (cluster, request_id)
