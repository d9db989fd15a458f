"""What dbt has compiled is kept, and used by whoever has the same code."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from fencepost.jars import JARS_ENV
from fencepost.marts import COMPILED, compiled, project
from fencepost.places import work_folder
from fencepost.settings import Settings


def test_dbt_compiles_once(
    empty_lake: Callable[[], Settings], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spark").mkdir()
    (tmp_path / "spark" / "iceberg.jar").touch()
    monkeypatch.setenv(JARS_ENV, str(tmp_path))
    first, other = empty_lake(), empty_lake()
    monkeypatch.setattr(compiled, "_projects", {})
    made = project(first)
    models = {each.name for each in made.models}
    assert models == {each.name for each in made.nodes if not each.is_test}
    assert all(each.depends_on and each.depends_on <= models for each in made.nodes if each.is_test)
    mart = next(each for each in made.nodes if each.name == "fct_fencing_events")
    assert "fct_offset_commits" in mart.depends_on, "what is a part of its query reads it"

    def compiles(*_: object) -> None:
        raise AssertionError("dbt was asked again")

    monkeypatch.setattr(compiled, "parse", compiles)
    assert project(first) is made
    monkeypatch.setattr(compiled, "_projects", {})
    assert project(first) == made
    monkeypatch.setattr(compiled, "_projects", {})
    shutil.copyfile(work_folder(first, "dbt") / COMPILED, tmp_path / "spark" / COMPILED)
    assert project(other) == made, "as setting up has compiled it"
    monkeypatch.setattr(compiled, "code", lambda dbt: "other")
    with pytest.raises(AssertionError, match="again"):
        project(first)
