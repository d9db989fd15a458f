"""What must stay true of pages for people: links lead somewhere, names exist, the first page stays short."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from fencepost.cli import EXIT_CODES
from fencepost.marts.page import with_list
from fencepost.settings.file import _File
from fencepost.settings.model import Broker, Client, Cluster, Recipient, Waiver

ROOT = Path(__file__).resolve().parents[1]
MOST_WORDS = {"docs/architecture.md": 2_500}
_FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_DBT_PAGE = re.compile(r"#!/model/model\.fencepost\.(\w+)")
"""A link between the pages that dbt makes."""
_MODULE = re.compile(r"`([\w/-]+\.(?:py|sql))`")


@cache
def tracked() -> frozenset[str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return frozenset(name for name in listed.stdout.decode().split("\0") if (ROOT / name).is_file())


def pages() -> Iterator[tuple[str, str]]:
    """Each page and its text, without blocks of code; not what a test compares as a text."""
    for name in sorted(tracked()):
        if name.endswith(".md") and "/golden/" not in name:
            yield name, _FENCED.sub("", (ROOT / name).read_text(encoding="utf-8"))


@cache
def anchors(path: Path) -> set[str]:
    """The anchors of a file, as GitHub makes them: of a page's headings, of another file's lines."""
    if path.suffix != ".md":
        return {f"L{number}" for number in range(1, 1 + len(path.read_text(encoding="utf-8").splitlines()))}
    text = _FENCED.sub("", path.read_text(encoding="utf-8"))
    headings = (re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", each) for each in _HEADING.findall(text))
    return {re.sub(r"[^\w\- ]", "", each.strip().lower()).replace(" ", "-") for each in headings}


def test_every_link_between_pages_leads_somewhere() -> None:
    broken, found = [], 0
    for name, text in pages():
        for link in _LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
            if re.match(r"[a-z]+:", link):
                continue
            found += 1
            if model := _DBT_PAGE.fullmatch(link):
                if f"{model[1]}.sql" not in {Path(each).name for each in tracked()}:
                    broken.append((name, link))
                continue
            path, _, anchor = unquote(link).partition("#")
            target = (ROOT / name).parent / path if path else ROOT / name
            if not target.exists() or (anchor and anchor not in anchors(target)):
                broken.append((name, link))
    assert broken == []
    assert found > 100


def test_every_module_that_a_page_names_exists() -> None:
    ends = {
        "/".join(parts[at:]) for parts in (name.split("/") for name in tracked()) for at in range(len(parts))
    }
    assert [
        (name, each) for name, text in pages() for each in _MODULE.findall(text) if each not in ends
    ] == []


@pytest.mark.parametrize("page", sorted(MOST_WORDS))
def test_pages_stay_short(page: str) -> None:
    """What only the reader of one folder needs belongs into the README of that folder."""
    assert len((ROOT / page).read_text(encoding="utf-8").split()) <= MOST_WORDS[page]


def test_the_list_of_marts_is_what_their_yaml_says() -> None:
    """`make compile` writes it."""
    page = (ROOT / "docs" / "marts.md").read_text(encoding="utf-8")
    assert with_list(page, ROOT / "dbt" / "models") == page
    files = (ROOT / "dbt" / "models").glob("*/*.sql")
    models = {path.stem for path in files if path.stem.startswith(("fct_", "dim_"))}
    assert set(re.findall(r"^\| `marts\.(\w+)`", page, re.MULTILINE)) == models


def test_every_key_and_every_exit_code_is_explained() -> None:
    page = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    tables = [each.annotation for each in _File.model_fields.values()]
    fields = [each.model_fields for each in tables if hasattr(each, "model_fields")]
    fields += [each.__pydantic_fields__ for each in (Cluster, Broker, Client, Waiver, Recipient)]
    keys = {field.alias or name for each in fields for name, field in each.items()} | {*_File.model_fields}
    assert len(keys) > 20
    assert {each for each in keys if not re.search(rf"\b{each}\b", page)} == set()
    codes = re.findall(r"(?:^Exit codes:|;) (\d+) ", EXIT_CODES)
    assert len(codes) == 6
    assert {each for each in codes if not re.search(rf"^\| {each} \|", page, re.MULTILINE)} == set()
