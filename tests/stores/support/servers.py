"""A PostgreSQL server, an S3 server and Iceberg's REST catalog, on loopback."""

from __future__ import annotations

import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import psycopg
import pyspark
from failing import Failing, failing
from ports import free_ports
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

ROOT = Path(__file__).resolve().parents[3]
JARS = Path(os.environ.get("FENCEPOST_JARS", ROOT / ".jars"))
USER, PASSWORD, KEY, SECRET = "fencepost", "a pass/word@with:signs", "access", "secretsecret"
TOKEN = "a.token-of.the-catalog"
VARIABLES = {"TOKEN": TOKEN, "CLIENT": USER, "SECRET": SECRET}
"""What configurations take from the environment."""
LOGINS = {
    "token": ('token = "${TOKEN}"', TOKEN),
    # Iceberg's servlet gives every client the same kind of token
    "credential": ('credential = "${CLIENT}:${SECRET}"', f"client-credentials-token:sub={USER}"),
}
"""Ways to log in to a REST catalog: the line of the configuration, and the token that the catalog then sees.
"""
_READY_S = 30


@dataclass
class Server:
    """A server that has been started, and its port. ``begin``: how it is started."""

    process: subprocess.Popen[bytes]
    port: int
    begin: Callable[[], subprocess.Popen[bytes]] | None = None

    def stop(self) -> None:
        """Stop it: of PostgreSQL's signals the one that waits for no connection."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=_READY_S)

    def power_off(self) -> None:
        """End it as ``pg_ctl stop -m immediate`` does: nothing is finished, and it has to recover."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(timeout=_READY_S)

    def power_on(self) -> None:
        """Start it again where it was."""
        assert self.begin is not None
        self.process = self.begin()
        self.await_answers()

    def await_answers(self) -> None:
        """Wait until it listens."""
        deadline = time.monotonic() + _READY_S
        while not _answers(self.port):
            assert self.process.poll() is None, "the server has ended"
            assert time.monotonic() < deadline, "the server does not answer"
            time.sleep(0.1)


@contextmanager
def postgresql(folder: Path) -> Iterator[Server]:
    """A server whose data are in ``folder``. It refuses to run as root, so it then runs as ``nobody``."""
    tools = max(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda each: float(each.parent.name))
    data, password, port = folder / "data", folder / "password", free_ports(1)[0]
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

    def begin() -> subprocess.Popen[bytes]:
        with (folder / "log").open("ab") as said:
            return subprocess.Popen(command, user=user, cwd="/", stdout=said, stderr=said)

    yield from _running(Server(begin(), port, begin))


@contextmanager
def s3(folder: Path) -> Iterator[Server]:
    """A server that stores each bucket in a folder of ``folder``."""
    folder.mkdir(parents=True)
    (port,) = free_ports(1)

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [JARS / "servers" / "versitygw", "--port", f"127.0.0.1:{port}", "posix", folder],
            env={**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    yield from _running(Server(begin(), port, begin))


@contextmanager
def rest(database: Server, store: Server, name: str) -> Iterator[Server]:
    """Iceberg's own servlet of its REST protocol, in front of the database and the bucket of this name.

    Iceberg's program for it listens on all addresses. So Python starts the servlet, in the Jetty that Spark
    has.
    """
    of_spark = Path(pyspark.__file__).parent / "jars"
    jars = [path for name in ("rest", "spark", "aws") for path in sorted((JARS / name).glob("*.jar"))]
    port, process = launch_gateway(
        classpath=":".join(map(str, [*jars, of_spark / "*"])),
        jarpath=str(next(of_spark.glob("py4j-*.jar"))),
        die_on_exit=True,
        return_proc=True,
    )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auto_convert=True))
    java, jetty, iceberg = (
        gateway.jvm.java,
        gateway.jvm.org.sparkproject.jetty,
        gateway.jvm.org.apache.iceberg,
    )
    properties = {
        "type": "jdbc",
        "uri": f"jdbc:postgresql://127.0.0.1:{database.port}/{name}",
        "jdbc.user": USER,
        "jdbc.password": PASSWORD,
        "jdbc.schema-version": "V1",
        "warehouse": f"s3://{name}/lake",
        "io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
        "client.region": "us-east-1",
        "s3.endpoint": f"http://127.0.0.1:{store.port}",
        "s3.path-style-access": "true",
        "s3.access-key-id": KEY,
        "s3.secret-access-key": SECRET,
    }
    catalog = iceberg.CatalogUtil.buildIcebergCatalog("rest", properties, None)
    servlet = iceberg.rest.RESTCatalogServlet(iceberg.rest.RESTCatalogAdapter(catalog))
    handler = jetty.servlet.ServletContextHandler()
    handler.addServlet(jetty.servlet.ServletHolder(servlet), "/*")
    server = jetty.server.Server(java.net.InetSocketAddress("127.0.0.1", 0))
    server.setHandler(handler)
    server.start()
    started = Server(process, server.getURI().getPort())
    # it goes on until its standard input ends, and without this Python would go on talking to its objects
    gateway.shutdown()
    yield from _running(started)


def _running(server: Server) -> Iterator[Server]:
    server.await_answers()
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

    def lake(self, name: str, store_port: int | None = None) -> str:
        """The part ``[lake]`` of a configuration: a database and a bucket of this name, which are made.
        ``store_port``: that of what stands before the store.
        """
        self._make(name)
        return f"""
[lake]
warehouse = "s3://{name}/lake"

[lake.catalog_properties]
type = "jdbc"
uri = "jdbc:postgresql://127.0.0.1:{self.database.port}/{name}"
"jdbc.user" = "{USER}"
"jdbc.password" = "{PASSWORD}"
{self._store(store_port)}"""

    @contextmanager
    def rest_lake(self, name: str, kind: str = "token") -> Iterator[tuple[str, Failing]]:
        """The part ``[lake]`` of a lake behind a REST catalog of its own, and what stands before that."""
        self._make(name)
        login, token = LOGINS[kind]
        with rest(self.database, self.store, name) as server, failing(server.port) as front:
            front.token = token
            yield (
                f"""
[lake]
warehouse = "{name}"

[lake.catalog_properties]
type = "rest"
uri = "http://127.0.0.1:{front.port}"
{login}
{self._store()}""",
                front,
            )

    def _store(self, port: int | None = None) -> str:
        return f"""\
"s3.endpoint" = "http://127.0.0.1:{port or self.store.port}"
"s3.region" = "us-east-1"
"s3.access-key-id" = "{KEY}"
"s3.secret-access-key" = "{SECRET}"
"""

    def _make(self, name: str) -> None:
        login = f"host=127.0.0.1 port={self.database.port} user={USER} dbname=postgres"
        for _ in range(100):
            try:
                with psycopg.connect(login, password=PASSWORD, autocommit=True) as connection:
                    connection.execute(f'CREATE DATABASE "{name}"')
                break
            except psycopg.OperationalError:
                time.sleep(0.1)
        (self.buckets / name).mkdir()
