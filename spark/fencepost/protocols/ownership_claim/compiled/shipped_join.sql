-- generated from ShippedJoin in spec/ownership_claim/OwnershipClaimProps.tla by `tlasql compile`; do not edit
--
-- ShippedJoin(j) ==
--     IF ~j.hasMemberId
--     THEN IF ~j.protocolsSupported THEN "INCONSISTENT_GROUP_PROTOCOL"
--          ELSE IF ~j.static /\ j.apiVersion >= 4 THEN "MEMBER_ID_REQUIRED"
--          ELSE "NONE"
--     ELSE IF ~j.protocolsSupported THEN "INCONSISTENT_GROUP_PROTOCOL"
--     ELSE IF j.static /\ j.instanceKnown /\ j.instanceFenced THEN "FENCED_INSTANCE_ID"
--     ELSE IF (j.static /\ ~j.instanceKnown) \/ ~j.memberKnown THEN "UNKNOWN_MEMBER_ID"
--     ELSE "NONE"
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
    has_member_id AS `j.hasMemberId`,
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
    TRY_ELEMENT_AT(
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
), agreed AS (
  SELECT
    cluster,
    request_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    CASE WHEN MIN(c1) < MAX(c1) THEN 'several_states' END AS reason
  FROM judged
  GROUP BY
    cluster,
    request_id
)
SELECT
  cluster,
  request_id AS subject,
  CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = group_joins.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = group_joins.candidates THEN agreed.reason END,
      group_joins.unknown_reason,
      'not_captured'
    )
  END AS reason
FROM silver.group_joins AS group_joins
FULL OUTER JOIN agreed
  USING (cluster, request_id)
