"""Parts of Markdown pages that are generated: rows of tables, and what stands between two markers."""

from __future__ import annotations

import re
from collections.abc import Iterable


def row(cells: Iterable[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def with_part(page: str, markers: tuple[str, str], lines: Iterable[str]) -> str:
    """The text of a page with these lines between its markers. Raises ValueError if it has none."""
    begin, end = markers
    between = re.compile(f"{re.escape(begin)}\n.*?{re.escape(end)}", re.DOTALL)
    if not between.search(page):
        raise ValueError(f"the page needs these two lines: {begin} and {end}")
    text = "\n".join([begin, "", *lines, end])
    return between.sub(lambda _: text, page)
