-- generated from FetchIncarnation in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
--
-- FetchIncarnation(f) ==
--     IF f.lastFetchedEpoch = -1 \/ ~OfAnIncarnation(f) THEN "NONE"
--     ELSE IF f.offsetPartitionEpoch # AnsweredFrom(f) THEN "INVALID_PARTITION_EPOCH"
--     ELSE "NONE"
WITH frame AS (
  SELECT
    cluster,
    log,
    fetch_position_id,
    candidate,
    from_position,
    to_position,
    from_time,
    to_time,
    last_fetched_epoch AS `f.lastFetchedEpoch`,
    fetch_offset AS `f.fetchOffset`,
    origin_partition_epoch AS `f.offsetPartitionEpoch`,
    by_id AS `f.byId`,
    asked_partition_epoch AS `f.askedPartitionEpoch`,
    live_partition_epoch AS `f.livePartitionEpoch`
  FROM silver.fetch_position_states
), judged AS (
  SELECT
    *,
    CASE (
        `f.lastFetchedEpoch` = -1 OR NOT (
          `f.fetchOffset` > 0 AND NOT `f.offsetPartitionEpoch` = -1
        )
      )
      WHEN TRUE
      THEN 'NONE'
      WHEN FALSE
      THEN CASE (
          NOT `f.offsetPartitionEpoch` = CASE `f.byId`
            WHEN TRUE
            THEN `f.askedPartitionEpoch`
            WHEN FALSE
            THEN `f.livePartitionEpoch`
            ELSE CASE WHEN `f.askedPartitionEpoch` = `f.livePartitionEpoch` THEN `f.askedPartitionEpoch` END
          END
        )
        WHEN TRUE
        THEN 'INVALID_PARTITION_EPOCH'
        WHEN FALSE
        THEN 'NONE'
        ELSE CASE WHEN 'INVALID_PARTITION_EPOCH' = 'NONE' THEN 'INVALID_PARTITION_EPOCH' END
      END
      ELSE CASE
        WHEN 'NONE' = CASE (
            NOT `f.offsetPartitionEpoch` = CASE `f.byId`
              WHEN TRUE
              THEN `f.askedPartitionEpoch`
              WHEN FALSE
              THEN `f.livePartitionEpoch`
              ELSE CASE WHEN `f.askedPartitionEpoch` = `f.livePartitionEpoch` THEN `f.askedPartitionEpoch` END
            END
          )
          WHEN TRUE
          THEN 'INVALID_PARTITION_EPOCH'
          WHEN FALSE
          THEN 'NONE'
          ELSE CASE WHEN 'INVALID_PARTITION_EPOCH' = 'NONE' THEN 'INVALID_PARTITION_EPOCH' END
        END
        THEN 'NONE'
      END
    END AS c1
  FROM frame
), agreed AS (
  SELECT
    cluster,
    fetch_position_id,
    COUNT(*) AS states,
    CASE WHEN COUNT(*) = COUNT(c1) AND MIN(c1) = MAX(c1) THEN MIN(c1) END AS verdict,
    CASE
      WHEN MIN(c1) < MAX(c1)
      THEN 'several_states'
      ELSE MIN(
        CASE
          WHEN c1 IS NULL
          THEN CASE
            WHEN `f.lastFetchedEpoch` IS NULL OR `f.fetchOffset` IS NULL OR `f.offsetPartitionEpoch` IS NULL
            THEN 'client_unknown'
          END
        END
      )
    END AS reason
  FROM judged
  GROUP BY
    cluster,
    fetch_position_id
)
SELECT
  cluster,
  fetch_position_id AS subject,
  CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END AS outcome,
  CASE
    WHEN CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.verdict END IS NULL
    THEN COALESCE(
      CASE WHEN agreed.states = fetch_positions.candidates THEN agreed.reason END,
      fetch_positions.live_unknown,
      'topic_unknown'
    )
  END AS reason
FROM silver.fetch_positions AS fetch_positions
FULL OUTER JOIN agreed
  USING (cluster, fetch_position_id)
