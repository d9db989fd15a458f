-- generated from spec/producer_epoch/ProducerEpochProps.tla by `tlasql compile`; do not edit
-- one pass for no_write_after_fence, new_epoch_starts_at_sequence_zero, no_sequence_gap, no_sequence_reset, marker_coordinator_epoch_never_falls
WITH frame AS (
  SELECT
    cluster,
    topic,
    "partition",
    partition_key,
    from_position,
    to_position,
    from_time,
    to_time,
    LEAD(from_position) OVER successive AS next_from_position,
    LEAD(to_position) OVER successive AS next_to_position,
    LEAD(from_time) OVER successive AS next_from_time,
    LEAD(to_time) OVER successive AS next_to_time,
    partition_key AS p,
    producer_id AS k,
    producer_epoch AS "appendedEpoch[p][k]",
    LEAD(producer_epoch) OVER successive AS "appendedEpoch'[p][k]",
    last_offset AS "lastOffset[p][k]",
    LEAD(last_offset) OVER successive AS "lastOffset'[p][k]",
    marker AS "newestIsMarker[p][k]",
    LEAD(marker) OVER successive AS "newestIsMarker'[p][k]",
    last_sequence AS "lastSequence[p][k]",
    LEAD(last_sequence) OVER successive AS "lastSequence'[p][k]",
    first_sequence AS "firstSequence[p][k]",
    LEAD(first_sequence) OVER successive AS "firstSequence'[p][k]",
    coordinator_epoch AS "markerCoordinatorEpoch[p][k]",
    LEAD(coordinator_epoch) OVER successive AS "markerCoordinatorEpoch'[p][k]",
    CAST(JSON_OBJECT(
      'producer_id',
      producer_id,
      'last_offset',
      last_offset,
      'transactional',
      transactional,
      'marker',
      marker,
      'silent_ms',
      silent_ms,
      'cause',
      cause
    ) AS TEXT) AS evidence
  FROM silver.producer_states
  WINDOW successive AS (
    PARTITION BY cluster, topic, "partition", partition_key, partition_key, producer_id
    ORDER BY from_position NULLS FIRST
  )
), judged AS (
  SELECT
    *,
    "appendedEpoch'[p][k]" = "appendedEpoch[p][k]" AS unchanged_1,
    "lastOffset'[p][k]" = "lastOffset[p][k]"
    AND "newestIsMarker'[p][k]" = "newestIsMarker[p][k]"
    AND "appendedEpoch'[p][k]" = "appendedEpoch[p][k]"
    AND "lastSequence'[p][k]" = "lastSequence[p][k]"
    AND "firstSequence'[p][k]" = "firstSequence[p][k]" AS unchanged_2,
    "lastOffset'[p][k]" = "lastOffset[p][k]"
    AND "newestIsMarker'[p][k]" = "newestIsMarker[p][k]"
    AND "appendedEpoch'[p][k]" = "appendedEpoch[p][k]"
    AND "lastSequence'[p][k]" = "lastSequence[p][k]"
    AND "firstSequence'[p][k]" = "firstSequence[p][k]" AS unchanged_3,
    "lastOffset'[p][k]" = "lastOffset[p][k]"
    AND "newestIsMarker'[p][k]" = "newestIsMarker[p][k]"
    AND "appendedEpoch'[p][k]" = "appendedEpoch[p][k]"
    AND "lastSequence'[p][k]" = "lastSequence[p][k]"
    AND "firstSequence'[p][k]" = "firstSequence[p][k]" AS unchanged_4,
    "markerCoordinatorEpoch'[p][k]" = "markerCoordinatorEpoch[p][k]" AS unchanged_5,
    "appendedEpoch'[p][k]" >= "appendedEpoch[p][k]" AS c1_1,
    (
      "lastOffset'[p][k]" > "lastOffset[p][k]" AND NOT "newestIsMarker'[p][k]"
    )
    AND (
      "appendedEpoch'[p][k]" > "appendedEpoch[p][k]" OR "lastSequence[p][k]" = -1
    ) AS antecedent_2,
    "firstSequence'[p][k]" = 0 AS c1_2,
    (
      "lastOffset'[p][k]" > "lastOffset[p][k]" AND NOT "newestIsMarker'[p][k]"
    )
    AND "appendedEpoch'[p][k]" = "appendedEpoch[p][k]"
    AND NOT "lastSequence[p][k]" = -1 AS antecedent_3,
    NOT (
      (
        CASE (
            "lastSequence[p][k]" = 2147483647
          )
          WHEN TRUE
          THEN 0
          WHEN FALSE
          THEN TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1)
          ELSE CASE WHEN 0 = TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1) THEN 0 END
        END < "firstSequence'[p][k]"
        AND TRY(
          CAST("firstSequence'[p][k]" AS BIGINT) - CASE (
              "lastSequence[p][k]" = 2147483647
            )
            WHEN TRUE
            THEN 0
            WHEN FALSE
            THEN TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1)
            ELSE CASE WHEN 0 = TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1) THEN 0 END
          END
        ) <= CASE (
            CAST(2147483647 AS BIGINT) % CAST(2 AS BIGINT) < 0
          )
          WHEN TRUE
          THEN CAST(2147483647 AS BIGINT) // CAST(2 AS BIGINT) - 1
          WHEN FALSE
          THEN CAST(2147483647 AS BIGINT) // CAST(2 AS BIGINT)
        END
      )
      OR TRY(
        CAST("firstSequence'[p][k]" AS BIGINT) - CASE (
            "lastSequence[p][k]" = 2147483647
          )
          WHEN TRUE
          THEN 0
          WHEN FALSE
          THEN TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1)
          ELSE CASE WHEN 0 = TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1) THEN 0 END
        END
      ) < TRY(
        CAST(TRY(
          CAST(0 AS BIGINT) - CASE (
              CAST(2147483647 AS BIGINT) % CAST(2 AS BIGINT) < 0
            )
            WHEN TRUE
            THEN CAST(2147483647 AS BIGINT) // CAST(2 AS BIGINT) - 1
            WHEN FALSE
            THEN CAST(2147483647 AS BIGINT) // CAST(2 AS BIGINT)
          END
        ) AS BIGINT) - 1
      )
    ) AS c1_3,
    (
      "lastOffset'[p][k]" > "lastOffset[p][k]" AND NOT "newestIsMarker'[p][k]"
    )
    AND "appendedEpoch'[p][k]" = "appendedEpoch[p][k]"
    AND NOT "lastSequence[p][k]" = -1 AS antecedent_4,
    NOT (
      NOT "firstSequence'[p][k]" = CASE (
          "lastSequence[p][k]" = 2147483647
        )
        WHEN TRUE
        THEN 0
        WHEN FALSE
        THEN TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1)
        ELSE CASE WHEN 0 = TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1) THEN 0 END
      END
      AND NOT (
        (
          CASE (
              "lastSequence[p][k]" = 2147483647
            )
            WHEN TRUE
            THEN 0
            WHEN FALSE
            THEN TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1)
            ELSE CASE WHEN 0 = TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1) THEN 0 END
          END < "firstSequence'[p][k]"
          AND TRY(
            CAST("firstSequence'[p][k]" AS BIGINT) - CASE (
                "lastSequence[p][k]" = 2147483647
              )
              WHEN TRUE
              THEN 0
              WHEN FALSE
              THEN TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1)
              ELSE CASE WHEN 0 = TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1) THEN 0 END
            END
          ) <= CASE (
              CAST(2147483647 AS BIGINT) % CAST(2 AS BIGINT) < 0
            )
            WHEN TRUE
            THEN CAST(2147483647 AS BIGINT) // CAST(2 AS BIGINT) - 1
            WHEN FALSE
            THEN CAST(2147483647 AS BIGINT) // CAST(2 AS BIGINT)
          END
        )
        OR TRY(
          CAST("firstSequence'[p][k]" AS BIGINT) - CASE (
              "lastSequence[p][k]" = 2147483647
            )
            WHEN TRUE
            THEN 0
            WHEN FALSE
            THEN TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1)
            ELSE CASE WHEN 0 = TRY(CAST("lastSequence[p][k]" AS BIGINT) + 1) THEN 0 END
          END
        ) < TRY(
          CAST(TRY(
            CAST(0 AS BIGINT) - CASE (
                CAST(2147483647 AS BIGINT) % CAST(2 AS BIGINT) < 0
              )
              WHEN TRUE
              THEN CAST(2147483647 AS BIGINT) // CAST(2 AS BIGINT) - 1
              WHEN FALSE
              THEN CAST(2147483647 AS BIGINT) // CAST(2 AS BIGINT)
            END
          ) AS BIGINT) - 1
        )
      )
    ) AS c1_4,
    "markerCoordinatorEpoch'[p][k]" >= "markerCoordinatorEpoch[p][k]" AS c1_5
  FROM frame
), weighed AS (
  SELECT
    *,
    unchanged_1 OR c1_1 AS verdict_1,
    unchanged_2 OR (
      NOT antecedent_2 OR c1_2
    ) AS verdict_2,
    unchanged_3 OR (
      NOT antecedent_3 OR c1_3
    ) AS verdict_3,
    unchanged_4 OR (
      NOT antecedent_4 OR c1_4
    ) AS verdict_4,
    unchanged_5 OR c1_5 AS verdict_5
  FROM judged
)
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  STRUCT_EXTRACT(each, 'witness') AS witness,
  from_position,
  to_position,
  from_time,
  to_time,
  STRUCT_EXTRACT(each, 'verdict') AS verdict,
  STRUCT_EXTRACT(each, 'exercised') AS exercised,
  STRUCT_EXTRACT(each, 'failed_conjunct') AS failed_conjunct,
  STRUCT_EXTRACT(each, 'reason') AS reason,
  STRUCT_EXTRACT(each, 'observed') AS observed,
  STRUCT_EXTRACT(each, 'evidence') AS evidence
FROM (
  SELECT
    cluster,
    scope,
    from_position,
    to_position,
    from_time,
    to_time,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      CAST(JSON_OBJECT('topic', topic, 'partition', "partition", 'partition_key', partition_key) AS TEXT) AS scope,
      next_from_position AS from_position,
      next_to_position AS to_position,
      next_from_time AS from_time,
      next_to_time AS to_time,
      [
        CASE
          WHEN next_from_position = to_position
          AND NOT cluster IS NULL
          AND NOT topic IS NULL
          AND NOT "partition" IS NULL
          AND NOT partition_key IS NULL
          AND NOT p IS NULL
          AND NOT k IS NULL
          THEN {'definition': 'no_write_after_fence', 'witness': CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN CAST(JSON_OBJECT('p', p, 'k', k) AS TEXT) END, 'verdict': verdict_1, 'exercised': COALESCE(NOT unchanged_1, FALSE), 'failed_conjunct': CASE
            WHEN NOT verdict_1
            THEN CASE WHEN NOT c1_1 THEN 'appendedEpoch''[p][k] >= appendedEpoch[p][k]' END
          END, 'reason': CASE WHEN verdict_1 IS NULL THEN 'not_captured' END, 'observed': CASE
            WHEN NOT COALESCE(verdict_1, FALSE)
            THEN CAST(JSON_OBJECT('appendedEpoch[p][k]', "appendedEpoch[p][k]", 'appendedEpoch''[p][k]', "appendedEpoch'[p][k]") AS TEXT)
          END, 'evidence': CASE WHEN NOT COALESCE(verdict_1, FALSE) THEN evidence END}
        END,
        CASE
          WHEN next_from_position = to_position
          AND NOT cluster IS NULL
          AND NOT topic IS NULL
          AND NOT "partition" IS NULL
          AND NOT partition_key IS NULL
          AND NOT p IS NULL
          AND NOT k IS NULL
          THEN {'definition': 'new_epoch_starts_at_sequence_zero', 'witness': CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN CAST(JSON_OBJECT('p', p, 'k', k) AS TEXT) END, 'verdict': verdict_2, 'exercised': COALESCE(antecedent_2 AND NOT unchanged_2, FALSE), 'failed_conjunct': CASE
            WHEN NOT verdict_2
            THEN CASE WHEN antecedent_2 AND NOT c1_2 THEN 'firstSequence''[p][k] = 0' END
          END, 'reason': CASE WHEN verdict_2 IS NULL THEN 'not_captured' END, 'observed': CASE
            WHEN NOT COALESCE(verdict_2, FALSE)
            THEN CAST(JSON_OBJECT(
              'lastOffset[p][k]',
              "lastOffset[p][k]",
              'lastOffset''[p][k]',
              "lastOffset'[p][k]",
              'newestIsMarker[p][k]',
              "newestIsMarker[p][k]",
              'newestIsMarker''[p][k]',
              "newestIsMarker'[p][k]",
              'appendedEpoch[p][k]',
              "appendedEpoch[p][k]",
              'appendedEpoch''[p][k]',
              "appendedEpoch'[p][k]",
              'lastSequence[p][k]',
              "lastSequence[p][k]",
              'lastSequence''[p][k]',
              "lastSequence'[p][k]",
              'firstSequence[p][k]',
              "firstSequence[p][k]",
              'firstSequence''[p][k]',
              "firstSequence'[p][k]"
            ) AS TEXT)
          END, 'evidence': CASE WHEN NOT COALESCE(verdict_2, FALSE) THEN evidence END}
        END,
        CASE
          WHEN next_from_position = to_position
          AND NOT cluster IS NULL
          AND NOT topic IS NULL
          AND NOT "partition" IS NULL
          AND NOT partition_key IS NULL
          AND NOT p IS NULL
          AND NOT k IS NULL
          THEN {'definition': 'no_sequence_gap', 'witness': CASE WHEN NOT COALESCE(verdict_3, FALSE) THEN CAST(JSON_OBJECT('p', p, 'k', k) AS TEXT) END, 'verdict': verdict_3, 'exercised': COALESCE(antecedent_3 AND NOT unchanged_3, FALSE), 'failed_conjunct': CASE
            WHEN NOT verdict_3
            THEN CASE
              WHEN antecedent_3 AND NOT c1_3
              THEN '~Ahead(firstSequence''[p][k], SequenceAfter(lastSequence[p][k]))'
            END
          END, 'reason': CASE WHEN verdict_3 IS NULL THEN 'not_captured' END, 'observed': CASE
            WHEN NOT COALESCE(verdict_3, FALSE)
            THEN CAST(JSON_OBJECT(
              'lastOffset[p][k]',
              "lastOffset[p][k]",
              'lastOffset''[p][k]',
              "lastOffset'[p][k]",
              'newestIsMarker[p][k]',
              "newestIsMarker[p][k]",
              'newestIsMarker''[p][k]',
              "newestIsMarker'[p][k]",
              'appendedEpoch[p][k]',
              "appendedEpoch[p][k]",
              'appendedEpoch''[p][k]',
              "appendedEpoch'[p][k]",
              'lastSequence[p][k]',
              "lastSequence[p][k]",
              'lastSequence''[p][k]',
              "lastSequence'[p][k]",
              'firstSequence[p][k]',
              "firstSequence[p][k]",
              'firstSequence''[p][k]',
              "firstSequence'[p][k]"
            ) AS TEXT)
          END, 'evidence': CASE WHEN NOT COALESCE(verdict_3, FALSE) THEN evidence END}
        END,
        CASE
          WHEN next_from_position = to_position
          AND NOT cluster IS NULL
          AND NOT topic IS NULL
          AND NOT "partition" IS NULL
          AND NOT partition_key IS NULL
          AND NOT p IS NULL
          AND NOT k IS NULL
          THEN {'definition': 'no_sequence_reset', 'witness': CASE WHEN NOT COALESCE(verdict_4, FALSE) THEN CAST(JSON_OBJECT('p', p, 'k', k) AS TEXT) END, 'verdict': verdict_4, 'exercised': COALESCE(antecedent_4 AND NOT unchanged_4, FALSE), 'failed_conjunct': CASE
            WHEN NOT verdict_4
            THEN CASE
              WHEN antecedent_4 AND NOT c1_4
              THEN '~Behind(firstSequence''[p][k], SequenceAfter(lastSequence[p][k]))'
            END
          END, 'reason': CASE WHEN verdict_4 IS NULL THEN 'not_captured' END, 'observed': CASE
            WHEN NOT COALESCE(verdict_4, FALSE)
            THEN CAST(JSON_OBJECT(
              'lastOffset[p][k]',
              "lastOffset[p][k]",
              'lastOffset''[p][k]',
              "lastOffset'[p][k]",
              'newestIsMarker[p][k]',
              "newestIsMarker[p][k]",
              'newestIsMarker''[p][k]',
              "newestIsMarker'[p][k]",
              'appendedEpoch[p][k]',
              "appendedEpoch[p][k]",
              'appendedEpoch''[p][k]',
              "appendedEpoch'[p][k]",
              'lastSequence[p][k]',
              "lastSequence[p][k]",
              'lastSequence''[p][k]',
              "lastSequence'[p][k]",
              'firstSequence[p][k]',
              "firstSequence[p][k]",
              'firstSequence''[p][k]',
              "firstSequence'[p][k]"
            ) AS TEXT)
          END, 'evidence': CASE WHEN NOT COALESCE(verdict_4, FALSE) THEN evidence END}
        END,
        CASE
          WHEN next_from_position = to_position
          AND NOT cluster IS NULL
          AND NOT topic IS NULL
          AND NOT "partition" IS NULL
          AND NOT partition_key IS NULL
          AND NOT p IS NULL
          AND NOT k IS NULL
          THEN {'definition': 'marker_coordinator_epoch_never_falls', 'witness': CASE WHEN NOT COALESCE(verdict_5, FALSE) THEN CAST(JSON_OBJECT('p', p, 'k', k) AS TEXT) END, 'verdict': verdict_5, 'exercised': COALESCE(NOT unchanged_5, FALSE), 'failed_conjunct': CASE
            WHEN NOT verdict_5
            THEN CASE WHEN NOT c1_5 THEN 'markerCoordinatorEpoch''[p][k] >= markerCoordinatorEpoch[p][k]' END
          END, 'reason': CASE WHEN verdict_5 IS NULL THEN 'not_captured' END, 'observed': CASE
            WHEN NOT COALESCE(verdict_5, FALSE)
            THEN CAST(JSON_OBJECT(
              'markerCoordinatorEpoch[p][k]',
              "markerCoordinatorEpoch[p][k]",
              'markerCoordinatorEpoch''[p][k]',
              "markerCoordinatorEpoch'[p][k]"
            ) AS TEXT)
          END, 'evidence': CASE WHEN NOT COALESCE(verdict_5, FALSE) THEN evidence END}
        END
      ] AS rows_
    FROM weighed
    WHERE
      NOT from_position IS NULL
  ) AS judged_together
) AS fanned
WHERE
  NOT each IS NULL
UNION ALL
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  exercised,
  failed_conjunct,
  reason,
  observed,
  evidence
FROM (
  SELECT
    cluster,
    scope,
    witness,
    from_position,
    to_position,
    from_time,
    to_time,
    verdict,
    exercised,
    failed_conjunct,
    reason,
    observed,
    evidence,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      CAST(JSON_OBJECT('topic', topic, 'partition', "partition", 'partition_key', partition_key) AS TEXT) AS scope,
      CAST(NULL AS TEXT) AS witness,
      from_position,
      to_position + 1 AS to_position,
      from_time,
      to_time,
      CAST(NULL AS BOOLEAN) AS verdict,
      FALSE AS exercised,
      CAST(NULL AS TEXT) AS failed_conjunct,
      'not_captured' AS reason,
      CAST(NULL AS TEXT) AS observed,
      CAST(NULL AS TEXT) AS evidence,
      [
        {'definition': 'no_write_after_fence'},
        {'definition': 'new_epoch_starts_at_sequence_zero'},
        {'definition': 'no_sequence_gap'},
        {'definition': 'no_sequence_reset'},
        {'definition': 'marker_coordinator_epoch_never_falls'}
      ] AS rows_
    FROM silver.log_coverage
    WHERE
      (
        NOT COALESCE(covered, FALSE)
        OR from_position IS NULL
        OR cluster IS NULL
        OR topic IS NULL
        OR "partition" IS NULL
        OR partition_key IS NULL
      )
      AND (
        NOT topic = '__transaction_state' OR topic IS NULL
      )
  ) AS judged_together
) AS fanned
UNION ALL
SELECT
  STRUCT_EXTRACT(each, 'definition') AS definition,
  cluster,
  scope,
  witness,
  from_position,
  to_position,
  from_time,
  to_time,
  verdict,
  exercised,
  failed_conjunct,
  reason,
  observed,
  evidence
FROM (
  SELECT
    cluster,
    scope,
    witness,
    from_position,
    to_position,
    from_time,
    to_time,
    verdict,
    exercised,
    failed_conjunct,
    reason,
    observed,
    evidence,
    UNNEST(rows_) AS each
  FROM (
    SELECT
      cluster,
      CAST(JSON_OBJECT('topic', topic, 'partition', "partition", 'partition_key', partition_key) AS TEXT) AS scope,
      CAST(NULL AS TEXT) AS witness,
      from_position,
      to_position + 1 AS to_position,
      from_time,
      to_time,
      CAST(NULL AS BOOLEAN) AS verdict,
      FALSE AS exercised,
      CAST(NULL AS TEXT) AS failed_conjunct,
      'not_captured' AS reason,
      CAST(NULL AS TEXT) AS observed,
      CAST(NULL AS TEXT) AS evidence,
      [
        {'definition': 'no_write_after_fence'},
        {'definition': 'new_epoch_starts_at_sequence_zero'},
        {'definition': 'no_sequence_gap'},
        {'definition': 'no_sequence_reset'},
        {'definition': 'marker_coordinator_epoch_never_falls'}
      ] AS rows_
    FROM silver.producer_states
    WHERE
      from_position IS NULL
      OR partition_key IS NULL
      OR producer_id IS NULL
      OR cluster IS NULL
      OR topic IS NULL
      OR "partition" IS NULL
  ) AS judged_together
) AS fanned
