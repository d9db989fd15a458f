"""The page of an audit: what it says, that every link of it leads somewhere, and that no name breaks out."""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

import pyarrow as pa
import pytest
import yaml
from hostile import NAMES
from PIL import Image, ImageChops

from fencepost import cli
from fencepost.definitions import definitions
from fencepost.iceberg.catalog import open_catalog
from fencepost.opening import open_lake
from fencepost.page import site
from fencepost.page.addresses import entity_file, first_page, incident_file, incident_page
from fencepost.page.folder import LISTING, Folder, FolderError
from fencepost.page.rendering import prose
from fencepost.settings import Settings, load
from fencepost.tables.table import ARROW

if TYPE_CHECKING:
    from conftest import Audited

ROOT = Path(__file__).resolve().parents[1]
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
INVARIANT = "no_commit_for_anothers_partition"
MARKED = {each.id: each for each in definitions() if each.severity is not None}
MODELS = {
    model["name"]: {column["name"]: column["data_type"] for column in model["columns"]}
    for file in (ROOT / "dbt" / "models").rglob("fct_*.yml")
    for model in yaml.load(file.read_text(), yaml.CSafeLoader)["models"]
}


class Page(HTMLParser):
    """A page of HTML: its elements in order, its links, ids and text. Fails where a tag is not closed."""

    def __init__(self, file: Path) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, tuple[str, ...]]] = []
        self.links: list[str] = []
        self.ids: set[str] = set()
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        source = file.read_text(encoding="utf-8")
        assert source.startswith("<!DOCTYPE html>")
        self.feed(source)
        self.close()
        assert self._open == [], (file, self._open)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        assert len(named) == len(attrs), (tag, attrs)
        self.elements.append((tag, tuple(sorted(named))))
        self.attributes.append((tag, named))
        self.links += [value or "" for name in ("href", "src") if (value := named.get(name, "\0")) != "\0"]
        if (own := named.get("id")) is not None:
            assert own not in self.ids, own
            self.ids.add(own)
        if tag not in VOID:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open and self._open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data: str) -> None:
        if not {"style", "script"} & set(self._open):
            self.text += data

    @property
    def words(self) -> str:
        return " ".join(self.text.split())


def pages(folder: Path) -> Iterator[tuple[Path, Page]]:
    for file in sorted(folder.rglob("*.html")):
        yield file, Page(file)


def assert_whole(folder: Path) -> None:
    """Every page is well formed, and every link leads to a file of the folder, and to a place in it."""
    found = dict(pages(folder))
    for file, page in found.items():
        assert page.ids >= {"main"}, file
        for link in page.links:
            path, _, place = link.partition("#")
            assert "//" not in link and ":" not in link, (file, link)
            target = (file.parent / unquote(path)).resolve() if path else file.resolve()
            assert target.is_file() and target.is_relative_to(folder.resolve()), (file, link)
            assert not place or place in found[target if path else file].ids, (file, link)
        by_tag = [tag for tag, _ in page.elements]
        assert [by_tag.count(tag) for tag in ("html", "title", "h1", "main")] == [1, 1, 1, 1], file
        assert all(named.get("alt") for tag, named in page.attributes if tag == "img"), file
        assert all("style" not in named for _, named in page.attributes), file
        assert not any(name.startswith("on") for _, named in page.attributes for name in named), file


@pytest.fixture(scope="module")
def written(troubled: Audited, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the troubled cluster, as the command writes it."""
    folder = tmp_path_factory.mktemp("page") / "new"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FENCEPOST_LAKE", str(troubled.lake))
        assert cli.main(["report", "--html", str(folder), "--config", str(troubled.config)]) == 0
    return folder


def test_every_page_is_whole(written: Path) -> None:
    assert_whole(written)
    kinds = {file.parent.name for file in written.rglob("*.html")}
    assert kinds >= {"incidents", "groups", "invariants", written.name}
    assert {file.stem for file in (written / "invariants").iterdir()} == set(MARKED)


def test_no_other_host_is_asked(written: Path) -> None:
    for file in (*written.rglob("*.html"), *written.rglob("*.svg")):
        source = file.read_text(encoding="utf-8")
        assert not re.search(r"(?:src|href|action|data|poster)\s*=\s*[\"']?(?:https?:)?//", source), file
        assert not re.search(r"url\(\s*[\"']?(?!#)|@import", source), file
        if file.suffix == ".html":
            assert "default-src 'none'" in source, file


def test_the_index_begins_with_the_result(written: Path) -> None:
    words = Page(written / "index.html").words.partition("Fencepost FAILED: ")[2]
    places = [words.index(each) for each in ("Clusters", "New: ", "Ongoing: ", "Over: ", "What changed")]
    assert places == sorted(places)
    line = r"offset commit: \d+ of \d+ exercised, \d+ judged, \d+ hold throughout, \d+ violated"
    assert re.search(line, words.partition("What changed")[2])


def test_the_page_of_an_incident_has_its_whole_story(written: Path, troubled: Audited) -> None:
    page = next(
        page
        for file, page in pages(written / "incidents")
        if "Breaks no_zombie_accepted" in page.words and "Timeline" in page.words
    )
    words = page.words
    for needed in (
        "What happened",
        "of group",
        "while member",
        "the broker accepted it",
        "Who owned the partition",
        "before",
        "then",
        "NoZombieAccepted == \\A c \\in commits : Zombie(c) => ~c.accepted",
        "Perhaps a known issue: ",
        "On call",
        f"--config {troubled.config}",
        "kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --describe --members",
        "--verbose --group zombie",
    ):
        assert needed in words
    owner = re.search(r"while member (\S+) owned it", words)
    assert owner is not None
    assert re.search(rf"Who owned the partition.*?then\s*\S+ \S+ UTC\s*{re.escape(owner[1])}", words)
    assert re.search(r"Logged in \S+kafka-request\.log\S* at byte \d+", words)
    assert re.search(r"fencepost explain [0-9a-f]{16} --config /", words)
    assert re.search(r"On call\s+[A-Z]", words)
    assert "`" not in words.partition("On call")[2]  # commands in the text are code
    assert [tag for tag, _ in page.elements].count("mark") >= 1
    assert "img" in [tag for tag, _ in page.elements]


def test_commands_in_a_text_are_code_whatever_names_they_have() -> None:
    told = str(prose("run `a --group G`, <then> `b`", {"group_id": "` <i>`"}))
    assert told == "Run <code>a --group &#39;` &lt;i&gt;`&#39;</code>, &lt;then&gt; <code>b</code>"


def test_every_incident_of_the_lake_has_its_page_and_commands_name_it(
    written: Path, troubled: Audited, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FENCEPOST_LAKE", str(troubled.lake))
    settings = load(troubled.config)
    assert cli.main(["incidents", "--format", "json", "--config", str(troubled.config)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert {file.stem for file in (written / "incidents").iterdir()} == {
        each["fingerprint"] for each in found
    }
    # the page that the audit itself wrote, beside its lake
    page = incident_page(settings, found[0]["fingerprint"])
    assert page is not None and Path(page).is_file()
    assert cli.main(["incidents", found[0]["fingerprint"], "--config", str(troubled.config)]) == 0
    said = capsys.readouterr().out
    assert f"Page: {page}" in said
    assert "Perhaps a known issue: " in said
    assert cli.main(["report", "--config", str(troubled.config)]) == 0
    assert capsys.readouterr().out.endswith(f"\n  Page: {first_page(settings)}\n")
    verdict = re.search(r"fencepost explain ([0-9a-f]{16})", said)
    assert verdict is not None
    assert cli.main(["explain", verdict[1], "--config", str(troubled.config)]) == 0
    assert f"Page: {page}" in capsys.readouterr().out
    behind = dataclasses.replace(settings, report_url="https://audit.example.com/pages/")
    expected = f"https://audit.example.com/pages/incidents/{found[0]['fingerprint']}.html"
    assert incident_page(behind, found[0]["fingerprint"]) == expected


def test_what_is_the_same_is_not_written_again(
    written: Path, troubled: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FENCEPOST_LAKE", str(troubled.lake))
    before = {
        file: file.stat().st_mtime_ns for file in written.rglob("*") if file.suffix in (".html", ".svg")
    }
    settings = load(troubled.config)
    with open_lake(settings) as lake:
        site.write(lake, settings, written, pictures=0)
    after = {file: file.stat().st_mtime_ns for file in written.rglob("*") if file.suffix in (".html", ".svg")}
    assert before == after
    assert any(file.suffix == ".svg" for file in after)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it."""
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def test_text_can_be_read_in_the_light_and_in_the_dark() -> None:
    style = (ROOT / "spark/fencepost/page/templates/style.css").read_text()
    light, dark = (
        dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", part)) for part in style.split("@media", 2)[:2]
    )
    assert light.keys() == dark.keys() and len(light) == 12
    for colours in (light, dark):
        for text in ("ink", "quiet", "link", "red", "orange", "blue", "green"):
            for ground in ("ground", "card"):
                assert _contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
        assert _contrast(colours["on"], colours["red"]) >= 4.5
        assert _contrast(colours["ink"], colours["mark"]) >= 4.5


Fill = Callable[..., Settings]


@pytest.fixture(scope="module")
def fill(empty_lake: Callable[[], Settings]) -> Fill:
    """Call it with names of groups for a lake with an incident of each, of which ``told`` have a verdict."""

    def make(names: tuple[str, ...], told: int = 10**9, **more: list[dict[str, Any]]) -> Settings:
        settings = empty_lake()
        catalog = open_catalog(settings.lake)
        catalog.create_namespace_if_not_exists("marts")
        rows = {name: [] for name in MODELS} | {
            "fct_incidents": [_incident(number, name) for number, name in enumerate(names)],
            "fct_incident_verdicts": [_verdict(number, name) for number, name in enumerate(names[:told])],
            "fct_invariant_verdicts": [_episode(number, name) for number, name in enumerate(names[:told])],
            "fct_invariant_coverage": [_coverage(each) for each in MARKED],
            **more,
        }
        for mart, of_mart in rows.items():
            schema = pa.schema([(name, ARROW.get(kind, pa.string())) for name, kind in MODELS[mart].items()])
            schema = pa.schema(
                [
                    (name, pa.list_(pa.string()) if MODELS[mart][name] == "array<string>" else kind)
                    for name, kind in zip(schema.names, schema.types, strict=True)
                ]
            )
            table = catalog.create_table_if_not_exists(f"marts.{mart}", schema)
            if of_mart:
                named = [{name: row.get(name) for name in schema.names} for row in of_mart]
                table.append(pa.Table.from_pylist(named, schema=schema))
        return settings

    return make


def _at(second: int) -> dt.datetime:
    return dt.datetime(2026, 1, 2, tzinfo=dt.UTC) + dt.timedelta(seconds=second)


def _incident(number: int, name: str) -> dict[str, Any]:
    return {
        "cluster": "test",
        "fingerprint": f"{number:016x}",
        "state": ("new", "ongoing", "over", "waived")[number % 4],
        "severity": "critical",
        "title": f"{INVARIANT} is violated: group {name}",
        "protocol": "offset_commit",
        "group_id": name,
        "topic": name,
        "client_id": name,
        "transactional_id": name,
        "instance": name,
        "waived_because": name,
        "waived_until": "2026-02-01",
        "invariants": [INVARIANT],
        "critical": [INVARIANT],
        "verdicts": 1,
        "first_seen": _at(number),
        "last_seen": _at(number),
        "is_open": False,
    }


def _verdict(number: int, name: str) -> dict[str, Any]:
    return {
        "cluster": "test",
        "verdict_id": f"{number:016x}",
        "fingerprint": f"{number:016x}",
        "protocol": "offset_commit",
        "invariant": INVARIANT,
        "severity": "critical",
        "group_id": name,
        "from_time": _at(number),
        "to_time": _at(number + 1),
    }


def _episode(number: int, name: str) -> dict[str, Any]:
    return {
        "verdict_id": f"{number:016x}",
        "module": "OffsetCommitProps",
        "invariant": INVARIANT,
        "kind": "invariant",
        "severity": "critical",
        "cluster": "test",
        "scope": json.dumps({"group_id": name, "life": 1}),
        "witness": json.dumps({"c": name}),
        "from_time": _at(number),
        "verdict": "violated",
        "failed_conjunct": "~c.ownedByAnother",
        "observed": json.dumps({"c.ownedByAnother": True, name: name}),
        "evidence": json.dumps(
            {"topic": name, "file": name, "position": 7, name: name, "commit_id": str(number)}
        ),
    }


def _coverage(invariant: str) -> dict[str, Any]:
    counts: Mapping[str, int] = dict.fromkeys(
        ("scopes", "checked", "exercised", "holds", "violated", "unknown", "unread"), 1
    )
    found = MARKED[invariant]
    return {
        **counts,
        "cluster": "test",
        "module": found.module,
        "invariant": invariant,
        "kind": found.kind,
        "severity": found.severity,
        "status": "violated" if invariant == INVARIANT else "holds",
        "description": "What it means.",
    }


def _write(settings: Settings, folder: Path) -> Path:
    with open_lake(settings) as lake:
        site.write(lake, settings, folder, pictures=0)
    return folder


def test_names_do_not_break_out(fill: Fill, tmp_path: Path) -> None:
    """With hostile names the pages have the same elements and attributes as with tame ones."""
    tame = _write(fill(tuple(f"orders-{number}" for number in range(len(NAMES)))), tmp_path / "tame")
    hostile = _write(fill(NAMES), tmp_path / "hostile")
    assert_whole(hostile)
    assert sorted(
        each.relative_to(tmp_path / "hostile").parts[0] for each in hostile.rglob("*.html")
    ) == sorted(each.relative_to(tmp_path / "tame").parts[0] for each in tame.rglob("*.html"))
    for number, name in enumerate(NAMES):
        files = [
            (incident_file(f"{number:016x}"),) * 2,
            *(
                (entity_file(column, "test", f"orders-{number}"), entity_file(column, "test", name))
                for column in ("group_id", "transactional_id", "topic", "instance")
            ),
        ]
        for as_tame, as_hostile in files:
            assert Page(hostile / as_hostile).elements == Page(tame / as_tame).elements, name
            assert re.fullmatch(r"[a-z-]+/[a-z0-9-]{1,60}\.html", as_hostile)
    assert Page(hostile / "index.html").elements == Page(tame / "index.html").elements
    for file in hostile.rglob("*.html"):
        moves = {char for char in file.read_text(encoding="utf-8") if not char.isprintable()}
        assert moves <= {"\n"}, (file, moves)


def test_what_was_not_judged_is_not_said_to_have_nothing_open(fill: Fill, tmp_path: Path) -> None:
    """And a moment is no span of time, whatever its milliseconds are."""
    short = {**_incident(3, "orders"), "last_seen": _at(3) + dt.timedelta(milliseconds=7)}
    silent = {"cluster": "test", "kind": "request_log", "reason": "no_requests", "entries": 1, "detail": "x"}
    settings = fill((), fct_incidents=[short], fct_quarantine=[silent], fct_invariant_coverage=[])
    words = Page(_write(settings, tmp_path / "page") / "index.html").words
    assert re.search(r"NOT JUDGED\s*\(time unknown\)\s*not known", words)
    assert "00:00:03 UTC" in words
    assert "00:00:03 UTC to" not in words


def test_an_incident_has_the_command_that_ends_it(fill: Fill, tmp_path: Path) -> None:
    orphaned = [
        {"cluster": cluster, "commit_id": commit, "remedy": f"kafka-consumer-groups.sh of {cluster} {commit}"}
        for cluster, commit in (("test", "0"), ("other", "1"))
    ]
    folder = _write(fill(("orders", "payments"), fct_orphaned_offsets=orphaned), tmp_path / "page")
    first, second = (Page(folder / incident_file(f"{number:016x}")).words for number in range(2))
    assert re.search(r"What ends it:\s*kafka-consumer-groups\.sh of test 0", first)
    assert "What ends it" not in second


def test_a_picture_that_cannot_be_drawn_is_not_tried_again(
    fill: Fill, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    settings = fill(("orders", "payments", "returns"))  # of which no mart has a history
    tried = []
    with open_lake(settings) as lake:
        for most in (2, 2, 2):
            caplog.clear()
            site.write(lake, settings, tmp_path / "page", pictures=most)
            tried.append(caplog.text.count("no picture of incident"))
    assert tried == [2, 1, 0]
    assert_whole(tmp_path / "page")


def test_lists_have_an_end(fill: Fill, tmp_path: Path) -> None:
    most = site.MOST_LISTED
    settings = fill(tuple(f"orders-{number}" for number in range(4 * most + 40)), told=50)
    folder = _write(settings, tmp_path / "page")
    assert_whole(folder)
    assert len(list((folder / "incidents").iterdir())) == 4 * most
    words = Page(folder / "index.html").words
    assert f"New: {most + 10}" in words
    assert re.search(r"And 10 more\. All of them:\s*fencepost incidents --state new --config /", words)
    assert (folder / "index.html").stat().st_size < 500_000


def test_only_files_of_the_page_are_removed(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(FolderError, match="holds other files"):
        Folder(tmp_path)
    page = tmp_path / "page"
    Folder(page).write({"index.html": b"1", "incidents/a.html": b"2", "pictures/a.svg": b"3"})
    (page / "theirs.html").write_text("theirs")
    Folder(page).write({"index.html": b"4"}, frozenset({"pictures/a.svg"}))
    files = {str(each.relative_to(page)) for each in page.rglob("*") if each.is_file()}
    assert files == {"index.html", "pictures/a.svg", "theirs.html", LISTING}
    # whoever changes the listing does not make it remove what is elsewhere
    (page / LISTING).write_text(json.dumps(["../mine.txt", str(tmp_path / "mine.txt"), "index.html"]))
    Folder(page).write({})
    assert (tmp_path / "mine.txt").read_text() == "mine"
    assert not (page / "index.html").exists()


def test_a_write_that_fails_names_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error of a full disk names no file."""
    page = Folder(tmp_path / "page")
    monkeypatch.setattr("fencepost.page.folder.write_whole", lambda *_: Path("/dev/full").write_bytes(b"1"))
    with pytest.raises(FolderError, match=rf"^{tmp_path}/page: No space left on device$"):
        page.write({"index.html": b"1"})


def test_a_folder_with_other_files_is_a_mistake_of_the_command(
    troubled: Audited, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FENCEPOST_LAKE", str(troubled.lake))
    (tmp_path / "mine.txt").write_text("mine")
    assert cli.main(["report", "--html", str(tmp_path), "--config", str(troubled.config)]) == 2
    assert f"{tmp_path}: holds other files. Name a new or an empty folder." in capsys.readouterr().err


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MEASURE = """
<!DOCTYPE html><body><script>
const found = {}, wanted = PAGES;
for (const [name, width] of wanted) {
  const frame = document.createElement("iframe");
  frame.width = width; frame.height = 900; frame.src = name;
  frame.onload = () => {
    const doc = frame.contentDocument, style = frame.contentWindow.getComputedStyle(doc.body);
    found[`${name} ${width}`] = {
      width: doc.documentElement.scrollWidth,
      ground: style.backgroundColor,
      filter: doc.getElementById("filter") ? !doc.getElementById("filter").hidden : null,
      broken: [...doc.images].filter((image) => image.complete && !image.naturalWidth).length,
    };
    if (Object.keys(found).length === wanted.length) {
      document.body.dataset.found = JSON.stringify(found);
    }
  };
  document.body.append(frame);
}
</script></body>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
@pytest.mark.parametrize(("dark", "ground"), [(False, "rgb(255, 255, 255)"), (True, "rgb(17, 24, 31)")])
def test_a_browser_shows_it_on_a_phone_and_on_a_screen(
    written: Path, tmp_path: Path, dark: bool, ground: str
) -> None:
    """No page is wider than its window, the pictures are there, and the filter is at work."""
    files = ["index.html", *(f"{each.parent.name}/{each.name}" for each in _one_of_each(written))]
    wanted = [(f"file://{written}/{file}", width) for file in files for width in (360, 1280)]
    wrapper = tmp_path / "wrapper.html"
    wrapper.write_text(MEASURE.replace("PAGES", json.dumps(wanted)))
    found = _found(wrapper, f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    assert len(found) == len(wanted)
    for (name, width), shown in zip(
        wanted, (found[f"{name} {width}"] for name, width in wanted), strict=True
    ):
        assert shown["width"] <= width, (name, width, shown)
        assert (shown["ground"], shown["broken"]) == (ground, 0), (name, shown)
        assert shown["filter"] in (None, True), name


OPENED = """
<!DOCTYPE html><title>tame</title><body><script>
const found = {}, wanted = PAGES;
for (const name of wanted) {
  const frame = document.createElement("iframe");
  frame.src = name;
  frame.onload = () => {
    const doc = frame.contentDocument, links = [...doc.links];
    found[name] = {
      title: doc.title,
      elements: doc.querySelectorAll("body *").length,
      scripts: [...doc.scripts].map((script) => script.textContent.length),
      handlers: doc.querySelectorAll("[onerror], [onload], [onclick]").length,
      elsewhere: links.filter((link) => link.protocol !== "file:").length,
    };
    if (Object.keys(found).length === wanted.length) {
      found.title = document.title;
      document.body.dataset.found = JSON.stringify(found);
    }
  };
  document.body.append(frame);
}
</script></body>
"""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_a_browser_runs_nothing_that_is_a_name(fill: Fill, tmp_path: Path) -> None:
    """It finds in pages with hostile names the elements of pages with tame ones, and their titles."""
    found, opened = {}, {}
    for kind, names in (("tame", tuple(f"orders-{at}" for at in range(len(NAMES)))), ("hostile", NAMES)):
        folder = _write(fill(names), tmp_path / kind)
        files = [f"{folder}/{incident_file(f'{number:016x}')}" for number in range(len(names))]
        files += [f"{folder}/{entity_file('group_id', 'test', name)}" for name in names]
        opened[kind] = [f"file://{file}" for file in files]
        found[kind] = _opened(opened[kind], tmp_path)
        assert found[kind].pop("title") == "tame"
    # a browser loads them in any order
    for file, other in zip(opened["tame"], opened["hostile"], strict=True):
        tame, hostile = found["tame"][file], found["hostile"][other]
        assert hostile.pop("title") != "hit" and tame.pop("title"), other
        assert (hostile, hostile["elsewhere"]) == (tame, 0), (file, other)


def _opened(files: list[str], folder: Path) -> dict[str, Any]:
    """What a browser finds in each page, and the title of the one that shows them."""
    wrapper = folder / "opened.html"
    wrapper.write_text(OPENED.replace("PAGES", json.dumps(files)))
    return _found(wrapper)


def _found(wrapper: Path, *options: str) -> dict[str, Any]:
    """What the script of a page has found in a browser that reaches no host."""
    said = _browse(wrapper, "--dump-dom", *options)
    body = next(named for tag, named in _tags(said) if tag == "body" and "data-found" in named)
    found: dict[str, Any] = json.loads(body["data-found"] or "")
    return found


def _browse(page: Path, *options: str) -> str:
    assert CHROMIUM is not None
    command = [
        CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu",
        f"--user-data-dir={page.parent / 'profile'}", "--allow-file-access-from-files",
        "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=10000", *options, f"file://{page}",
    ]  # fmt: skip
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


SCREENSHOT = Path(__file__).with_name("screenshots") / "page.png"
SHOWN = """
<!DOCTYPE html><meta charset="utf-8"><style>
body {{ margin: 0; font: 16px/1.5 system-ui, sans-serif; }}
iframe {{ display: block; border: 0; border-bottom: 4px solid #888; }}
p {{ height: {ruler}px; margin: 0; overflow: hidden; }}
</style><p>The quick brown fox jumps over the lazy dog. <b>0123456789</b> <code>fencepost incidents</code></p>
{frames}
"""
RULER = 60
"""The height of a line of text above the pages: a machine that draws it otherwise has other fonts."""


@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")
def test_the_page_looks_as_it_did_on_a_phone_and_on_a_screen(fill: Fill, tmp_path: Path) -> None:
    """``FENCEPOST_UPDATE=1`` takes the screenshot again: look at it then."""
    settings = dataclasses.replace(fill(("orders", "payments", "returns", "carts")), path=Path("/f.toml"))
    folder = _write(settings, tmp_path / "page")
    sizes = [("index.html", 360, 1500), ("index.html", 1280, 900)]
    sizes += [(incident_file(f"{0:016x}"), 360, 1900), (incident_file(f"{0:016x}"), 1280, 1250)]
    for page in {folder / file for file, _, _ in sizes}:
        # where a definition stands in its module is no matter of looks
        page.write_text(re.sub(r"\.tla:\d+", ".tla:1", page.read_text()))
    frames = "".join(
        f'<iframe src="{folder / file}" width="{width}" height="{height}"></iframe>'
        for file, width, height in sizes
    )
    wrapper, taken = tmp_path / "shown.html", tmp_path / "taken.png"
    wrapper.write_text(SHOWN.format(ruler=RULER, frames=frames))
    height = RULER + sum(height + 4 for _, _, height in sizes)
    _browse(
        *(wrapper, "--hide-scrollbars", "--force-device-scale-factor=1", "--font-render-hinting=none"),
        *("--disable-lcd-text", "--blink-settings=preferredColorScheme=1"),
        *(f"--window-size=1280,{height}", f"--screenshot={taken}"),
    )
    if os.environ.get("FENCEPOST_UPDATE"):
        shutil.copyfile(taken, SCREENSHOT)
    with Image.open(taken) as now, Image.open(SCREENSHOT) as before:
        ruler = (0, 0, 1280, RULER)
        if ImageChops.difference(now.convert("RGB").crop(ruler), before.convert("RGB").crop(ruler)).getbbox():
            pytest.skip("this machine draws text otherwise: other fonts, or another Chromium")
        assert now.size == before.size == (1280, height)
        different = ImageChops.difference(now.convert("RGB"), before.convert("RGB")).getbbox()
    assert different is None, f"{taken} is not {SCREENSHOT}, in {different}"


def _one_of_each(written: Path) -> list[Path]:
    with_pictures = (file for file in sorted((written / "incidents").iterdir()) if "<img" in file.read_text())
    folders = (
        folder for folder in sorted(written.iterdir()) if folder.is_dir() and folder.name != "pictures"
    )
    return list(dict.fromkeys([next(with_pictures), *(sorted(folder.iterdir())[0] for folder in folders)]))


def _tags(source: str) -> list[tuple[str, dict[str, str | None]]]:
    found: list[tuple[str, dict[str, str | None]]] = []

    class Tags(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            found.append((tag, dict(attrs)))

    Tags().feed(source)
    return found
