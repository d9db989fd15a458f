"""``python -m fencepost.marts.page MODELS PAGE``: lists the marts in a page, as dbt's YAML describes them.

The list stands between two markers of the page; everything else there is written by hand.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from fencepost.markdown import row, with_part

MARKERS = (
    "<!-- generated from dbt/models by `make compile`; do not edit -->",
    "<!-- end of what is generated -->",
)
_ROW = re.compile(r"Grain: one row per (.*?)(?:\. |\.?$)")


def with_list(page: str, models: Path) -> str:
    """The text of a page with the present list. Raises ValueError if the page has no markers for it, or if a
    model's description does not begin with its grain.
    """
    return with_part(page, MARKERS, _list(models))


def _list(models: Path) -> Iterator[str]:
    for folder in sorted(each for each in models.iterdir() if each.is_dir()):
        files = sorted([*folder.glob("fct_*.yml"), *folder.glob("dim_*.yml")])
        if not files:
            continue
        title = "all protocols" if folder.name == "shared" else folder.name.replace("_", " ")
        yield from (f"**{title}** ([dbt/models/{folder.name}](../dbt/models/{folder.name}))", "")
        yield from (row(("mart", "one row per", "key")), "|---|---|---|")
        for file in files:
            for model in yaml.safe_load(file.read_text(encoding="utf-8"))["models"]:
                yield _line(model)
        yield ""


def _line(model: dict[str, Any]) -> str:
    described = " ".join(str(model["description"]).split())
    one_row_per = _ROW.match(described)
    if one_row_per is None:
        raise ValueError(f"the description of {model['name']} does not begin with 'Grain: one row per '")
    key = ", ".join(f"`{column}`" for column in grain(model))
    is_view = model.get("config", {}).get("materialized") == "view"
    return row((f"`marts.{model['name']}`{' (view)' if is_view else ''}", one_row_per[1], key))


def grain(model: dict[str, Any]) -> list[str]:
    """The columns that no two rows of a model share, by its tests."""
    for test in model.get("data_tests", ()):
        if unique := test.get("unique_combination_of_columns"):
            return list(unique["arguments"]["combination_of_columns"])
    return [each["name"] for each in model["columns"] if "unique" in each.get("data_tests", ())]


if __name__ == "__main__":
    written = Path(sys.argv[2])
    written.write_text(with_list(written.read_text(encoding="utf-8"), Path(sys.argv[1])), encoding="utf-8")
