"""The queries of docs/questions.md: each runs, and answers from the logs that it names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "questions.md").read_text(encoding="utf-8")
QUESTIONS = re.findall(
    r"^\*\*([^*\n]+)\*\*(?: \([^`\n]*`([\w.-]+)`\))?\n\n```sql\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL
)


@pytest.mark.parametrize(
    ("question", "capture", "query"), QUESTIONS, ids=[each[0][:40] for each in QUESTIONS]
)
def test_a_question_is_answered_from_real_logs(audit: Any, question: str, capture: str, query: str) -> None:
    assert audit.rows(query), question
    if capture:
        (mart,) = re.findall(r"FROM (marts\.\w+)", query)
        condition = "".join(re.findall(r"WHERE (.+)\n", query)) or "true"
        of_capture = f"SELECT count(*) AS n FROM {mart} WHERE cluster = '{capture}' AND ({condition})"
        assert audit.rows(of_capture)[0]["n"] > 0, question


def test_every_question_of_the_page_is_here() -> None:
    assert len(QUESTIONS) == PAGE.count("```sql") > 15
