"""The configuration: what a good file becomes, and what is said about a bad one."""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
from pathlib import Path

import pytest

from fencepost import cli, settings
from fencepost.settings import SettingsError

GOOD = """
[lake]
warehouse = "s3a://bucket/lake"
catalog = "sqlite:///state/catalog.db"

[clock]
tolerance_ms = 40

[gate]
not_judged = "pass"
[report]
folder = "pages"
url = "https://audit.example.com/pages"
data_docs = true

[gate.severities]
epoch_order = "info"

[spark]
driver.memory = "3g"
"spark.ui.enabled" = true

[[clusters]]
name = "ma'in \\"☃\\""
checksums = true

[[clusters.brokers]]
id = 0
log_dirs = ["data/*", "/var/kafka"]
request_logs = ["logs/kafka-request.log*"]
timezone = "Europe/Paris"
kafka_version = "4.1.2"

[[clusters.brokers]]
id = 1

[[clusters.clients]]
name = "shop"
logs = ["shop/*.log"]
timezone = "-03:30"
"""
CLUSTER = '[[clusters]]\nname = "c"\n[[clusters.brokers]]\nid = 1\n'


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(settings.CONFIG_ENV, raising=False)
    monkeypatch.delenv(settings.LAKE_ENV, raising=False)


def write(folder: Path, text: str) -> Path:
    path = folder / "fencepost.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_everything_is_read_and_made_absolute(tmp_path: Path) -> None:
    folder = tmp_path / "od[d] name"
    folder.mkdir()
    read = settings.load(write(folder, GOOD))
    assert read.lake == settings.Lake("s3a://bucket/lake", f"sqlite:///{folder}/state/catalog.db")
    assert read.lake.folder == folder / "state"
    assert (read.clock_tolerance_ms, read.severities) == (40, {"epoch_order": "info"})
    assert read.not_judged_passes
    assert (read.report.page, read.report.data_docs) == (True, True)
    assert read.report.folder == folder / "pages"
    assert read.report_url == "https://audit.example.com/pages/"
    assert read.spark["spark.driver.memory"] == "3g"
    assert read.spark["spark.ui.enabled"] == "true"
    assert read.spark["spark.master"] == "local[*,4]"
    (cluster,) = read.clusters
    assert cluster.name == 'ma\'in "☃"'
    assert cluster.checksums
    assert cluster.clients == (settings.Client("shop", (f"{tmp_path}/od[[]d] name/shop/*.log",), "-03:30"),)
    first, second = cluster.brokers
    # the folder's own brackets are not wildcards
    assert first.log_dirs == (f"{tmp_path}/od[[]d] name/data/*", "/var/kafka")
    assert (first.timezone, second.timezone, second.log_dirs) == ("Europe/Paris", "UTC", ())
    assert (first.release, second.release) == ((4, 1), None)


def test_defaults(tmp_path: Path) -> None:
    read = settings.load(write(tmp_path, CLUSTER))
    assert read.lake.warehouse == str(tmp_path / ".fencepost" / "warehouse")
    assert read.lake.catalog == f"sqlite:///{tmp_path}/.fencepost/catalog.db"
    assert (read.clock_tolerance_ms, read.chapter_ms, read.window_ms) == (25, 86_400_000, None)
    assert read.keep_evidence_ms is None
    assert not read.not_judged_passes


WAIVER = "[[waivers]]\nreason = 'known'\nexpires = 2026-03-01\n"
OF_GROUP = "[[waivers]]\nreason = 'known'\ngroup_id = 'g'\n"


def test_a_waiver_matches_what_it_names(tmp_path: Path) -> None:
    of_topic = "cluster = 'c'\ngroup_id = ''\ntopic = 't'\npartition = 0\n"
    (waiver,) = settings.load(write(tmp_path, CLUSTER + WAIVER + of_topic)).waivers
    assert waiver.matched == {"cluster": "c", "group_id": "", "topic": "t", "partition": 0}
    assert (waiver.expired(dt.date(2026, 3, 1)), waiver.expired(dt.date(2026, 3, 2))) == (False, True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WAIVER, "waivers[0]: would waive everything. Say what is waived: add one of invariant, incident, "),
        (WAIVER + "cluster = 'c'", "waivers[0]: would waive everything"),
        (
            WAIVER + "cluster = 'cc'\ngroup_id = 'g'",
            "waivers[0].cluster: 'cc' is not the name of a configured",
        ),
        (WAIVER + "partition = 1", "waivers[0].partition: is of no topic. Add topic."),
        (WAIVER + "topic = 't'\npartition = -1", "waivers[0].partition: must be the number of a partition"),
        (WAIVER + "topic = 't'\npartition = true", "waivers[0].partition: must be the number of a partition"),
        (WAIVER + "invariant = 'no_owner_refusd'", "waivers[0].invariant: is no invariant. docs/invariants"),
        (WAIVER + "incident = '%'", "waivers[0].incident: '%' is not how a fingerprint begins"),
        (WAIVER + "incident = '0123'", "waivers[0].incident: '0123' is not how a fingerprint begins"),
        (WAIVER + "group = 'g'", "waivers[0].group: is not known here."),
        (WAIVER.replace("known", " ") + "group_id = 'g'", "waivers[0].reason: must not be empty"),
        (
            "[[waivers]]\nexpires = 2026-03-01\ngroup_id = 'g'",
            "waivers[0].reason: is missing. Add a text that says",
        ),
        (OF_GROUP, "waivers[0].expires: is missing. Add a date such as expires = 2026-01-31."),
        (OF_GROUP + "expires = 'soon'", "waivers[0].expires: 'soon' is not a date such as 2026-01-31"),
        (
            OF_GROUP + "expires = 2026-03-01T00:00:00Z",
            "waivers[0].expires: must be a date such as 2026-01-31",
        ),
        (
            "[waivers]\nreason = 'r'",
            "waivers: must be an array of tables, not a table. Write [[waivers]] in its place.",
        ),
    ],
)
def test_a_waiver_that_says_too_little_is_refused(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        settings.load(write(tmp_path, CLUSTER + text))
    assert said in str(caught.value)


HOOK = "[[alerts]]\nname = 'hook'\n"
SECRET = "xoxb-1234-secret"


def test_who_is_alerted(tmp_path: Path) -> None:
    read = settings.load(
        write(
            tmp_path,
            CLUSTER
            + HOOK
            + "url = 'slack://${SLACK}/#kafka'\non = ['new']\nseverity = 'warning'\nclusters = ['c']\n"
            "[[alerts]]\nname = 'command'\ncommand = ['/usr/bin/page', '--now']\n"
            "[[alerts]]\nname = 'mail'\nurl = 'mailtos://kafka:${PASSWORD}@example.org'\n"
            "[report]\nurl = 'https://pages.example/kafka'\n[metrics]\nfile = 'metrics/kafka.prom'\n",
        )
    )
    hook, command, mail = read.alerts
    assert (hook.url, hook.on, hook.severity, hook.clusters) == (
        "slack://${SLACK}/#kafka",
        ("new",),
        "warning",
        ("c",),
    )
    assert (command.command, command.on, command.severity) == (
        ("/usr/bin/page", "--now"),
        settings.ALERTS_ON,
        "critical",
    )
    assert mail.ways == ["url"]
    assert read.report_url == "https://pages.example/kafka/"
    assert read.metrics_file == tmp_path / "metrics" / "kafka.prom"
    assert (settings.load(write(tmp_path, CLUSTER)).alerts, read.path) == ((), tmp_path / "fencepost.toml")


@pytest.mark.parametrize("begin", ["discord", "PagerDuty", "${SERVICE}", "https"])
def test_services_that_apprise_knows_are_taken(tmp_path: Path, begin: str) -> None:
    """Whatever the case; what the environment has is known when it is sent, and web hooks are services."""
    (hook,) = settings.load(write(tmp_path, f"{CLUSTER}{HOOK}url = '{begin}://${{TOKEN}}/a'\n")).alerts
    assert hook.url == f"{begin}://${{TOKEN}}/a"


def test_services_are_compared_with_apprise_only_where_an_alert_may_be_sent(tmp_path: Path) -> None:
    """Its list takes a third of a CPU second, and a query sends nothing."""
    config = write(tmp_path, f"{CLUSTER}{HOOK}url = 'slak://${{SLACK}}/#kafka'\n")
    code = (
        "import sys; from pathlib import Path; from fencepost import settings\n"
        "(alert,) = settings.load(Path(sys.argv[1]), services=False).alerts\n"
        "(same,) = settings.readable_alerts(Path(sys.argv[1]))\n"
        "print(alert.url, same == alert, 'apprise' in sys.modules)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(config)], capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == "slak://${SLACK}/#kafka True False"
    with pytest.raises(SettingsError, match="The nearest is slack"):
        settings.load(config)


@pytest.mark.parametrize(("typed", "checks"), [("report", False), ("doctor", True), ("alerts", True)])
def test_a_command_that_sends_nothing_asks_nothing_of_apprise(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], typed: str, checks: bool
) -> None:
    config = write(tmp_path, f"{CLUSTER}{HOOK}url = 'slak://${{SLACK}}/#kafka'\n")
    cli.main([typed, "--config", str(config)])
    assert ("begins with no service that Apprise knows" in capsys.readouterr().err) == checks


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HOOK, "alerts[0]: has no address. Give exactly one of url, alertmanager, webhook, command."),
        (HOOK + "command = []", "alerts[0]: has no address."),
        (HOOK + "webhook = 'http://x'\ncommand = ['x']", "alerts[0]: has webhook and command. Give exactly"),
        (
            HOOK + f"url = '{SECRET}'",
            "alerts[0].url: is no address of a service, such as slack://${SLACK_TOKEN}/",
        ),
        (HOOK + f"url = 'slack://{SECRET}/'", "alerts[0].url: must not have its secret in the file. Put "),
        (
            HOOK + f"url = 'mailto://a:{SECRET}@x'",
            "alerts[0].url: has a password. Put it into the environment",
        ),
        (HOOK + f"url = 'mailto://a:s/{SECRET}@x'", "alerts[0].url: has a password."),
        (HOOK + f"url = 'mailto://x?to=a&pass={SECRET}'", "alerts[0].url: has a password."),
        (HOOK + f"webhook = 'https://a:{SECRET}@x'", "alerts[0].webhook: has a password."),
        (HOOK + f"webhook = 'ftp://{SECRET}'", "alerts[0].webhook: must begin with http:// or https://."),
        (
            HOOK + f"url = 'slack://$A/{SECRET}'",
            "alerts[0].url: has a $ at character 9 that is not of ${NAME}",
        ),
        (
            HOOK + "url = 'slak://${SLACK}/#kafka'",
            "alerts[0].url: begins with no service that Apprise knows, as slack:// is one. The nearest is sl",
        ),
        (HOOK + f"url = '{SECRET}://${{SLACK}}'", "alerts[0].url: begins with no service that Apprise knows"),
        (HOOK + f"url = ['slack://{SECRET}']", "alerts[0].url: must be an address, not what is there."),
        (
            "[alerts]\n",
            "alerts: must be an array of tables, not what is there. Write [[alerts]] in its place.",
        ),
        (f"alerts = 'slack://{SECRET}'\n", "alerts: must be an array of tables, not what is there."),
        (HOOK + f"uri = 'slack://{SECRET}'", "alerts[0].uri: is not known here."),
        (HOOK + f"command = 'curl {SECRET}'", "alerts[0].command: must be a list: the program and its arg"),
        (
            HOOK + "webhook = 'http://x'\non = ['news']",
            "alerts[0].on: must be a list of new, worse, over, fai",
        ),
        (HOOK + "webhook = 'http://x'\non = []", "alerts[0].on: must be a list of new, worse, over, failed,"),
        (
            HOOK + "webhook = 'http://x'\nclusters = ['d']",
            "alerts[0].clusters: 'd' is not the name of a conf",
        ),
        (HOOK + "webhook = 'http://x'\n" + HOOK + "webhook = 'http://y'", "alerts: 'hook' is there twice"),
        ("[report]\nurl = '${PAGES}'", "report.url: '${PAGES}' is not a URL such as https://audit."),
        ("[metrics]\nfile = 7", "metrics.file: must be a path, not 7"),
    ],
)
def test_mistakes_in_alerts_show_no_secret(tmp_path: Path, text: str, said: str) -> None:
    # what is above all tables belongs to none
    of_file = text + CLUSTER if text.startswith("alerts =") else CLUSTER + text
    with pytest.raises(SettingsError) as error:
        settings.load(write(tmp_path, of_file))
    assert said in str(error.value)
    assert SECRET not in str(error.value)


def test_all_of_history_may_be_one_chapter(tmp_path: Path) -> None:
    assert settings.load(write(tmp_path, CLUSTER + "[audit]\nchapter = 'all'")).chapter_ms is None
    assert settings.load(write(tmp_path, CLUSTER + "[audit]\nchapter = '6h'")).chapter_ms == 21_600_000


def test_days_are_united_where_no_length_is_given_and_not_beside_a_short_window(tmp_path: Path) -> None:
    def longest(audit: str) -> int | None:
        return settings.load(write(tmp_path, f"{CLUSTER}[audit]\n{audit}")).longest_chapter_ms

    day_ms = 86_400_000
    assert longest("") == longest("window = '30w'") == 8 * day_ms
    assert longest("window = '16d'\nkeep_evidence = '90d'") == 2 * day_ms
    assert longest("chapter = '1d'") is longest("chapter = 'all'") is None


def test_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_replica = GOOD.replace('name = "shop"', 'name = "shop-${POD}"\nhost = "${POD}"')
    monkeypatch.setenv("POD", "7f9c")
    monkeypatch.setenv(settings.CONFIG_ENV, str(write(tmp_path, of_replica)))
    monkeypatch.setenv(settings.LAKE_ENV, str(tmp_path / "other"))
    read = settings.load()
    assert read.path == tmp_path / "fencepost.toml"
    assert read.lake == settings.Lake(f"{tmp_path}/other/warehouse", f"sqlite:///{tmp_path}/other/catalog.db")
    (client,) = read.clusters[0].clients
    assert (client.name, client.host) == ("shop-7f9c", "7f9c")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "clusters: no cluster is configured. Add a [[clusters]]"),
        ("clusters = 1", "clusters: must be an array of tables, not 1"),
        ("clusters = [1]", "clusters: must be an array of tables"),
        ("a = [", "is not valid TOML"),
        (CLUSTER.replace("id = 1", "id = -1"), "clusters[0].brokers[0].id: must not be negative, it is -1"),
        (CLUSTER + "[gate]\nnot_judged = true", "gate.not_judged: must be fail or pass, not true."),
        (
            CLUSTER + "[lake]\nwarehouse = '${LAKE}/w'",
            "lake.warehouse: '${LAKE}/w' has a variable of the env",
        ),
        (
            CLUSTER + "log_dirs = ['${DATA}']",
            "clusters[0].brokers[0].log_dirs: '${DATA}' has a variable of the",
        ),
        (CLUSTER + "[metrics]\nfile = '${DATA}'", "metrics.file: '${DATA}' has a variable of the env"),
        (CLUSTER + "log_dirs = ['$HOME/data']", "log_dirs: '$HOME/data' has a variable of the environment"),
        (CLUSTER + "log_dirs = ['~nobody-here/x']", "begins with '~nobody-here', and there is no such user."),
        (
            CLUSTER + "[lake]\ncatalog = 'sqlite:///~nobody-here/c.db'",
            "lake.catalog: 'sqlite:///~nobody-here/c.db' begins with '~nobody-here', and there is no such",
        ),
        (CLUSTER + "log_dirs = [' ']", "clusters[0].brokers[0].log_dirs: must not be empty."),
        (CLUSTER + "[lake]\nwarehouse = ''", "lake.warehouse: must not be empty."),
        (CLUSTER + "[report]\nfolder = ''", "report.folder: must not be empty."),
        (CLUSTER + "[metrics]\nfile = ''", "metrics.file: must not be empty."),
        (CLUSTER + "timezone = 'Europe/Berln'", "The nearest is Europe/Berlin."),
        (CLUSTER + "[audit]\nwindow = true", "audit.window: true is not a length of time"),
        (
            CLUSTER + "[[waivers]]\nreason = 'x'\ntopic = 't'\nexpires = 2026-01-31T00:00:00",
            "waivers[0].expires: must be a date such as 2026-01-31, without a time, not 2026-01-31T00:00:00.",
        ),
        (CLUSTER + "timezone = 'UTC+2'", "such as +02:00. Write +02:00."),
        (CLUSTER + "timezone = '-0330'", "such as +02:00. Write -03:30."),
        (CLUSTER + "[lakes]", "lakes: is not known here. Use one of"),
        (CLUSTER + "[lakes]", "The nearest is lake."),
        (CLUSTER + "kafka_versoin = '4.2.1'", "The nearest is kafka_version."),
        (
            CLUSTER.replace("[[clusters.brokers]]", "checksums = 'yes'\n[[clusters.brokers]]"),
            "clusters[0].checksums: must be true or false",
        ),
        # what Python calls a field is no key of the file
        (CLUSTER + "release = '4.2.1'", "clusters[0].brokers[0].release: is not known here"),
        (
            CLUSTER + "kafka_version = 4",
            "clusters[0].brokers[0].kafka_version: must be a release such as 4.2.1",
        ),
        ("lake = 1\n" + CLUSTER, "lake: must be a table, not 1"),
        (
            CLUSTER + "[[lake]]\nwarehouse = 'w'",
            "lake: must be a table, not an array of tables. Write [lake] in its place.",
        ),
        (CLUSTER.replace("[[clusters]]", "[clusters]"), "not a table. Write [[clusters]] in its place."),
        (
            CLUSTER.replace("[[clusters.brokers]]", "[clusters.brokers]"),
            "brokers: must be an array of tables, not a table. Write [[clusters.brokers]] in its place.",
        ),
        (
            CLUSTER + "log_dirs = ['s3:/bucket/x']",
            "'s3:/bucket/x' is in no store that is read: use s3://bucket",
        ),
        (CLUSTER + "log_dirs = ['S3://bucket/x']", "'S3://bucket/x' is in no store that is read"),
        (CLUSTER + "log_dirs = ['s3//bucket/x']", "'s3//bucket/x' is in no store that is read"),
        (
            CLUSTER + "log_dirs = ['s3://']",
            "clusters[0].brokers[0].log_dirs: 's3://' names no bucket: use s3",
        ),
        (CLUSTER + "log_dirs = ['s3:///x']", "'s3:///x' names no bucket"),
        (
            CLUSTER + "log_dirs = ['/data/a, /data/b']",
            "log_dirs: '/data/a, /data/b' has several paths in one text. Put each into quotes of its own.",
        ),
        ('[[clusters]]\nname = "c"\nbrokers = 1', "clusters[0].brokers: must be an array of tables, not 1"),
        (
            '[[clusters]]\nname = "c"\nbrokers = [1]',
            "clusters[0].brokers: must be an array of tables, not [1]",
        ),
        (CLUSTER + "[gate]\nseverities = 1", "gate.severities: must be a table, not 1"),
        (CLUSTER + "[spark]\na.b = []", "spark.a.b: must be text, a number or true/false, not []"),
        (CLUSTER + "log_dir = []", "clusters[0].brokers[0].log_dir: is not known here"),
        (CLUSTER + "log_dirs = 'x'", "clusters[0].brokers[0].log_dirs: must be a list of paths or globs"),
        (CLUSTER + "log_dirs = [1]", "clusters[0].brokers[0].log_dirs: must be a list of paths or globs"),
        (CLUSTER + "timezone = 'Mars/Base'", "clusters[0].brokers[0].timezone: 'Mars/Base' is not an IANA"),
        (CLUSTER + "timezone = '../x'", "timezone: '../x' is not an IANA"),
        (CLUSTER + "kafka_version = 'trunk'", "kafka_version: 'trunk' is not a release such as 4.2.1"),
        (CLUSTER + "[[clusters.brokers]]\nid = 1", "clusters[0].brokers: 1 is there twice"),
        (
            CLUSTER + "[[clusters.brokers]]\nid = true",
            "clusters[0].brokers[1].id: must be the broker's node.id",
        ),
        (CLUSTER + "[[clusters.brokers]]", "clusters[0].brokers[1].id: is missing"),
        (CLUSTER + CLUSTER, "clusters: 'c' is there twice"),
        ('[[clusters]]\nname = "c"', "clusters[0].brokers: is missing"),
        (CLUSTER.replace('"c"', '" "'), "clusters[0].name: must not be empty"),
        (CLUSTER + "[clock]\ntolerance_ms = -1", "clock.tolerance_ms: must not be negative"),
        (CLUSTER + "[clock]\ntolerance_ms = '5'", "clock.tolerance_ms: must be a number of milliseconds"),
        (
            CLUSTER + "[audit]\nchapter = 'never'",
            "audit.chapter: 'never' is not a length of time such as 36h",
        ),
        (
            CLUSTER + "[audit]\nchapter = '2h'",
            "audit.chapter: '2h' is too short to tell what happened near its begin. Use 6h or more.",
        ),
        (
            CLUSTER + "[audit]\nchapter = 'all'\nwindow = '30d'",
            'audit.window: keeps whole chapters, and chapter = "all" makes only one.',
        ),
        (
            CLUSTER + "[audit]\nkeep_evidence = '90d'",
            "audit.keep_evidence: deletes older evidence, and without a window verdicts rest on evidence of "
            "any age. Add window, of at most this length.",
        ),
        (
            CLUSTER + "[audit]\nwindow = '30d'\nkeep_evidence = '4w'",
            "audit.keep_evidence: is shorter than the window, whose evidence is needed. Make it at least as "
            "long.",
        ),
        (CLUSTER + "[audit]\nwindow = '30d'\nkeep_evidence = 'long'", "audit.keep_evidence: 'long' is not a"),
        (
            CLUSTER + "[gate.severities]\nno_owner_refused = 'fatal'",
            "gate.severities.no_owner_refused: must be one of critical",
        ),
        (
            CLUSTER + "[gate.severities]\nno_owner_refusd = 'info'",
            "gate.severities.no_owner_refusd: is no invariant. docs/invariants has a page for each. "
            "The nearest is no_owner_refused.",
        ),
        # a decision has no severity
        (CLUSTER + "[gate.severities]\nstrict = 'info'", "gate.severities.strict: is no invariant"),
        (CLUSTER + "[report]\nurl = 'ftp://a'", "report.url: 'ftp://a' is not a URL such as https://audit."),
        (CLUSTER + "[report]\nurl = 'https://a/?b'", "report.url: 'https://a/?b' is not a URL such as"),
        (CLUSTER + "[report]\npage = 1", "report.page: must be true or false, not 1"),
        (CLUSTER + "[gate]\nnot_judged = 'ignore'", "gate.not_judged: must be fail or pass, not 'ignore'"),
        (CLUSTER + "timezone = '+26:00'", "timezone: '+26:00' is not an IANA time zone"),
        (CLUSTER + "[spark]\nx = []", "spark.x: must be text, a number or true/false"),
        (
            CLUSTER + "[lake]\ncatalog = 'mysql://x'",
            "lake.catalog: 'mysql://x' is not supported. Use sqlite:///",
        ),
        (
            CLUSTER + "[lake]\ncatalog = 'sqlite:///a%20b.db'",
            "has '%20', which means something else in the address",
        ),
        (CLUSTER + "[lake]\ncatalog = 'sqlite:///a;b.db'", "has ';', which means something else"),
        (CLUSTER + "[lake]\nwarehouse = 7", "lake.warehouse: must be a path or URL, not 7"),
        (
            CLUSTER + "[lake.catalog_properties]\nuri = 'https://catalog'",
            "lake.catalog_properties.uri: is for another catalog than SQLite. Add its type",
        ),
        (
            CLUSTER + "[lake.catalog_properties]\ntype = 'rest'\nwarehouse = 'w'",
            "lake.catalog_properties.warehouse: write it as lake.warehouse",
        ),
        (
            CLUSTER + "[lake]\ncatalog = 'sqlite:///x.db'\ncatalog_properties.type = 'rest'",
            "lake.catalog: 'sqlite:///x.db' is a catalog, and so is 'rest'",
        ),
        (CLUSTER + "[lake.catalog_properties]\nx = []", "lake.catalog_properties.x: must be text, a number"),
        (
            CLUSTER + "[[clusters.clients]]\nname = 'shop-${NOT_SET}'",
            "clusters[0].clients[0].name: the environment has no NOT_SET: set it",
        ),
    ],
)
def test_mistakes_name_file_key_and_remedy(tmp_path: Path, text: str, said: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(SettingsError) as error:
        settings.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert said in str(error.value)


def test_no_zone_is_the_nearest_of_a_name_for_half_a_year(tmp_path: Path) -> None:
    """EST has nearly the letters of CEST, and is six hours away."""
    path = tmp_path / "fencepost.toml"
    path.write_text(CLUSTER + "timezone = 'CEST'")
    with pytest.raises(SettingsError) as error:
        settings.load(path)
    assert str(error.value).endswith("nor an offset such as +02:00.")


def test_a_folder_of_the_environment_is_checked_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEPOST_LAKE", str(tmp_path / "what?"))
    with pytest.raises(SettingsError, match=r"FENCEPOST_LAKE: the path '.*' has '\?'"):
        settings.load(write(tmp_path, CLUSTER))


@pytest.mark.parametrize("brokers", ["cluster.brokers", "clusters.brokers"])
def test_a_misspelt_table_is_named_and_not_printed(tmp_path: Path, brokers: str) -> None:
    path = write(tmp_path, f"[[cluster]]\nname = 'c'\n[[{brokers}]]\nid = 1\nlog_dirs = ['/secret']")
    with pytest.raises(SettingsError) as error:
        settings.load(path)
    said = str(error.value)
    assert f"{path}: cluster: is not known here" in said
    assert "The nearest is clusters." in said
    assert "secret" not in said
    assert "no cluster is configured" not in said


def test_what_a_misspelt_key_would_have_told_is_no_second_mistake(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as error:
        settings.load(write(tmp_path, CLUSTER + "[audit]\nwindwo = '30d'\nkeep_evidence = '90d'\n"))
    (line,) = str(error.value).splitlines()
    assert line.endswith("The nearest is window.")


def test_every_mistake_is_told_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, CLUSTER + "log_dir = []\nlog_dirs = 'x'\n[clock]\ntolerance_ms = 1.5\n[lakes]")
    with pytest.raises(SettingsError) as error:
        settings.load(path)
    lines = str(error.value).splitlines()
    assert len(lines) == 4
    assert all(line.startswith(f"{path}: ") for line in lines)


def test_another_catalog_is_configuration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
[lake]
warehouse = "analytics"
[lake.catalog_properties]
type = "rest"
uri = "https://catalog.example/api"
s3.endpoint = "https://store.example"
"s3.path-style-access" = true
"""
    path = write(tmp_path, text + CLUSTER)
    lake = settings.load(path).lake
    # what a warehouse is called is the catalog's affair: it is no path
    assert (lake.warehouse, lake.catalog, lake.folder, lake.is_local) == ("analytics", "rest", None, False)
    assert lake.catalog_properties == {
        "type": "rest",
        "uri": "https://catalog.example/api",
        "s3.endpoint": "https://store.example",
        "s3.path-style-access": "true",
    }
    monkeypatch.setenv(settings.LAKE_ENV, str(tmp_path / "other"))
    assert settings.load(path).lake.catalog_properties == {}


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="there is no such file"):
        settings.load(tmp_path / "absent.toml")
    with pytest.raises(SettingsError, match="is a folder"):
        settings.load(tmp_path)
    (tmp_path / "latin.toml").write_bytes(b'\na = "\xe9"')
    with pytest.raises(SettingsError, match=r"is not UTF-8 \(at line 2\)\. Save it as UTF-8\."):
        settings.load(tmp_path / "latin.toml")


def test_a_home_folder_and_the_mark_of_an_editor_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``~`` is the same in every path; some editors begin a file with a byte order mark."""
    monkeypatch.setenv("HOME", "/home/op")
    path = tmp_path / "fencepost.toml"
    lake = "[lake]\nwarehouse = '~/lake'\ncatalog = 'sqlite:///~/c.db'\n[metrics]\nfile = '~/m.prom'\n"
    path.write_text("\ufeff" + CLUSTER + lake, encoding="utf-8")
    read = settings.load(path)
    assert read.lake == settings.Lake("/home/op/lake", "sqlite:////home/op/c.db")
    assert read.metrics_file == Path("/home/op/m.prom")
