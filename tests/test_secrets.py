"""Secrets of the configuration are in nothing that a command says or writes, and in no JVM's command line."""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from pyspark import SparkConf
from pyspark.sql import SparkSession

from fencepost import cli
from fencepost.iceberg import patience
from fencepost.session import _without_secrets

SECRETS = {
    "DB_PASSWORD": "dbSecret/p@ss word",
    "S3_KEY": "keySecret",
    "S3_SECRET": "s3Secret+/x",
    "TOKEN": "AAASecret/BBBSecret/CCCSecretCCCCCCCCCCCCCCCC",
    "MAIL_PASSWORD": "mailSecret p@w",
    "HOOK": "hookSecret",
    "SPARK_SECRET": "sparkSecret",
}
CONFIG = """
[lake]
{lake}
"s3.endpoint" = "http://127.0.0.1:9"
"s3.region" = "eu-central-1"
"s3.access-key-id" = "${{S3_KEY}}"
"s3.secret-access-key" = "${{S3_SECRET}}"
[[clusters]]
name = "c"
[[clusters.brokers]]
id = 1
log_dirs = ["{logs}"]
[[alerts]]
name = "chat"
url = "slack://${{TOKEN}}"
[[alerts]]
name = "mail"
url = "mailto://kafka:${{MAIL_PASSWORD}}@127.0.0.1:9?to=a@example.com"
[[alerts]]
name = "hook"
webhook = "http://127.0.0.1:9/${{HOOK}}"
"""
LAKES = {
    # nobody listens
    "PostgreSQL": """warehouse = "s3://bucket/lake"
[lake.catalog_properties]
type = "jdbc"
uri = "jdbc:postgresql://127.0.0.1:9/name"
"jdbc.user" = "fencepost"
"jdbc.password" = "${DB_PASSWORD}"
""",
    "a URL": """warehouse = "s3://bucket/lake"
[lake.catalog_properties]
type = "jdbc"
uri = "jdbc:postgresql://127.0.0.1:9/name?user=fencepost&password=${DB_PASSWORD}"
""",
    "S3": """warehouse = "s3://bucket/lake"
[lake.catalog_properties]
""",
    "a mistake": """warehouse = 7
[lake.catalog_properties]
"jdbc.password" = "${DB_PASSWORD}"
""",
}


@pytest.mark.parametrize("lake", LAKES)
def test_what_fails_says_no_secret(  # noqa: PLR0917 (fixtures)
    lake: str,
    captures: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    logs = captures / "idempotent-4.3.1" / "broker-1" / "log_dir"
    config = tmp_path / "fencepost.toml"
    config.write_text(CONFIG.format(lake=LAKES[lake], logs=logs))
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    # what the last of a minute's attempts says the first one says
    monkeypatch.setattr(patience, "ATTEMPTS", 1)
    for words in (["doctor"], ["audit"], ["alerts", "--test"]):
        assert cli.main([*words, "--config", str(config)]) not in (0, 3)
        said = capfd.readouterr()
        assert said.err + said.out + caplog.text
        assert "Secret" not in said.err + said.out + caplog.text, words
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert [file for file in written if b"Secret" in file.read_bytes()] == []


def test_a_jvm_is_started_without_secrets(spark: SparkSession) -> None:
    """Every user of the machine can read its command line."""
    conf = SparkConf(loadDefaults=False)
    conf.setAll(
        [
            ("spark.sql.catalog.lake.jdbc.password", "a"),
            ("spark.hadoop.fs.s3a.secret.key", "b"),
            ("spark.hadoop.fs.s3a.access.key", "c"),
            ("spark.driver.memory", "1g"),
        ]
    )
    assert dict(_without_secrets(conf).getAll()) == {"spark.driver.memory": "1g"}
    children = psutil.Process().children(recursive=True)
    lines = [each.cmdline() for each in children if each.status() != psutil.STATUS_ZOMBIE]
    java = [line for line in lines if line and line[0].endswith("java")]
    assert any("org.apache.spark.deploy.SparkSubmit" in line for line in java)
    assert not any("spark.sql.catalog.lake" in word for line in java for word in line)
    # and the session has them
    assert spark.conf.get("spark.sql.catalog.lake.type") == "jdbc"
