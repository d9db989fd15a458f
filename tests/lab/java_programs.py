"""The lab's own Java programs (``java/NAME.java``), compiled against one version's jars."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from pathlib import Path

from brokers import LabError, jars, java
from clients import Client, Clients
from log4j import client_logging

SOURCES = Path(__file__).parent / "java"


def start_program(clients: Clients, version: str, name: str, program: str, *arguments: str) -> Client:
    """Run ``java/<program>.java`` as a client of this name. Raises ``LabError``."""
    classes = compile_program(program, f"{jars(version)}/*", clients.folder / "classes")
    logging = client_logging(version, clients.folder / name, "INFO")
    command = java(version, "64m", logging, program, *arguments, classes=classes)
    return clients.run(Client(name, clients.folder / f"{name}.log", command))


def properties_file(clients: Clients, name: str, config: Mapping[str, str]) -> str:
    """The file with the properties of a client."""
    file = clients.folder / f"{name}.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in config.items()))
    return str(file)


def compile_program(name: str, class_path: str, folder: Path) -> Path:
    """Compile ``java/<name>.java`` into ``folder``, once; returns it. Raises ``LabError``."""
    if not (folder / f"{name}.class").exists():
        command = ["javac", "-nowarn", "-proc:none", "-d", str(folder), "-cp", class_path]
        done = subprocess.run(
            [*command, str(SOURCES / f"{name}.java")], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise LabError(f"cannot compile {name}.java: {done.stdout}{done.stderr}")
    return folder
