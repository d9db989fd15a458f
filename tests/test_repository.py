"""What must stay true of the repository and its environment, whatever is added."""

from __future__ import annotations

import ast
import importlib.metadata
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from fencepost.protocols import protocols

ROOT = Path(__file__).resolve().parents[1]
FENCEPOST = tuple((ROOT / "spark" / "fencepost").rglob("*.py"))
# Written so that this file does not find itself.
REGISTRIES = re.compile(
    rb"py[p]i\.org|pythonh[o]sted\.org|repo1?\.m[a]ven|cr[a]tes\.io|npmj[s]\.org|deb\.deb[i]an\.org"
)


def test_types() -> None:
    """The half of `make check` that takes its time, beside other tests."""
    checked = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.decode().split("\0") if name]


@pytest.mark.parametrize("folder", ["spec", "dbt", "expectations"])
def test_folders_that_hold_no_python(folder: str) -> None:
    assert list((ROOT / folder).rglob("*.py")) == []


def test_the_import_root_is_no_package() -> None:
    """`spark` or `dbt` as packages of ours would shadow, or be shadowed by, the libraries of these names."""
    assert list((ROOT / "spark").glob("*.py")) == []
    assert [path for path in tracked() if path.name.startswith("dbt_") and path.suffix == ".py"] == []


def test_a_protocol_is_imported_by_nobody_else() -> None:
    """No protocol imports another, and no shared folder imports one: what two need is shared."""
    package = ROOT / "spark" / "fencepost"
    protocols = {path.parent.name for path in package.glob("protocols/*/protocol.py")}
    assert len(protocols) >= 5
    named = {
        (str(path.relative_to(package)), name)
        for path in package.rglob("*.py")
        for name in imported(path) & protocols
        if package / "protocols" / name not in path.parents
    }
    assert named == set()


@pytest.mark.parametrize("name", [each.name for each in protocols()])
def test_few_modules_of_a_protocol_know_of_chapters(name: str) -> None:
    """A replay goes on from a state (``Protocol.states``), wherever that is from."""
    modules = sorted((ROOT / "spark" / "fencepost" / "protocols" / name).rglob("*.py"))
    assert len(modules) > 10
    know = [each.name for each in modules if "chapter" in each.read_text(encoding="utf-8").lower()]
    assert len(know) <= 3, know


def test_no_circle_of_imports() -> None:
    """Imports inside functions and those for types count, too: what is below knows nothing of what is above.

    graphlib raises CycleError, which names the modules of a circle.
    """
    modules = {".".join(path.relative_to(ROOT / "spark").with_suffix("").parts): path for path in FENCEPOST}
    modules = {name.removesuffix(".__init__"): path for name, path in modules.items()}
    graph = {name: set(imports(path, modules)) - {name} for name, path in modules.items()}
    assert len(graph) > 400
    TopologicalSorter(graph).prepare()


def imports(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    """Those of these modules that the code in a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names if each.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for each in node.names:
                name = f"{node.module}.{each.name}"
                yield from {name if name in modules else node.module} & modules.keys()


def test_private_names_of_pyiceberg_are_in_one_place() -> None:
    """What PyIceberg lacks may go one day: it is looked for in one file, beside the catalog."""
    private = re.compile(r"^from pyiceberg\S* import (\([^)]*\b_\w|[^(\n]*\b_\w)", re.MULTILINE)
    users = [path.name for path in FENCEPOST if private.search(path.read_text(encoding="utf-8"))]
    assert users == ["patches.py"]


def test_one_place_decides_what_has_changed() -> None:
    """Whoever asks what is new, or what stands, asks the ledger. Nobody else compares snapshots of tables,
    notes the work of a step in a property of a table, or reads the ledger's table.
    """
    asks = re.compile(
        r"\bLEDGER\b|\blake\.(added|scan_at|keep_since)\b|table_uuid|current_snapshot_id|set_properties"
    )
    package = ROOT / "spark" / "fencepost"
    found = {str(path.relative_to(package)) for path in FENCEPOST if asks.search(path.read_text("utf-8"))}
    others = {path for path in found if path.partition("/")[0] not in ("ledger", "lake", "iceberg", "tables")}
    assert others == {
        # lists all tables
        "protocols/__init__.py",
        # counts lines from the snapshot on of which they were counted last
        "replay/line_counts.py",
        # who holds the lease of a lake, and that it lives
        "lease.py",
        # by which key a lake has pseudonyms is a property
        "pseudonyms/lakes.py",
        # a mart's description is a property
        "marts/tables.py",
    }


def test_a_chapter_reads_the_evidence_through_one_view() -> None:
    """An engine wrapped round another one would decide, too, which rows a protocol gets."""
    wrapped = re.compile(r"^class \w+\(DelegatingEngine\)", re.MULTILINE)
    views = [path.name for path in FENCEPOST if wrapped.search(path.read_text(encoding="utf-8"))]
    assert views == ["view.py"]


def test_what_is_imported_later_exists() -> None:
    """No type checker reads these names."""
    named = set(re.findall(r"Later\(name='([^']+)'\)", repr(protocols())))
    assert len(named) >= 20
    found = {name: pkgutil.resolve_name(name) for name in named}
    assert [name for name, each in found.items() if not callable(each) and not name.endswith(":KINDS")] == []


def test_capture_opens_files_in_one_place() -> None:
    """Evidence may come from elsewhere than a disk one day: whoever reads it asks capture/files.py."""
    package = ROOT / "spark" / "fencepost"
    readers = [*package.glob("capture/*.py"), *package.glob("protocols/*/capture/*.py")]
    opens = re.compile(r"\bopen\(|\.read_(text|bytes)\(|\.(iterdir|stat|is_dir|exists)\(|\bglob\.")
    assert [path.name for path in sorted(readers) if opens.search(path.read_text(encoding="utf-8"))] == [
        "files.py"
    ]


def imported(path: Path) -> set[str]:
    """The modules, or folders of modules, directly below fencepost.protocols that a module imports."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            modules |= {node.module} | {f"{node.module}.{each.name}" for each in node.names}
        elif isinstance(node, ast.Import):
            modules |= {each.name for each in node.names}
    within = [each.split(".") for each in modules if each.startswith("fencepost.protocols.")]
    return {parts[2] for parts in within}


@pytest.mark.parametrize("package", ["pyspark-client", "airflow-provider-great-expectations"])
def test_packages_that_break_the_environment_are_absent(package: str) -> None:
    with pytest.raises(importlib.metadata.PackageNotFoundError):
        importlib.metadata.version(package)


def test_no_file_names_a_package_registry() -> None:
    assert [path for path in tracked() if path.is_file() and REGISTRIES.search(path.read_bytes())] == []


def test_every_requirement_is_pinned_with_a_hash() -> None:
    text = (ROOT / "requirements" / "python.txt").read_text()
    pins = re.findall(
        r"^[a-z][^\s]*==\S+ \\\n(?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+", text, re.MULTILINE
    )
    names = re.findall(r"^[a-z]", text, re.MULTILINE)
    assert len(pins) == len(names) > 100
    for line in (ROOT / "requirements" / "jars.lock").read_text().splitlines():
        assert line.startswith("#") or re.fullmatch(r"(\S+ ){4}[0-9a-f]{64}( [a-z]+)?", line), line


def test_the_readme_names_real_make_targets() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in ("README.md", "CONTRIBUTING.md"):
        named = set(re.findall(r"\bmake ([a-z]+)", (ROOT / document).read_text()))
        assert named <= targets, (document, named - targets)


def test_one_process_runs_spark(unlisted: set[str]) -> None:
    """The list ``SPARK`` in tests/conftest.py says which."""
    assert unlisted == set()
