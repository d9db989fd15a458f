"""The files of `deploy`: what can be checked of them without Kubernetes, containers and a running systemd."""

from __future__ import annotations

import configparser
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from fencepost.capture.files import expand
from fencepost.cli import _parser
from fencepost.jars import java_version
from fencepost.settings import Settings, load

ROOT = Path(__file__).resolve().parents[2]
DEPLOY = ROOT / "deploy"
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))
OF_POD = {
    "Deployment": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
SECRETS = ("FENCEPOST_DB_PASSWORD", "FENCEPOST_S3_KEY", "FENCEPOST_S3_SECRET")
TARGET = re.compile(r"^FROM (?P<image>\S+) AS (?P<name>\S+)$", re.MULTILINE)


def _resources() -> Iterator[dict[str, Any]]:
    for path in MANIFESTS:
        yield from yaml.safe_load_all(path.read_text())


def _pods() -> Iterator[tuple[str, dict[str, Any]]]:
    for each in _resources():
        if each["kind"] in OF_POD:
            template: Any = each
            for key in OF_POD[each["kind"]]:
                template = template[key]
            yield each["metadata"]["name"], template


PODS = dict(_pods())
CONFIG_MAPS = {each["metadata"]["name"]: each["data"] for each in _resources() if each["kind"] == "ConfigMap"}


def test_resources_are_named_once_and_select_their_own_pods() -> None:
    named = [(each["kind"], each["metadata"]["namespace"], each["metadata"]["name"]) for each in _resources()]
    assert len(named) == len(set(named)) == 5
    for each in _resources():
        assert (
            each["apiVersion"]
            == {"ConfigMap": "v1", "Deployment": "apps/v1", "CronJob": "batch/v1"}[each["kind"]]
        )
        if each["kind"] == "Deployment":
            labels = each["spec"]["template"]["metadata"]["labels"]
            assert each["spec"]["selector"]["matchLabels"].items() <= labels.items()


@pytest.mark.parametrize("name", PODS)
def test_a_pod_may_write_to_nothing_but_its_own_folders(name: str) -> None:
    spec = PODS[name]["spec"]
    assert spec["securityContext"]["runAsNonRoot"] is True
    # it would change the owner of Kafka's files
    assert "fsGroup" not in spec["securityContext"]
    volumes = {each["name"]: each for each in spec["volumes"]}
    (container,) = spec["containers"]
    mounted = {each["name"]: each for each in container["volumeMounts"]}
    assert mounted.keys() == volumes.keys()
    for each, volume in volumes.items():
        assert "emptyDir" in volume or mounted[each]["readOnly"] is True
        if "persistentVolumeClaim" in volume:
            assert volume["persistentVolumeClaim"]["readOnly"] is True
        if "configMap" in volume:
            assert mounted[each]["subPath"] in CONFIG_MAPS[volume["configMap"]["name"]]
    assert container["securityContext"]["readOnlyRootFilesystem"] is True
    assert container["securityContext"]["allowPrivilegeEscalation"] is False


@pytest.mark.parametrize("name", PODS)
def test_a_pod_runs_a_command_with_a_configuration_that_is_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = PODS[name]["spec"]
    (container,) = spec["containers"]
    arguments = _parser().parse_args(container["args"])
    at = next(each for each in container["volumeMounts"] if each["mountPath"] == str(arguments.config))
    source = next(each["configMap"]["name"] for each in spec["volumes"] if each["name"] == at["name"])
    settings = _loaded(tmp_path, CONFIG_MAPS[source][at["subPath"]], monkeypatch)
    (cluster,) = settings.clusters
    paths = [
        path for each in cluster.brokers for path in (*each.log_dirs, *each.request_logs, *each.server_logs)
    ]
    mounts = [each["mountPath"] for each in container["volumeMounts"]]
    # what is collected is there, and an audit of it needs none
    assert bool(paths) == (container["args"][0] == "collect")
    assert all(any(path.startswith(f"{mount}/") for mount in mounts) for path in paths)
    assert settings.lake.folder is None
    # what Strimzi's brokers write is what their collector reads
    written = re.findall(r"fileName = (\S+)", CONFIG_MAPS["fencepost-kafka-logging"]["log4j2.properties"])
    logs = {Path(path.rstrip("*")).name for path in paths if path.endswith("*")}
    assert not paths or logs == {Path(path).name for path in written}


def test_the_request_log_of_strimzi_is_written_as_it_is_read(tmp_path: Path) -> None:
    """Kafka's own Log4j takes the configuration, and its lines are those that are read."""
    text = CONFIG_MAPS["fencepost-kafka-logging"]["log4j2.properties"]
    configured = tmp_path / "log4j2.properties"
    configured.write_text(text.replace("/var/lib/kafka/data-0", str(tmp_path)))
    line = '{\\"isForwarded\\":false}'
    program = tmp_path / "Logs.java"
    program.write_text(
        "public class Logs { public static void main(String[] none) { org.slf4j.LoggerFactory.getLogger("
        f'"kafka.request.logger").debug("Completed request:{line}"); }} }}'
    )
    java, _ = java_version()
    jars = Path(os.environ.get("FENCEPOST_JARS", ROOT / ".jars")) / "kafka-4.3.1" / "*"
    command = [java, "-cp", str(jars), f"-Dlog4j2.configurationFile={configured}", str(program)]
    subprocess.run(command, check=True, capture_output=True)
    written = (tmp_path / "logs" / "kafka-request.log").read_bytes()
    assert re.fullmatch(
        rb"\[[-\d]+ [:\d]+,\d{3}\] DEBUG Completed request:\{.*\} \(kafka\.request\.logger\)\n", written
    )


def test_the_unit_and_the_line_of_cron_collect_with_the_example(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string((DEPLOY / "fencepost-collect.service").read_text())
    _, *of_unit = shlex.split(unit["Service"]["ExecStart"])
    line = (DEPLOY / "fencepost.cron").read_text().splitlines()[-1]
    schedule = re.fullmatch(r"(?:[\d*/]+ ){5}fencepost (.*)", line)
    assert schedule is not None
    # cron takes % for the end of the command
    assert "%" not in line
    _, _, of_cron = schedule[1].partition("/bin/fencepost ")
    for arguments in (of_unit, shlex.split(of_cron)):
        parsed = _parser().parse_args(arguments)
        # where the lock of the lake is, too, which the user of the unit can write
        assert str(parsed.config).startswith("/var/lib/" + unit["Service"]["StateDirectory"])
    settings = _loaded(tmp_path, (DEPLOY / "collect.toml").read_text(), monkeypatch)
    assert settings.clusters[0].brokers[0].log_dirs


def test_images_begin_with_a_release_of_debian_that_has_the_java_they_install() -> None:
    """Without one the newest release is taken, which need not have it."""
    texts = [(DEPLOY / "Containerfile").read_text(), (ROOT / "docs" / "spark.md").read_text()]
    found = [image for text in texts for image in re.findall(r"^FROM (python:\S+)", text, re.MULTILINE)]
    assert set(found) == {"python:3.11-slim-bookworm"}
    assert all("openjdk-17-jre-headless" in text for text in texts)


def test_the_images_are_built_of_what_is_there() -> None:
    text = (DEPLOY / "Containerfile").read_text().replace("\\\n", " ")
    names = {each["name"] for each in TARGET.finditer(text)}
    assert {"collector", "audit"} <= names
    assert all(
        each["image"] in names or each["image"].startswith("python:3.11") for each in TARGET.finditer(text)
    )
    for copied in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.MULTILINE):
        assert all((ROOT / each).exists() for each in copied.split())
    for command in re.findall(r"^CMD \[(.*)\]$", text, re.MULTILINE):
        _parser().parse_args([each.strip(' "') for each in command.split(",")])
    # all that setup.py puts into the wheel
    assert set(re.findall(r'^    "(\w+)": \(', (ROOT / "setup.py").read_text(), re.MULTILINE)) <= set(
        re.findall(r"^COPY (\w+) \w+$", text, re.MULTILINE)
    )


def test_the_image_for_audits_has_the_logs_of_which_it_prepares(tmp_path: Path) -> None:
    text = (DEPLOY / "Containerfile").read_text()
    for source, place in re.findall(r"^COPY (?!--from)(\S+) /prepare/(\S+)$", text, re.MULTILINE):
        into = tmp_path / place
        if (ROOT / source).is_dir():
            shutil.copytree(ROOT / source, into)
        else:
            into.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / source, into)
    (script,) = re.findall(r" python /prepare/(\S+)$", text, re.MULTILINE)
    found = load(tmp_path / Path(script).parents[1] / "demo" / "healthy.toml")
    assert (tmp_path / script).is_file()
    for broker in found.clusters[0].brokers:
        assert all(expand(each) for each in (*broker.log_dirs, *broker.request_logs, *broker.server_logs))


def _loaded(folder: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Read a configuration, with the secrets that it names in the environment."""
    for each in SECRETS:
        monkeypatch.setenv(each, "secret")
    path = folder / "read.toml"
    path.write_text(text)
    return load(path)
