-- decided, definitions, part -> the rows of verdicts.decisions.
SELECT
  definitions.module,
  decided.definition AS decision,
  decided.cluster,
  decided.subject,
  decided.outcome,
  part.chapter
FROM decided
JOIN definitions
  ON decided.definition = definitions.definition
CROSS JOIN part
