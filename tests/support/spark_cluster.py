"""A standalone cluster of Spark on loopback."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
from ports import free_ports

ROOT = Path(__file__).resolve().parents[2]
_SLOW_S = 240.0


@contextmanager
def standalone_cluster(folder: Path) -> Iterator[tuple[str, Sequence[int]]]:
    """The master's URL, and two workers of one core, by process id; ``folder``: theirs."""
    ports = free_ports(2)
    master = f"spark://127.0.0.1:{ports[0]}"
    with ExitStack() as started:

        def start(kind: str, host: str, *arguments: str) -> int:
            home = Path(pyspark.__file__).parent
            name = f"org.apache.spark.deploy.{kind}"
            command = [home / "bin" / "spark-class", name, "--host", host, *arguments]
            environment = {**os.environ, "SPARK_LOCAL_IP": host, "SPARK_HOME": str(home)}
            with (folder / "said").open("ab") as said:
                process = subprocess.Popen(command, env=environment, stdout=said, stderr=said, cwd=ROOT)
            started.callback(process.wait)
            started.callback(process.terminate)
            return process.pid

        start("master.Master", "127.0.0.1", "--port", str(ports[0]), "--webui-port", str(ports[1]))
        size = ("-c", "1", "-m", "2g", "--webui-port", "0")
        # a task is not run twice on one host
        workers = [
            start("worker.Worker", host, *size, "-d", str(folder / host), master)
            for host in ("127.0.0.1", "127.0.0.2")
        ]
        ends_by = time.monotonic() + _SLOW_S
        while (folder / "said").read_text().count("Successfully registered with master") < 2:
            assert time.monotonic() < ends_by, (folder / "said").read_text()
            time.sleep(0.2)
        yield master, workers
