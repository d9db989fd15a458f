"""Fetch the pinned jars of sets into ``.jars/<set>``, verify their checksums; silent if all is there.

The list is ``requirements/jars.lock``: one jar a line, ``set group artifact version sha256``, then the
classifier of a jar that has one. Fetching is left to the Ivy resolver that comes with PySpark: one mechanism,
and no registry address here.

Usage: ``python -m fencepost.fetch_jars SET...`` (the sets of ``jars.lock``), where ``.jars`` shall be.
``FENCEPOST_JARS`` overrides ``.jars``.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fencepost.jars import JARS_ENV
from fencepost.places import project_folder

_OF_MAVEN = "http://ant.apache.org/ivy/maven"
"""The namespace of the attributes by which Ivy knows what only Maven has."""

_NO_NETWORK = "Check the network (or a proxy: pass it in JAVA_TOOL_OPTIONS)"
_NOT_TRUSTED = (
    "Java does not trust its certificate, perhaps that of a proxy: import it into its trust store (keytool "
    "-importcert -cacerts), or name one in JAVA_TOOL_OPTIONS (-Djavax.net.ssl.trustStore=FILE)"
)

JARS = Path(os.environ.get(JARS_ENV, ".jars"))


@dataclass(frozen=True)
class Jar:
    """One pinned jar: where it belongs, its Maven coordinates and its sha256."""

    set_name: str
    group: str
    artifact: str
    version: str
    sha256: str
    classifier: str = ""

    @property
    def path(self) -> Path:
        kind = f"-{self.classifier}" if self.classifier else ""
        return JARS / self.set_name / f"{self.artifact}-{self.version}{kind}.jar"

    def is_there(self) -> bool:
        return self.path.is_file() and hashlib.sha256(self.path.read_bytes()).hexdigest() == self.sha256


def locked() -> list[Jar]:
    """All jars of ``jars.lock``."""
    lines = (project_folder("requirements") / "jars.lock").read_text().splitlines()
    return [Jar(*line.split()) for line in lines if line and not line.startswith("#")]


def retrieve(jars: Iterable[Jar], folder: Path) -> None:
    """Let Ivy download ``jars`` into ``folder``; raises SystemExit with what to do when it cannot."""
    import pyspark

    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    wanted: dict[tuple[str, str, str], set[str]] = {}
    for jar in jars:
        wanted.setdefault((jar.group, jar.artifact, jar.version), set()).add(jar.classifier)
    dependencies = "".join(
        f'<dependency org="{g}" name="{a}" rev="{v}" transitive="false" conf="default->master">'
        f"{_artifacts(a, classifiers)}</dependency>"
        for (g, a, v), classifiers in sorted(wanted.items())
    )
    (folder / "ivy.xml").write_text(
        f'<ivy-module version="2.0" xmlns:m="{_OF_MAVEN}"><info organisation="fencepost" module="jars"/>'
        '<configurations><conf name="default"/></configurations>'
        f"<dependencies>{dependencies}"
        # Two sets may pin two versions of one module; without this Ivy would keep only the newer.
        '<conflict manager="all"/></dependencies></ivy-module>'
    )
    command = [
        *(
            "java",
            "-jar",
            str(ivy),
            "-cache",
            str(folder / "cache"),
            "-ivy",
            str(folder / "ivy.xml"),
            "-warn",
        ),
        *("-confs", "default", "-types", "jar", "bundle"),
        *("-retrieve", str(folder / "[artifact]-[revision](-[classifier]).[ext]")),
    ]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode:
        said = [line.strip() for line in (run.stdout + run.stderr).splitlines() if line.strip()]
        remedy = _NOT_TRUSTED if any("SSLHandshakeException" in line for line in said) else _NO_NETWORK
        sys.exit(
            "Could not download the jars: the package registry for Java did not answer as expected.\n"
            f"{remedy}, and run the same command again.\n" + "\n".join(dict.fromkeys(said[-15:]))
        )


def _artifacts(name: str, classifiers: set[str]) -> str:
    """Which jars of a module, where not its own jar alone."""
    if classifiers == {""}:
        return ""
    kinds = (f' m:classifier="{each}"' if each else "" for each in sorted(classifiers))
    return "".join(f'<artifact name="{name}" type="jar"{kind}/>' for kind in kinds)


def main(sets: list[str]) -> None:
    """Bring every jar of ``sets`` to its place."""
    known = sorted({jar.set_name for jar in locked()})
    if not sets or set(sets) - set(known):
        sys.exit(f"usage: fetch_jars.py SET...   (sets: {', '.join(known)})")
    missing = [jar for jar in locked() if jar.set_name in sets and not jar.is_there()]
    if not missing:
        return
    print(f"Fetching {len(missing)} jars (Iceberg, Kafka and TLC are Java programs) ...", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        retrieve(missing, Path(scratch))
        for jar in missing:
            fetched = Path(scratch) / jar.path.name
            if not fetched.is_file() or hashlib.sha256(fetched.read_bytes()).hexdigest() != jar.sha256:
                sys.exit(f"{fetched.name} did not arrive with its pinned checksum; not installed. Run again.")
            jar.path.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(fetched, jar.path.with_suffix(".part"))
            jar.path.with_suffix(".part").replace(jar.path)


if __name__ == "__main__":
    main(sys.argv[1:])
