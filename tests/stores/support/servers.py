"""A PostgreSQL server and an S3 server on loopback, each with a folder of its own."""

from __future__ import annotations

import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import psycopg

ROOT = Path(__file__).resolve().parents[3]
JARS = Path(os.environ.get("FENCEPOST_JARS", ROOT / ".jars"))
USER, PASSWORD, KEY, SECRET = "fencepost", "a pass/word@with:signs", "access", "secretsecret"
_READY_S = 30


@dataclass(frozen=True)
class Server:
    """A server that has been started, and its port."""

    process: subprocess.Popen[bytes]
    port: int

    def stop(self) -> None:
        """Stop it: of PostgreSQL's signals the one that waits for no connection."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=_READY_S)


def free_port() -> int:
    """A port of loopback that nothing listens on."""
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def postgresql(folder: Path) -> Iterator[Server]:
    """A server whose data are in ``folder``. It refuses to run as root, so it then runs as ``nobody``."""
    tools = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: float(each.parent.name))
    data, password, port = folder / "data", folder / "password", free_port()
    folder.mkdir(parents=True)
    password.write_text(PASSWORD)
    user = None
    if os.geteuid() == 0:
        user = "nobody"
        for each in (folder, password):
            os.chown(each, pwd.getpwnam(user).pw_uid, -1)
    login = ("-U", USER, "-A", "scram-sha-256", "--pwfile", password)
    made = [tools / "initdb", "-D", data, "--no-sync", *login]
    subprocess.run(made, user=user, cwd="/", check=True, capture_output=True)
    options = (f"port={port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={folder}", "fsync=off")
    command = [tools / "postgres", "-D", data, *chain.from_iterable(("-c", each) for each in options)]
    with (folder / "log").open("wb") as said:
        process = subprocess.Popen(command, user=user, cwd="/", stdout=said, stderr=said)
    yield from _running(Server(process, port))


@contextmanager
def s3(folder: Path) -> Iterator[Server]:
    """A server that stores each bucket in a folder of ``folder``."""
    folder.mkdir(parents=True)
    port = free_port()
    process = subprocess.Popen(
        [JARS / "servers" / "versitygw", "--port", f"127.0.0.1:{port}", "posix", folder],
        env={**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    yield from _running(Server(process, port))


def _running(server: Server) -> Iterator[Server]:
    deadline = time.monotonic() + _READY_S
    while not _answers(server.port):
        assert server.process.poll() is None, "the server has ended"
        assert time.monotonic() < deadline, "the server does not answer"
        time.sleep(0.1)
    try:
        yield server
    finally:
        server.stop()


def _answers(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass(frozen=True)
class Stores:
    """Both servers, and the folder of the buckets."""

    database: Server
    store: Server
    buckets: Path

    def lake(self, name: str) -> str:
        """The part ``[lake]`` of a configuration: a database and a bucket of this name, which are made."""
        login = f"host=127.0.0.1 port={self.database.port} user={USER} dbname=postgres"
        for _ in range(100):
            try:
                with psycopg.connect(login, password=PASSWORD, autocommit=True) as connection:
                    connection.execute(f'CREATE DATABASE "{name}"')
                break
            except psycopg.OperationalError:
                time.sleep(0.1)
        (self.buckets / name).mkdir()
        return f"""
[lake]
warehouse = "s3://{name}/lake"

[lake.catalog_properties]
type = "jdbc"
uri = "jdbc:postgresql://127.0.0.1:{self.database.port}/{name}"
"jdbc.user" = "{USER}"
"jdbc.password" = "{PASSWORD}"
"s3.endpoint" = "http://127.0.0.1:{self.store.port}"
"s3.region" = "us-east-1"
"s3.access-key-id" = "{KEY}"
"s3.secret-access-key" = "{SECRET}"
"""
