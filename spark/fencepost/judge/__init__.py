"""The judge: evaluates the compiled definitions over silver, once, and writes the verdicts.

Episodes and counts are made of the results with SQL: the files in ``rules``.
"""

from fencepost.judge.run import JudgeSummary, judge

__all__ = ["JudgeSummary", "judge"]
