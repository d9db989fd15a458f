"""The judge: runs the compiled definitions over silver, once, and writes the verdicts.

Which engine runs them (:mod:`fencepost.judge.engine`) changes no row. What is made of their rows, episodes
and counts, is SQL that both engines read: the files in ``rules``.
"""

from fencepost.judge.run import JudgeSummary, judge

__all__ = ["JudgeSummary", "judge"]
